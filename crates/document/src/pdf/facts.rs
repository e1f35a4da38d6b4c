//! Facts about a PDF beside its information dictionary's eight: further entries of that dictionary, the XMP packet, and what the catalogue
//! of the file says of its pages, its protection and the standards it claims to keep.

use std::collections::HashSet;

use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream, String as PdfString};
use hayro_syntax::{Pdf, PdfVersion};
use zhulu_record::Warning;

use super::{bound, info};
use crate::xmp;

/// A longer packet is not unpacked.
const MAX_PACKET: usize = 8 << 20;

/// Nodes of the tree of page labels beyond this are not read.
const MAX_NODES: usize = 1000;

/// Ranges of pages that are written out.
const MAX_RANGES: usize = 50;

/// Entries that the reader of the dictionary has already, or that repeat it.
const KNOWN: &[&[u8]] =
    &[b"Title", b"Author", b"Subject", b"Keywords", b"Creator", b"Producer", b"CreationDate", b"ModDate"];

/// Everything of this kind that the file says, and what went wrong in reading it.
pub(super) fn read(pdf: &Pdf, bytes: &[u8], pages: usize) -> (Vec<(String, String)>, Vec<Warning>) {
    let mut facts = Facts { values: Vec::new(), warnings: Vec::new() };
    facts.push("PDF:Version", version(pdf.version()));
    facts.push("PDF:PageCount", pages.to_string());
    if let Some(page) = pdf.pages().first() {
        let (width, height) = page.render_dimensions();
        facts.push("PDF:PageSize", format!("{width:.0} × {height:.0} pt"));
    }
    if bytes[..bytes.len().min(2048)].windows(11).any(|word| word == b"/Linearized") {
        facts.push("PDF:Linearized", "Yes".to_owned());
    }
    let xref = pdf.xref();
    if let Some(encryption) = referred(bytes, b"/Encrypt").and_then(|id| xref.get::<Dict<'_>>(id)) {
        facts.push("PDF:Encryption", protection(&encryption));
    }
    if let Some(catalogue) = xref.get::<Dict<'_>>(xref.root_id()) {
        facts.catalogue(&catalogue, pages);
    }
    if let Some(dictionary) = referred(bytes, b"/Info").and_then(|id| xref.get::<Dict<'_>>(id)) {
        let mut names: Vec<Name<'_>> = dictionary.keys().filter(|name| !KNOWN.contains(&name.as_ref())).collect();
        names.sort();
        for name in names.into_iter().take(100) {
            let value = match dictionary.get::<Object<'_>>(&name) {
                Some(Object::String(text)) => info::decode(&text),
                Some(Object::Name(text)) => info::decode(&text),
                _ => None,
            };
            if let (Some(name), Some(value)) = (info::decode(&name), value) {
                facts.push(&format!("Info:{name}"), value);
            }
        }
    }
    (facts.values, facts.warnings)
}

fn version(version: PdfVersion) -> String {
    let number = match version {
        PdfVersion::Pdf10 => "1.0",
        PdfVersion::Pdf11 => "1.1",
        PdfVersion::Pdf12 => "1.2",
        PdfVersion::Pdf13 => "1.3",
        PdfVersion::Pdf14 => "1.4",
        PdfVersion::Pdf15 => "1.5",
        PdfVersion::Pdf16 => "1.6",
        PdfVersion::Pdf17 => "1.7",
        PdfVersion::Pdf20 => "2.0",
    };
    number.to_owned()
}

/// The object that the last trailer names under `key`. The library does not hand trailers out, but their text stands in the file even
/// where the table itself is compressed.
fn referred(bytes: &[u8], key: &[u8]) -> Option<ObjectIdentifier> {
    let mut from = bytes.len();
    // The key may also stand in other dictionaries, where no reference follows.
    for _ in 0..20 {
        let at = memchr::memmem::rfind(&bytes[..from], key)?;
        from = at;
        let rest = &bytes[at + key.len()..(at + key.len() + 40).min(bytes.len())];
        let text = String::from_utf8_lossy(rest);
        let mut words = text.split_ascii_whitespace();
        let object = words.next().and_then(|word| word.parse().ok());
        let generation = words.next().and_then(|word| word.parse().ok());
        let mark = words.next().is_some_and(|word| word.starts_with('R'));
        if let (Some(object), Some(generation), true) = (object, generation, mark) {
            return Some(ObjectIdentifier::new(object, generation));
        }
    }
    None
}

