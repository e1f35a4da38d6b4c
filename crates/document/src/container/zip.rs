//! ZIP archives: the list of entries from the central directory or, where that is lost, from the entries' own headers, and the
//! content of one entry at a time.
//!
//! Deflate and stored entries are read; other methods are only named. Nothing is unpacked that nobody asked for.

use std::cell::{Cell, RefCell};
use std::io::Read;

use flate2::read::DeflateDecoder;
use zhulu_record::Warning;

use super::{slice, u16_at, u32_at};

/// How many entries are listed. The largest real documents (books with a picture to each page) have a few thousand.
const MAX_ENTRIES: usize = 20_000;

/// How much one entry may unpack to, and all entries of an archive together.
const MAX_ENTRY: usize = 48 << 20;
const MAX_TOTAL: usize = 128 << 20;

/// Office XML shrinks to a twentieth, a sheet of equal cells to a hundredth; what shrinks further is made to fill memory. Up to
/// `FREE` bytes nobody minds.
const MAX_RATIO: usize = 250;
const FREE: usize = 4 << 20;

/// One entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Where its local header is.
    header: usize,
    /// Its packed size, where the directory knows it.
    packed: Option<usize>,
}

/// An archive in memory.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry>,
    spent: Cell<usize>,
    warnings: RefCell<Vec<Warning>>,
}

impl<'a> Archive<'a> {
    /// List the entries of an archive. Any bytes give an archive, if only an empty one.
    pub(crate) fn open(bytes: &'a [u8]) -> Self {
        let archive = Archive { bytes, entries: Vec::new(), spent: Cell::new(0), warnings: RefCell::default() };
        let mut entries = directory(bytes);
        if entries.is_empty() {
            entries = headers(bytes);
            archive.warn("truncated", "The archive's table of contents is missing, so the file was cut off or damaged; what its parts say of themselves was read. Fetch or copy it again.");
        }
        if entries.len() >= MAX_ENTRIES {
            archive.warn(
                "too-many-entries",
                format!("The archive lists more than {MAX_ENTRIES} parts; the rest was left aside."),
            );
        }
        Archive { entries, ..archive }
    }

    /// The names of all entries, in the archive's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Whether there is an entry of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The content of an entry: as much of it as could be unpacked within the bounds.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        let entry = self.find(name)?;
        let header = slice(self.bytes, entry.header, 30);
        if !header.starts_with(b"PK\x03\x04") || header.len() < 30 {
            self.warn("damaged-part", format!("The part {name} is not where the archive says it is."));
            return None;
        }
        if u16_at(header, 6) & 1 != 0 {
            self.warn("encrypted", format!("The part {name} is encrypted; it takes the password to read it."));
            return None;
        }
        let start = entry.header + 30 + usize::from(u16_at(header, 26)) + usize::from(u16_at(header, 28));
        let packed = entry.packed.or_else(|| {
            // Sizes of zero stand for "written after the data"; a packed stream knows its own end.
            let size = u32_at(header, 18) as usize;
            (size > 0 && u16_at(header, 6) & 8 == 0).then_some(size)
        });
        let data = slice(self.bytes, start, packed.unwrap_or(usize::MAX));
        if packed.is_some_and(|size| size > data.len()) {
            self.warn("truncated", format!("The file ends inside the part {name}; fetch or copy it again."));
        }
        let left = MAX_TOTAL.saturating_sub(self.spent.get());
        let limit = MAX_ENTRY.min(left).min(data.len().saturating_mul(MAX_RATIO).max(FREE));
        let content = match u16_at(header, 8) {
            0 => {
                if data.len() > limit {
                    self.warn("too-large", format!("Only the first {} MB of the part {name} were read.", limit >> 20));
                }
                data[..data.len().min(limit)].to_vec()
            }
            8 => self.inflate(name, data, limit),
            method => {
                self.warn(
                    "unsupported-method",
                    format!("The part {name} is packed by method {method}, which is not read."),
                );
                return None;
            }
        };
        self.spent.set(self.spent.get() + content.len());
        Some(content)
    }

    /// Unpack up to a bound; what comes before damage is given.
    fn inflate(&self, name: &str, data: &[u8], limit: usize) -> Vec<u8> {
        let mut content = Vec::new();
        let result = DeflateDecoder::new(data).take(limit as u64 + 1).read_to_end(&mut content);
        if content.len() > limit {
            content.truncate(limit);
            self.warn(
                "bomb",
                format!(
                    "The part {name} unpacks to more than {MAX_RATIO} times its size or to more than is read of any file; only the first {} MB of it were read.",
                    limit >> 20
                ),
            );
        } else if result.is_err() {
            self.warn("damaged-part", format!("The part {name} is damaged; what comes before the damage was read."));
        }
        content
    }

    /// The trouble met so far; each kind once.
    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_inner()
    }

    /// Part names are compared without regard to case, as the packaging standard asks.
    fn find(&self, name: &str) -> Option<&Entry> {
        let name = name.trim_start_matches('/');
        let exact = self.entries.iter().find(|entry| entry.name == name);
        exact.or_else(|| self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)))
    }

    fn warn(&self, code: &str, message: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.iter().all(|warning| warning.code != code) {
            warnings.push(Warning::new(code, message));
        }
    }
}

