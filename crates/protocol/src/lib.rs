//! Words on the wire, both directions: values become messages and messages become values.
//!
//! Nothing here reads a file, a socket, a clock or the environment; fetching is `gather`'s and answering is `serve`'s. What
//! comes from outside is never trusted to be what it says: a message that is broken gives fewer values and more warnings.
//!
//! | module | what it speaks |
//! |---|---|
//! | [`oai`] | OAI-PMH 2.0: requests and responses |
//! | [`dublin_core`] | `oai_dc` records |
//! | [`token`] | resumption tokens that need no memory on the server |
//! | [`feed`] | RSS 2.0 |

pub mod dublin_core;
pub mod feed;
pub mod oai;
pub mod token;
mod xml;
