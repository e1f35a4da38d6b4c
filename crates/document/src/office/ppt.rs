//! PPT: PowerPoint's binary presentations, slide by slide, with sizes and notes.
//!
//! The stream is a tree of records. The text of placeholders stands in the outline (one list for slides, one for notes), that of other boxes in the
//! slides' drawings; both are brought together by the slide's number in the table of stored objects.

use std::collections::HashMap;

use encoding_rs::{UTF_16LE, WINDOWS_1252};

use crate::container::cfb::Compound;
use crate::container::{slice, u16_at, u32_at};

use super::{Composer, Extent, Reading, Role, Run, doc, ole};

/// How many records are read, and how deep they may nest.
const MAX_RECORDS: usize = 400_000;
const MAX_DEPTH: usize = 40;

/// How many slides are read, and how much text of them: a small file can list one large slide very often.
const MAX_SLIDES: usize = 5000;
const MAX_TEXT: usize = 8 << 20;

/// Sizes where the text leaves them to the master.
const TITLE: f32 = 40.0;
const BODY: f32 = 24.0;
const NOTE: f32 = 12.0;

/// Kinds of records.
const DOCUMENT: u16 = 0x03e8;
const SLIDE: u16 = 0x03ee;
const NOTES: u16 = 0x03f0;
const SLIDE_PERSIST: u16 = 0x03f3;
const OUTLINE_REFERENCE: u16 = 0x0f9e;
const TEXT_HEADER: u16 = 0x0f9f;
const TEXT_CHARS: u16 = 0x0fa0;
const TEXT_STYLE: u16 = 0x0fa1;
const TEXT_BYTES: u16 = 0x0fa8;
const SLIDE_LIST: u16 = 0x0ff0;
const USER_EDIT: u16 = 0x0ff5;
const PERSIST_DIRECTORY: u16 = 0x1772;
const CRYPT_SESSION: u16 = 0x2f14;
const SHAPE: u16 = 0xf004;
const CLIENT_TEXT: u16 = 0xf00d;
const CHILD_ANCHOR: u16 = 0xf00f;
const CLIENT_ANCHOR: u16 = 0xf010;

/// A record: its kind, its instance, and where its content is.
#[derive(Debug, Clone, Copy)]
struct Record {
    kind: u16,
    instance: u16,
    container: bool,
    at: usize,
    size: usize,
}

/// The record at a place, as far as there is one before `end`.
fn record(bytes: &[u8], at: usize, end: usize) -> Option<Record> {
    if at.checked_add(8)? > end.min(bytes.len()) {
        return None;
    }
    let head = u16_at(bytes, at);
    let size = (u32_at(bytes, at + 4) as usize).min(end.min(bytes.len()) - at - 8);
    Some(Record { kind: u16_at(bytes, at + 2), instance: head >> 4, container: head & 0x0f == 0x0f, at: at + 8, size })
}

/// The records in a container, one after the other.
fn children(bytes: &[u8], at: usize, size: usize) -> impl Iterator<Item = Record> {
    let end = at.saturating_add(size);
    let mut next = at;
    std::iter::from_fn(move || {
        let record = record(bytes, next, end)?;
        next = record.at + record.size;
        Some(record)
    })
}

/// A text with its kind (0 and 6 are titles, 2 notes) and its looks.
#[derive(Debug, Clone, Default)]
struct Text {
    kind: u32,
    text: String,
    /// Size, weight and height of so many characters each.
    looks: Vec<(usize, Option<f32>, bool, bool)>,
    /// Where its box stands: top and left.
    place: Option<(i32, i32)>,
}

impl Text {
    fn is_title(&self) -> bool {
        matches!(self.kind, 0 | 6)
    }