/// The entries by the central directory at the end of the file.
fn directory(bytes: &[u8]) -> Vec<Entry> {
    // The end record is followed by a comment of up to 64 KB.
    let window = bytes.len().saturating_sub(22 + 0xffff);
    let Some(end) = bytes[window..].windows(4).rposition(|four| four == b"PK\x05\x06").map(|at| window + at) else {
        return Vec::new();
    };
    let mut at = u32_at(bytes, end + 16) as usize;
    let mut entries = Vec::new();
    while slice(bytes, at, 4) == b"PK\x01\x02" && entries.len() < MAX_ENTRIES {
        let name_length = usize::from(u16_at(bytes, at + 28));
        let name = slice(bytes, at + 46, name_length);
        let header = u32_at(bytes, at + 42) as usize;
        let packed = u32_at(bytes, at + 20) as usize;
        entries.push(Entry { name: name_of(name), header, packed: (packed != 0xffff_ffff).then_some(packed) });
        at += 46 + name_length + usize::from(u16_at(bytes, at + 30)) + usize::from(u16_at(bytes, at + 32));
    }
    // Where the directory points elsewhere (junk before the archive, very large archives), the headers are the truth.
    let right = entries.first().is_some_and(|first| slice(bytes, first.header, 4) == b"PK\x03\x04");
    if right { entries } else { Vec::new() }
}

/// The entries by their own headers.
fn headers(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.windows(4).position(|four| four == b"PK\x03\x04")) {
        let header = at + offset;
        let name = slice(bytes, header + 30, usize::from(u16_at(bytes, header + 26)));
        if !name.is_empty() && name.len() < 1024 {
            entries.push(Entry { name: name_of(name), header, packed: None });
        }
        at = header + 4;
        if entries.len() >= MAX_ENTRIES {
            break;
        }
    }
    entries
}

fn name_of(bytes: &[u8]) -> String {
    crate::text::decode(bytes).text.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::io::Write;

    /// An archive of these parts, with or without its table of contents.
    fn archive(parts: &[(&str, &[u8])], with_directory: bool) -> Vec<u8> {
        let (mut file, mut table) = (Vec::new(), Vec::new());
        for (name, content) in parts {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
            encoder.write_all(content).expect("memory takes it");
            let packed = encoder.finish().expect("memory takes it");
            let header = file.len() as u32;
            let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            for number in [packed.len() as u32, content.len() as u32] {
                common.extend(number.to_le_bytes());
            }
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0, 0]);
            file.extend(b"PK\x03\x04");
            file.extend(&common);
            file.extend(name.as_bytes());
            file.extend(&packed);
            table.extend(b"PK\x01\x02\x14\x00");
            table.extend(&common);
            table.extend([0; 10]);
            table.extend(header.to_le_bytes());
            table.extend(name.as_bytes());
        }
        if with_directory {
            let start = file.len() as u32;
            file.extend(&table);
            file.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0");
            file.extend(start.to_le_bytes());
            file.extend([0, 0]);
        }
        file
    }

    fn codes(archive: Archive<'_>) -> Vec<String> {
        archive.into_warnings().into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn parts_are_found_with_and_without_the_directory() {
        let parts: &[(&str, &[u8])] = &[("甲.xml", "云".as_bytes()), ("b/c.xml", b"<b/>")];
        for with_directory in [true, false] {
            let bytes = archive(parts, with_directory);
            let archive = Archive::open(&bytes);
            assert_eq!(archive.names().collect::<Vec<_>>(), ["甲.xml", "b/c.xml"]);
            assert_eq!(archive.read("甲.xml").as_deref(), Some("云".as_bytes()));
            assert_eq!(archive.read("/B/C.xml").as_deref(), Some(&b"<b/>"[..]));
            assert_eq!(archive.read("none"), None);
            assert_eq!(codes(archive).is_empty(), with_directory);
        }
    }

    #[test]
    fn bombs_are_cut_short() {
        let zeros = vec![b' '; 60 << 20];
        let bytes = archive(&[("a", &zeros)], true);
        let archive = Archive::open(&bytes);
        assert!(archive.read("a").is_some_and(|content| content.len() < 20 << 20));
        assert_eq!(codes(archive), ["bomb"]);
    }

    #[test]
    fn a_damaged_part_gives_its_beginning() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
        let bytes = archive(&[("a", &text)], true);
        let cut = &bytes[..bytes.len() / 2];
        let archive = Archive::open(cut);
        assert!(archive.read("a").is_some_and(|content| content.len() > 10_000 && text.starts_with(&content)));
        assert_eq!(codes(archive), ["truncated", "damaged-part"]);
    }
}
