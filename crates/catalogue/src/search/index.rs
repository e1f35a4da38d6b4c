//! The index on disk: opening, writing, reading, purging. What a record becomes in it is `schema`'s, what a query
//! becomes is `compile`'s.
//!
//! Any number of processes may read; one at a time holds the pen. The place in the log travels with each commit, so
//! index and place never disagree, whenever the process dies.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tantivy::collector::{Count, TopDocs};
use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy};
use tantivy::schema::Schema;
use tantivy::{DocAddress, IndexReader, IndexWriter, Order, ReloadPolicy, Searcher, TantivyError};
use zhulu_record::{Record, RecordId};

use super::compile::{Compiled, compile};
use super::facet::FacetCollector;
use super::query::parse;
use super::schema::{DATE_COLUMN, FACETS, Fields, ID_COLUMNS};
use super::tokenizer::TextTokenizer;
use super::{Hit, Query, Results};
use crate::error::Error;

/// Threads that cut text and build segments. Two keep up with the loading of a catalogue on two cores; more would only
/// make more and smaller segments.
const WRITERS: usize = 2;

/// The memory each may fill before it writes a segment. The whole program has to load a million records within 500 MB.
const MEMORY_PER_WRITER: usize = 24 << 20;

/// Segments of more records than this are no longer merged, unless the index is so large that this would leave more
/// than about [`SEGMENTS`] of them. A merge maps all it reads into memory, and most of a load's work would be the last,
/// largest ones.
const MERGED_UP_TO: usize = 40_000;
const SEGMENTS: usize = 16;

/// The file that names the index's segments and carries the position; it is replaced whole with every commit and merge.
const META: &str = "meta.json";

/// How long another process may take to make a new index, or a search to let go of files that are to be purged.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The index.
pub struct Index {
    folder: PathBuf,
    index: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
    view: Mutex<View>,
    pen: Mutex<Option<Pen>>,
}

/// What is read from now.
struct View {
    /// The bytes of the file it was read from: a search looks whether they have changed.
    meta: Vec<u8>,
    searcher: Searcher,
    seq: u64,
}

/// The right to write, which only one process has.
struct Pen {
    writer: IndexWriter,
    /// Records handed over since the last commit, which a look into the index does not find.
    staged: HashSet<RecordId>,
}

