//! The one interface over SQLite and PostgreSQL.
//!
//! A store keeps rows and gives them back; what a batch means for them is decided by `sequencer`, the same for both.

use async_trait::async_trait;
use jiff::Timestamp;
use zhulu_record::{Datestamp, Digest, Key, RecordId, Source};

use crate::error::Error;
use crate::job::{Job, JobId, JobState, JobStats, Lease, NewJob};
use crate::row::{Batch, Filter, Head, Listing, Logged, Receipt, SetInfo, SourceRow, Stored, TokenRow};

/// Where the log and what is derived from it are kept.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Appends a batch and its cursor in one transaction. When this returns, it is on disk.
    async fn append(&self, batch: Batch) -> Result<Receipt, Error>;

    /// The log after `seq`, in order, at most `limit` entries. Never skips an entry that commits later.
    async fn log(&self, after: u64, limit: usize) -> Result<Vec<Logged>, Error>;

    /// Where the log stands.
    async fn head(&self) -> Result<Head, Error>;

    /// The latest time of which it is certain that nothing will still be given an earlier datestamp. A harvester told this
    /// as `responseDate`, and coming back `from` it, misses nothing. Ask before listing, not after.
    async fn horizon(&self) -> Result<Datestamp, Error>;

    /// The records with these identifiers, in their order; `None` for one that was never there.
    async fn records(&self, ids: &[RecordId]) -> Result<Vec<Option<Stored>>, Error>;

    /// All entries about a record, oldest first.
    async fn history(&self, id: RecordId) -> Result<Vec<Logged>, Error>;

    /// A page of records. Costs the same however deep in the listing.
    async fn list(&self, listing: &Listing) -> Result<Vec<Stored>, Error>;

    /// How many records a listing has in all.
    async fn count(&self, filter: &Filter) -> Result<u64, Error>;

    /// The record that has this key.
    async fn by_key(&self, key: &Key) -> Result<Option<RecordId>, Error>;

    /// Other records that share a DOI or have a like title: candidates for a person to judge.
    async fn alike(&self, id: RecordId, limit: usize) -> Result<Vec<RecordId>, Error>;

    /// All sets that any record is in.
    async fn sets(&self) -> Result<Vec<SetInfo>, Error>;

    /// Keeps a source, replacing what was kept under its name.
    async fn put_source(&self, row: &SourceRow) -> Result<(), Error>;

    /// All sources, by name.
    async fn sources(&self) -> Result<Vec<SourceRow>, Error>;

    /// Forgets a source; what it has said stays. Whether there was one.
    async fn remove_source(&self, source: &Source) -> Result<bool, Error>;

    /// Keeps a token, replacing what was kept under its name.
    async fn put_token(&self, row: &TokenRow) -> Result<(), Error>;

    /// All tokens, by name.
    async fn tokens(&self) -> Result<Vec<TokenRow>, Error>;

    /// Forgets a token. Whether there was one.
    async fn remove_token(&self, name: &str) -> Result<bool, Error>;

    /// Queues jobs. The number of each, or `None` for one that was queued already.
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Option<JobId>>, Error>;

    /// Gives jobs to a worker: due ones, oldest first, and those whose lease has run out.
    async fn lease(&self, lease: &Lease) -> Result<Vec<Job>, Error>;

    /// The jobs are done. Whether each was still this worker's to finish.
    async fn acknowledge(&self, jobs: &[Job]) -> Result<Vec<bool>, Error>;

    /// The job failed: it is tried again later, or left as dead. `None` if it was no longer this worker's.
    async fn fail(&self, job: &Job, error: &str) -> Result<Option<JobState>, Error>;

    /// Gives back jobs that were leased and not begun, as if they never had been.
    async fn give_back(&self, jobs: &[Job]) -> Result<(), Error>;

    /// Jobs in a state, by number.
    async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<Job>, Error>;

    /// A dead job is to be tried again from the start. Whether there was one.
    async fn revive(&self, id: JobId) -> Result<bool, Error>;

    /// How many jobs there are.
    async fn job_stats(&self) -> Result<JobStats, Error>;

    /// Removes machine entries that were superseded before `before` from the log. How many went.
    async fn compact(&self, before: Timestamp) -> Result<u64, Error>;

    /// Digests of all blobs that any entry in the log refers to, in order, after `after`, at most `limit`.
    async fn blob_digests(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, Error>;

    /// Whether the log and everything derived from it agree: one sentence for each place they do not.
    async fn verify(&self) -> Result<Vec<String>, Error>;

    /// Entries in quarantine.
    async fn quarantine(&self) -> Result<Vec<zhulu_record::Entry>, Error>;

    /// A consistent copy of everything but blobs and index, as a new SQLite catalogue at `path`, while others go on writing.
    async fn backup(&self, path: &std::path::Path) -> Result<(), Error>;

    /// The number of the catalogue's stored form.
    fn version(&self) -> i64;
}
