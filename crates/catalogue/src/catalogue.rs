//! The catalogue as the rest of the program sees it: a store, its blobs and its index, held together.
//!
//! Rows are read through [`Catalogue::store`], files through [`Catalogue::blobs`]; the methods here are those that need
//! more than one of them, or a person's view of a record. Moving whole catalogues is `transfer`'s, checking them `verify`'s.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Mutex, Notify};
use zhulu_record::{
    Change, Confidence, Draft, Element, Evidence, Key, Put, Record, RecordId, Register, Source, State, Statement,
};

use crate::address::{Address, Settings};
use crate::blob::Blobs;
use crate::error::Error;
use crate::postgres::PostgresStore;
use crate::row::{Batch, Receipt, Stored};
use crate::search::{Index, Query, Results};
use crate::sqlite::SqliteStore;
use crate::store::{Now, Store};

/// How many entries of the log the index looks at in one go.
const INDEX_STEP: usize = 2_000;

/// How many records are in memory on their way into the index: some carry the text of whole books.
const INDEX_PART: usize = 250;

/// How many entries the index commits together. A commit costs about the same for one record and for thousands.
const INDEX_COMMIT: u64 = 40_000;

/// How often a follower looks for entries that another process has written.
const INDEX_TICK: Duration = Duration::from_millis(500);

/// How long a search waits for the entry it asks for.
const SEARCH_PATIENCE: Duration = Duration::from_secs(10);

/// A catalogue, open. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Catalogue {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    store: Box<dyn Store>,
    blobs: Blobs,
    index: Index,
    /// One catching-up at a time.
    indexing: Mutex<()>,
    appended: Notify,
    now: Now,
}

impl Catalogue {
    /// Opens the catalogue, making it if it is not there, bringing an older stored form up to date.
    pub async fn open(settings: Settings) -> Result<Catalogue, Error> {
        Catalogue::open_at(settings, Arc::new(Timestamp::now)).await
    }

    /// The same, with a clock of the caller's.
    pub async fn open_at(settings: Settings, now: Now) -> Result<Catalogue, Error> {
        let store: Box<dyn Store> = match &settings.address {
            Address::Sqlite(path) => Box::new(SqliteStore::open(path, now.clone())?),
            Address::Postgres(url) => Box::new(PostgresStore::open(url, now.clone()).await?),
        };
        let blobs = Blobs::open(&settings.blobs)?;
        let index = Index::open(&settings.index)?;
        if index.position() > store.head().await?.seq {
            // Another catalogue's index, or one that was ahead of a restored backup: it is filled again from this log.
            tracing::warn!(index = %settings.index.display(), "the index knows more of the log than the catalogue has; rebuilding it");
            index.clear()?;
        }
        let inner = Inner { settings, store, blobs, index, indexing: Mutex::default(), appended: Notify::new(), now };
        Ok(Catalogue { inner: Arc::new(inner) })
    }

