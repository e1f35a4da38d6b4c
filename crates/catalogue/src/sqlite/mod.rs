//! The store on SQLite: one writer thread, a pool of readers, WAL with `synchronous=FULL`.
//!
//! Several processes may share the file: a writer's transaction takes SQLite's own write lock before it reads where the log
//! stands, so their batches follow one another. What a batch means is `sequencer`'s.

mod job;
mod read;
mod schema;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, mpsc, oneshot};
use zhulu_record::{Datestamp, Digest, Entry, Key, NodeId, RecordId, Source};

use crate::error::Error;
use crate::job::{Job, JobId, JobState, JobStats, Lease, NewJob};
use crate::row::{Batch, Filter, Head, Listing, Logged, Receipt, SetInfo, SourceRow, Stored, TokenRow};
use crate::store::{Audit, Now, Store, Tallies};

pub(crate) use schema::{TABLES, VERSION};

/// How many batches may wait for the writer before callers have to: bounds memory while loading.
const QUEUE: usize = 64;
const READERS: usize = 4;
/// How long to wait for another process's transaction.
const PATIENCE: Duration = Duration::from_secs(30);

type Work = Box<dyn FnOnce(&mut write::Writer) + Send>;

enum Request {
    Append(Batch, oneshot::Sender<Result<Receipt, Error>>),
    Run(Work),
}

/// A catalogue's rows in an SQLite file.
pub(crate) struct SqliteStore {
    path: PathBuf,
    name: String,
    requests: mpsc::Sender<Request>,
    readers: Arc<Readers>,
    probe: Arc<std::sync::Mutex<Connection>>,
    /// The latest horizon told to anybody: no datestamp may fall before it, even if the wall clock is set back.
    floor: Arc<AtomicI64>,
    now: Now,
}

struct Readers {
    idle: std::sync::Mutex<Vec<Connection>>,
    permits: Semaphore,
    path: PathBuf,
    name: String,
}

impl SqliteStore {
    /// Opens the file, making it (and its folder) if it is not there.
    pub(crate) fn open(path: &Path, now: Now) -> Result<SqliteStore, Error> {
        let name = format!("sqlite:{}", path.display());
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|reason| Error::Unavailable { catalogue: name.clone(), reason: reason.to_string() })?;
        }
        let mut connection = connect(path, &name, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        // Before anything is set: a catalogue that is not for us is left as it is, to the byte.
        schema::check(&connection, &name)?;
        let configure = || -> rusqlite::Result<()> {
            // Must come before the first table; on an existing file it changes nothing.
            connection.pragma_update(None, "page_size", 8192)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "cache_size", -96 * 1024)?;
            // 64 MB between checkpoints: half the writes of the default when loading, and a log that stays small.
            connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
            connection.pragma_update(None, "journal_size_limit", 128 << 20)?;
            Ok(())
        };
        configure().map_err(|reason| error(&name, reason))?;
        schema::prepare(&mut connection, &name)?;
        let secret = crate::store::new_secret();
        connection
            .execute(
                "INSERT OR IGNORE INTO head VALUES (1, ?1, ?2, 0, 0, NULL, NULL, 0, 0, 0, 0, 0)",
                (NodeId::random().as_bytes().as_slice(), secret.as_slice()),
            )
            .map_err(|reason| error(&name, reason))?;

        let probe = connect(path, &name, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        probe.busy_timeout(Duration::ZERO).map_err(|reason| error(&name, reason))?;
        let (requests, received) = mpsc::channel(QUEUE);
        let floor = Arc::new(AtomicI64::new(i64::MIN));
        let writer = write::Writer::new(connection, name.clone(), now.clone(), floor.clone());
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || writer.run(received))
            .map_err(|reason| Error::Unavailable { catalogue: name.clone(), reason: reason.to_string() })?;
        let readers = Readers {
            idle: std::sync::Mutex::default(),
            permits: Semaphore::new(READERS),
            path: path.to_owned(),
            name: name.clone(),
        };
        Ok(SqliteStore {
            path: path.to_owned(),
            name,
            requests,
            readers: Arc::new(readers),
            probe: Arc::new(std::sync::Mutex::new(probe)),
            floor,
            now,
        })
    }

    /// Runs a query on one of the readers, away from the async threads.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = self.readers.clone();
        let work = move |connection: &mut Connection| query(connection);
        readers.run(work).await
    }

    /// Runs something on the writer thread, in its own transaction.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Transaction) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.on_writer(move |writer| writer.transaction(work)).await
    }

    async fn on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut write::Writer) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |writer| {
            // A caller that is gone no longer wants the answer.
            let _ = answer.send(work(writer));
        });
        self.requests.send(Request::Run(work)).await.map_err(|_| self.stopped())?;
        answered.await.map_err(|_| self.stopped())?
    }

    fn stopped(&self) -> Error {
        Error::Unavailable { catalogue: self.name.clone(), reason: "its writer has stopped".to_owned() }
    }
}

