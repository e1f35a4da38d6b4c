//! What can go wrong with a catalogue, told apart by what the caller can do about it.

use std::path::PathBuf;

use zhulu_record::{Digest, RecordId};

/// Why a catalogue did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address names no catalogue.
    #[error("{address:?} is no catalogue address: {reason}; write sqlite:PATH or postgres://USER@HOST/DATABASE")]
    Address {
        /// As given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The catalogue was written by a newer program.
    #[error(
        "the catalogue {catalogue} has stored form {found}, and this zhulu knows forms up to {known}; \
         use a newer zhulu (this one has changed nothing)"
    )]
    Newer {
        /// Which catalogue.
        catalogue: String,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The database file, folder or server cannot be reached, or went away.
    #[error("the catalogue {catalogue} is unavailable: {reason}")]
    Unavailable {
        /// Which catalogue.
        catalogue: String,
        /// In the words of whoever knows.
        reason: String,
    },
    /// The disk is full. What was acknowledged is safe; what was not is not there.
    #[error(
        "no space is left for the catalogue {catalogue}; make room and run the same command again (nothing was half-written)"
    )]
    Full {
        /// Which catalogue.
        catalogue: String,
    },
    /// What is stored does not read back.
    #[error("the catalogue {catalogue} is damaged: {reason}; run `zhulu verify`, and restore a backup if it agrees")]
    Damaged {
        /// Which catalogue.
        catalogue: String,
        /// What does not fit.
        reason: String,
    },
    /// A batch contradicts itself or the catalogue.
    #[error("{0}")]
    Refused(String),
    /// No such record.
    #[error("there is no record {0}")]
    NoRecord(RecordId),
    /// A blob that is referred to is not in the store.
    #[error("the file with SHA-256 {0} is missing from the blob store; run `zhulu verify`")]
    NoBlob(Digest),
    /// A blob could not be written or read.
    #[error("the blob store {store} failed: {reason}")]
    Blob {
        /// Which.
        store: String,
        /// In its own words.
        reason: String,
    },
    /// The search index could not be used.
    #[error("the search index in {} failed: {reason}; deleting that folder makes zhulu rebuild it", path.display())]
    Index {
        /// Where it is.
        path: PathBuf,
        /// In tantivy's words.
        reason: String,
    },
    /// A query that cannot be understood.
    #[error("the query {query:?} cannot be read: {reason}")]
    Query {
        /// As given.
        query: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// A file to read or write failed.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
