//! Streams decoded within bounds. The library inflates whatever it is given, and a thousandth of a megabyte can hold a megabyte of zeros,
//! so a stream is measured first: by what its filters could make of it at most and, where that is too much, by inflating it into nothing.

use std::borrow::Cow;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_syntax::Filter;
use hayro_syntax::object::Stream;

/// The most that one stream may hold. The fonts of a whole Chinese character set take 20 MB; pages of text take a hundredth of that.
pub(super) const MAX_STREAM: usize = 64 << 20;

/// The most that all object streams and reference tables of a file may hold: the library keeps them.
const MAX_OBJECTS: usize = 192 << 20;

/// What a filter makes of a byte at most.
fn growth(filter: &Filter) -> usize {
    match filter {
        // Deflate's own limit: 258 bytes for two bits.
        Filter::FlateDecode => 1032,
        // A code of 12 bits stands for at most as many bytes as there are codes.
        Filter::LzwDecode => 2731,
        Filter::RunLengthDecode => 64,
        Filter::Ascii85Decode => 4,
        _ => 1,
    }
}

/// How many bytes a zlib stream holds, as far as it can be read; `None` if more than `limit`.
fn inflated(bytes: &[u8], limit: usize) -> Option<usize> {
    let mut state = Decompress::new(true);
    let mut nowhere = [0; 32 << 10];
    loop {
        let before = state.total_in();
        let made = state.total_out();
        let rest = &bytes[usize::try_from(before).unwrap_or(bytes.len()).min(bytes.len())..];
        let status = state.decompress(rest, &mut nowhere, FlushDecompress::None);
        if state.total_out() > limit as u64 {
            return None;
        }
        let stuck = state.total_in() == before && state.total_out() == made;
        match status {
            Ok(Status::Ok | Status::BufError) if !stuck => {}
            _ => return Some(state.total_out() as usize),
        }
    }
}

/// Whether `stream` decodes to no more than `limit` bytes.
pub(super) fn fits(stream: &Stream<'_>, limit: usize) -> bool {
    let raw = stream.raw_data();
    let filters = stream.filters();
    let most = |bytes: usize, filters: &[Filter]| {
        filters.iter().fold(bytes, |bytes, filter| bytes.saturating_mul(growth(filter)))
    };
    if most(raw.len(), &filters) <= limit {
        return true;
    }
    match filters.split_first() {
        Some((Filter::FlateDecode, rest)) => inflated(&raw, limit).is_some_and(|bytes| most(bytes, rest) <= limit),
        _ => false,
    }
}

/// What a stream holds; `None` if it cannot be decoded or holds too much.
pub(super) fn decoded<'a>(stream: &Stream<'a>) -> Option<Cow<'a, [u8]>> {
    fits(stream, MAX_STREAM).then(|| stream.decoded_data().ok()).flatten()
}

/// Whether the object streams and reference tables of a file are of a size that can be opened. They are found by their names in the
/// bytes, because the library inflates them while it opens the file. Those of an encrypted file cannot be measured from outside and count
/// as what they weigh.
pub(super) fn can_be_opened(file: &[u8]) -> bool {
    let mut total = 0_usize;
    let mut from = 0;
    while let Some(at) = find(&file[from..], b"stream") {
        let start = from + at + 6;
        from = start;
        let head = &file[(start - 6).saturating_sub(512)..start - 6];
        let dictionary = &head[rfind(head, b"obj").unwrap_or(0)..];
        if find(dictionary, b"ObjStm").is_none() && find(dictionary, b"XRef").is_none() {
            continue;
        }
        let body = &file[start..];
        let body = body.strip_prefix(b"\r\n").or_else(|| body.strip_prefix(b"\n")).unwrap_or(body);
        let end = find(body, b"endstream").unwrap_or(body.len());
        let raw = &body[..end];
        from = start + end;
        let layers = dictionary
            .windows(6)
            .filter(|word| *word == b"Decode")
            .count()
            .saturating_sub(usize::from(find(dictionary, b"DecodeParms").is_some()));
        let most = match layers {
            0 => raw.len(),
            1 => raw.len().saturating_mul(1032),
            _ => raw.len().saturating_mul(1032 * 1032),
        };
        if total.saturating_add(most) <= MAX_OBJECTS / 4 {
            total += most;
            continue;
        }
        let size = match layers {
            0 | 1 => inflated(raw, MAX_OBJECTS - total).map(|size| size.max(raw.len())),
            _ => None,
        };
        match size.and_then(|size| total.checked_add(size)) {
            Some(sum) if sum <= MAX_OBJECTS => total = sum,
            _ => return false,
        }
    }
    true
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, word)
}

fn rfind(bytes: &[u8], word: &[u8]) -> Option<usize> {
    memchr::memmem::rfind(bytes, word)
}
