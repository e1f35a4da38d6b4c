//! The catalogue: the log, its views, search, blobs and jobs. The only crate that knows SQL or tantivy.
//!
//! Start at [`Catalogue`]. Behind it one [`Store`] keeps the log and what is derived from it, on SQLite or PostgreSQL, which
//! pass one conformance suite (`tests/conformance`). What the entries of the log mean is `zhulu-record`'s; where they come
//! from is `gather`'s; how they are shown is `serve`'s.

mod address;
mod blob;
mod catalogue;
mod error;
mod job;
mod postgres;
mod row;
pub mod search;
mod sequencer;
mod sqlite;
mod store;
mod transfer;
mod verify;

pub use address::{Address, BlobAddress, Settings};
pub use blob::Blobs;
pub use catalogue::Catalogue;
pub use error::Error;
pub use job::{Job, JobId, JobState, JobStats, Lease, NewJob};
pub use row::{
    Batch, CursorUpdate, Filter, Head, Listing, Logged, Outcome, Position, Receipt, SetInfo, SourceRow, Stored,
    TokenRow,
};
pub use store::{Audit, Now, Store, Tallies};
pub use transfer::{BackupReport, CompactReport, ExportReport, ImportReport};