impl Readers {
    async fn run<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = self.clone();
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let task = tokio::task::spawn_blocking(move || {
            let idle = readers.idle.lock().expect("no reader panics while it holds this").pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => connect(&readers.path, &readers.name, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
            };
            let answer = work(&mut connection).map_err(|reason| error(&readers.name, reason));
            readers.idle.lock().expect("no reader panics while it holds this").push(connection);
            answer
        });
        task.await.unwrap_or_else(|reason| {
            Err(Error::Unavailable {
                catalogue: self.name.clone(),
                reason: format!("a query was broken off: {reason}"),
            })
        })
    }
}

fn connect(path: &Path, name: &str, flags: OpenFlags) -> Result<Connection, Error> {
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        Ok(connection)
    };
    open().map_err(|reason| error(name, reason))
}

/// SQLite's trouble, in terms of what the caller can do about it.
pub(crate) fn error(name: &str, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let catalogue = name.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full { catalogue },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Damaged { catalogue, reason: error.to_string() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Unavailable {
            catalogue,
            reason: "another process has held its write lock for half a minute".to_owned(),
        },
        Some(_) => Error::Unavailable { catalogue, reason: error.to_string() },
        // A row that does not read back as what was written.
        None => Error::Damaged { catalogue, reason: error.to_string() },
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn append(&self, batch: Batch) -> Result<Receipt, Error> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Append(batch, answer)).await.map_err(|_| self.stopped())?;
        answered.await.map_err(|_| self.stopped())?
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<Logged>, Error> {
        self.read(move |connection| read::log(connection, after, limit)).await
    }

    async fn changes(&self, after: u64, limit: usize) -> Result<Vec<(u64, RecordId)>, Error> {
        self.read(move |connection| read::changes(connection, after, limit)).await
    }

    async fn head(&self) -> Result<Head, Error> {
        self.read(read::head).await.map(Head::from)
    }

    async fn horizon(&self) -> Result<Datestamp, Error> {
        let (probe, floor, now, name) = (self.probe.clone(), self.floor.clone(), self.now.clone(), self.name.clone());
        let task = tokio::task::spawn_blocking(move || {
            let probe = probe.lock().expect("the probe does not panic");
            // The clock first: whoever gets the write lock after us reads it later, so gives no earlier datestamp.
            let time = Datestamp::from_timestamp(now());
            let quiet = match probe.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
                Ok(()) => true,
                Err(busy) if busy.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => false,
                Err(other) => return Err(other),
            };
            let committed = read::head(&probe)?.datestamp;
            // While somebody writes, with a datestamp that nobody sees yet, only what was committed is settled.
            let horizon = if quiet { committed.max(Some(time)) } else { committed };
            let horizon = horizon.unwrap_or(Datestamp::from_seconds(0));
            floor.fetch_max(horizon.seconds(), Ordering::SeqCst);
            Ok(horizon)
        });
        match task.await {
            Ok(answer) => answer.map_err(|reason| error(&name, reason)),
            Err(reason) => Err(Error::Unavailable { catalogue: name, reason: reason.to_string() }),
        }
    }

    async fn records(&self, ids: &[RecordId]) -> Result<Vec<Option<Stored>>, Error> {
        let ids = ids.to_vec();
        self.read(move |connection| {
            let transaction = connection.unchecked_transaction()?;
            ids.into_iter().map(|id| read::stored(&transaction, id)).collect()
        })
        .await
    }

    async fn history(&self, id: RecordId) -> Result<Vec<Logged>, Error> {
        self.read(move |connection| read::history(connection, id)).await
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Stored>, Error> {
        let listing = listing.clone();
        self.read(move |connection| read::list(connection, &listing)).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let filter = filter.clone();
        self.read(move |connection| read::count(connection, &filter)).await
    }

    async fn by_key(&self, key: &Key) -> Result<Option<RecordId>, Error> {
        let key = key.record();
        self.read(move |connection| read::by_key(connection, key)).await
    }

    async fn alike(&self, id: RecordId, limit: usize) -> Result<Vec<RecordId>, Error> {
        self.read(move |connection| read::alike(connection, id, limit)).await
    }

    async fn sets(&self) -> Result<Vec<SetInfo>, Error> {
        self.read(read::sets).await
    }

    async fn put_source(&self, row: &SourceRow) -> Result<(), Error> {
        let row = row.clone();
        self.write(move |transaction| write::put_source(transaction, &row)).await
    }

    async fn sources(&self) -> Result<Vec<SourceRow>, Error> {
        self.read(read::sources).await
    }

    async fn remove_source(&self, source: &Source) -> Result<bool, Error> {
        let name = source.name().to_owned();
        self.write(move |transaction| Ok(transaction.execute("DELETE FROM source WHERE name = ?1", [name])? > 0)).await
    }

    async fn put_token(&self, row: &TokenRow) -> Result<(), Error> {
        let TokenRow { name, digest, created } = row.clone();
        self.write(move |transaction| {
            let sql = "INSERT OR REPLACE INTO token (name, digest, created) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, (name, digest.as_bytes().as_slice(), created.seconds()))?;
            Ok(())
        })
        .await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        self.read(read::tokens).await
    }

    async fn remove_token(&self, name: &str) -> Result<bool, Error> {
        let name = name.to_owned();
        self.write(move |transaction| Ok(transaction.execute("DELETE FROM token WHERE name = ?1", [name])? > 0)).await
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Option<JobId>>, Error> {
        let (jobs, now) = (jobs.to_vec(), (self.now)());
        self.write(move |transaction| job::enqueue(transaction, &jobs, now)).await
    }

    async fn lease(&self, lease: &Lease) -> Result<Vec<Job>, Error> {
        let (lease, now) = (lease.clone(), (self.now)());
        // Most of the time there is nothing to do, and finding that out must not cost a write.
        if !self.read(move |connection| job::any_due(connection, now)).await? {
            return Ok(Vec::new());
        }
        self.write(move |transaction| job::lease(transaction, &lease, now)).await
    }

    async fn acknowledge(&self, jobs: &[Job]) -> Result<Vec<bool>, Error> {
        let jobs = jobs.to_vec();
        self.write(move |transaction| job::acknowledge(transaction, &jobs)).await
    }

    async fn fail(&self, job: &Job, error: &str) -> Result<Option<JobState>, Error> {
        let (job, error, now) = (job.clone(), error.to_owned(), (self.now)());
        self.write(move |transaction| job::fail(transaction, &job, &error, now)).await
    }

    async fn give_back(&self, jobs: &[Job]) -> Result<(), Error> {
        let (jobs, now) = (jobs.to_vec(), (self.now)());
        self.write(move |transaction| job::give_back(transaction, &jobs, now)).await
    }

    async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<Job>, Error> {
        self.read(move |connection| job::list(connection, state, limit)).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        self.read(move |connection| job::one(connection, id)).await
    }

    async fn revive(&self, id: JobId) -> Result<bool, Error> {
        let now = (self.now)();
        self.write(move |transaction| job::revive(transaction, id, now)).await
    }

    async fn job_stats(&self) -> Result<JobStats, Error> {
        self.read(job::stats).await
    }

    async fn compact(&self, before: Timestamp) -> Result<u64, Error> {
        let before = Datestamp::from_timestamp(before);
        let (mut after, mut removed) = (0, 0);
        // In pieces, each a transaction of its own, so that writers get their turn in between.
        while let Some((last, gone)) = self.write(move |transaction| write::compact(transaction, after, before)).await?
        {
            after = last;
            removed += gone;
        }
        Ok(removed)
    }

    async fn blob_digests(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, Error> {
        self.read(move |connection| read::blob_digests(connection, after, limit)).await
    }

    async fn audit(&self, after: Option<RecordId>, limit: usize) -> Result<Vec<Audit>, Error> {
        self.read(move |connection| read::audit(connection, after, limit)).await
    }

    async fn tallies(&self) -> Result<Tallies, Error> {
        self.read(read::tallies).await
    }

    async fn secret(&self) -> Result<Vec<u8>, Error> {
        self.read(|connection| connection.query_row("SELECT secret FROM head", [], |row| row.get(0))).await
    }

    async fn quarantine(&self) -> Result<Vec<Entry>, Error> {
        self.read(read::quarantine).await
    }

    async fn export(&self, after: Option<zhulu_record::Stamp>, limit: usize) -> Result<Vec<Entry>, Error> {
        self.read(move |connection| read::export(connection, after, limit)).await
    }

    async fn backup(&self, path: &Path) -> Result<(), Error> {
        let path = path.to_owned();
        let readers = self.readers.clone();
        readers
            .run(move |connection| {
                let mut copy = Connection::open(&path)?;
                let backup = rusqlite::backup::Backup::new(connection, &mut copy)?;
                // All pages in one step: a reader's snapshot, so that writers do not make it start over.
                backup.run_to_completion(i32::MAX, Duration::ZERO, None)
            })
            .await
    }

    async fn restore(&self, path: &Path) -> Result<(), Error> {
        let path = path.to_owned();
        self.on_writer(move |writer| writer.restore(&path)).await
    }

    fn version(&self) -> i64 {
        VERSION
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// Opens a catalogue's file by itself, making its tables if they are not there: for backups.
pub(crate) fn create(path: &Path) -> Result<Connection, Error> {
    let name = format!("sqlite:{}", path.display());
    let mut connection = connect(path, &name, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    schema::prepare(&mut connection, &name)?;
    Ok(connection)
}
