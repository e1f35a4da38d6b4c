//! XLS: the cells of Excel's binary workbooks, from version 5 to 2003; rows become lines.

use std::collections::BTreeMap;

use encoding_rs::{Encoding, UTF_16LE, WINDOWS_1252};

use crate::container::cfb::Compound;
use crate::container::{slice, u16_at, u32_at, u64_at};

use super::compose::BODY;
use super::{Composer, Extent, Reading, Role, ole};

/// How many records, shared texts and cells are read.
const MAX_RECORDS: usize = 2_000_000;
const MAX_SHARED: u32 = 500_000;
const MAX_CELLS: usize = 200_000;

/// Read an XLS.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    let Some(bytes) = file.stream("Workbook").or_else(|| file.stream("Book")) else {
        reading.warn("unreadable", "The stream that holds the sheets cannot be read; the file is damaged.");
        return;
    };
    let mut book = Book {
        encoding: WINDOWS_1252,
        modern: true,
        names: Vec::new(),
        shared: Vec::new(),
        sheets: Vec::new(),
        cells: 0,
        waiting: None,
    };
    if book.read(&bytes).is_err() {
        reading.properties_only = true;
        reading.warn("encrypted", "The workbook is encrypted; it takes the password to read its cells.");
        return;
    }
    for name in &book.names {
        reading.property("XLS:sheets", name);
    }
    let sheets = book.sheets.iter().filter(|sheet| !sheet.is_empty()).count().max(book.names.len());
    reading.extent = u32::try_from(sheets).ok().filter(|count| *count > 0).map(Extent::Sheets);
    let mut composer = Composer::default();
    for sheet in &book.sheets {
        composer.page_break();
        let mut row_now = None;
        let mut line = String::new();
        for ((row, _), text) in sheet {
            if row_now != Some(*row) {
                composer.plain(&line, BODY, Role::Body);
                line.clear();
                row_now = Some(*row);
            }
            if !line.is_empty() {
                line.push('\t');
            }
            line.extend(text.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
        }
        composer.plain(&line, BODY, Role::Body);
    }
    if composer.is_empty() {
        reading.warn("no-text", "The workbook has no cells with text or numbers.");
    }
    reading.take_rows(composer.finish());
}

/// Stands for a workbook that cannot be read without its password.
struct Encrypted;

struct Book {
    encoding: &'static Encoding,
    modern: bool,
    names: Vec<String>,
    shared: Vec<String>,
    sheets: Vec<BTreeMap<(u16, u16), String>>,
    cells: usize,
    /// The cell of a formula whose text comes in the next record.
    waiting: Option<(u16, u16)>,
}

impl Book {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Encrypted> {
        let mut at = 0;
        let mut globals = true;
        for _ in 0..MAX_RECORDS {
            if at + 4 > bytes.len() {
                break;
            }
            let (kind, size) = (u16_at(bytes, at), usize::from(u16_at(bytes, at + 2)));
            let content = slice(bytes, at + 4, size);
            at += 4 + size;
            match kind {
                // A new stream of records: the workbook's own, then one for each sheet.
                0x0809 => {
                    self.modern = u16_at(content, 0) >= 0x0600;
                    globals = u16_at(content, 2) == 5;
                    if !globals {
                        self.sheets.push(BTreeMap::new());
                    }
                }
                0x002f => return Err(Encrypted),
                0x0042 => self.encoding = ole::code_page(u32::from(u16_at(content, 0))).unwrap_or(WINDOWS_1252),
                0x0085 if globals && self.names.len() < 500 => {
                    let name = self.short_string(content, 6);
                    self.names.push(name);
                }
                0x00fc => {
                    // Long lists go on in the records that follow; where one ends inside a text, the next begins with its width.
                    let mut parts = vec![content];
                    while u16_at(bytes, at) == 0x003c && at + 4 <= bytes.len() {
                        let more = usize::from(u16_at(bytes, at + 2));
                        parts.push(slice(bytes, at + 4, more));
                        at += 4 + more;
                    }
                    self.shared = shared(&parts);
                }
                0x00fd => {
                    let text = self.shared.get(u32_at(content, 6) as usize).cloned().unwrap_or_default();
                    self.cell(content, text);
                }
                0x0204 | 0x00d6 => {
                    let text = self.long_string(content, 6);
                    self.cell(content, text);
                }
                0x0203 => self.cell(content, number(f64::from_bits(u64_at(content, 6)))),
                0x027e => self.cell(content, number(packed(u32_at(content, 6)))),
                0x00bd => {
                    let (row, first) = (u16_at(content, 0), u16_at(content, 2));
                    for (index, cell) in content.get(4..).unwrap_or_default().chunks_exact(6).enumerate() {
                        self.put((row, first.saturating_add(index as u16)), number(packed(u32_at(cell, 2))));
                    }
                }
                0x0006 => {
                    let place = (u16_at(content, 0), u16_at(content, 2));
                    if u16_at(content, 12) == 0xffff {
                        self.waiting = (content.get(6) == Some(&0)).then_some(place);
                    } else {
                        self.put(place, number(f64::from_bits(u64_at(content, 6))));
                    }
                }
                0x0207 => {
                    if let Some(place) = self.waiting.take() {
                        let text = self.long_string(content, 0);
                        self.put(place, text);
                    }
                }
                _ => {}
            }
            if self.cells >= MAX_CELLS {
                break;
            }
        }
        Ok(())
    }

