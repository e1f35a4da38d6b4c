//! The one interface over SQLite and PostgreSQL.
//!
//! A store keeps rows and gives them back; what a batch means for them is decided by `sequencer`, the same for both.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use zhulu_record::{Datestamp, Digest, Entry, Key, RecordId, SetName, Source, Stamp};

use crate::error::Error;
use crate::job::{Job, JobId, JobState, JobStats, Lease, NewJob};
use crate::row::{Batch, Filter, Head, Listing, Logged, Receipt, SetInfo, SourceRow, Stored, TokenRow};

/// How much of the log is read at once: entries that carry whole books must not fill the memory.
pub(crate) const LOG_BYTES: usize = 24 << 20;

/// Where the log and what is derived from it are kept.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Appends a batch and its cursor in one transaction. When this returns, it is on disk.
    async fn append(&self, batch: Batch) -> Result<Receipt, Error>;

    /// The log after `seq`, in order, at most `limit` entries and not much more than 24 MB. Never skips an entry that
    /// commits later; empty only at the log's end.
    async fn log(&self, after: u64, limit: usize) -> Result<Vec<Logged>, Error>;

    /// Which records the log after `seq` speaks of, entry by entry: the log without its bodies, for who follows it.
    async fn changes(&self, after: u64, limit: usize) -> Result<Vec<(u64, RecordId)>, Error>;

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

    /// One job; `None` once it is done.
    async fn job(&self, id: JobId) -> Result<Option<Job>, Error>;

    /// How many jobs there are.
    async fn job_stats(&self) -> Result<JobStats, Error>;

    /// Removes machine entries that were superseded before `before` from the log. How many went.
    async fn compact(&self, before: Timestamp) -> Result<u64, Error>;

    /// Digests of all blobs that any entry in the log refers to, in order, after `after`, at most `limit`.
    async fn blob_digests(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, Error>;

    /// Records with all that is stored of them, by identifier: what verification compares.
    async fn audit(&self, after: Option<RecordId>, limit: usize) -> Result<Vec<Audit>, Error>;

    /// Rows counted one by one, and the database's own complaints: what verification compares with the head.
    async fn tallies(&self) -> Result<Tallies, Error>;

    /// The log in the order of stamps, which is the same on every node, after `after`.
    async fn export(&self, after: Option<Stamp>, limit: usize) -> Result<Vec<Entry>, Error>;

    /// A secret of this catalogue's, made with it: what its servers sign sessions and resumption tokens with. The same on
    /// every server and after a restart; never exported.
    async fn secret(&self) -> Result<Vec<u8>, Error>;

    /// Entries in quarantine, by stamp.
    async fn quarantine(&self) -> Result<Vec<Entry>, Error>;

    /// A consistent copy of everything but blobs and index, as a new SQLite catalogue at `path`, while others go on writing.
    async fn backup(&self, path: &Path) -> Result<(), Error>;

    /// Fills this catalogue, which must be empty, from a backup: the same log, datestamps, sources, tokens and jobs.
    async fn restore(&self, path: &Path) -> Result<(), Error>;

    /// The number of the catalogue's stored form.
    fn version(&self) -> i64;

    /// The file it is kept in, if it is one.
    fn file(&self) -> Option<&Path>;
}

/// Random bytes for a new catalogue's secret.
pub(crate) fn new_secret() -> [u8; 32] {
    let mut bytes = [0; 32];
    // A guessable secret would let anybody sign in: there is nothing safe to go on with.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A source of the present time: the system's, or a test's.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A record with all that is stored of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Which.
    pub id: RecordId,
    /// When it last changed visibly.
    pub datestamp: Datestamp,
    /// Whether its row says it is deleted.
    pub deleted: bool,
    /// What it was merged into.
    pub merged_into: Option<RecordId>,
    /// The entries its row says still count.
    pub live: Vec<u64>,
    /// The sets its row says it is in.
    pub sets: BTreeSet<SetName>,
    /// The sets it is listed in, and under which datestamp.
    pub memberships: Vec<(SetName, Datestamp)>,
    /// All entries about it and about what was merged into it.
    pub history: Vec<Logged>,
}

/// Rows, counted one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tallies {
    /// In the log.
    pub entries: u64,
    /// The last of them.
    pub last_seq: u64,
    /// What the head says the last is.
    pub head_seq: u64,
    /// How many the head says compaction took out.
    pub compacted: u64,
    /// Record rows.
    pub records: u64,
    /// How many the head says there are.
    pub head_records: u64,
    /// Record rows that are deleted.
    pub deleted: u64,
    /// How many the head says are.
    pub head_deleted: u64,
    /// Memberships.
    pub memberships: u64,
    /// How many the sets say they have.
    pub set_records: u64,
    /// What the database itself finds wrong with its files.
    pub complaints: Vec<String>,
}