    /// Its paragraphs as runs.
    fn paragraphs(&self, size: f32) -> Vec<Vec<Run>> {
        let mut paragraphs = vec![Vec::<Run>::new()];
        let mut looks = self.looks.iter().copied();
        let (mut left, mut look) =
            looks.next().map_or((usize::MAX, (None, false, false)), |(n, s, b, r)| (n, (s, b, r)));
        for c in self.text.chars() {
            while left == 0 {
                (left, look) = looks.next().map_or((usize::MAX, (None, false, false)), |(n, s, b, r)| (n, (s, b, r)));
            }
            left -= 1;
            if c == '\r' {
                paragraphs.push(Vec::new());
                continue;
            }
            let run = Run { text: String::new(), size: look.0.unwrap_or(size), bold: look.1, raised: look.2 };
            let Some(runs) = paragraphs.last_mut() else { continue };
            let same =
                runs.last().is_some_and(|last| (last.size, last.bold, last.raised) == (run.size, run.bold, run.raised));
            if !same {
                runs.push(run);
            }
            if let Some(last) = runs.last_mut() {
                last.text.push(c);
            }
        }
        paragraphs
    }
}

/// Reads texts out of a list of records.
#[derive(Debug, Default)]
struct Texts {
    done: Vec<Text>,
    kind: u32,
}

impl Texts {
    /// Take one record of a text; gives whether it was one.
    fn take(&mut self, bytes: &[u8], record: Record) -> bool {
        let content = slice(bytes, record.at, record.size.min(1 << 20));
        let text = match record.kind {
            TEXT_HEADER => {
                self.kind = u32_at(content, 0);
                return true;
            }
            TEXT_CHARS => UTF_16LE.decode_without_bom_handling(content).0.into_owned(),
            // One byte to a character is Latin; Chinese programs put GBK there.
            TEXT_BYTES => ole::text(content, WINDOWS_1252),
            TEXT_STYLE => {
                if let Some(last) = self.done.last_mut() {
                    last.looks = looks(content, last.text.chars().count());
                }
                return true;
            }
            _ => return false,
        };
        self.done.push(Text { kind: self.kind, text, ..Text::default() });
        true
    }
}

/// The looks of a text: first those of its paragraphs, which are stepped over, then those of its letters.
fn looks(bytes: &[u8], chars: usize) -> Vec<(usize, Option<f32>, bool, bool)> {
    let mut at = 0;
    let mut covered = 0;
    while covered <= chars && at + 10 <= bytes.len() {
        covered += (u32_at(bytes, at) as usize).max(1);
        let mask = u32_at(bytes, at + 6);
        at += 10;
        let has = |bits: u32| usize::from(mask & bits != 0);
        at +=
            2 * (has(0x0f) + has(0x80) + has(0x10) + has(0x40) + has(0x800) + has(0x1000) + has(0x2000) + has(0x4000));
        at += 4 * has(0x20) + 2 * (has(0x100) + has(0x400) + has(0x8000));
        if mask & 0x10_0000 != 0 {
            at += 2 + 4 * usize::from(u16_at(bytes, at));
        }
        at += 2 * (has(0x1_0000) + has(0xe_0000) + has(0x20_0000));
    }
    let mut looks = Vec::new();
    covered = 0;
    while covered <= chars && at + 8 <= bytes.len() {
        let count = (u32_at(bytes, at) as usize).max(1);
        covered += count;
        let mask = u32_at(bytes, at + 4);
        at += 8;
        let has = |bits: u32| usize::from(mask & bits != 0);
        let mut bold = false;
        if mask & 0xffff != 0 {
            bold = mask & 1 != 0 && u16_at(bytes, at) & 1 != 0;
            at += 2;
        }
        at += 2 * (has(0x1_0000) + has(0x20_0000) + has(0x40_0000) + has(0x80_0000));
        let size = (mask & 0x2_0000 != 0).then(|| f32::from(u16_at(bytes, at)));
        at += 2 * has(0x2_0000) + 4 * has(0x4_0000);
        let raised = mask & 0x8_0000 != 0 && (u16_at(bytes, at) as i16) > 0;
        at += 2 * has(0x8_0000);
        looks.push((count, size.filter(|size| (1.0..=400.0).contains(size)), bold, raised));
    }
    looks
}

