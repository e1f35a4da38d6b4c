//! Taking files in: bytes become a blob and a record of what the file says of itself.
//!
//! Files flow through a short pipeline: a walk names them, two readers at a time read and extract on threads of their own,
//! and their records are appended in batches, in the order of the input. Memory holds two files and one batch, however
//! many files there are. A file that cannot be read is reported and the rest goes on; only the catalogue can stop it all.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::sync::mpsc;
use zhulu_catalogue::{Batch, Catalogue, Outcome};
use zhulu_document::{Document, Method};
use zhulu_record::{BlobRef, Draft, Element, Evidence, Key, Kind, Put, RecordId, Source, Statement, Warning};

use crate::walk::{Found, read_path, reason};

/// The source of all that files say of themselves.
pub const SOURCE: &str = "files";

/// The largest batch: enough to make the cost of a commit small, few enough to keep the answer prompt.
const BATCH: usize = 64;

/// A batch also ends when its texts are this long together, in bytes, so that a shelf of books stays within memory.
const BATCH_BYTES: usize = 16 << 20;

/// And when its first file has waited this long for its answer.
const BATCH_WAIT: Duration = Duration::from_millis(800);

/// How files are taken in.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The largest file read, in bytes.
    pub file_limit: u64,
    /// How many files are read and extracted at once.
    pub readers: usize,
    /// How values are found.
    pub method: Method,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { file_limit: 512 << 20, readers: 2, method: Method::default() }
    }
}

/// What became of one input.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// It is in the catalogue.
    Added {
        /// Which file.
        path: PathBuf,
        /// Its record.
        id: RecordId,
        /// What that did to the record.
        outcome: Outcome,
        /// The title found.
        title: Option<String>,
        /// What went wrong on the way.
        warnings: Vec<Warning>,
    },
    /// It is no file, and was left out.
    Skipped {
        /// Where it stands.
        path: PathBuf,
        /// Why it was left out.
        reason: String,
    },
    /// It could not be read.
    Failed {
        /// Where it stands.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A file read and extracted, its bytes already kept.
struct Taken {
    path: PathBuf,
    draft: Draft,
    title: Option<String>,
    warnings: Vec<Warning>,
    size: usize,
}

/// Takes in all files that `paths` stand for, and reports each, in order. An error is the catalogue's: what was reported
/// before it is in, and running the same again takes in the rest.
pub async fn take_in(
    catalogue: &Catalogue,
    paths: Vec<PathBuf>,
    settings: &Settings,
    mut report: impl FnMut(Report) + Send,
) -> Result<(), zhulu_catalogue::Error> {
    let mut taken =
        Box::pin(walked(paths).map(|found| take_found(catalogue, found, settings)).buffered(settings.readers.max(1)));
    let mut batch = Pending::default();
    while let Some(result) = taken.next().await {
        match result? {
            Ok(file) => batch.push(file),
            // Reports keep the order of the input, so what waits goes first.
            Err(other) => {
                batch.append(catalogue, &mut report).await?;
                report(other);
            }
        }
        if batch.is_full() {
            batch.append(catalogue, &mut report).await?;
        }
    }
    batch.append(catalogue, &mut report).await
}

/// Takes in one file whose bytes are at hand, as an upload's are. Returns its record and what became of it.
pub async fn take_bytes(
    catalogue: &Catalogue,
    name: &str,
    bytes: Bytes,
    settings: &Settings,
) -> Result<Report, zhulu_catalogue::Error> {
    let path = PathBuf::from(name);
    let mut batch = Pending::default();
    match extracted(catalogue, path, name.to_owned(), bytes, Vec::new(), settings.method).await? {
        Ok(taken) => batch.push(taken),
        Err(failed) => return Ok(failed),
    }
    let mut answer = None;
    batch.append(catalogue, &mut |report| answer = Some(report)).await?;
    Ok(answer.expect("a batch of one file has one report"))
}

/// A file read without a catalogue: what it is and says, or why not.
pub type Extracted = (PathBuf, Result<Document, Report>);

/// Reads all files that `paths` stand for, in order, and keeps nothing of them.
pub fn extract(paths: Vec<PathBuf>, settings: &Settings) -> impl Stream<Item = Extracted> + Send {
    let Settings { file_limit, method, readers } = *settings;
    walked(paths)
        .map(move |found| async move {
            let path = match found {
                Found::File(path) => path,
                Found::Skipped { path, reason } => return (path.clone(), Err(Report::Skipped { path, reason })),
                Found::Failed { path, reason } => return (path.clone(), Err(Report::Failed { path, reason })),
            };
            let place = path.clone();
            let read = move || {
                let bytes = read_file(&place, file_limit)?;
                Ok(zhulu_document::extract(&place.to_string_lossy(), &bytes, method))
            };
            match on_thread(read).await {
                Ok(Ok(document)) => (path, Ok(document)),
                Ok(Err(reason)) | Err(reason) => (path.clone(), Err(Report::Failed { path, reason })),
            }
        })
        .buffered(readers.max(1))
}

/// The walk over all inputs, on a thread of its own, never far ahead of the readers.
fn walked(paths: Vec<PathBuf>) -> impl Stream<Item = Found> + Send {
    let (sender, receiver) = mpsc::channel(16);
    tokio::task::spawn_blocking(move || {
        for found in paths.iter().flat_map(|path| read_path(path)) {
            // The receiver is gone when the intake was given up: then there is nobody to walk for.
            if sender.blocking_send(found).is_err() {
                return;
            }
        }
    });
    stream::unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|found| (found, receiver)) })
}