/// Nobody leaves these half changed: what a panic interrupts is at worst a writer, which is then given up.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Index {
    /// Opens the index in `folder`, making it if it is not there. One of another form, or damaged, is replaced by an
    /// empty one: its position is 0, and the log fills it again. Needs no pen unless it has to make or replace.
    pub fn open(folder: &Path) -> Result<Index, Error> {
        std::fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
        let (schema, fields) = Fields::schema();
        let opened = Index::open_there(folder, &schema, fields);
        let reason = match opened {
            Ok(index) => return Ok(index),
            Err(Unusable::Absent) => None,
            Err(Unusable::Replace(reason)) => Some(reason),
            Err(Unusable::Failed(error)) => return Err(failure(folder, error)),
        };
        let failed = |error: TantivyError| failure(folder, error);
        let directory = MmapDirectory::open(folder).map_err(|error| failed(error.into()))?;
        let begun = std::time::Instant::now();
        let lock = loop {
            match directory.acquire_lock(&INDEX_WRITER_LOCK) {
                Ok(lock) => break lock,
                Err(LockError::LockBusy) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(LockError::LockBusy) => {
                    let reason = "another process is writing an index of another form there; stop it first".to_owned();
                    return Err(Error::Index { path: folder.to_owned(), reason });
                }
                Err(error) => return Err(failed(TantivyError::LockFailure(error, None))),
            }
        };
        // While this one waited, another may have made it.
        if let Ok(index) = Index::open_there(folder, &schema, fields) {
            return Ok(index);
        }
        if let Some(reason) = reason {
            let shown = folder.display();
            tracing::warn!(folder = %shown, reason, "the search index is of another form or damaged; it is built anew");
            empty(folder)?;
        }
        tantivy::Index::create(directory, schema.clone(), tantivy::IndexSettings::default()).map_err(failed)?;
        drop(lock);
        Index::open_there(folder, &schema, fields).map_err(|unusable| match unusable {
            Unusable::Failed(error) => failure(folder, error),
            Unusable::Replace(reason) => Error::Index { path: folder.to_owned(), reason },
            Unusable::Absent => {
                Error::Index { path: folder.to_owned(), reason: "it went away while being made".to_owned() }
            }
        })
    }

    fn open_there(folder: &Path, schema: &Schema, fields: Fields) -> Result<Index, Unusable> {
        // Of a file cut short tantivy reads beyond its beginning, and panics.
        let opened = std::panic::catch_unwind(|| Index::read_there(folder, schema, fields));
        opened.unwrap_or_else(|_| Err(Unusable::Replace("a file of it cannot be read".to_owned())))
    }

    fn read_there(folder: &Path, schema: &Schema, fields: Fields) -> Result<Index, Unusable> {
        let meta = match std::fs::read(folder.join(META)) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Unusable::Absent),
            Err(error) => return Err(Unusable::Failed(error.into())),
        };
        let index = tantivy::Index::open_in_dir(folder)?;
        if index.schema() != *schema {
            return Err(Unusable::Replace("its fields are those of another version".to_owned()));
        }
        index.tokenizers().register(TextTokenizer::NAME, TextTokenizer::default());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let seq = position_in(&meta).ok_or_else(|| Unusable::Replace(format!("{META} does not say its position")))?;
        let view = View { meta, searcher: reader.searcher(), seq };
        Ok(Index { folder: folder.to_owned(), index, reader, fields, view: Mutex::new(view), pen: Mutex::new(None) })
    }

    /// The newest state of the index, and the place in the log up to which it is certainly true. Whoever wrote it:
    /// looking whether there is a newer one costs the reading of one small file.
    fn newest(&self) -> Result<(Searcher, u64), Error> {
        let path = self.folder.join(META);
        let meta = std::fs::read(&path).map_err(|source| Error::File { path: path.clone(), source })?;
        let mut view = lock(&self.view);
        if view.meta != meta {
            let seq = position_in(&meta).ok_or_else(|| self.damaged(format!("{META} does not say its position")))?;
            // Read after the file, so it is as new or newer: the position never promises too much.
            self.reader.reload().map_err(|error| self.failed(error))?;
            *view = View { meta, searcher: self.reader.searcher(), seq };
        }
        Ok((view.searcher.clone(), view.seq))
    }

    /// The seq up to which the log is in the index, whoever wrote it there.
    pub fn position(&self) -> u64 {
        self.newest().map_or_else(|_| lock(&self.view).seq, |(_, seq)| seq)
    }

    /// Replaces these records (a deleted one is taken out), and moves the position to `seq`, durably, in one commit.
    /// `false` if another process holds the pen: then nothing was done, and that process will do it. Blocking.
    ///
    /// A commit costs some tens of milliseconds whatever is in it; who loads much calls [`Index::stage`] with all but
    /// the last part.
    pub fn update(&self, records: &[Record], seq: u64) -> Result<bool, Error> {
        self.with_pen(|pen| {
            self.hand_over(pen, records)?;
            self.commit(pen, seq)
        })
    }

    /// Hands records over without committing them: they are neither found nor durable before the next
    /// [`Index::update`], and the position stays. For loading much in parts. `false` if another process holds the pen.
    /// Blocking.
    pub fn stage(&self, records: &[Record]) -> Result<bool, Error> {
        self.with_pen(|pen| self.hand_over(pen, records))
    }

    /// Empties the index and puts its position to 0: for a log that is not the one it was fed from. `false` if another
    /// process holds the pen. Blocking.
    pub fn clear(&self) -> Result<bool, Error> {
        self.with_pen(|pen| {
            pen.writer.delete_all_documents()?;
            self.commit(pen, 0)
        })
    }

    /// Rewrites the index's files so that no byte of a record taken out is left in them. `false` if another process
    /// holds the pen: it has to do it. What was staged and not committed is forgotten. Blocking; costs the rewriting of
    /// every segment that a record was taken out of.
    pub fn purge(&self) -> Result<bool, Error> {
        // Merges under way would bring the old files back into use: let them finish, and start none.
        if let Some(pen) = lock(&self.pen).take() {
            pen.writer.wait_merging_threads().map_err(|error| self.failed(error))?;
        }
        let done = self.with_pen(|pen| {
            pen.writer.set_merge_policy(Box::new(NoMergePolicy));
            for segment in self.index.searchable_segment_metas()?.iter().filter(|segment| segment.has_deletes()) {
                pen.writer.merge(&[segment.id()]).wait()?;
            }
            let begun = std::time::Instant::now();
            loop {
                // A file is removed once nobody here reads it; the search that does will be over soon.
                drop(self.newest());
                pen.writer.garbage_collect_files().wait()?;
                let stale = self.stale_files()?;
                if stale.is_empty() {
                    return Ok(());
                }
                if begun.elapsed() > PATIENCE {
                    let reason = format!("{} files with erased records are still being read", stale.len());
                    return Err(TantivyError::SystemError(reason));
                }
                std::thread::sleep(PAUSE);
            }
        });
        // The next writer merges again.
        self.release_pen();
        done
    }

    /// Files of segments that the index no longer has.
    fn stale_files(&self) -> tantivy::Result<Vec<PathBuf>> {
        let living: HashSet<String> =
            self.index.searchable_segment_ids()?.iter().map(|segment| segment.uuid_string()).collect();
        let mut stale = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let segment = path.file_name().and_then(|name| name.to_str()).and_then(segment_of);
            if segment.is_some_and(|segment| !living.contains(segment)) {
                stale.push(path);
            }
        }
        Ok(stale)
    }

    /// Lets another process write. What was staged and not committed is forgotten.
    pub fn release_pen(&self) {
        drop(lock(&self.pen).take());
    }

    /// Does something with the pen, taking it up if it is free. `false` if another process holds it.
    fn with_pen(&self, work: impl FnOnce(&mut Pen) -> tantivy::Result<()>) -> Result<bool, Error> {
        let mut held = lock(&self.pen);
        let pen = match &mut *held {
            Some(pen) => pen,
            None => {
                let options = IndexWriterOptions::builder()
                    .num_worker_threads(WRITERS)
                    .memory_budget_per_thread(MEMORY_PER_WRITER)
                    .num_merge_threads(1)
                    .build();
                match self.index.writer_with_options(options) {
                    Ok(writer) => {
                        // Whoever had it before has written; what is to be replaced is looked for in the newest state.
                        self.newest()?;
                        held.insert(Pen { writer, staged: HashSet::new() })
                    }
                    Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(false),
                    Err(error) => return Err(self.failed(error)),
                }
            }
        };
        match work(pen) {
            Ok(()) => Ok(true),
            Err(error) => {
                // A writer that has failed refuses everything from then on; the next update starts from the last
                // commit.
                *held = None;
                Err(self.failed(error))
            }
        }
    }

    fn hand_over(&self, pen: &mut Pen, records: &[Record]) -> tantivy::Result<()> {
        let searcher = lock(&self.view).searcher.clone();
        // Of a record that comes twice the last is the one.
        let mut seen = HashSet::with_capacity(records.len());
        let last: Vec<&Record> = records.iter().rev().filter(|record| seen.insert(record.id)).collect();
        for record in last.into_iter().rev() {
            let term = self.fields.id_term(record.id);
            // Every deletion is later tried on every segment, which while loading is most of the work, and for nothing.
            if pen.staged.contains(&record.id) || searcher.doc_freq(&term)? > 0 {
                pen.writer.delete_term(term);
            }
            if !record.deleted {
                pen.writer.add_document(self.fields.document(record))?;
                pen.staged.insert(record.id);
            }
        }
        Ok(())
    }

    fn commit(&self, pen: &mut Pen, seq: u64) -> tantivy::Result<()> {
        let records = usize::try_from(lock(&self.view).searcher.num_docs()).unwrap_or(usize::MAX);
        let mut policy = LogMergePolicy::default();
        policy.set_max_docs_before_merge(MERGED_UP_TO.max(records / SEGMENTS));
        pen.writer.set_merge_policy(Box::new(policy));
        let mut commit = pen.writer.prepare_commit()?;
        commit.set_payload(&seq.to_string());
        commit.commit()?;
        // The next batch looks for what this one brought, so what is read has to be as new as what is written.
        self.newest().map_err(|error| TantivyError::SystemError(error.to_string()))?;
        pen.staged.clear();
        Ok(())
    }

    /// Asks. Blocking.
    pub fn search(&self, query: &Query) -> Result<Results, Error> {
        let node = parse(&query.text)?;
        let mut chosen = Vec::with_capacity(query.facets.len() + 1);
        for (name, value) in &query.facets {
            let field = self.fields.facet(name).ok_or_else(|| Error::Query {
                query: query.text.clone(),
                reason: format!("there is no facet {name:?}; the facets are {}", FACETS.join(", ")),
            })?;
            chosen.push((field, value.clone()));
        }
        if let Some(kind) = query.kind {
            chosen.push((self.fields.facets[0], kind.name().to_owned()));
        }
        let (searcher, seq) = self.newest()?;
        let compiled = compile(&node, chosen, &self.fields);
        let found = self.collect(&searcher, &compiled, query).map_err(|error| self.failed(error))?;
        Ok(Results { seq, ..found })
    }

    fn collect(&self, searcher: &Searcher, compiled: &Compiled, query: &Query) -> tantivy::Result<Results> {
        let asked = &*compiled.query;
        // No more than there are: the collector makes room for all it is asked for.
        let records = usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX);
        let limit = query.limit.min(records.saturating_sub(query.offset));
        let facets = query.count_facets.then_some(FacetCollector);
        let mut addresses: Vec<(f32, DocAddress)> = Vec::new();
        let (total, counted) = if limit == 0 {
            searcher.search(asked, &(Count, facets))?
        } else if compiled.ranks {
            let best = TopDocs::with_limit(limit).and_offset(query.offset).order_by_score();
            let (total, counted, best) = searcher.search(asked, &(Count, facets, best))?;
            addresses = best;
            (total, counted)
        } else {
            let newest = TopDocs::with_limit(limit).and_offset(query.offset);
            let newest = newest.order_by_fast_field::<i64>(DATE_COLUMN, Order::Desc);
            let (total, counted, newest) = searcher.search(asked, &(Count, facets, newest))?;
            addresses.extend(newest.into_iter().map(|(_, address)| (0.0, address)));
            (total, counted)
        };
        let mut hits = Vec::with_capacity(addresses.len());
        for (score, address) in addresses {
            hits.push(Hit { id: id_at(searcher, address)?, score });
        }
        Ok(Results { total: total as u64, hits, facets: counted.unwrap_or_default(), seq: 0 })
    }

    /// All identifiers in the index, in order: for verification.
    pub fn ids(&self) -> Result<Vec<RecordId>, Error> {
        let (searcher, _) = self.newest()?;
        let mut ids = Vec::with_capacity(usize::try_from(searcher.num_docs()).unwrap_or_default());
        for segment in searcher.segment_readers() {
            let [high, low] = ID_COLUMNS.map(|name| segment.fast_fields().u64(name));
            let (high, low) = (high.map_err(|error| self.failed(error))?, low.map_err(|error| self.failed(error))?);
            ids.extend(segment.doc_ids_alive().filter_map(|doc| Some(id_of(high.first(doc)?, low.first(doc)?))));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    fn failed(&self, error: TantivyError) -> Error {
        failure(&self.folder, error)
    }

    fn damaged(&self, reason: String) -> Error {
        Error::Index { path: self.folder.clone(), reason }
    }
}

/// Why an index could not be opened.
enum Unusable {
    /// There is none.
    Absent,
    /// It cannot be used as it is, and building it anew will help.
    Replace(String),
    /// It could not even be looked at; building it anew would not help, or would destroy a good one.
    Failed(TantivyError),
}

impl From<TantivyError> for Unusable {
    fn from(error: TantivyError) -> Self {
        let replace = matches!(
            error,
            TantivyError::DataCorruption(_)
                | TantivyError::SchemaError(_)
                | TantivyError::IncompatibleIndex(_)
                | TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_))
        ) || matches!(&error, TantivyError::IoError(error) if error.raw_os_error().is_none());
        if replace { Unusable::Replace(error.to_string()) } else { Unusable::Failed(error) }
    }
}