/// How a file is protected and what its owner allows, in words.
fn protection(dict: &Dict<'_>) -> String {
    let number = |key: &[u8]| dict.get::<i32>(key);
    let cipher = match number(b"V").unwrap_or(0) {
        1 => "RC4 40-bit".to_owned(),
        2 | 3 => format!("RC4 {}-bit", number(b"Length").unwrap_or(40)),
        4 => {
            let filters = dict.get::<Dict<'_>>(b"CF");
            let method = filters
                .and_then(|filters| filters.get::<Dict<'_>>(b"StdCF"))
                .and_then(|filter| filter.get::<Name<'_>>(b"CFM"));
            let aes = method.is_some_and(|method| method.as_ref() == b"AESV2");
            if aes { "AES 128-bit".to_owned() } else { "RC4 128-bit".to_owned() }
        }
        5 | 6 => "AES 256-bit".to_owned(),
        other => format!("unknown ({other})"),
    };
    let allowed = number(b"P").unwrap_or(-1);
    let names = [(2, "print"), (3, "modify"), (4, "copy"), (5, "annotate"), (8, "fill forms"), (10, "assemble")];
    let denied: Vec<&str> = names.iter().filter(|(bit, _)| allowed >> bit & 1 == 0).map(|(_, name)| *name).collect();
    match denied.is_empty() {
        true => cipher,
        false => format!("{cipher}, may not {}", denied.join(", ")),
    }
}

struct Facts {
    values: Vec<(String, String)>,
    warnings: Vec<Warning>,
}

impl Facts {
    fn push(&mut self, name: &str, value: String) {
        if !value.is_empty() && self.values.len() < 1500 {
            self.values.push((name.to_owned(), value));
        }
    }

    fn catalogue(&mut self, catalogue: &Dict<'_>, pages: usize) {
        if let Some(language) = catalogue.get::<PdfString<'_>>(b"Lang").and_then(|text| info::decode(&text)) {
            self.push("PDF:Language", language);
        }
        if let Some(marks) = catalogue.get::<Dict<'_>>(b"MarkInfo") {
            let tagged = marks.get::<bool>(b"Marked").unwrap_or(false);
            self.push("PDF:Tagged", if tagged { "Yes" } else { "No" }.to_owned());
        }
        for (key, name) in [("AcroForm", "PDF:Form"), ("Outlines", "PDF:Outline"), ("Collection", "PDF:Portfolio")] {
            if catalogue.get::<Dict<'_>>(key.as_bytes()).is_some() {
                self.push(name, "Yes".to_owned());
            }
        }
        let names = catalogue.get::<Dict<'_>>(b"Names");
        if names.is_some_and(|names| names.contains_key(b"EmbeddedFiles")) {
            self.push("PDF:Attachments", "Yes".to_owned());
        }
        if let Some(labels) = catalogue.get::<Dict<'_>>(b"PageLabels") {
            self.push("PDF:PageLabels", page_labels(labels, pages));
        }
        let Some(stream) = catalogue.get::<Stream<'_>>(b"Metadata") else { return };
        let packet = match bound::fits(&stream, MAX_PACKET).then(|| stream.decoded_data().ok()).flatten() {
            Some(packet) => xmp::read(&packet),
            None => {
                return self.warnings.push(Warning::new(
                    "damaged",
                    "The file's XMP packet cannot be unpacked, or is larger than is read; its other properties were read.",
                ));
            }
        };
        if let Some(fault) = &packet.fault {
            let message = format!("The file's XMP packet cannot be read wholly: {fault}.");
            self.warnings.push(Warning::new("damaged", message));
        }
        if let Some(part) = packet.get("pdfaid:part") {
            let level = packet.get("pdfaid:conformance").unwrap_or_default().to_lowercase();
            self.push("PDF:PDFA", format!("PDF/A-{part}{level}"));
        }
        if let Some(part) = packet.get("pdfuaid:part") {
            self.push("PDF:PDFUA", format!("PDF/UA-{part}"));
        }
        if let Some(version) = packet.get("pdfxid:GTS_PDFXVersion").or_else(|| packet.get("pdfx:GTS_PDFXVersion")) {
            self.push("PDF:PDFX", version.to_owned());
        }
        for (name, value) in packet.values {
            self.push(&format!("XMP:{name}"), value);
        }
    }
}

