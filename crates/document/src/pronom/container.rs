//! Looking into OLE2 and ZIP files for what their container signatures ask.

use std::collections::HashMap;
use std::io::Read;

use super::model::{Container, ContainerSignature, Signatures};
use super::ole2::Ole2;
use super::sequence::{self, Place};
use super::source::{Source, View};
use super::zip;

/// How much of an entry is unpacked to look at; signatures look at the first few thousand bytes.
const MOST_ENTRY: u64 = 4 << 20;

/// The most bytes that are unpacked of one file altogether.
const MOST_FILE: u64 = 64 << 20;

/// A format that a container signature tells, and what was found where.
pub(crate) struct Told {
    pub(crate) format: u32,
    pub(crate) basis: String,
}

/// A container opened for reading by name.
pub(crate) enum Opened<'a> {
    Zip { source: &'a dyn Source, entries: HashMap<String, zip::ZipEntry> },
    Ole2(Ole2<'a>),
}

impl<'a> Opened<'a> {
    pub(crate) fn new(container: Container, source: &'a dyn Source) -> Option<Self> {
        match container {
            Container::Zip => {
                let (list, _) = zip::entries(source)?;
                let entries = list.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
                Some(Opened::Zip { source, entries })
            }
            Container::Ole2 => Ole2::open(source).map(Opened::Ole2),
        }
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        match self {
            Opened::Zip { entries, .. } => entries.contains_key(path),
            Opened::Ole2(file) => file.streams.iter().any(|stream| stream.path == path),
        }
    }

    /// The first bytes of an entry.
    pub(crate) fn read(&self, path: &str, most: u64) -> Vec<u8> {
        match self {
            Opened::Zip { source, entries } => {
                let mut bytes = Vec::new();
                if let Some(reader) = entries.get(path).and_then(|entry| zip::open(*source, entry)) {
                    // What could be unpacked before the damage is looked at all the same.
                    let _ = reader.take(most).read_to_end(&mut bytes);
                }
                bytes
            }
            Opened::Ole2(file) => {
                let stream = file.streams.iter().find(|stream| stream.path == path);
                stream.map(|stream| file.read(stream, most)).unwrap_or_default()
            }
        }
    }
}

/// The formats that container signatures tell of a file.
pub(crate) fn told(signatures: &Signatures, container: Container, opened: &Opened<'_>) -> Vec<Told> {
    let mut told = Vec::new();
    let mut read: HashMap<&str, Vec<u8>> = HashMap::new();
    let mut left = MOST_FILE;
    for signature in signatures.containers.iter().filter(|signature| signature.container == container) {
        if !signature.files.iter().all(|inner| opened.has(&inner.path)) {
            continue;
        }
        for inner in signature.files.iter().filter(|inner| !inner.signatures.is_empty()) {
            read.entry(inner.path.as_str()).or_insert_with(|| {
                let bytes = opened.read(&inner.path, MOST_ENTRY.min(left));
                left = left.saturating_sub(bytes.len() as u64);
                bytes
            });
        }
        if let Some(basis) = fits(signature, &read) {
            told.extend(signature.formats.iter().map(|format| Told { format: *format, basis: basis.clone() }));
        }
    }
    told
}

fn fits(signature: &ContainerSignature, read: &HashMap<&str, Vec<u8>>) -> Option<String> {
    let mut basis = Vec::new();
    for inner in &signature.files {
        if inner.signatures.is_empty() {
            basis.push(format!("{} is there", inner.path));
            continue;
        }
        let bytes = read.get(inner.path.as_str())?;
        let slice = bytes.as_slice();
        let mut view = View::new(&slice, 0, 0, u64::MAX);
        let places = inner.signatures.iter().find_map(|sequences| sequence::all(&mut view, sequences))?;
        basis.push(format!("{} at {}", inner.path, shown(&places)));
    }
    Some(format!("container match {}", basis.join(", ")))
}

/// Places as people read them: `0, 5 and 1020, 6`.
pub(crate) fn shown(places: &[Place]) -> String {
    let each: Vec<String> = places.iter().map(|(start, length)| format!("{start}, {length}")).collect();
    each.join(" and ")
}
