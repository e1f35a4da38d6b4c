//! DOC: Word's binary documents, from Word 6 to 2003.
//!
//! The text lies in pieces that a table puts in order; sizes and styles lie in pages of their own, by the place of the text in the file. Where
//! the table of pieces is broken the text is looked for where Word puts it by default, and failing that anywhere.
//!
//! Own code over our own compound-file reader: the libraries measured give no sizes, and refuse files that are damaged in places no text is.

use encoding_rs::{Encoding, GB18030, UTF_16LE, WINDOWS_1252};

use crate::container::cfb::Compound;
use crate::container::{slice, u16_at, u32_at};

use super::compose::BODY;
use super::{Composer, Extent, Reading, Role, Run, ole};

/// How many pieces and how many changes of look are read.
const MAX_PIECES: usize = 100_000;
const MAX_RUNS: usize = 400_000;

/// How much text is read: more than the composer keeps.
const MAX_CHARS: usize = 1 << 20;

/// A stretch of text in the file.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where its bytes begin.
    at: usize,
    chars: usize,
    /// Whether a character is two bytes.
    wide: bool,
}

/// A character and where it stands in the file.
type Placed = (usize, char);

/// The header: where everything is.
struct Header<'a> {
    main: &'a [u8],
    table: Vec<u8>,
    /// Whether this is Word 97 or later.
    modern: bool,
    encoding: &'static Encoding,
    /// How many characters the main text has.
    chars: usize,
}

/// Look of letters by their place in the file.
#[derive(Debug, Clone, Copy)]
struct Letters {
    from: usize,
    to: usize,
    half_points: Option<u16>,
    bold: Option<bool>,
    raised: bool,
    hidden: bool,
}

/// Style of paragraphs by their place in the file.
#[derive(Debug, Clone, Copy)]
struct Styled {
    from: usize,
    to: usize,
    style: u16,
}

#[derive(Debug, Clone, Default)]
struct Style {
    name: String,
    number: u16,
    base: u16,
    half_points: Option<u16>,
    bold: Option<bool>,
}

/// Whether these are the bytes of a Word document without a container around them, as Word 2 and some programs of its time write them.
pub(super) fn is_bare(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xdb, 0xa5]) || bytes.starts_with(&[0xec, 0xa5, 0xc1, 0x00])
}

/// Read a document without a container.
pub(super) fn read_bare(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    read_streams(bytes, None, &mut reading);
    reading
}

/// Read a DOC.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    reading.extent = reading.count("OLE:Pages").map(Extent::Pages);
    let Some(main) = file.stream("WordDocument") else {
        reading.warn("unreadable", "The stream that holds the text cannot be read; the file is damaged.");
        return;
    };
    let tables = [file.stream("0Table"), file.stream("1Table")];
    read_streams(&main, Some(tables), reading);
}

fn read_streams(main: &[u8], tables: Option<[Option<Vec<u8>>; 2]>, reading: &mut Reading) {
    let flags = u16_at(main, 10);
    if flags & 0x0100 != 0 {
        reading.properties_only = true;
        reading.warn("encrypted", "The document is encrypted; it takes the password to read its text.");
        return;
    }
    let version = u16_at(main, 2);
    let modern = version >= 0xc0 && tables.is_some();
    let table = match tables {
        Some([zero, one]) if modern => {
            let (named, other) = if flags & 0x0200 != 0 { (one, zero) } else { (zero, one) };
            named.filter(|table| !table.is_empty()).or(other).unwrap_or_default()
        }
        _ => main.to_vec(),
    };
    let lid = u16_at(main, 6);
    reading.property("DOC:Version", &version.to_string());
    reading.property("DOC:Language", &language_tag(lid));
    let header = Header {
        main,
        table,
        modern,
        encoding: ole::code_page_of_language(lid),
        chars: u32_at(main, if modern { 0x4c } else { 0x34 }) as usize,
    };
    let pieces = header.pieces(reading);
    let text = header.text(&pieces);
    let styles = header.styles();
    let mut letters = header.letters();
    let mut styled = header.paragraphs();
    letters.sort_by_key(|run| run.from);
    styled.sort_by_key(|run| run.from);
    let mut composer = Composer::default();
    compose(&text, &letters, &styled, &styles, &mut composer);
    if composer.is_empty() {
        scan(main, header.encoding, &mut composer);
        if composer.is_empty() {
            reading.warn("no-text", "The document has no text.");
        } else {
            reading.warn(
                "damaged-text",
                "The order of the text is lost; what looks like text was taken as it stands in the file.",
            );
        }
    }
    reading.pages = composer.finish();
}

