//! The members of ZIP, TAR and GZ files. What lies in an archive as it is, is read in place; what is packed is unpacked into memory, within bounds.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use jiff::Timestamp;
use zhulu_document::pronom::{Identifier, Source, zip};

use super::{Named, Row, Settings, escaped, last, row};

/// How deep archives in archives are opened.
const DEEPEST: usize = 6;

/// The most members of one file that are looked at, those of archives within it included.
const MOST_MEMBERS: usize = 100_000;

/// The most bytes of one member that are unpacked.
const MOST_MEMBER: u64 = 64 << 20;

/// The most bytes that are unpacked of one file altogether.
const MOST_FILE: u64 = 4 << 30;

/// How many times its size a member may unpack to before it counts as a trap. Text packs to a twentieth; deflate cannot do better than 1:1032.
const RATIO: u64 = 250;

/// Below this many bytes the ratio does not matter.
const HARMLESS: u64 = 4 << 20;

/// PRONOM's identifiers of what is opened.
const ZIP: &str = "x-fmt/263";
const TAR: &str = "x-fmt/265";
const GZIP: &str = "x-fmt/266";

/// What is left of the bounds for one file.
struct Bounds {
    members: usize,
    bytes: u64,
}

/// A file's row and, if archives are opened, those of its members.
pub(super) fn rows<'a>(
    identifier: &'a Identifier,
    source: &dyn Source,
    file: Named,
    settings: &Settings,
) -> Vec<Row<'a>> {
    let mut rows = vec![row(identifier, source, file, settings, None)];
    if settings.archives {
        let mut bounds = Bounds { members: MOST_MEMBERS, bytes: MOST_FILE };
        let mut walk = Walk { identifier, settings, rows: &mut rows, bounds: &mut bounds };
        walk.open(source, 0, 1);
    }
    rows
}

struct Walk<'w, 'a> {
    identifier: &'a Identifier,
    settings: &'w Settings,
    rows: &'w mut Vec<Row<'a>>,
    bounds: &'w mut Bounds,
}

impl Walk<'_, '_> {
    /// Looks into the file of a row, if it is an archive.
    fn open(&mut self, source: &dyn Source, parent: usize, depth: usize) {
        let Some(kind) = self.kind(parent, source) else { return };
        if depth > DEEPEST {
            self.warn(parent, &format!("its members are not looked at: archives are opened {DEEPEST} deep"));
            return;
        }
        self.rows[parent].opened = true;
        match kind {
            ZIP => self.zip(source, parent, depth),
            TAR => self.tar(source, parent, depth),
            _ => self.gzip(source, parent, depth),
        }
    }