fn failure(folder: &Path, error: TantivyError) -> Error {
    let full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::StorageFull;
    match &error {
        TantivyError::IoError(io) if full(io) => Error::Full { catalogue: folder.display().to_string() },
        TantivyError::OpenWriteError(tantivy::directory::error::OpenWriteError::IoError { io_error, .. })
            if full(io_error) =>
        {
            Error::Full { catalogue: folder.display().to_string() }
        }
        _ => Error::Index { path: folder.to_owned(), reason: error.to_string() },
    }
}

/// The position a commit carries; one that carries none is that of an index nothing was written to.
fn position_in(meta: &[u8]) -> Option<u64> {
    let meta: serde_json::Value = serde_json::from_slice(meta).ok()?;
    match meta.get("payload") {
        None | Some(serde_json::Value::Null) => Some(0),
        Some(payload) => payload.as_str()?.parse().ok(),
    }
}

/// The segment a file belongs to, by its name: 32 hexadecimal digits before the first dot.
fn segment_of(name: &str) -> Option<&str> {
    let segment = name.split('.').next().unwrap_or_default();
    (segment.len() == 32 && segment.bytes().all(|digit| digit.is_ascii_hexdigit())).then_some(segment)
}

/// Removes the files of an index that cannot be used, and no others: the folder may have been chosen by mistake. The
/// lock that is being held stays.
fn empty(folder: &Path) -> Result<(), Error> {
    let failed = |source| Error::File { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if matches!(name, META | ".managed.json") || segment_of(name).is_some() {
            std::fs::remove_file(entry.path()).map_err(|source| Error::File { path: entry.path(), source })?;
        }
    }
    Ok(())
}

fn id_of(high: u64, low: u64) -> RecordId {
    RecordId::from_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

fn id_at(searcher: &Searcher, address: DocAddress) -> tantivy::Result<RecordId> {
    let columns = searcher.segment_reader(address.segment_ord).fast_fields();
    let half = |name: &str| {
        let missing = || TantivyError::InternalError(format!("a record without {name}"));
        columns.u64(name)?.first(address.doc_id).ok_or_else(missing)
    };
    Ok(id_of(half(ID_COLUMNS[0])?, half(ID_COLUMNS[1])?))
}
