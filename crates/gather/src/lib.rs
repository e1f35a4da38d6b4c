//! Outward: taking files in, fetching from other people's machines, and running the jobs that do so.
//!
//! [`intake`] turns files into records, [`identify`] says which formats they are in, [`harvest`] turns an OAI-PMH repository into records, [`outward`] is the one way
//! out to the network and holds its rules, [`work`](mod@work) runs queued jobs. What a file or a response says is read by
//! `document` and `protocol`; what becomes of it is the catalogue's.

pub mod harvest;
pub mod identify;
pub mod intake;
pub mod outward;
mod walk;
pub mod work;

pub use walk::{Found, read_path};