/// Languages of this project's readers by name, others by number.
fn language_tag(lid: u16) -> String {
    let tag = match lid {
        0 | 0x0400 => "",
        0x0804 => "zh-CN",
        0x0404 => "zh-TW",
        0x0c04 => "zh-HK",
        0x1004 => "zh-SG",
        0x0409 => "en-US",
        0x0809 => "en-GB",
        0x0411 => "ja-JP",
        0x0412 => "ko-KR",
        0x0407 => "de-DE",
        0x040c => "fr-FR",
        0x0419 => "ru-RU",
        0x0c0a | 0x040a => "es-ES",
        _ => return format!("0x{lid:04x}"),
    };
    tag.to_owned()
}

impl Header<'_> {
    /// A table of the header by its number: where it begins and how long it is.
    fn table(&self, number: usize) -> &[u8] {
        // Word 6 and 95 list the same tables from another place on.
        let at = if self.modern { 0x9a + number * 8 } else { 0x58 + number * 8 };
        slice(&self.table, u32_at(self.main, at) as usize, u32_at(self.main, at + 4) as usize)
    }

    fn pieces(&self, reading: &mut Reading) -> Vec<Piece> {
        let complex = self.modern || u16_at(self.main, 10) & 0x0004 != 0;
        let pieces = if complex { self.piece_table() } else { Vec::new() };
        if !pieces.is_empty() {
            return pieces;
        }
        // A document saved whole has its text in one go.
        let (from, to) = (u32_at(self.main, 0x18) as usize, u32_at(self.main, 0x1c) as usize);
        let size = to.saturating_sub(from).min(self.main.len().saturating_sub(from));
        if self.modern {
            reading.warn(
                "damaged-text",
                "The table of the text's pieces is damaged; the text was read from where it usually is.",
            );
        }
        let wide =
            self.modern && looks_wide(slice(self.main, from, size.min(4096))) || u16_at(self.main, 10) & 0x1000 != 0;
        vec![Piece { at: from, chars: if wide { size / 2 } else { size }, wide }]
    }

    fn piece_table(&self) -> Vec<Piece> {
        let clx = self.table(33);
        let mut at = 0;
        // Changes of look come before the pieces.
        while clx.get(at) == Some(&1) {
            at += 3 + usize::from(u16_at(clx, at + 1));
        }
        if clx.get(at) != Some(&2) {
            return Vec::new();
        }
        let plc = slice(clx, at + 5, u32_at(clx, at + 1) as usize);
        let count = (plc.len().saturating_sub(4) / 12).min(MAX_PIECES);
        let mut pieces = Vec::new();
        for index in 0..count {
            let (from, to) = (u32_at(plc, index * 4) as usize, u32_at(plc, index * 4 + 4) as usize);
            let place = u32_at(plc, (count + 1) * 4 + index * 8 + 2) as usize;
            let wide = if self.modern { place & 0x4000_0000 == 0 } else { u16_at(self.main, 10) & 0x1000 != 0 };
            let at = if self.modern && !wide { (place & 0x3fff_ffff) / 2 } else { place & 0x3fff_ffff };
            let Some(chars) = to.checked_sub(from).filter(|_| at < self.main.len()) else { continue };
            pieces.push(Piece { at, chars, wide });
        }
        pieces
    }

    /// The main text with the place of each character; headers and notes come after it and are left out.
    fn text(&self, pieces: &[Piece]) -> Vec<Placed> {
        let mut text: Vec<Placed> = Vec::new();
        let most = if self.chars == 0 { MAX_CHARS } else { self.chars.min(MAX_CHARS) };
        let mut taken = 0;
        for piece in pieces {
            let Some(left) = most.checked_sub(taken).filter(|left| *left > 0) else { break };
            let chars = piece.chars.min(left);
            taken += chars;
            if piece.wide {
                let bytes = slice(self.main, piece.at, chars * 2);
                let units = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
                let mut at = piece.at;
                for unit in char::decode_utf16(units) {
                    let c = unit.unwrap_or('\u{fffd}');
                    text.push((at, c));
                    at += c.len_utf16() * 2;
                }
            } else {
                self.narrow(piece.at, slice(self.main, piece.at, chars), &mut text);
            }
        }
        text
    }

    /// Text of one byte to a character. Word 97 and later put only Latin text there, but other programs, and Word 6 and 95 by design, put
    /// in whatever the code page holds: Chinese in GBK, where the language is Chinese or the bytes can be nothing else.
    fn narrow(&self, start: usize, bytes: &[u8], text: &mut Vec<Placed>) {
        let double = if self.encoding == GB18030 || self.encoding == WINDOWS_1252 {
            (ole::is_gbk(bytes)).then_some(GB18030)
        } else {
            (!self.modern && bytes.iter().any(|byte| *byte >= 0x80)).then_some(self.encoding)
        };
        let Some(encoding) = double else {
            let single = if self.modern { WINDOWS_1252 } else { self.encoding };
            let single = if single.is_single_byte() { single } else { WINDOWS_1252 };
            let (decoded, _) = single.decode_without_bom_handling(bytes);
            text.extend(decoded.chars().enumerate().map(|(index, c)| (start + index, c)));
            return;
        };
        let (decoded, _) = encoding.decode_without_bom_handling(bytes);
        let mut at = start;
        for c in decoded.chars() {
            text.push((at, c));
            at += if c.is_ascii() { 1 } else { 2 };
        }
    }

    /// The pages of looks that a table lists: place in the file of each run, and its bytes.
    fn formatted<T>(
        &self,
        number: usize,
        mut read: impl FnMut(&[u8], usize, usize, usize, usize) -> Option<T>,
    ) -> Vec<T> {
        let plc = self.table(number);
        let width = if self.modern { 4 } else { 2 };
        let count = plc.len().saturating_sub(4) / (4 + width);
        let mut runs = Vec::new();
        for index in 0..count {
            let at = (count + 1) * 4 + index * width;
            let page = if self.modern { u32_at(plc, at) & 0x3f_ffff } else { u32::from(u16_at(plc, at)) };
            let page = slice(self.main, page as usize * 512, 512);
            if page.len() < 512 {
                continue;
            }
            let in_page = usize::from(page[511]);
            for run in 0..in_page {
                let (from, to) = (u32_at(page, run * 4) as usize, u32_at(page, run * 4 + 4) as usize);
                runs.extend(read(page, in_page, run, from, to).filter(|_| from < to));
                if runs.len() >= MAX_RUNS {
                    return runs;
                }
            }
        }
        runs
    }

    fn letters(&self) -> Vec<Letters> {
        self.formatted(12, |page, count, run, from, to| {
            let at = usize::from(*page.get((count + 1) * 4 + run)?) * 2;
            let mut letters = Letters { from, to, half_points: None, bold: None, raised: false, hidden: false };
            if at > 0 {
                let size = usize::from(*page.get(at)?);
                self.changes(slice(page, at + 1, size), &mut letters);
            }
            Some(letters)
        })
    }

    /// The changes of look in a list of them.
    fn changes(&self, list: &[u8], letters: &mut Letters) {
        let mut at = 0;
        while at + 2 < list.len() {
            if !self.modern {
                let code = list[at];
                match code {
                    // Bold, hidden, size, raised: the same four under their old numbers.
                    85 => letters.bold = Some(list[at + 1] & 1 == 1),
                    92 => letters.hidden = list[at + 1] == 1,
                    99 => letters.half_points = Some(u16_at(list, at + 1)),
                    104 => letters.raised = list[at + 1] == 1,
                    _ => {}
                }
                let size = match code {
                    65 | 67 | 82 | 83 | 85..=92 | 94 | 98 | 100 | 104 => 1,
                    69 | 72 | 80 | 93 | 95..=97 | 99 | 101 | 105 | 107 | 109 => 2,
                    68 | 70 => 4,
                    // What is not known cannot be stepped over.
                    _ => return,
                };
                at += 1 + size;
                continue;
            }
            let code = u16_at(list, at);
            let value = at + 2;
            match code {
                0x0835 => letters.bold = Some(list[value] & 1 == 1),
                0x083c => letters.hidden = list[value] == 1,
                0x4a43 => letters.half_points = Some(u16_at(list, value)),
                0x2a48 => letters.raised = list[value] == 1,
                _ => {}
            }
            let size = match code >> 13 {
                0 | 1 => 1,
                2 | 4 | 5 => 2,
                3 => 4,
                7 => 3,
                _ => usize::from(list[value]) + 1,
            };
            at = value + size;
        }
    }

    fn paragraphs(&self) -> Vec<Styled> {
        let width = if self.modern { 13 } else { 7 };
        self.formatted(13, |page, count, run, from, to| {
            let at = usize::from(*page.get((count + 1) * 4 + run * width)?) * 2;
            let style = match page.get(at).filter(|_| at > 0)? {
                0 if self.modern => u16_at(page, at + 2),
                _ if self.modern => u16_at(page, at + 1),
                _ => u16::from(*page.get(at + 1)?),
            };
            Some(Styled { from, to, style })
        })
    }

    /// The style sheet: names, sizes and what they are based on. Only that of Word 97 and later.
    fn styles(&self) -> Vec<Style> {
        let sheet = self.table(1);
        if !self.modern || sheet.len() < 20 {
            return Vec::new();
        }
        let head = usize::from(u16_at(sheet, 0));
        let count = usize::from(u16_at(sheet, 2)).min(4096);
        let fixed = usize::from(u16_at(sheet, 4)).max(10);
        let mut at = 2 + head;
        let mut styles = Vec::new();
        for _ in 0..count {
            let size = usize::from(u16_at(sheet, at));
            styles.push(self.style(slice(sheet, at + 2, size), fixed));
            at += 2 + size;
            if at >= sheet.len() {
                break;
            }
        }
        styles
    }

    fn style(&self, bytes: &[u8], fixed: usize) -> Style {
        let kind = u16_at(bytes, 2) & 0x0f;
        let mut style = Style { number: u16_at(bytes, 0) & 0x0fff, base: u16_at(bytes, 2) >> 4, ..Style::default() };
        let length = usize::from(u16_at(bytes, fixed));
        if bytes.is_empty() || length > 255 {
            return style;
        }
        let name = slice(bytes, fixed + 2, length * 2);
        style.name = UTF_16LE.decode_without_bom_handling(name).0.to_lowercase();
        // Then follow the changes it makes, for paragraphs and for letters, each list at an even place.
        let mut at = fixed + 2 + length * 2 + 2;
        let lists = if kind == 1 { 2 } else { 1 };
        for list in 0..lists {
            at += at % 2;
            let size = usize::from(u16_at(bytes, at));
            if list + 1 == lists {
                let mut letters =
                    Letters { from: 0, to: 0, half_points: None, bold: None, raised: false, hidden: false };
                self.changes(slice(bytes, at + 2, size), &mut letters);
                (style.half_points, style.bold) = (letters.half_points, letters.bold);
            }
            at += 2 + size;
        }
        style
    }
}

