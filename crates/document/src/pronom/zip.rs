//! ZIP archives as far as naming and reading their entries goes: the central directory, or the entries' own headers where that is lost.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

use super::source::Source;

/// The most entries that are listed.
const MOST_ENTRIES: usize = 200_000;

/// The largest central directory that is read.
const MOST_DIRECTORY: u64 = 64 << 20;

/// One entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipEntry {
    /// Its name, with `/` between folders; a folder's ends with one.
    pub name: String,
    /// How many bytes it takes in the archive.
    pub packed: u64,
    /// How many bytes it says it has when unpacked.
    pub size: u64,
    /// How it is packed: 0 not at all, 8 deflated.
    pub method: u16,
    /// Whether it needs a password.
    pub encrypted: bool,
    /// Where its own header stands.
    header: u64,
}

/// The entries of an archive, in the order of its directory, and whether there were more than are listed.
pub fn entries(source: &dyn Source) -> Option<(Vec<ZipEntry>, bool)> {
    from_directory(source).or_else(|| from_headers(source))
}

/// The bytes of an entry, unpacked as they are read. None where it is packed in an unknown way, needs a password or lies outside the file.
pub fn open<'a>(source: &'a dyn Source, entry: &ZipEntry) -> Option<Box<dyn Read + 'a>> {
    let header = bytes(source, entry.header, 30)?;
    if entry.encrypted || !header.starts_with(b"PK\x03\x04") {
        return None;
    }
    let data = entry.header + 30 + u64::from(u16_at(&header, 26)?) + u64::from(u16_at(&header, 28)?);
    let packed = Range { source, at: data, end: data.saturating_add(entry.packed).min(source.size()) };
    match entry.method {
        0 => Some(Box::new(packed)),
        8 => Some(Box::new(DeflateDecoder::new(packed))),
        _ => None,
    }
}

/// A stretch of a source, read from its beginning.
pub(crate) struct Range<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Read for Range<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.source.read_at(self.at, &mut buffer[..wanted])?.min(wanted);
        self.at += count as u64;
        Ok(count)
    }
}

/// Exactly so many bytes from a place on.
pub(crate) fn bytes(source: &dyn Source, from: u64, count: u64) -> Option<Vec<u8>> {
    if from.checked_add(count)? > source.size() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(count).ok()?];
    Range { source, at: from, end: from + count }.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn from_directory(source: &dyn Source) -> Option<(Vec<ZipEntry>, bool)> {
    let size = source.size();
    // The end record is followed by a comment of at most 65,535 bytes; most archives have none, so the near end is tried first.
    let (record, record_at) = [1024, 22 + 65_535].into_iter().find_map(|window| {
        let start = size.saturating_sub(window);
        let tail = bytes(source, start, size - start)?;
        let at = memchr::memmem::rfind(&tail, b"PK\x05\x06").filter(|at| at + 22 <= tail.len())?;
        Some((tail[at..at + 22].to_vec(), start + at as u64))
    })?;
    let mut length = u64::from(u32_at(&record, 12)?);
    let mut offset = u64::from(u32_at(&record, 16)?);
    let mut end = record_at;
    if offset == 0xffff_ffff || length == 0xffff_ffff || u16_at(&record, 10)? == 0xffff {
        let locator = record_at.checked_sub(20).and_then(|at| bytes(source, at, 20));
        if let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
            let at = u64_at(&locator, 8)?;
            let wide = bytes(source, at, 56).filter(|wide| wide.starts_with(b"PK\x06\x06"))?;
            (length, offset, end) = (u64_at(&wide, 40)?, u64_at(&wide, 48)?, at);
        }
    }
    // Bytes before the archive, as self-extracting ones have, move everything.
    let start = end.checked_sub(length)?;
    let moved = start.checked_sub(offset)?;
    let directory = bytes(source, start, length.min(MOST_DIRECTORY))?;
    let mut entries = Vec::new();
    let mut rest = directory.as_slice();
    while rest.len() >= 46 && rest.starts_with(b"PK\x01\x02") {
        if entries.len() == MOST_ENTRIES {
            return Some((entries, true));
        }
        let (name, extra, comment) = (u16_at(rest, 28)?, u16_at(rest, 30)?, u16_at(rest, 32)?);
        let (name, extra, comment) = (usize::from(name), usize::from(extra), usize::from(comment));
        let Some(raw_name) = rest.get(46..46 + name) else { break };
        let mut entry = ZipEntry {
            name: self::name(raw_name),
            packed: u64::from(u32_at(rest, 20)?),
            size: u64::from(u32_at(rest, 24)?),
            method: u16_at(rest, 10)?,
            encrypted: u16_at(rest, 8)? & 1 == 1,
            header: u64::from(u32_at(rest, 42)?),
        };
        widen(&mut entry, rest.get(46 + name..46 + name + extra).unwrap_or_default());
        entry.header = entry.header.saturating_add(moved);
        entries.push(entry);
        rest = rest.get(46 + name + extra + comment..).unwrap_or_default();
    }
    Some((entries, length > MOST_DIRECTORY))
}

/// Sizes too large for the old form stand in an extra field.
fn widen(entry: &mut ZipEntry, mut extra: &[u8]) {
    while let (Some(kind), Some(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some(field) = extra.get(4..4 + usize::from(length)) else { return };
        if kind == 1 {
            let mut at = 0;
            for value in [&mut entry.size, &mut entry.packed, &mut entry.header] {
                if *value == 0xffff_ffff {
                    let Some(wide) = u64_at(field, at) else { return };
                    *value = wide;
                    at += 8;
                }
            }
            return;
        }
        extra = &extra[4 + field.len()..];
    }
}

/// The entries by their own headers, as far as these say where the next one is: all there is when an archive was cut short.
fn from_headers(source: &dyn Source) -> Option<(Vec<ZipEntry>, bool)> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(header) = bytes(source, at, 30).filter(|header| header.starts_with(b"PK\x03\x04")) {
        if entries.len() == MOST_ENTRIES {
            return Some((entries, true));
        }
        let (flags, name_length) = (u16_at(&header, 6)?, u64::from(u16_at(&header, 26)?));
        let extra = u64::from(u16_at(&header, 28)?);
        let Some(name) = bytes(source, at + 30, name_length) else { break };
        let packed = u64::from(u32_at(&header, 18)?);
        // With the sizes behind the bytes, nothing says where the next entry begins; this one is what is left.
        let open_end = flags & 8 != 0 && packed == 0;
        let data = at + 30 + name_length + extra;
        entries.push(ZipEntry {
            name: self::name(&name),
            packed: if open_end { source.size().saturating_sub(data) } else { packed },
            size: u64::from(u32_at(&header, 22)?),
            method: u16_at(&header, 8)?,
            encrypted: flags & 1 == 1,
            header: at,
        });
        if open_end {
            break;
        }
        at = data.checked_add(packed)?;
    }
    (!entries.is_empty()).then_some((entries, false))
}

/// A name in UTF-8, or in whatever a text of these bytes would be in: Chinese Windows writes GBK.
pub fn name(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => crate::text::decode(name).text,
    }
}