/// What may still be read.
#[derive(Debug)]
struct Budget {
    records: usize,
    text: usize,
}

/// What a slide or a page of notes holds.
#[derive(Debug, Default)]
struct Slide {
    outline: Vec<Text>,
    boxes: Vec<Text>,
    /// The slide that notes belong to.
    notes_of: Option<u32>,
}

/// Read a PPT.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    let name = if file.has("PowerPoint Document") { "PowerPoint Document" } else { "PP40" };
    let Some(bytes) = file.stream(name) else {
        reading.warn("unreadable", "The stream that holds the slides cannot be read; the file is damaged.");
        return;
    };
    let user = file.stream("Current User").unwrap_or_default();
    // A presentation that is encrypted says so in its header and has a record of how.
    let encrypted = u32_at(&user, 12) == 0xf3d1_c4df || has_kind(&bytes, CRYPT_SESSION);
    if encrypted {
        reading.properties_only = true;
        reading.warn("encrypted", "The presentation is encrypted; it takes the password to read its text.");
        return;
    }
    let objects = stored(&bytes, u32_at(&user, 16) as usize);
    let mut composer = Composer::default();
    let count = compose(&bytes, &objects, &mut composer);
    if composer.is_empty() {
        in_order(&bytes, &mut composer);
        if composer.is_empty() {
            doc::scan(&bytes, WINDOWS_1252, &mut composer);
        }
        if composer.is_empty() {
            reading.warn("no-text", "The slides have no text.");
        } else {
            reading.warn(
                "damaged-text",
                "The order of the slides is lost; their text was taken as it stands in the file.",
            );
        }
    }
    let count = u32::try_from(count).ok().filter(|count| *count > 0);
    reading.extent = count.or_else(|| reading.count("OLE:Slides")).map(Extent::Slides);
    reading.pages = composer.finish();
}

fn has_kind(bytes: &[u8], kind: u16) -> bool {
    children(bytes, 0, bytes.len()).take(MAX_RECORDS).any(|record| record.kind == kind)
}

/// Where the newest version of each stored object begins: the edits are a chain from the newest back.
fn stored(bytes: &[u8], newest: usize) -> HashMap<u32, usize> {
    let mut objects = HashMap::new();
    let mut at = newest;
    for _ in 0..1000 {
        let Some(edit) = record(bytes, at, bytes.len()).filter(|edit| edit.kind == USER_EDIT) else { break };
        let directory = u32_at(bytes, edit.at + 12) as usize;
        let before = u32_at(bytes, edit.at + 8) as usize;
        if let Some(list) = record(bytes, directory, bytes.len()).filter(|list| list.kind == PERSIST_DIRECTORY) {
            let mut place = list.at;
            let end = list.at + list.size;
            while place + 4 <= end && objects.len() < MAX_RECORDS {
                let head = u32_at(bytes, place);
                let (first, count) = (head & 0xf_ffff, head >> 20);
                place += 4;
                for number in first..first + count {
                    if place + 4 > end {
                        break;
                    }
                    objects.entry(number).or_insert(u32_at(bytes, place) as usize);
                    place += 4;
                }
            }
        }
        if before == 0 || before >= at {
            break;
        }
        at = before;
    }
    objects
}

