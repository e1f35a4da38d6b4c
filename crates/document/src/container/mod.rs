//! Files inside files: ZIP archives and OLE compound files, read from memory with bounds applied while reading.
//!
//! Both readers are our own and forgiving: a library that stops at the first fault gives nothing of a document that lost its last
//! kilobyte, and a person would still see its title. What is read from the parts is left to `office`. Archives inside archives are
//! never opened, so nesting costs nothing.

pub(crate) mod cfb;
pub(crate) mod zip;

/// A little-endian number of two bytes; 0 where there are none, as the end of a damaged file.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    at.checked_add(2).and_then(|end| bytes.get(at..end)).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]))
}

/// A little-endian number of four bytes; 0 where there are none.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = at.checked_add(4).and_then(|end| bytes.get(at..end));
    four.map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// A little-endian number of eight bytes; 0 where there are none.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at.saturating_add(4))) << 32
}

/// The bytes from `at` on, at most so many; fewer or none where the file ends.
pub(crate) fn slice(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    let start = at.min(bytes.len());
    &bytes[start..start.saturating_add(length).min(bytes.len())]
}