/// The numbers printed on the pages, as ranges: `i–xii, 1–230`.
fn page_labels(tree: Dict<'_>, pages: usize) -> String {
    let mut ranges: Vec<(usize, Dict<'_>)> = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![tree];
    while let Some(node) = open.pop() {
        if seen.len() > MAX_NODES || node.obj_id().is_some_and(|id| !seen.insert(id)) {
            continue;
        }
        if let Some(numbers) = node.get::<Array<'_>>(b"Nums") {
            let mut parts = numbers.flex_iter();
            while let Some((first, label)) = parts.next::<(i32, Dict<'_>)>() {
                if let Ok(first) = usize::try_from(first)
                    && ranges.len() < MAX_NODES
                {
                    ranges.push((first, label));
                }
            }
        }
        if let Some(kids) = node.get::<Array<'_>>(b"Kids") {
            open.extend(kids.iter::<Dict<'_>>().take(MAX_NODES));
        }
    }
    ranges.sort_by_key(|(first, _)| *first);
    ranges.retain(|(first, _)| *first < pages);
    let ends: Vec<usize> = ranges.iter().skip(1).map(|(first, _)| *first).chain([pages]).collect();
    let shown = ranges.iter().zip(ends).take(MAX_RANGES).filter(|((first, _), end)| end > first).map(
        |((first, label), end)| {
            let prefix = label.get::<PdfString<'_>>(b"P").and_then(|text| info::decode(&text)).unwrap_or_default();
            let style = label.get::<Name<'_>>(b"S").and_then(|style| style.first().copied());
            let start = label.get::<i32>(b"St").and_then(|start| u32::try_from(start).ok()).unwrap_or(1);
            let last = start.saturating_add(u32::try_from(end - first - 1).unwrap_or(u32::MAX));
            match (start == last, style) {
                (_, None) => prefix,
                (true, _) => format!("{prefix}{}", numeral(start, style)),
                (false, _) => format!("{prefix}{}–{prefix}{}", numeral(start, style), numeral(last, style)),
            }
        },
    );
    shown.filter(|range| !range.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A number in the style a label names: Arabic, Roman or letters.
fn numeral(number: u32, style: Option<u8>) -> String {
    let roman = || {
        const SIGNS: &[(u32, &str)] = &[
            (1000, "m"),
            (900, "cm"),
            (500, "d"),
            (400, "cd"),
            (100, "c"),
            (90, "xc"),
            (50, "l"),
            (40, "xl"),
            (10, "x"),
            (9, "ix"),
            (5, "v"),
            (4, "iv"),
            (1, "i"),
        ];
        let mut rest = number;
        let mut text = String::new();
        for (value, sign) in SIGNS {
            while rest >= *value {
                text.push_str(sign);
                rest -= value;
            }
        }
        text
    };
    let letters = || {
        let index = number.saturating_sub(1);
        let letter = char::from(b'a' + (index % 26) as u8);
        std::iter::repeat_n(letter, (index / 26).min(20) as usize + 1).collect::<String>()
    };
    match style {
        Some(b'r') if number < 10_000 => roman(),
        Some(b'R') if number < 10_000 => roman().to_uppercase(),
        Some(b'a') => letters(),
        Some(b'A') => letters().to_uppercase(),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_labels_are() {
        assert_eq!(numeral(14, Some(b'r')), "xiv");
        assert_eq!(numeral(1999, Some(b'R')), "MCMXCIX");
        assert_eq!(numeral(28, Some(b'a')), "bb");
        assert_eq!(numeral(7, Some(b'D')), "7");
        assert_eq!(numeral(u32::MAX, Some(b'r')), "4294967295");
    }

    #[test]
    fn trailers_are_found_by_their_text() {
        let file = b"1 0 obj <</Info (no)>> trailer <</Size 9/Info 7 0 R/Root 1 0 R>>";
        assert_eq!(referred(file, b"/Info"), Some(ObjectIdentifier::new(7, 0)));
        assert_eq!(referred(file, b"/Encrypt"), None);
    }
}
