//! OLE compound files: the small file system inside DOC, PPT, XLS, VSD and StarOffice documents.
//!
//! Chains of sectors are followed only as long as the file has sectors, so a chain that bites its tail ends; a stream whose chain
//! breaks is given as far as it goes. Libraries refuse such files whole, which loses the text of documents that Word still opens.

use std::cell::RefCell;

use zhulu_record::Warning;

use super::{slice, u16_at, u32_at, u64_at};

/// How a compound file begins.
pub(crate) const MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// How many names the directory may hold.
const MAX_ENTRIES: usize = 20_000;

/// How large a stream may be.
const MAX_STREAM: usize = 128 << 20;

/// Sector numbers from here on mean the end, or nothing.
const NO_SECTOR: u32 = 0xffff_fffa;

/// A storage or a stream.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// 1 for a storage, 2 for a stream, 5 for the root.
    kind: u8,
    /// The storage it is in; `None` for what the tree does not reach.
    parent: Option<usize>,
    start: u32,
    size: u64,
    links: [u32; 3],
}

/// A compound file in memory.
#[derive(Debug)]
pub(crate) struct Compound<'a> {
    bytes: &'a [u8],
    sector: usize,
    mini_sector: usize,
    cutoff: u64,
    fat: Vec<u32>,
    mini_fat: Vec<u32>,
    mini: Vec<u8>,
    entries: Vec<Entry>,
    warnings: RefCell<Vec<Warning>>,
}

impl<'a> Compound<'a> {
    /// Read the tables of a compound file; `None` if it is none.
    pub(crate) fn open(bytes: &'a [u8]) -> Option<Self> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let sector = if u16_at(bytes, 30) == 12 { 4096 } else { 512 };
        let mut file = Compound {
            bytes,
            sector,
            mini_sector: 64,
            cutoff: 4096,
            fat: Vec::new(),
            mini_fat: Vec::new(),
            mini: Vec::new(),
            entries: Vec::new(),
            warnings: RefCell::default(),
        };
        file.read_fat();
        let directory = file.chain(u32_at(bytes, 48), usize::MAX, "directory");
        file.entries = directory.chunks_exact(128).take(MAX_ENTRIES).map(entry).collect();
        file.find_parents();
        file.mini_fat = file.numbers(&file.chain(u32_at(bytes, 60), usize::MAX, "table of small streams"));
        if let Some(root) = file.entries.iter().find(|entry| entry.kind == 5).cloned() {
            file.mini = file.chain(root.start, root.size.min(MAX_STREAM as u64) as usize, "store of small streams");
        }
        // The last sector may be written short; one that begins after the end is lost.
        let last = file.fat.iter().rposition(|next| *next != u32::MAX).map_or(0, |last| last + 1);
        if last.saturating_mul(sector) > bytes.len() {
            file.warn(
                "truncated",
                "The file ends before the last of its sectors, so it was cut off; what is there was read. Fetch or copy it again.",
            );
        }
        if file.entries.iter().all(|entry| entry.kind != 2) {
            file.warn("truncated", "The list of what is in this file cannot be read, so the file was cut off or damaged; fetch or copy it again.");
        }
        Some(file)
    }

