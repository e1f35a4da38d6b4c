//! Which formats files are in: walking folders, opening files and archives, checksums. What bytes mean is `document`'s.
//!
//! A walk names the files, threads open and identify them, and the results come back in the order of the walk. Memory holds a few batches of
//! results, however many files there are, and of a file its windows, however long it is. Inside archives every bound (depth, number of
//! members, unpacked bytes, ratio) is applied while reading.

mod archive;
mod hash;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;

use jiff::Timestamp;
use zhulu_document::pronom::{Details, Hints, Identification, Identifier, Scan, Source};

pub use self::hash::Hash;
use crate::walk::{Found, read_path, reason};

/// How many inputs travel together; handing them over one by one would cost more than identifying them.
const BATCH: usize = 32;

/// How files are identified.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whether the members of ZIP, TAR and GZ files are identified too.
    pub archives: bool,
    /// Which checksum is made of every file.
    pub hash: Option<Hash>,
    /// How far signatures are looked for that may lie anywhere.
    pub scan: Scan,
    /// Whether it is told how files were made.
    pub details: bool,
    /// The media type the files were declared to have.
    pub mime: Option<String>,
    /// How many files are looked at at once; none means one.
    pub threads: usize,
}

/// Something to identify.
#[derive(Debug)]
pub enum Input {
    /// A file or a folder.
    Path(PathBuf),
    /// Bytes that came without a file, and the name they go by.
    Bytes {
        /// The name, as it is reported.
        name: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// What a file or a member of an archive turned out to be.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Where it is: the path, and for a member the path of its archive, `#` and its name in there.
    pub path: String,
    /// The same as an address.
    pub uri: String,
    /// Its name without folders.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// When it was last changed, where that is known.
    pub modified: Option<Timestamp>,
    /// Its checksum, in hexadecimal digits.
    pub hash: Option<String>,
    /// What it is.
    pub identification: Identification<'a>,
    /// How it was made.
    pub details: Details,
    /// The place of its archive among the rows of the same input.
    pub parent: Option<usize>,
    /// Whether its members follow.
    pub opened: bool,
}

/// What became of one file.
#[derive(Debug, Clone)]
pub enum Report<'a> {
    /// It was looked at; its members follow it.
    Rows(Vec<Row<'a>>),
    /// It is no file, and is left out.
    Skipped {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It could not be read.
    Failed {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Identify all inputs and hand each result over, in the order of the inputs. Ends early, with what is under way finished, when `stop` is
/// set, and at once when the receiver fails.
pub fn run<'a, E>(
    identifier: &'a Identifier,
    inputs: impl Iterator<Item = Input> + Send,
    settings: &Settings,
    stop: &AtomicBool,
    mut each: impl FnMut(Report<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let threads = settings.threads.max(1);
    let (send_work, work) = mpsc::sync_channel::<(usize, Vec<Task>)>(threads * 2);
    let (send_done, done) = mpsc::sync_channel::<(usize, Vec<Report<'a>>)>(threads * 2);
    let work = Mutex::new(work);
    thread::scope(|scope| {
        scope.spawn(move || feed(inputs, stop, &send_work));
        for _ in 0..threads {
            let (work, send_done) = (&work, send_done.clone());
            scope.spawn(move || {
                loop {
                    // A lock that another thread broke is still a queue.
                    let next = work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
                    let Ok((number, tasks)) = next else { return };
                    let reports = tasks.into_iter().map(|task| report(identifier, task, settings)).collect();
                    if send_done.send((number, reports)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send_done);
        // Batches that came before their turn. There are never more than are under way.
        let mut early: BTreeMap<usize, Vec<Report<'a>>> = BTreeMap::new();
        let mut next = 0;
        let mut outcome = Ok(());
        for (number, reports) in done {
            if outcome.is_err() {
                continue;
            }
            early.insert(number, reports);
            while let Some(reports) = early.remove(&next) {
                next += 1;
                outcome = outcome.and_then(|()| reports.into_iter().try_for_each(&mut each));
                if outcome.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        outcome
    })
}

/// What a thread is given to do.
enum Task {
    Found(Found),
    Bytes { name: String, bytes: Vec<u8> },
}

fn feed(inputs: impl Iterator<Item = Input>, stop: &AtomicBool, send: &mpsc::SyncSender<(usize, Vec<Task>)>) {
    let tasks = inputs.flat_map(|input| -> Box<dyn Iterator<Item = Task>> {
        match input {
            Input::Path(path) => Box::new(read_path(&path).map(Task::Found)),
            Input::Bytes { name, bytes } => Box::new(std::iter::once(Task::Bytes { name, bytes })),
        }
    });
    let mut batch = Vec::new();
    let mut number = 0;
    for task in tasks {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // Bytes in memory do not wait for company.
        let heavy = matches!(task, Task::Bytes { .. });
        batch.push(task);
        if batch.len() >= BATCH || heavy {
            if send.send((number, std::mem::take(&mut batch))).is_err() {
                return;
            }
            number += 1;
        }
    }
    let _ = send.send((number, batch));
}

fn report<'a>(identifier: &'a Identifier, task: Task, settings: &Settings) -> Report<'a> {
    match task {
        Task::Found(Found::Skipped { path, reason }) => Report::Skipped { path, reason },
        Task::Found(Found::Failed { path, reason }) => Report::Failed { path, reason },
        Task::Found(Found::File(path)) => match FileSource::open(&path) {
            Ok((source, modified)) => {
                let shown = path.to_string_lossy().into_owned();
                let file = Named { uri: file_uri(&path), name: last(&shown), path: shown, modified };
                Report::Rows(archive::rows(identifier, &source, file, settings))
            }
            Err(error) => Report::Failed { reason: reason(&error), path },
        },
        Task::Bytes { name, bytes } => {
            let file = Named { uri: String::new(), name: last(&name), path: name, modified: None };
            Report::Rows(archive::rows(identifier, &bytes.as_slice(), file, settings))
        }
    }
}

/// What is known of a file before it is looked at.
struct Named {
    path: String,
    uri: String,
    name: String,
    modified: Option<Timestamp>,
}

/// Identifies one file, whatever its bytes come from.
fn row<'a>(
    identifier: &'a Identifier,
    source: &dyn Source,
    file: Named,
    settings: &Settings,
    parent: Option<usize>,
) -> Row<'a> {
    let hints = Hints { name: &file.name, mime: settings.mime.as_deref() };
    let (mut identification, details) = if settings.details {
        identifier.identify_with_details(source, hints, settings.scan)
    } else {
        (identifier.identify(source, hints, settings.scan), Details::default())
    };
    let hash = settings.hash.map(|hash| hash.of(source)).transpose().unwrap_or_else(|error| {
        identification.trouble.get_or_insert(format!("it cannot be read to its end: {error}"));
        None
    });
    let Named { path, uri, name, modified } = file;
    Row { path, uri, name, size: source.size(), modified, hash, identification, details, parent, opened: false }
}

fn last(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// The address of a file, with everything but plain letters written as `%XX`.
fn file_uri(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file://".to_owned();
    if cfg!(windows) {
        uri.push('/');
    }
    uri.push_str(&escaped(absolute.as_os_str().as_encoded_bytes()));
    uri
}

/// Bytes as a part of an address.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b':' => {
                text.push(byte as char)
            }
            b'\\' if cfg!(windows) => text.push('/'),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// An open file, read at any place.
struct FileSource {
    file: File,
    size: u64,
}

impl FileSource {
    fn open(path: &Path) -> io::Result<(Self, Option<Timestamp>)> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        Ok((FileSource { file, size: metadata.len() }, modified))
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
}