    /// What it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The log and what is derived from it.
    pub fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// Files and responses.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    pub(crate) fn index(&self) -> &Index {
        &self.inner.index
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.inner.now)()
    }

    /// Appends changes. When this returns they are durable.
    pub async fn append(&self, batch: Batch) -> Result<Receipt, Error> {
        let receipt = self.store().append(batch).await?;
        for digest in &receipt.orphaned {
            self.blobs().remove(*digest).await?;
        }
        self.inner.appended.notify_one();
        Ok(receipt)
    }

    /// One record; a record merged into another leads to that one.
    pub async fn record(&self, id: RecordId) -> Result<Option<Stored>, Error> {
        match self.store().records(&[id]).await?.pop().flatten() {
            Some(Stored { merged_into: Some(other), .. }) => Ok(self.store().records(&[other]).await?.pop().flatten()),
            found => Ok(found),
        }
    }

    /// A person's edit: the new values of elements (an empty list says the element has none). One entry for each element,
    /// replacing what now stands there, so that a concurrent edit of the same element is seen as a conflict.
    pub async fn edit(
        &self,
        id: RecordId,
        person: &str,
        edits: Vec<(Element, Vec<Statement>)>,
    ) -> Result<Receipt, Error> {
        let (record, state) = self.opened(id).await?;
        let drafts = edits.into_iter().map(|(element, statements)| {
            let replaces = state.winner(&Register::Element(element.clone()));
            let clears = if statements.is_empty() { BTreeSet::from([element]) } else { BTreeSet::new() };
            let evidence = person_evidence(person);
            let put = Put { kind: record.kind, statements, clears, evidence, ..Put::default() };
            Draft {
                record: record.id,
                source: Source::people(),
                by: None,
                replaces,
                change: Change::Put(Box::new(put)),
            }
        });
        self.append(Batch::of(drafts.collect())).await
    }

    /// A person removes a record.
    pub async fn delete(&self, id: RecordId, person: &str) -> Result<Receipt, Error> {
        let (record, state) = self.opened(id).await?;
        let replaces = state.winner(&Register::Existence);
        let draft = Draft::delete(Source::people(), record.id).by(person).replacing(replaces);
        self.append(Batch::of(vec![draft])).await
    }

    /// A person gives elements (none named: the whole record) back to the machines.
    pub async fn release(&self, id: RecordId, person: &str, elements: Vec<Element>) -> Result<Receipt, Error> {
        let (record, state) = self.opened(id).await?;
        let release = |elements: BTreeSet<Element>, register: Register| Draft {
            record: record.id,
            source: Source::people(),
            by: Some(format!("person:{person}")),
            replaces: state.winner(&register),
            change: Change::Release(elements),
        };
        let drafts = if elements.is_empty() {
            vec![release(BTreeSet::new(), Register::Existence)]
        } else {
            elements
                .into_iter()
                .map(|element| release(BTreeSet::from([element.clone()]), Register::Element(element)))
                .collect()
        };
        self.append(Batch::of(drafts)).await
    }

    /// A person makes a record from nothing.
    pub async fn create(&self, person: &str, put: Put) -> Result<RecordId, Error> {
        let id = RecordId::random();
        let mut put = put;
        put.keys.insert(0, Key::Opaque(id));
        put.evidence = put.evidence.or(&person_evidence(person));
        let draft = Draft {
            record: id,
            source: Source::people(),
            by: None,
            replaces: None,
            change: Change::Put(Box::new(put)),
        };
        let receipt = self.append(Batch::of(vec![draft])).await?;
        Ok(receipt.outcomes.first().map_or(id, |(record, _)| *record))
    }

    /// Legal removal: values, blobs, index and history go, here and (through the log) on every node; a marker stays.
    pub async fn erase(&self, id: RecordId, person: &str) -> Result<Receipt, Error> {
        let (record, _) = self.opened(id).await?;
        let receipt = self.append(Batch::of(vec![Draft::erase(record.id).by(person)])).await?;
        self.catch_up().await?;
        Ok(receipt)
    }

    async fn opened(&self, id: RecordId) -> Result<(Record, State), Error> {
        let stored = self.record(id).await?.ok_or(Error::NoRecord(id))?;
        let history = self.store().history(stored.record.id).await?;
        Ok((stored.record, State::of(history.iter().map(|logged| &logged.entry))))
    }

    /// Asks the index. With `after`, waits (a few seconds at most) until that entry of the log is in it.
    pub async fn search(&self, query: Query, after: Option<u64>) -> Result<Results, Error> {
        if let Some(seq) = after {
            self.await_index(seq).await?;
        }
        let catalogue = self.clone();
        blocking(move || catalogue.index().search(&query)).await
    }

    async fn await_index(&self, seq: u64) -> Result<(), Error> {
        let wait = async {
            while self.index().position() < seq {
                if self.catch_up().await? == 0 {
                    // Another process holds the pen; it looks every half second.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            Ok(())
        };
        match tokio::time::timeout(SEARCH_PATIENCE, wait).await {
            Ok(answer) => answer,
            // Answering with what there is beats not answering: the results say how far they go.
            Err(_) => Ok(()),
        }
    }

    /// Brings the index up to the log's end; returns how many entries were new to it. Another process may hold the index's
    /// only pen: then this waits for nothing and returns 0.
    pub async fn catch_up(&self) -> Result<u64, Error> {
        let _one = self.inner.indexing.lock().await;
        let (mut taken, mut waiting) = (0, 0);
        let mut committed = self.index().position();
        let mut position = committed;
        let mut erased = false;
        loop {
            let changes = self.store().changes(position, INDEX_STEP).await?;
            let end = changes.len() < INDEX_STEP;
            if let Some((last, _)) = changes.last() {
                position = *last;
                waiting += changes.len() as u64;
                if !self.stage(changes.into_iter().map(|(_, id)| id).collect(), &mut erased).await? {
                    return Ok(taken);
                }
            }
            if waiting >= INDEX_COMMIT || (end && waiting > 0) {
                let (catalogue, from, erasing) = (self.clone(), committed, erased);
                let commit = blocking(move || {
                    let index = catalogue.index();
                    // The old values must be out of the files before the position says that this is done: a process
                    // killed in between does it again.
                    if erasing && !(index.update(&[], from)? && index.purge()?) {
                        return Ok(false);
                    }
                    index.update(&[], position)
                });
                if !commit.await? {
                    return Ok(taken);
                }
                taken += waiting;
                (waiting, committed, erased) = (0, position, false);
            }
            if end {
                return Ok(taken);
            }
        }
    }

    /// Hands the records to the index as they now are, and those they were merged into. `false` if another process has
    /// the pen.
    async fn stage(&self, mut ids: Vec<RecordId>, erased: &mut bool) -> Result<bool, Error> {
        ids.sort_unstable();
        ids.dedup();
        let mut others: Vec<RecordId> = Vec::new();
        while !ids.is_empty() {
            for part in ids.chunks(INDEX_PART) {
                let records: Vec<Stored> = self.store().records(part).await?.into_iter().flatten().collect();
                others.extend(records.iter().filter_map(|stored| stored.merged_into));
                *erased |= records.iter().any(|stored| stored.record.erased);
                let records: Vec<Record> = records.into_iter().map(|stored| stored.record).collect();
                let catalogue = self.clone();
                if !blocking(move || catalogue.index().stage(&records)).await? {
                    return Ok(false);
                }
            }
            others.retain(|id| ids.binary_search(id).is_err());
            others.sort_unstable();
            others.dedup();
            ids = std::mem::take(&mut others);
        }
        Ok(true)
    }

    /// Keeps the index up with the log until the future is dropped: run it as a task in a serving process.
    pub async fn follow(&self) -> Result<(), Error> {
        loop {
            self.catch_up().await?;
            // Woken by this process's own appends; other processes' are found at the next tick.
            let _ = tokio::time::timeout(INDEX_TICK, self.inner.appended.notified()).await;
        }
    }

    /// How far the index is behind the log: entries, and the time since the oldest of them was appended.
    pub async fn lag(&self) -> Result<(u64, Duration), Error> {
        let position = self.index().position();
        let entries = self.store().head().await?.seq.saturating_sub(position);
        let oldest = if entries > 0 { self.store().log(position, 1).await?.pop() } else { None };
        let age = oldest.map(|logged| self.now().duration_since(logged.datestamp.timestamp()));
        Ok((entries, age.and_then(|age| age.try_into().ok()).unwrap_or_default()))
    }
}

fn person_evidence(person: &str) -> Evidence {
    Evidence { by: Some(format!("person:{person}")), at: None, confidence: Some(Confidence::CERTAIN) }
}

/// Runs what would hold up an async thread on another.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|reason| std::panic::resume_unwind(reason.into_panic()))
}