/// Whether bytes are text of two bytes to a character: much of it is zero or Chinese in the second.
fn looks_wide(bytes: &[u8]) -> bool {
    let second = bytes.iter().skip(1).step_by(2);
    let wide = second.filter(|byte| **byte == 0 || (0x4e..=0x9f).contains(*byte)).count();
    wide * 4 > bytes.len()
}

/// The size and weight of a style with all it is based on.
fn resolve(styles: &[Style], index: u16) -> (Option<u16>, Option<bool>) {
    let (mut size, mut bold) = (None, None);
    let mut next = index;
    for _ in 0..20 {
        let Some(style) = styles.get(usize::from(next)) else { break };
        size = size.or(style.half_points);
        bold = bold.or(style.bold);
        next = style.base;
    }
    (size, bold)
}

fn role(styles: &[Style], index: u16) -> Role {
    match styles.get(usize::from(index)) {
        // The built-in styles keep their numbers under any name: 1 to 9 are the headings, 62 the title.
        Some(Style { number: level @ 1..=9, .. }) => Role::Heading(*level as u8),
        Some(Style { number: 62, .. }) => Role::Title,
        Some(style) if matches!(style.name.as_str(), "papertitle" | "paper title" | "论文题目") => Role::Title,
        _ => Role::Body,
    }
}

