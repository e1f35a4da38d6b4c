//! The store on PostgreSQL: any number of processes on one database.
//!
//! On PostgreSQL the order of a sequence is not the order of commits. So writers follow one another here too: each takes a
//! database-wide advisory lock before it reads where the log stands, and holds it until it has committed. Within a process
//! waiting batches share a transaction, which makes up for the waiting. A writer that stops in the middle is ended by the
//! server after [`STALL`], so it cannot hold up the others for longer. What a batch means is `sequencer`'s.

mod copy;
mod job;
mod read;
mod schema;
mod write;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use jiff::Timestamp;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use zhulu_record::{Datestamp, Digest, Entry, Key, NodeId, RecordId, Source, Stamp};

use crate::address::Address;
use crate::error::Error;
use crate::job::{Job, JobId, JobState, JobStats, Lease, NewJob};
use crate::row::{Batch, Filter, Head, Listing, Logged, Receipt, SetInfo, SourceRow, Stored, TokenRow};
use crate::store::{Audit, Now, Store, Tallies};

/// How many batches may wait for the writer before callers have to: bounds memory while loading.
const QUEUE: usize = 64;
const CONNECTIONS: usize = 8;

/// How long a transaction of ours may do nothing before the server ends it and lets the others on.
const STALL: Duration = Duration::from_secs(15);

/// How long an append tries to reach a server that has gone away.
const PATIENCE: Duration = Duration::from_secs(20);

type Waiting = (Batch, oneshot::Sender<Result<Receipt, Error>>);

/// A catalogue's rows in a PostgreSQL database.
pub(crate) struct PostgresStore {
    shared: Arc<Shared>,
    requests: mpsc::Sender<Waiting>,
}

/// What the writer task and the readers have in common.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) pool: Pool,
    /// The latest horizon told to anybody: no datestamp may fall before it, even if the wall clock is set back.
    pub(super) floor: AtomicI64,
    pub(super) now: Now,
}

impl Shared {
    pub(super) async fn connection(&self) -> Result<Object, Error> {
        self.pool.get().await.map_err(|reason| {
            use std::error::Error as _;
            // The pool's own words ("error connecting to server") leave out what happened.
            let detail = reason.source().and_then(|source| source.source().or(Some(source))).map(ToString::to_string);
            let reason = detail.unwrap_or_else(|| reason.to_string());
            Error::Unavailable { catalogue: self.name.clone(), reason }
        })
    }

    pub(super) fn error(&self, reason: tokio_postgres::Error) -> Error {
        error(&self.name, reason)
    }
}

/// PostgreSQL's trouble, in terms of what the caller can do about it.
pub(super) fn error(name: &str, error: tokio_postgres::Error) -> Error {
    use tokio_postgres::error::SqlState;
    let catalogue = name.to_owned();
    let Some(db) = error.as_db_error() else {
        return Error::Unavailable { catalogue, reason: error.to_string() };
    };
    match db.code() {
        code if *code == SqlState::DISK_FULL => Error::Full { catalogue },
        code if code.code().starts_with("XX") => Error::Damaged { catalogue, reason: db.message().to_owned() },
        _ => Error::Unavailable { catalogue, reason: db.message().to_owned() },
    }
}

/// What stands in a column is not what was written there.
pub(super) fn damaged(name: &str, reason: impl ToString) -> Error {
    Error::Damaged { catalogue: name.to_owned(), reason: reason.to_string() }
}