async fn take_found(
    catalogue: &Catalogue,
    found: Found,
    settings: &Settings,
) -> Result<Result<Taken, Report>, zhulu_catalogue::Error> {
    let path = match found {
        Found::File(path) => path,
        Found::Skipped { path, reason } => return Ok(Err(Report::Skipped { path, reason })),
        Found::Failed { path, reason } => return Ok(Err(Report::Failed { path, reason })),
    };
    let limit = settings.file_limit;
    let place = path.clone();
    let read = on_thread(move || read_file(&place, limit)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(reason)) | Err(reason) => return Ok(Err(Report::Failed { path, reason })),
    };
    let mut warnings = Vec::new();
    let name = match path.file_name() {
        Some(name) => match name.to_str() {
            Some(name) => name.to_owned(),
            None => {
                let shown = name.to_string_lossy().into_owned();
                let message = format!("the file's name is not Unicode text; it is kept as {shown:?}");
                warnings.push(Warning::new("file-name", message));
                shown
            }
        },
        None => path.to_string_lossy().into_owned(),
    };
    extracted(catalogue, path, name, bytes, warnings, settings.method).await
}

/// Keeps the bytes and reads them. The bytes are durable before the record that refers to them is appended.
async fn extracted(
    catalogue: &Catalogue,
    path: PathBuf,
    name: String,
    bytes: Bytes,
    mut warnings: Vec<Warning>,
    method: Method,
) -> Result<Result<Taken, Report>, zhulu_catalogue::Error> {
    let (file, content) = (name.clone(), bytes.clone());
    let document = match on_thread(move || zhulu_document::extract(&file, &content, method)).await {
        Ok(document) => document,
        Err(reason) => return Ok(Err(Report::Failed { path, reason })),
    };
    let size = bytes.len() as u64;
    let digest = catalogue.blobs().put(bytes).await?;
    let mut statements = document.extraction.statements;
    warnings.extend(document.extraction.warnings);
    let title = match statements.iter().find(|statement| statement.element == Element::TITLE) {
        Some(statement) => Some(statement.value.to_string()),
        None => file_title(&name).inspect(|title| {
            // Nearly every list shows titles; the file's name is a poor one, and says so.
            let evidence = Evidence::by("rule:file-name").sure(0.1);
            statements.push(Statement::new(Element::TITLE, title.as_str()).because(evidence));
        }),
    };
    let media_type = document.format.mime.clone();
    let put = Put {
        kind: Kind::Document,
        keys: vec![Key::File(digest)],
        statements,
        evidence: Evidence::by("file"),
        blobs: vec![BlobRef { digest, name, media_type, size }],
        ..Put::default()
    };
    let size = put.statements.iter().map(|statement| statement.value.as_text().map_or(64, str::len)).sum();
    let draft = Draft::put(Source::machine(SOURCE), put).expect("a file's digest is its key");
    Ok(Ok(Taken { path, draft, title, warnings, size }))
}

/// Runs work that takes long on a thread for it. A panic in it is a bug, and costs this one input only.
async fn on_thread<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let bug = |_| "zhulu stumbled over it, which is a bug in zhulu; the other files are not affected".to_owned();
    tokio::task::spawn_blocking(task).await.map_err(bug)
}

/// A file's bytes, never more than the limit, whatever its length claimed to be.
fn read_file(path: &Path, limit: u64) -> Result<Bytes, String> {
    let file = File::open(path).map_err(|error| reason(&error))?;
    let expected = file.metadata().map_or(0, |metadata| metadata.len());
    let too_large = || format!("it is larger than {} MB, the limit for one file", limit >> 20);
    if expected > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(expected as usize);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(bytes.into())
}

/// The file's name without its ending.
fn file_title(name: &str) -> Option<String> {
    let stem = Path::new(name).file_stem()?.to_string_lossy().trim().to_owned();
    (!stem.is_empty()).then_some(stem)
}

/// Files waiting to be appended together.
#[derive(Default)]
struct Pending {
    files: Vec<Taken>,
    bytes: usize,
    since: Option<Instant>,
}

impl Pending {
    fn push(&mut self, file: Taken) {
        self.since.get_or_insert_with(Instant::now);
        self.bytes += file.size;
        self.files.push(file);
    }

    fn is_full(&self) -> bool {
        let waited = self.since.is_some_and(|since| since.elapsed() >= BATCH_WAIT);
        self.files.len() >= BATCH || self.bytes >= BATCH_BYTES || waited
    }

    async fn append(
        &mut self,
        catalogue: &Catalogue,
        report: &mut (impl FnMut(Report) + Send),
    ) -> Result<(), zhulu_catalogue::Error> {
        if self.files.is_empty() {
            return Ok(());
        }
        let files = std::mem::take(self).files;
        let (drafts, rest): (Vec<_>, Vec<_>) =
            files.into_iter().map(|taken| (taken.draft, (taken.path, taken.title, taken.warnings))).unzip();
        let receipt = catalogue.append(Batch::of(drafts)).await?;
        metrics::counter!("zhulu_files_added_total").increment(rest.len() as u64);
        for ((path, title, warnings), (id, outcome)) in rest.into_iter().zip(receipt.outcomes) {
            report(Report::Added { path, id, outcome, title, warnings });
        }
        Ok(())
    }
}
