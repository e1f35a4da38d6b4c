//! OLE2 compound files as far as naming and reading their streams goes. What is damaged is read as far as it makes sense.

use super::source::Source;
use super::zip::{bytes, u16_at, u32_at};

/// The most entries, and the most sectors of tables, that are read.
const MOST_ENTRIES: usize = 100_000;
const MOST_TABLE: usize = 1 << 16;

/// An entry that is not there, and the ends of chains.
const NONE: u32 = 0xffff_fffa;

/// A compound file.
pub(crate) struct Ole2<'a> {
    source: &'a dyn Source,
    sector: u64,
    mini_sector: u64,
    cutoff: u64,
    /// The sectors that hold the table of what follows what.
    table: Vec<u32>,
    mini_table: Vec<u8>,
    /// The chain of the stream that small streams live in.
    mini_chain: Vec<u32>,
    /// All streams.
    pub(crate) streams: Vec<Stream>,
    /// The table's sectors as they are read.
    cached: std::cell::RefCell<(u32, Vec<u8>)>,
}

/// A stream of a compound file.
pub(crate) struct Stream {
    /// Its name with those of the storages it lies in before it, separated by `/`; control characters at either end are left off.
    pub(crate) path: String,
    start: u32,
    size: u64,
}

impl<'a> Ole2<'a> {
    pub(crate) fn open(source: &'a dyn Source) -> Option<Self> {
        let header = bytes(source, 0, 512)?;
        if !header.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
            return None;
        }
        let (shift, mini_shift) = (u16_at(&header, 30)?, u16_at(&header, 32)?);
        if !(7..=16).contains(&shift) || !(2..shift).contains(&mini_shift) {
            return None;
        }
        let mut file = Ole2 {
            source,
            sector: 1 << shift,
            mini_sector: 1 << mini_shift,
            cutoff: u64::from(u32_at(&header, 56)?),
            table: Vec::new(),
            mini_table: Vec::new(),
            mini_chain: Vec::new(),
            streams: Vec::new(),
            cached: std::cell::RefCell::new((u32::MAX, Vec::new())),
        };
        file.read_table(&header)?;
        let directory = file.chain_bytes(u32_at(&header, 48)?, (MOST_ENTRIES * 128) as u64);
        file.mini_table = file.chain_bytes(u32_at(&header, 60)?, 16 << 20);
        file.read_directory(&directory);
        Some(file)
    }

    fn read_table(&mut self, header: &[u8]) -> Option<()> {
        let count = usize::try_from(u32_at(header, 44)?).ok()?.min(MOST_TABLE);
        self.table.extend((0..109).filter_map(|at| u32_at(header, 76 + at * 4)).take_while(|sector| *sector < NONE));
        let mut next = u32_at(header, 68)?;
        let entries = (self.sector / 4 - 1) as usize;
        let mut visited = 0;
        while next < NONE && self.table.len() < count && visited < MOST_TABLE {
            let Some(list) = self.sector_bytes(next) else { break };
            self.table.extend((0..entries).filter_map(|at| u32_at(&list, at * 4)).take_while(|sector| *sector < NONE));
            next = u32_at(&list, entries * 4)?;
            visited += 1;
        }
        Some(())
    }

    /// Names every stream; storages nest by their left, right and child links, each of which is followed once.
    fn read_directory(&mut self, directory: &[u8]) {
        let entry = |index: u32| {
            let at = usize::try_from(index).ok()?.checked_mul(128)?;
            directory.get(at..at.checked_add(128)?)
        };
        let Some(root) = entry(0) else { return };
        self.mini_chain = self.chain(u32_at(root, 116).unwrap_or(NONE));
        let mut seen = vec![false; directory.len() / 128];
        let mut waiting = vec![(u32_at(root, 76).unwrap_or(NONE), String::new())];
        while let Some((index, folder)) = waiting.pop() {
            let Some(bytes) = entry(index) else { continue };
            if std::mem::replace(&mut seen[index as usize], true) {
                continue;
            }
            let length = usize::from(u16_at(bytes, 64).unwrap_or(0)).min(64) / 2;
            let units: Vec<u16> =
                (0..length).filter_map(|at| u16_at(bytes, at * 2)).take_while(|unit| *unit != 0).collect();
            let name = String::from_utf16_lossy(&units);
            let name = name.trim_matches(|c: char| c <= ' ');
            for link in [68, 72] {
                waiting.push((u32_at(bytes, link).unwrap_or(NONE), folder.clone()));
            }
            let path = format!("{folder}{name}");
            match bytes[66] {
                // A name as long as a path could be is no name.
                1 if path.len() < 4096 => {
                    waiting.push((u32_at(bytes, 76).unwrap_or(NONE), format!("{path}/")));
                }
                2 => {
                    let start = u32_at(bytes, 116).unwrap_or(NONE);
                    let size = u64::from(u32_at(bytes, 120).unwrap_or(0));
                    self.streams.push(Stream { path, start, size });
                }
                _ => {}
            }
        }
    }

    /// The first bytes of a stream, `most` at most.
    pub(crate) fn read(&self, stream: &Stream, most: u64) -> Vec<u8> {
        let length = stream.size.min(most);
        if stream.size >= self.cutoff {
            let mut bytes = self.chain_bytes(stream.start, length);
            bytes.truncate(length as usize);
            return bytes;
        }
        let mut content = Vec::new();
        let mut next = stream.start;
        while next < NONE && (content.len() as u64) < length {
            let at = u64::from(next) * self.mini_sector;
            let sector = self.mini_chain.get(usize::try_from(at / self.sector).unwrap_or(usize::MAX));
            let Some(place) = sector.and_then(|sector| self.place(*sector)) else { break };
            let from = place + at % self.sector;
            let Some(piece) = bytes(self.source, from, self.mini_sector.min(self.source.size().saturating_sub(from)))
            else {
                break;
            };
            content.extend_from_slice(&piece);
            next = usize::try_from(next)
                .ok()
                .and_then(|next| u32_at(&self.mini_table, next.checked_mul(4)?))
                .unwrap_or(NONE);
        }
        content.truncate(length as usize);
        content
    }

    fn place(&self, sector: u32) -> Option<u64> {
        (u64::from(sector) + 1).checked_mul(self.sector)
    }

    /// A sector's bytes; the last one of a file may be cut short.
    fn sector_bytes(&self, sector: u32) -> Option<Vec<u8>> {
        let place = self.place(sector)?;
        let length = self.sector.min(self.source.size().checked_sub(place)?);
        bytes(self.source, place, length).filter(|bytes| !bytes.is_empty())
    }

    fn next(&self, sector: u32) -> u32 {
        let entries = (self.sector / 4) as u32;
        let Some(table) = self.table.get((sector / entries) as usize) else { return NONE };
        let mut cached = self.cached.borrow_mut();
        if cached.0 != *table {
            let Some(bytes) = self.sector_bytes(*table) else { return NONE };
            *cached = (*table, bytes);
        }
        u32_at(&cached.1, (sector % entries) as usize * 4).unwrap_or(NONE)
    }

    /// The sectors of a chain, no more than the file has room for: a chain that bites its tail ends there.
    fn chain(&self, start: u32) -> Vec<u32> {
        let most = self.source.size() / self.sector + 1;
        let mut chain = Vec::new();
        let mut next = start;
        while next < NONE && (chain.len() as u64) < most {
            chain.push(next);
            next = self.next(next);
        }
        chain
    }

    fn chain_bytes(&self, start: u32, most: u64) -> Vec<u8> {
        let mut content = Vec::new();
        let mut next = start;
        let most = most.min(self.source.size());
        while next < NONE && (content.len() as u64) < most {
            let Some(piece) = self.sector_bytes(next) else { break };
            content.extend_from_slice(&piece);
            next = self.next(next);
        }
        content
    }
}
