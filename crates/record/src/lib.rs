//! The vocabulary every other crate speaks: identifiers, stamps, statements with evidence, changes, and how changes merge.
//!
//! Pure values: no file, socket, clock or environment is read here (random bytes for new identifiers are the one
//! exception). Storing is `catalogue`'s, words on the wire are `protocol`'s.
//!
//! # Glossary
//! One word per idea, here, in the code, on the command line, in SQL and in the documentation.
//!
//! | word | meaning |
//! |---|---|
//! | record | everything said about one thing: a document, page, course, API, dataset |
//! | statement | one value of one element, with its language and evidence |
//! | evidence | who said it (`by`), where it was read (`at`), how sure (`confidence`) |
//! | source | who may speak: `people`, or one machine source (a folder, a site, a repository) |
//! | entry | one change to one record, as the log keeps it |
//! | put | "this is what I say now"; from a machine a snapshot, from a person one or more elements |
//! | release | a person gives an element (or the record) back to the machines |
//! | register | the place two changes compete for: (record, source) for machines, (record, element) for people |
//! | stamp | hybrid logical clock reading; newest wins a register; the same on every node |
//! | seq, datestamp | place and time in *this* node's log; local, given in commit order |
//! | key | what makes two descriptions one record: OAI identifier, canonical URL, SHA-256 of the file |
//! | node | one catalogue among peers |

mod change;
mod element;
mod evidence;
mod extraction;
mod id;
mod merge;
mod stamp;
mod statement;
mod view;

pub use change::{BlobRef, Change, Draft, Entry, Kind, Provenance, Put, SetName, Source};
pub use element::Element;
pub use evidence::{Confidence, Evidence, Place};
pub use extraction::{Extraction, Link, Warning};
pub use id::{Digest, Key, NodeId, ParseError, RecordId};
pub use merge::{Register, State};
pub use stamp::{Clock, DRIFT_BOUND, Datestamp, Stamp, TooFarAhead};
pub use statement::{Language, Statement, Value};
pub use view::{Conflict, Outline, Record, Said, Voice};