/// The slides by the document's lists. Gives how many there are.
fn compose(bytes: &[u8], objects: &HashMap<u32, usize>, composer: &mut Composer) -> usize {
    let by_table = objects.values().filter_map(|at| record(bytes, *at, bytes.len()));
    let document = by_table.filter(|record| record.kind == DOCUMENT).max_by_key(|record| record.at);
    // Without the table, the last document in the stream is the newest.
    let document = document
        .or_else(|| children(bytes, 0, bytes.len()).take(MAX_RECORDS).filter(|record| record.kind == DOCUMENT).last());
    let Some(document) = document else { return 0 };
    let mut slides: Vec<(u32, Slide)> = Vec::new();
    let mut notes: Vec<Slide> = Vec::new();
    let mut budget = Budget { records: MAX_RECORDS, text: MAX_TEXT };
    for list in children(bytes, document.at, document.size).filter(|record| record.kind == SLIDE_LIST) {
        // 0 lists slides, 1 masters, 2 notes.
        if list.instance == 1 {
            continue;
        }
        for (reference, identity, outline) in listed(bytes, list).into_iter().take(MAX_SLIDES) {
            let mut slide =
                objects.get(&reference).map_or_else(Slide::default, |at| drawn(bytes, *at, &outline, &mut budget));
            if slide.boxes.is_empty() {
                slide.boxes = outline.clone();
            } else {
                slide.outline = outline;
            }
            if list.instance == 0 {
                slides.push((identity, slide));
            } else {
                notes.push(slide);
            }
        }
    }
    for ((identity, slide), number) in slides.iter().zip(1..) {
        if composer.is_full() {
            break;
        }
        composer.slide(number);
        let mut texts: Vec<&Text> = slide.boxes.iter().collect();
        // Text of the outline that no box refers to is shown all the same.
        texts.extend(slide.outline.iter().filter(|text| slide.boxes.iter().all(|other| other.text != text.text)));
        texts.sort_by_key(|text| {
            (!text.is_title(), text.place.map_or(i32::MAX, |(top, _)| top), text.place.map_or(0, |(_, left)| left))
        });
        for text in texts {
            if text.is_title() {
                composer.title(&text.paragraphs(TITLE));
            } else {
                text.paragraphs(BODY).iter().for_each(|runs| composer.paragraph(runs, Role::Body));
            }
        }
        // A star stands where the page of notes has its number and date.
        for note in notes.iter().filter(|note| note.notes_of == Some(*identity)) {
            for text in note.boxes.iter().filter(|text| text.kind == 2 || text.text.trim() != "*") {
                text.text.split('\r').for_each(|line| composer.plain(line, NOTE, Role::Body));
            }
        }
    }
    slides.len()
}

/// The entries of a list: the number of the stored object, the slide's own, and the texts of the outline.
fn listed(bytes: &[u8], list: Record) -> Vec<(u32, u32, Vec<Text>)> {
    let mut entries: Vec<(u32, u32, Texts)> = Vec::new();
    for record in children(bytes, list.at, list.size).take(MAX_RECORDS) {
        if record.kind == SLIDE_PERSIST {
            entries.push((u32_at(bytes, record.at), u32_at(bytes, record.at + 12), Texts::default()));
        } else if let Some((_, _, texts)) = entries.last_mut() {
            texts.take(bytes, record);
        }
    }
    entries.into_iter().map(|(reference, identity, texts)| (reference, identity, texts.done)).collect()
}

/// The texts in a slide's drawing, in its order.
fn drawn(bytes: &[u8], at: usize, outline: &[Text], budget: &mut Budget) -> Slide {
    let mut slide = Slide::default();
    let Some(top) = record(bytes, at, bytes.len()).filter(|record| matches!(record.kind, SLIDE | NOTES)) else {
        return slide;
    };
    if top.kind == NOTES {
        let atom = children(bytes, top.at, top.size).next();
        slide.notes_of = atom.map(|atom| u32_at(bytes, atom.at));
    }
    let mut open = vec![(top, 0)];
    while let Some((container, depth)) = open.pop() {
        let mut inner = Vec::new();
        for record in children(bytes, container.at, container.size) {
            if budget.records == 0 || budget.text == 0 {
                return slide;
            }
            budget.records -= 1;
            if record.kind == SHAPE {
                let texts = shape(bytes, record, outline);
                let size: usize = texts.iter().map(|text| text.text.len() + 64).sum();
                budget.text = budget.text.saturating_sub(size);
                slide.boxes.extend(texts);
            } else if record.container && depth < MAX_DEPTH {
                inner.push((record, depth + 1));
            }
        }
        // The last pushed is taken first.
        inner.reverse();
        open.extend(inner);
    }
    slide
}