    fn cell(&mut self, content: &[u8], text: String) {
        self.put((u16_at(content, 0), u16_at(content, 2)), text);
    }

    fn put(&mut self, place: (u16, u16), text: String) {
        if text.is_empty() {
            return;
        }
        self.cells += 1;
        if let Some(sheet) = self.sheets.last_mut() {
            sheet.insert(place, text);
        }
    }

    /// A text with a count of one byte, as sheets' names have.
    fn short_string(&self, content: &[u8], at: usize) -> String {
        let length = usize::from(content.get(at).copied().unwrap_or(0));
        if !self.modern {
            return ole::text(slice(content, at + 1, length), self.encoding);
        }
        characters(content, at + 2, length, content.get(at + 1).copied().unwrap_or(0))
    }

    /// A text with a count of two bytes.
    fn long_string(&self, content: &[u8], at: usize) -> String {
        let length = usize::from(u16_at(content, at));
        if !self.modern {
            return ole::text(slice(content, at + 2, length), self.encoding);
        }
        characters(content, at + 3, length, content.get(at + 2).copied().unwrap_or(0))
    }
}

fn characters(content: &[u8], at: usize, length: usize, flags: u8) -> String {
    if flags & 1 == 1 {
        UTF_16LE.decode_without_bom_handling(slice(content, at, length * 2)).0.into_owned()
    } else {
        slice(content, at, length).iter().map(|byte| char::from(*byte)).collect()
    }
}

/// Reads over the borders of records.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    part: usize,
    at: usize,
}

impl Parts<'_> {
    fn byte(&mut self) -> Option<u8> {
        while self.at >= self.parts.get(self.part)?.len() {
            self.part += 1;
            self.at = 0;
        }
        self.at += 1;
        self.parts[self.part].get(self.at - 1).copied()
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn long(&mut self) -> Option<u32> {
        Some(u32::from(self.word()?) | u32::from(self.word()?) << 16)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            self.byte()?;
        }
        Some(())
    }

    /// One text of the list.
    fn text(&mut self) -> Option<String> {
        let length = self.word()?;
        let mut flags = self.byte()?;
        let looks = if flags & 8 != 0 { usize::from(self.word()?) } else { 0 };
        let spoken = if flags & 4 != 0 { self.long()? as usize } else { 0 };
        let mut units = Vec::with_capacity(usize::from(length));
        for _ in 0..length {
            // A record that ends inside a text is continued by one that says its width anew.
            if self.at >= self.parts.get(self.part)?.len() {
                flags = self.byte()?;
            }
            units.push(if flags & 1 == 1 { self.word()? } else { u16::from(self.byte()?) });
        }
        self.skip(looks * 4)?;
        self.skip(spoken)?;
        Some(String::from_utf16_lossy(&units))
    }
}

fn shared(parts: &[&[u8]]) -> Vec<String> {
    let mut reader = Parts { parts, part: 0, at: 0 };
    let Some((_, count)) = reader.long().zip(reader.long()) else { return Vec::new() };
    (0..count.min(MAX_SHARED)).map_while(|_| reader.text()).collect()
}

/// Excel's short form of a number.
fn packed(bits: u32) -> f64 {
    let value =
        if bits & 2 != 0 { f64::from((bits as i32) >> 2) } else { f64::from_bits(u64::from(bits & 0xffff_fffc) << 32) };
    if bits & 1 != 0 { value / 100.0 } else { value }
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_over_the_borders_of_records() {
        let mut first = vec![1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 1];
        first.extend("著录".encode_utf16().flat_map(u16::to_le_bytes));
        let second = [0, b'a', b'b'];
        assert_eq!(shared(&[&first, &second]), ["著录ab"]);
    }

    #[test]
    fn short_numbers() {
        assert_eq!(packed(((12_345_u32) << 2) | 3), 123.45);
        assert_eq!(packed(0x3ff0_0000), 1.0);
    }
}