/// Put the text together: fields give their result, cells and rows end paragraphs, marks of the program are left out.
fn compose(text: &[Placed], letters: &[Letters], styled: &[Styled], styles: &[Style], composer: &mut Composer) {
    let mut runs: Vec<Run> = Vec::new();
    // For each open field: whether its result has begun.
    let mut fields: Vec<bool> = Vec::new();
    let mut style_now: Option<(Option<u16>, Option<bool>)> = None;
    let (mut letter, mut paragraph) = (0, 0);
    for (at, c) in text {
        let shown = match *c {
            '\x13' => {
                fields.push(false);
                continue;
            }
            '\x14' => {
                if let Some(last) = fields.last_mut() {
                    *last = true;
                }
                continue;
            }
            '\x15' => {
                fields.pop();
                continue;
            }
            '\r' | '\x07' | '\x0c' => {
                let index = find(styled, *at, &mut paragraph, |run| (run.from, run.to)).map_or(0, |run| run.style);
                // A damaged field must not swallow the rest of the document.
                fields.clear();
                composer.paragraph(&runs, role(styles, index));
                runs.clear();
                style_now = None;
                if *c == '\x0c' {
                    composer.page_break();
                }
                continue;
            }
            _ if fields.contains(&false) => continue,
            '\x0b' => '\n',
            '\x1e' => '-',
            '\x01' | '\x02' | '\x03' | '\x04' | '\x05' | '\x08' | '\x1f' => continue,
            '\u{a0}' => ' ',
            c => c,
        };
        let (size, bold) = *style_now.get_or_insert_with(|| {
            let index = find(styled, *at, &mut paragraph, |run| (run.from, run.to)).map_or(0, |run| run.style);
            resolve(styles, index)
        });
        let look = find(letters, *at, &mut letter, |run| (run.from, run.to));
        if look.is_some_and(|look| look.hidden) {
            continue;
        }
        let half_points = look.and_then(|look| look.half_points).or(size);
        let size = half_points.filter(|half| *half > 0).map_or(BODY, |half| f32::from(half) / 2.0);
        let bold = look.and_then(|look| look.bold).or(bold).unwrap_or(false);
        let raised = look.is_some_and(|look| look.raised);
        match runs.last_mut() {
            Some(last) if last.size == size && last.bold == bold && last.raised == raised => last.text.push(shown),
            _ => runs.push(Run { text: shown.to_string(), size, bold, raised }),
        }
        if composer.is_full() {
            return;
        }
    }
    composer.paragraph(&runs, Role::Body);
}