    /// The streams and storages at the top.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let root = self.entries.iter().position(|entry| entry.kind == 5);
        self.entries
            .iter()
            .filter(move |entry| entry.parent == root && entry.kind != 5)
            .map(|entry| entry.name.as_str())
    }

    /// Whether there is a stream or storage of this name at the top, or where a broken tree does not reach.
    pub(crate) fn has(&self, name: &str) -> bool {
        let lost = self.entries.iter().filter(|entry| entry.kind == 2 && entry.parent.is_none());
        let mut names = self.names().chain(lost.map(|entry| entry.name.as_str()));
        names.any(|other| other.eq_ignore_ascii_case(name))
    }

    /// The content of the stream of this name at the top. Where the tree is broken, one of that name anywhere will do.
    pub(crate) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let root = self.entries.iter().position(|entry| entry.kind == 5);
        let named = |entry: &&Entry| entry.kind == 2 && entry.name.eq_ignore_ascii_case(name);
        let top = self.entries.iter().filter(named).find(|entry| entry.parent == root);
        let entry = top.or_else(|| self.entries.iter().filter(named).find(|entry| entry.parent.is_none()))?;
        let size = usize::try_from(entry.size).unwrap_or(usize::MAX);
        if size > MAX_STREAM {
            self.warn(
                "too-large",
                format!("The stream {name} claims {size} bytes; only the first {} MB were read.", MAX_STREAM >> 20),
            );
        }
        let wanted = size.min(MAX_STREAM);
        let content = if entry.size < self.cutoff {
            let content = self.mini_chain(entry.start, wanted);
            // A writer that got the boundary wrong leaves a small stream among the large ones.
            if content.is_empty() && wanted > 0 { self.chain(entry.start, wanted, name) } else { content }
        } else {
            self.chain(entry.start, wanted, name)
        };
        if content.len() < wanted {
            self.warn("truncated", format!("The stream {name} ends early, so the file was cut off or damaged; what is there was read. Fetch or copy it again."));
        }
        Some(content)
    }

    /// The trouble met so far; each kind once.
    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings.into_inner()
    }

    fn warn(&self, code: &str, message: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.iter().all(|warning| warning.code != code) {
            warnings.push(Warning::new(code, message));
        }
    }

    fn sectors(&self) -> usize {
        self.bytes.len() / self.sector + 1
    }

    fn sector_at(&self, number: u32) -> &'a [u8] {
        let start = (number as usize).saturating_add(1).saturating_mul(self.sector);
        slice(self.bytes, start, self.sector)
    }

    fn numbers(&self, bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
    }

    /// The table of sectors: its own sectors are listed in the header and, for large files, in a chain of further lists.
    fn read_fat(&mut self) {
        let mut list = self.numbers(slice(self.bytes, 76, 109 * 4));
        let mut next = u32_at(self.bytes, 68);
        let mut steps = 0;
        while next < NO_SECTOR && steps < self.sectors() {
            let numbers = self.numbers(self.sector_at(next));
            let Some((link, more)) = numbers.split_last() else { break };
            list.extend(more);
            next = *link;
            steps += 1;
        }
        let most = self.sectors();
        for number in list.into_iter().filter(|number| *number < NO_SECTOR).take(most) {
            let numbers = self.numbers(self.sector_at(number));
            self.fat.extend(numbers);
            // The table cannot be longer than one number for each sector.
            if self.fat.len() > most + self.sector {
                break;
            }
        }
    }

    fn chain(&self, start: u32, most: usize, what: &str) -> Vec<u8> {
        let mut content = Vec::new();
        let mut number = start;
        let mut steps = 0;
        while number < NO_SECTOR && content.len() < most {
            let sector = self.sector_at(number);
            if sector.is_empty() {
                break;
            }
            if steps > self.sectors() || content.len() > MAX_STREAM {
                self.warn(
                    "cyclic",
                    format!("The sectors of the {what} lead back to themselves; what comes before was read."),
                );
                break;
            }
            content.extend_from_slice(sector);
            // Some programs write their last sector short, which is no loss unless it is part of a table.
            if sector.len() < self.sector && content.len() < most {
                self.warn("truncated", format!("The file ends inside the {what}, so it was cut off; what is there was read. Fetch or copy it again."));
            }
            number = self.fat.get(number as usize).copied().unwrap_or(u32::MAX);
            steps += 1;
        }
        content.truncate(most);
        content
    }

    fn mini_chain(&self, start: u32, most: usize) -> Vec<u8> {
        let mut content = Vec::new();
        let mut number = start;
        while number < NO_SECTOR && content.len() < most {
            let part = slice(&self.mini, (number as usize).saturating_mul(self.mini_sector), self.mini_sector);
            if part.is_empty() {
                break;
            }
            content.extend_from_slice(part);
            number = self.mini_fat.get(number as usize).copied().unwrap_or(u32::MAX);
        }
        content.truncate(most);
        content
    }

    /// Walk the tree of names; every name is visited once, however the links run.
    fn find_parents(&mut self) {
        let Some(root) = self.entries.iter().position(|entry| entry.kind == 5) else { return };
        let mut open = vec![(self.entries[root].links[2], root)];
        let mut visited = vec![false; self.entries.len()];
        visited[root] = true;
        while let Some((index, parent)) = open.pop() {
            let index = index as usize;
            if index >= self.entries.len() || std::mem::replace(&mut visited[index], true) {
                continue;
            }
            self.entries[index].parent = Some(parent);
            let [left, right, child] = self.entries[index].links;
            open.extend([(left, parent), (right, parent), (child, index)]);
        }
    }
}

fn entry(bytes: &[u8]) -> Entry {
    let length = usize::from(u16_at(bytes, 64)).clamp(2, 64) - 2;
    let units: Vec<u16> = (0..length / 2).map(|index| u16_at(bytes, index * 2)).collect();
    Entry {
        name: String::from_utf16_lossy(&units),
        kind: bytes[66],
        parent: None,
        start: u32_at(bytes, 116),
        // Small-sector files leave rubbish in the upper half of the size.
        size: u64_at(bytes, 120) & 0xffff_ffff,
        links: [u32_at(bytes, 68), u32_at(bytes, 72), u32_at(bytes, 76)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one stream of a few sectors, whose chain is `fat`.
    fn file(fat: &[u32]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.resize(512, 0);
        bytes[30] = 9;
        bytes[48..52].copy_from_slice(&1_u32.to_le_bytes());
        bytes[60..64].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[68..72].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[76..512].fill(0xff);
        bytes[76..80].copy_from_slice(&0_u32.to_le_bytes());
        for number in fat {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(1024, 0xff);
        for (name, kind, child, start, size) in [("R", 5, 1, u32::MAX, 0), ("Text", 2, u32::MAX, 2, 5000_u32)] {
            let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            entry.resize(128, 0);
            entry[64] = name.len() as u8 * 2 + 2;
            entry[66] = kind;
            entry[68..76].fill(0xff);
            entry[76..80].copy_from_slice(&u32::to_le_bytes(child));
            entry[116..120].copy_from_slice(&u32::to_le_bytes(start));
            entry[120..124].copy_from_slice(&size.to_le_bytes());
            bytes.extend(entry);
        }
        bytes.resize(512 * 13, 7);
        bytes
    }

    #[test]
    fn a_stream_is_read_along_its_chain() {
        let fat: Vec<u32> = [u32::MAX - 2, u32::MAX - 1].into_iter().chain(3..12).chain([u32::MAX - 1]).collect();
        let bytes = file(&fat);
        let file = Compound::open(&bytes).expect("it is one");
        assert!(file.has("text"));
        assert_eq!(file.stream("Text").map(|content| content.len()), Some(5000));
        assert!(file.into_warnings().is_empty());
    }

    #[test]
    fn a_chain_that_bites_its_tail_ends() {
        let bytes = file(&[u32::MAX - 2, 1, 3, 2]);
        let file = Compound::open(&bytes).expect("it is one");
        assert_eq!(file.stream("Text").map(|content| content.len()), Some(5000), "as long as it claims, and no longer");
        assert_eq!(file.into_warnings()[0].code, "cyclic");
    }
}