    fn kind(&self, row: usize, source: &dyn Source) -> Option<&'static str> {
        let matches = &self.rows[row].identification.matches;
        let told = |puid: &&str| matches.iter().any(|one| one.format.puid == **puid);
        if let Some(kind) = [ZIP, TAR, GZIP].iter().find(|puid| told(puid)) {
            return (self.rows[row].size > 0).then_some(*kind);
        }
        // An archive without its end, or one of no files, bears no signature of PRONOM.
        let mut head = [0; 262];
        let count = source.read_at(0, &mut head).unwrap_or(0);
        match &head[..count] {
            [0x1f, 0x8b, 8, ..] => Some(GZIP),
            [.., b'u', b's', b't', b'a', b'r'] if count == 262 => Some(TAR),
            _ => None,
        }
    }

    fn warn(&mut self, row: usize, text: &str) {
        let warning = &mut self.rows[row].identification.warning;
        *warning = Some(match warning.take() {
            Some(before) => format!("{before}; {text}"),
            None => text.to_owned(),
        });
    }

    /// Whether one more member may be looked at; the archive's row says so once if not.
    fn may_go_on(&mut self, parent: usize) -> bool {
        if self.bounds.members == 0 || self.bounds.bytes == 0 {
            let what = if self.bounds.members == 0 {
                format!("more than {MOST_MEMBERS} members")
            } else {
                format!("more than {} MB to unpack", MOST_FILE >> 20)
            };
            self.warn(parent, &format!("it has {what}; the rest is not looked at"));
            return false;
        }
        self.bounds.members -= 1;
        true
    }

    fn member(
        &mut self,
        source: &dyn Source,
        name: &str,
        modified: Option<Timestamp>,
        parent: usize,
        depth: usize,
    ) -> usize {
        let outer = &self.rows[parent];
        let scheme = match () {
            () if outer.uri.is_empty() => String::new(),
            () => format!("archive:{}!/{}", outer.uri, escaped(name.as_bytes())),
        };
        let file = Named { path: format!("{}#{name}", outer.path), uri: scheme, name: last(name), modified };
        let index = self.rows.len();
        self.rows.push(row(self.identifier, source, file, self.settings, Some(parent)));
        self.open(source, index, depth + 1);
        index
    }

    /// A member that is unpacked into memory first.
    fn packed(&mut self, reader: &mut dyn Read, packed: u64, name: &str, parent: usize, depth: usize) {
        let (bytes, trouble) = unpack(reader, packed, self.bounds.bytes);
        self.bounds.bytes -= (bytes.len() as u64).min(self.bounds.bytes);
        let index = self.member(&bytes.as_slice(), name, None, parent, depth);
        if let Some(trouble) = trouble {
            self.warn(index, &trouble);
        }
    }

    fn zip(&mut self, source: &dyn Source, parent: usize, depth: usize) {
        let Some((entries, more)) = zip::entries(source) else {
            return self.warn(parent, "its members cannot be listed: the archive is damaged");
        };
        for entry in entries.iter().filter(|entry| !entry.name.ends_with('/')) {
            if !self.may_go_on(parent) {
                return;
            }
            match zip::open(source, entry) {
                Some(mut reader) => self.packed(&mut reader, entry.packed, &entry.name, parent, depth),
                None => {
                    // Its name is all there is to go by.
                    let index = self.member(&[].as_slice(), &entry.name, None, parent, DEEPEST);
                    self.rows[index].size = entry.size;
                    self.rows[index].hash = None;
                    let why =
                        if entry.encrypted { "it needs a password" } else { "it is packed in a way that is not known" };
                    self.rows[index].identification.warning = Some(format!("match on extension only; {why}"));
                }
            }
        }
        if more {
            self.warn(parent, "it has more members than are listed");
        }
    }

    fn gzip(&mut self, source: &dyn Source, parent: usize, depth: usize) {
        if !self.may_go_on(parent) {
            return;
        }
        let name = &self.rows[parent].name;
        // What was packed goes by the same name without the ending.
        let inner = match name.rsplit_once('.') {
            Some((stem, ending)) if ending.eq_ignore_ascii_case("tgz") => format!("{stem}.tar"),
            Some((stem, _)) => stem.to_owned(),
            None => name.clone(),
        };
        let packed = source.size();
        let mut reader = MultiGzDecoder::new(Reading { source, at: 0 });
        self.packed(&mut reader, packed, &inner, parent, depth);
    }

    fn tar(&mut self, source: &dyn Source, parent: usize, depth: usize) {
        let mut at = 0;
        let mut long_name: Option<String> = None;
        let mut header = [0; 512];
        while read_full(source, at, &mut header) == 512 {
            if header.iter().all(|byte| *byte == 0) {
                return;
            }
            let Some(size) = number(&header[124..136]).filter(|_| checksum_fits(&header)) else {
                return self.warn(parent, "a member's header is damaged; the rest is not looked at");
            };
            let data = at + 512;
            let next = size.checked_add(511).map(|size| size / 512 * 512).and_then(|size| data.checked_add(size));
            let Some(next) = next else { return self.warn(parent, "a member's size makes no sense") };
            match header[156] {
                // Names too long for the header come before it, in the way of GNU or of POSIX.
                b'L' => long_name = Some(text(&stretch(source, data, size.min(64 << 10)))),
                b'x' => long_name = path_record(&stretch(source, data, size.min(1 << 20))).or(long_name),
                b'0' | b'\0' | b'7' => {
                    if !self.may_go_on(parent) {
                        return;
                    }
                    let name = long_name.take().unwrap_or_else(|| header_name(&header));
                    let modified = number(&header[136..148])
                        .and_then(|seconds| Timestamp::from_second(seconds.try_into().ok()?).ok());
                    let here = source.size().saturating_sub(data).min(size);
                    if !name.ends_with('/') {
                        let member = Part { source, from: data, size: here };
                        let index = self.member(&member, &name, modified, parent, depth);
                        if here < size {
                            self.warn(index, "the archive ends in the middle of it");
                        }
                    }
                }
                // Folders, links and devices have no bytes; their long names are spent.
                _ => long_name = None,
            }
            at = next;
        }
    }
}