/// The run that covers a place. Neighbouring places mostly have the same one, so the search begins there.
fn find<'a, T>(runs: &'a [T], at: usize, last: &mut usize, span: impl Fn(&T) -> (usize, usize)) -> Option<&'a T> {
    let covers = |index: usize| runs.get(index).is_some_and(|run| span(run).0 <= at && at < span(run).1);
    if !covers(*last) {
        *last = runs.partition_point(|run| span(run).0 <= at).checked_sub(1)?;
    }
    covers(*last).then(|| &runs[*last])
}

/// What looks like text anywhere in the bytes: runs of Chinese in UTF-16 and of printable bytes.
pub(super) fn scan(bytes: &[u8], encoding: &'static Encoding, composer: &mut Composer) {
    let sensible = |c: char| matches!(c, ' '..='~' | '\u{a0}'..='\u{24f}' | '\u{2010}'..='\u{2026}' | '\u{3000}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}');
    let bytes = &bytes[..bytes.len().min(16 << 20)];
    let wide = bytes
        .chunks_exact(2)
        .map(|two| char::from_u32(u32::from(u16::from_le_bytes([two[0], two[1]]))).unwrap_or('\0'));
    let mut line = String::new();
    let flush = |line: &mut String, composer: &mut Composer| {
        if line.chars().filter(|c| c.is_alphanumeric()).count() >= 4 {
            composer.plain(line, BODY, Role::Body);
        }
        line.clear();
    };
    // Bytes of anything read as UTF-16 look like rare Chinese; real text repeats its characters, has spaces or punctuation, and is long.
    let mut found = Composer::default();
    for c in wide {
        if sensible(c) { line.push(c) } else { flush(&mut line, &mut found) }
    }
    flush(&mut line, &mut found);
    for text in found.finish().into_iter().flatten().map(|line| line.text) {
        let common = text
            .chars()
            .filter(|c| matches!(c, ' '..='~' | '的' | '是' | '在' | '，' | '。' | '一' | '、' | '：'))
            .count();
        if common * 12 >= text.chars().count() {
            composer.plain(&text, BODY, Role::Body);
        }
    }
    for run in bytes.split(|byte| matches!(byte, 0..=8 | 11..=31 | 127)).filter(|run| run.len() >= 12) {
        let text = ole::text(run, encoding);
        let letters = text.chars().filter(|c| c.is_alphanumeric() || *c == ' ').count();
        if letters * 10 >= text.chars().count() * 8 && !text.contains('\u{fffd}') {
            composer.plain(&text, BODY, Role::Body);
        }
        if composer.is_full() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(main: &'a [u8], encoding: &'static Encoding) -> Header<'a> {
        Header { main, table: Vec::new(), modern: true, encoding, chars: 0 }
    }

    fn narrow(bytes: &[u8], encoding: &'static Encoding) -> String {
        let mut text = Vec::new();
        header(bytes, encoding).narrow(0, bytes, &mut text);
        text.into_iter().map(|(_, c)| c).collect()
    }

    #[test]
    fn narrow_pieces_in_a_chinese_document() {
        let gbk = GB18030.encode("数据结构 PICTURE 谈起").0.into_owned();
        assert_eq!(narrow(&gbk, GB18030), "数据结构 PICTURE 谈起");
        assert_eq!(narrow(b"\x93Quoted\x94 text \x97 caf\xe9", GB18030), "“Quoted” text — café", "Word's own way");
    }

    #[test]
    fn fields_show_their_result() {
        let text = "See \x13HYPERLINK \"x\"\x14the page\x15 now\rNext\x0cLast";
        let placed: Vec<Placed> = text.chars().enumerate().collect();
        let mut composer = Composer::default();
        compose(&placed, &[], &[], &[], &mut composer);
        let pages = composer.finish();
        assert_eq!(pages[0].iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["See the page now", "Next"]);
        assert_eq!(pages[1][0].text, "Last");
    }
}