/// The texts of one shape: its own, or one of the outline it refers to.
fn shape(bytes: &[u8], shape: Record, outline: &[Text]) -> Vec<Text> {
    let mut texts = Texts { kind: 4, ..Texts::default() };
    let mut place = None;
    for record in children(bytes, shape.at, shape.size) {
        match record.kind {
            CLIENT_ANCHOR if record.size >= 8 => {
                // Top and left come first, as words or as numbers of four bytes.
                place = Some(if record.size >= 16 {
                    (u32_at(bytes, record.at) as i32, u32_at(bytes, record.at + 4) as i32)
                } else {
                    (i32::from(u16_at(bytes, record.at) as i16), i32::from(u16_at(bytes, record.at + 2) as i16))
                });
            }
            // Inside a group the numbers are the group's own; the group's place in the order is kept instead.
            CHILD_ANCHOR => place = None,
            CLIENT_TEXT => {
                for record in children(bytes, record.at, record.size) {
                    if record.kind == OUTLINE_REFERENCE && texts.done.len() < 100 {
                        texts.done.extend(outline.get(u32_at(bytes, record.at) as usize).cloned());
                    } else {
                        texts.take(bytes, record);
                    }
                }
            }
            _ => {}
        }
    }
    texts.done.iter_mut().for_each(|text| text.place = place);
    texts.done
}

/// All texts of the stream in their order, when the lists are lost.
fn in_order(bytes: &[u8], composer: &mut Composer) {
    let mut open = vec![(0, bytes.len(), 0)];
    let mut texts = Texts::default();
    let mut seen = 0;
    while let Some((at, size, depth)) = open.pop() {
        let mut inner = Vec::new();
        for record in children(bytes, at, size) {
            seen += 1;
            if seen > MAX_RECORDS {
                break;
            }
            if !texts.take(bytes, record) && record.container && depth < MAX_DEPTH {
                inner.push((record.at, record.size, depth + 1));
            }
        }
        inner.reverse();
        open.extend(inner);
    }
    let mut known: Vec<&str> = Vec::new();
    for text in &texts.done {
        // The sample texts of masters are no content; the outline repeats what the boxes say.
        if known.len() < 2000 && known.contains(&text.text.as_str()) {
            continue;
        }
        known.push(&text.text);
        let size = if text.is_title() { TITLE } else { BODY };
        text.paragraphs(size).iter().for_each(|runs| composer.paragraph(runs, Role::Body));
        if composer.is_full() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        bytes.extend(kind.to_le_bytes());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    #[test]
    fn texts_have_kinds_and_encodings() {
        let wide: Vec<u8> = "离散化\r方法".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let gbk = encoding_rs::GBK.encode("高逸涵").0.into_owned();
        let stream =
            [atom(TEXT_HEADER, &6_u32.to_le_bytes()), atom(TEXT_CHARS, &wide), atom(TEXT_BYTES, &gbk)].concat();
        let mut texts = Texts::default();
        for record in children(&stream, 0, stream.len()) {
            assert!(texts.take(&stream, record));
        }
        assert!(texts.done[0].is_title());
        assert_eq!(texts.done[0].paragraphs(TITLE).len(), 2);
        assert_eq!(texts.done[1].text, "高逸涵");
    }

    #[test]
    fn a_record_never_reaches_beyond_its_container() {
        let mut stream = atom(TEXT_CHARS, b"ab");
        stream[4] = 0xff;
        assert_eq!(children(&stream, 0, stream.len()).map(|record| record.size).collect::<Vec<_>>(), [2]);
    }
}