/// Unpacks what a reader gives, as far as the bounds allow; what was wrong, if anything.
fn unpack(reader: &mut dyn Read, packed: u64, left: u64) -> (Vec<u8>, Option<String>) {
    let most = MOST_MEMBER.min(left);
    let mut bytes = Vec::new();
    let mut chunk = [0; 32 << 10];
    loop {
        let length = bytes.len() as u64;
        if length > HARMLESS && length / RATIO > packed {
            let text = format!(
                "it unpacks to more than {RATIO} times its size; only its first {} MB were looked at",
                length >> 20
            );
            return (bytes, Some(text));
        }
        if length >= most {
            return (bytes, Some(format!("only its first {} MB were looked at", most >> 20)));
        }
        let wanted = chunk.len().min(usize::try_from(most - length).unwrap_or(usize::MAX));
        match reader.read(&mut chunk[..wanted]) {
            Ok(0) => return (bytes, None),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (bytes, Some(format!("it cannot be unpacked to its end: {error}"))),
        }
    }
}

/// A source read from its beginning.
struct Reading<'a> {
    source: &'a dyn Source,
    at: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(self.at, buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A part of a source, as a source.
struct Part<'a> {
    source: &'a dyn Source,
    from: u64,
    size: u64,
}

impl Source for Part<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        self.source.read_at(self.from + offset, &mut buffer[..wanted])
    }
}

/// Fills a buffer as far as there are bytes; how many there were.
fn read_full(source: &dyn Source, at: u64, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(at + filled as u64, &mut buffer[filled..]) {
            Ok(0) | Err(_) => break,
            Ok(count) => filled += count,
        }
    }
    filled
}

fn stretch(source: &dyn Source, from: u64, size: u64) -> Vec<u8> {
    let size = size.min(source.size().saturating_sub(from));
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let filled = read_full(source, from, &mut bytes);
    bytes.truncate(filled);
    bytes
}

/// A number in octal digits, or in binary where the first bit says so.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (rest, low) = field.split_at(field.len() - 8);
        return (rest[0] == 0x80 && rest[1..].iter().all(|byte| *byte == 0))
            .then(|| low.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches(|c: char| c == '\0' || c == ' ');
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

fn checksum_fits(header: &[u8; 512]) -> bool {
    let spaces = 8 * u64::from(b' ');
    let sum = header.iter().enumerate().filter(|(at, _)| !(148..156).contains(at)).map(|(_, byte)| u64::from(*byte));
    number(&header[148..156]) == Some(sum.sum::<u64>() + spaces)
}

fn header_name(header: &[u8; 512]) -> String {
    let name = text(&header[..100]);
    let prefix = if &header[257..263] == b"ustar\0" { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// A name that ends at a zero byte; bytes that are no UTF-8 are shown as they can be.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    zip::name(&bytes[..end])
}

/// The path among the records `length key=value\n` of an extended header.
fn path_record(mut bytes: &[u8]) -> Option<String> {
    let mut path = None;
    while let Some(space) = bytes.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
        let record = bytes.get(space + 1..length)?;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").unwrap_or(value)));
        }
        bytes = &bytes[length..];
    }
    path
}