/// An encrypted connection to a server whose certificate this machine trusts.
fn encryption(name: &str) -> Result<MakeRustlsConnect, Error> {
    let failed = |reason: rustls::Error| Error::Unavailable { catalogue: name.to_owned(), reason: reason.to_string() };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(failed)?
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

impl PostgresStore {
    /// Opens the catalogue in this database (in the first schema of its search path), making it if it is not there.
    pub(crate) async fn open(url: &str, now: Now) -> Result<PostgresStore, Error> {
        let address: Address = url.parse()?;
        let name = address.to_string();
        let mut config: Config = url.parse().map_err(|reason: tokio_postgres::Error| Error::Address {
            address: name.clone(),
            reason: reason.to_string(),
        })?;
        let stall = STALL.as_millis();
        let options = config.get_options().unwrap_or_default();
        config
            .options(format!("{options} -c idle_in_transaction_session_timeout={stall} -c statement_timeout=0").trim());
        config.connect_timeout(Duration::from_secs(10));
        config.application_name("zhulu");
        // Verified: each connection is asked for an answer before it is used, so one that died while idle is replaced.
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Verified };
        // Half a promise is none: a connection that would be encrypted only if it happens to work protects nothing.
        let manager = match config.get_ssl_mode() {
            SslMode::Require => Manager::from_config(config, encryption(&name)?, settings),
            _ => Manager::from_config(config, NoTls, settings),
        };
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(Duration::from_secs(60)))
            .create_timeout(Some(Duration::from_secs(15)))
            .build()
            .map_err(|reason| Error::Unavailable { catalogue: name.clone(), reason: reason.to_string() })?;
        let shared = Arc::new(Shared { name, pool, floor: AtomicI64::new(i64::MIN), now });

        let mut connection = shared.connection().await?;
        let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
        write::lock(&transaction).await.map_err(|reason| shared.error(reason))?;
        schema::prepare(&transaction, &shared.name).await?;
        let (node, secret) = (NodeId::random(), crate::store::new_secret());
        let sql = "INSERT INTO head VALUES (1, $1, $2, 0, 0, NULL, NULL, 0, 0, 0, 0, 0) ON CONFLICT (id) DO NOTHING";
        transaction
            .execute(sql, &[&node.as_bytes().as_slice(), &secret.as_slice()])
            .await
            .map_err(|reason| shared.error(reason))?;
        transaction.commit().await.map_err(|reason| shared.error(reason))?;
        drop(connection);

        let (requests, received) = mpsc::channel(QUEUE);
        tokio::spawn(write::run(shared.clone(), received));
        Ok(PostgresStore { shared, requests })
    }

    async fn connection(&self) -> Result<Object, Error> {
        self.shared.connection().await
    }

    fn stopped(&self) -> Error {
        Error::Unavailable { catalogue: self.shared.name.clone(), reason: "its writer has stopped".to_owned() }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn append(&self, batch: Batch) -> Result<Receipt, Error> {
        let (answer, answered) = oneshot::channel();
        self.requests.send((batch, answer)).await.map_err(|_| self.stopped())?;
        answered.await.map_err(|_| self.stopped())?
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<Logged>, Error> {
        read::log(&self.shared, after, limit).await
    }

    async fn changes(&self, after: u64, limit: usize) -> Result<Vec<(u64, RecordId)>, Error> {
        read::changes(&self.shared, after, limit).await
    }

    async fn head(&self) -> Result<Head, Error> {
        let connection = self.connection().await?;
        read::head(&self.shared, &connection).await.map(Head::from)
    }

    async fn horizon(&self) -> Result<Datestamp, Error> {
        let mut connection = self.connection().await?;
        let transaction = connection.transaction().await.map_err(|reason| self.shared.error(reason))?;
        // The clock first: whoever gets the lock after us reads it later, so gives no earlier datestamp.
        let time = Datestamp::from_timestamp((self.shared.now)());
        let quiet = write::try_lock_shared(&transaction).await.map_err(|reason| self.shared.error(reason))?;
        let committed = read::head(&self.shared, &transaction).await?.datestamp;
        // While somebody writes, with a datestamp that nobody sees yet, only what was committed is settled.
        let horizon = if quiet { committed.max(Some(time)) } else { committed };
        let horizon = horizon.unwrap_or(Datestamp::from_seconds(0));
        self.shared.floor.fetch_max(horizon.seconds(), Ordering::SeqCst);
        Ok(horizon)
    }

    async fn records(&self, ids: &[RecordId]) -> Result<Vec<Option<Stored>>, Error> {
        read::stored(&self.shared, ids).await
    }

    async fn history(&self, id: RecordId) -> Result<Vec<Logged>, Error> {
        let connection = self.connection().await?;
        read::history(&self.shared, &connection, id).await
    }

    async fn list(&self, listing: &Listing) -> Result<Vec<Stored>, Error> {
        read::list(&self.shared, listing).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        read::count(&self.shared, filter).await
    }

    async fn by_key(&self, key: &Key) -> Result<Option<RecordId>, Error> {
        read::by_key(&self.shared, key.record()).await
    }

    async fn alike(&self, id: RecordId, limit: usize) -> Result<Vec<RecordId>, Error> {
        read::alike(&self.shared, id, limit).await
    }

    async fn sets(&self) -> Result<Vec<SetInfo>, Error> {
        read::sets(&self.shared).await
    }

    async fn put_source(&self, row: &SourceRow) -> Result<(), Error> {
        write::put_source(&self.shared, row).await
    }

    async fn sources(&self) -> Result<Vec<SourceRow>, Error> {
        read::sources(&self.shared).await
    }

    async fn remove_source(&self, source: &Source) -> Result<bool, Error> {
        let connection = self.connection().await?;
        let removed = connection.execute("DELETE FROM source WHERE name = $1", &[&source.name()]).await;
        Ok(removed.map_err(|reason| self.shared.error(reason))? > 0)
    }

    async fn put_token(&self, row: &TokenRow) -> Result<(), Error> {
        let connection = self.connection().await?;
        let sql = "INSERT INTO token (name, digest, created) VALUES ($1, $2, $3) \
                   ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, created = excluded.created";
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&row.name, &row.digest.as_bytes().as_slice(), &row.created.seconds()];
        connection.execute(sql, &parameters).await.map_err(|reason| self.shared.error(reason))?;
        Ok(())
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        read::tokens(&self.shared).await
    }

    async fn remove_token(&self, name: &str) -> Result<bool, Error> {
        let connection = self.connection().await?;
        let removed = connection.execute("DELETE FROM token WHERE name = $1", &[&name]).await;
        Ok(removed.map_err(|reason| self.shared.error(reason))? > 0)
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Option<JobId>>, Error> {
        job::enqueue(&self.shared, jobs).await
    }

    async fn lease(&self, lease: &Lease) -> Result<Vec<Job>, Error> {
        job::lease(&self.shared, lease).await
    }

    async fn acknowledge(&self, jobs: &[Job]) -> Result<Vec<bool>, Error> {
        job::acknowledge(&self.shared, jobs).await
    }

    async fn fail(&self, job: &Job, error: &str) -> Result<Option<JobState>, Error> {
        job::fail(&self.shared, job, error).await
    }

    async fn give_back(&self, jobs: &[Job]) -> Result<(), Error> {
        job::give_back(&self.shared, jobs).await
    }

    async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<Job>, Error> {
        job::list(&self.shared, state, limit).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, Error> {
        job::one(&self.shared, id).await
    }

    async fn revive(&self, id: JobId) -> Result<bool, Error> {
        job::revive(&self.shared, id).await
    }

    async fn job_stats(&self) -> Result<JobStats, Error> {
        job::stats(&self.shared).await
    }

    async fn compact(&self, before: Timestamp) -> Result<u64, Error> {
        write::compact(&self.shared, Datestamp::from_timestamp(before)).await
    }

    async fn blob_digests(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, Error> {
        read::blob_digests(&self.shared, after, limit).await
    }

    async fn audit(&self, after: Option<RecordId>, limit: usize) -> Result<Vec<Audit>, Error> {
        read::audit(&self.shared, after, limit).await
    }

    async fn tallies(&self) -> Result<Tallies, Error> {
        read::tallies(&self.shared).await
    }

    async fn secret(&self) -> Result<Vec<u8>, Error> {
        read::secret(&self.shared).await
    }

    async fn quarantine(&self) -> Result<Vec<Entry>, Error> {
        read::quarantine(&self.shared).await
    }

    async fn export(&self, after: Option<Stamp>, limit: usize) -> Result<Vec<Entry>, Error> {
        read::export(&self.shared, after, limit).await
    }

    async fn backup(&self, path: &Path) -> Result<(), Error> {
        copy::backup(&self.shared, path).await
    }

    async fn restore(&self, path: &Path) -> Result<(), Error> {
        copy::restore(&self.shared, path).await
    }

    fn version(&self) -> i64 {
        schema::VERSION
    }

    fn file(&self) -> Option<&Path> {
        None
    }
}
