//! What can be told of how a file was made, cheaply, from the windows that identification looked at: creating software, compression,
//! byte order and character encoding.

use super::Identification;
use super::container::Opened;
use super::model::Container;
use super::source::{Source, View};
use super::zip::{self, u16_at, u32_at};
use crate::text;

/// What can be told of how a file was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// The program that wrote it, as the file names it.
    pub software: Option<String>,
    /// How its content is packed.
    pub compression: Option<String>,
    /// `little endian` or `big endian`.
    pub byte_order: Option<String>,
    /// The encoding of its text.
    pub encoding: Option<String>,
}

/// How much of a text is looked at to tell its encoding.
const TEXT_HEAD: usize = 16 << 10;

/// How long a program's name may be.
const LONGEST_NAME: usize = 200;

/// The encoding of a file that is text.
pub(crate) fn text_encoding(view: &View<'_>) -> Option<&'static str> {
    let head = &view.head()[..view.head().len().min(TEXT_HEAD)];
    text::decode_head(head).is_some().then(|| text::decode(head).encoding)
}

impl Details {
    pub(crate) fn of(identification: &Identification<'_>, view: &View<'_>) -> Self {
        let mut details = Details::default();
        let head = view.head();
        let source = view.as_source();
        match head {
            [0x1f, 0x8b, 8, ..] => details.compression = Some("deflate".to_owned()),
            [b'P', b'K', 3, 4, ..] => details.zip(source),
            [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, ..] => details.ole2(source),
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => details.tiff(head),
            [0x89, b'P', b'N', b'G', ..] => details.png(head),
            [b'B', b'M', ..] => details.bmp(head),
            [b'R', b'I', b'F', b'F', ..] => details.byte_order = Some("little endian".to_owned()),
            [b'R', b'I', b'F', b'X', ..] | [b'F', b'O', b'R', b'M', ..] => {
                details.byte_order = Some("big endian".to_owned());
            }
            [0x7f, b'E', b'L', b'F', _, order @ (1 | 2), ..] => {
                details.byte_order = Some(if *order == 1 { "little endian" } else { "big endian" }.to_owned());
            }
            [0xff, 0xd8, 0xff, ..] => details.jpeg(head),
            _ if memchr::memmem::find(&head[..head.len().min(1024)], b"%PDF-").is_some() => details.pdf(view),
            _ => {
                let textual = identification.matches.is_empty()
                    || identification
                        .matches
                        .iter()
                        .any(|one| is_textual(&one.format.mime) || one.format.mime.is_empty());
                if let Some(encoding) = Some(()).filter(|()| textual).and_then(|()| text_encoding(view)) {
                    details.encoding = Some(encoding.to_owned());
                    details.byte_order = match encoding {
                        "UTF-16LE" => Some("little endian".to_owned()),
                        "UTF-16BE" => Some("big endian".to_owned()),
                        _ => None,
                    };
                }
            }
        }
        details
    }

    fn zip(&mut self, source: &dyn Source) {
        let Some((entries, _)) = zip::entries(source) else { return };
        let mut methods: Vec<String> = Vec::new();
        for entry in entries.iter().filter(|entry| entry.size > 0) {
            let method = match entry.method {
                0 => "stored".to_owned(),
                8 => "deflate".to_owned(),
                9 => "deflate64".to_owned(),
                12 => "bzip2".to_owned(),
                14 => "LZMA".to_owned(),
                93 => "zstd".to_owned(),
                95 => "XZ".to_owned(),
                other => format!("method {other}"),
            };
            if !methods.contains(&method) && methods.len() < 8 {
                methods.push(method);
            }
        }
        self.compression = (!methods.is_empty()).then(|| methods.join(", "));
        // OOXML and OpenDocument say in one place each which program wrote them.
        for (path, open, close) in [
            ("docProps/app.xml", "<Application>", "</Application>"),
            ("meta.xml", "<meta:generator>", "</meta:generator>"),
        ] {
            let Some(entry) = entries.iter().find(|entry| entry.name == path) else { continue };
            let Some(reader) = zip::open(source, entry) else { continue };
            let mut bytes = Vec::new();
            let _ = std::io::Read::read_to_end(&mut std::io::Read::take(reader, 256 << 10), &mut bytes);
            let xml = String::from_utf8_lossy(&bytes);
            let value = xml.split_once(open).and_then(|(_, after)| after.split_once(close)).map(|(value, _)| value);
            self.software = value.and_then(name);
        }
    }

    fn ole2(&mut self, source: &dyn Source) {
        let Some(opened) = Opened::new(Container::Ole2, source) else { return };
        self.byte_order = Some("little endian".to_owned());
        let bytes = opened.read("SummaryInformation", 64 << 10);
        self.software = application(&bytes);
    }

    fn tiff(&mut self, head: &[u8]) {
        let little = head.starts_with(b"II");
        self.byte_order = Some(if little { "little endian" } else { "big endian" }.to_owned());
        let tiff = Tiff { bytes: head, little };
        self.compression = tiff.short(259).map(|method| match method {
            1 => "none".to_owned(),
            2..=4 => "CCITT".to_owned(),
            5 => "LZW".to_owned(),
            6 | 7 => "JPEG".to_owned(),
            8 | 32946 => "deflate".to_owned(),
            32773 => "PackBits".to_owned(),
            other => format!("method {other}"),
        });
        self.software = tiff.text(305);
    }

    fn jpeg(&mut self, head: &[u8]) {
        self.compression = Some("JPEG".to_owned());
        let looked = &head[..head.len().min(64 << 10)];
        let Some(start) = memchr::memmem::find(looked, b"Exif\0\0") else { return };
        let bytes = &looked[start + 6..];
        let little = bytes.starts_with(b"II");
        if little || bytes.starts_with(b"MM") {
            self.byte_order = Some(if little { "little endian" } else { "big endian" }.to_owned());
            self.software = Tiff { bytes, little }.text(305);
        }
    }

    fn png(&mut self, head: &[u8]) {
        self.compression = Some("deflate".to_owned());
        let mut at = 8;
        while let Some(length) = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes) {
            let (Some(kind), Some(end)) = (head.get(at + 4..at + 8), at.checked_add(8 + length as usize)) else {
                return;
            };
            if kind == b"IDAT" {
                return;
            }
            if kind == b"tEXt"
                && let Some(value) = head.get(at + 8..end).and_then(|chunk| chunk.strip_prefix(b"Software\0"))
            {
                self.software = name(&String::from_utf8_lossy(value));
                return;
            }
            at = end + 4;
        }
    }

    fn bmp(&mut self, head: &[u8]) {
        self.byte_order = Some("little endian".to_owned());
        self.compression = u32_at(head, 30).and_then(|method| {
            let name = ["none", "RLE8", "RLE4", "none", "JPEG", "PNG"].get(method as usize)?;
            Some((*name).to_owned())
        });
    }

    /// The producer, where the information dictionary stands open in one of the windows.
    fn pdf(&mut self, view: &View<'_>) {
        for window in [view.tail(), view.head()] {
            let Some(at) = memchr::memmem::rfind(window, b"/Producer") else { continue };
            let rest = &window[at + 9..window.len().min(at + 9 + 2 * LONGEST_NAME)];
            let text = rest.trim_ascii_start();
            self.software = match text.first() {
                Some(b'(') => literal(&text[1..]),
                Some(b'<') => hexadecimal(&text[1..]),
                _ => None,
            };
            return;
        }
    }
}

fn is_textual(mime: &str) -> bool {
    mime.starts_with("text/") || mime.contains("xml") || mime.contains("json") || mime.contains("rtf")
}

/// A name fit to be shown.
fn name(text: &str) -> Option<String> {
    let cut = |c: char| c == '\0' || c.is_whitespace();
    let text: String = text.trim_matches(cut).chars().take(LONGEST_NAME).filter(|c| !c.is_control()).collect();
    (!text.is_empty()).then_some(text)
}

/// A PDF string in brackets.
fn literal(bytes: &[u8]) -> Option<String> {
    let mut value = Vec::new();
    let mut depth = 0;
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => value.extend(rest.next()),
            b')' if depth == 0 => return pdf_text(&value),
            b')' => {
                depth -= 1;
                value.push(*byte);
            }
            b'(' => {
                depth += 1;
                value.push(*byte);
            }
            _ => value.push(*byte),
        }
    }
    None
}

/// A PDF string in hexadecimal digits.
fn hexadecimal(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == b'>')?;
    let digits: Vec<u32> = bytes[..end].iter().filter_map(|byte| (*byte as char).to_digit(16)).collect();
    let value: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair.get(1).unwrap_or(&0)) as u8).collect();
    pdf_text(&value)
}

fn pdf_text(value: &[u8]) -> Option<String> {
    match value.strip_prefix(b"\xfe\xff") {
        Some(wide) => {
            let units: Vec<u16> = wide.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
            name(&String::from_utf16_lossy(&units))
        }
        None => name(&text::decode(value).text),
    }
}

/// The program's name in a SummaryInformation stream: property 18 of its first section.
fn application(bytes: &[u8]) -> Option<String> {
    let section = usize::try_from(u32_at(bytes, 44)?).ok()?;
    let properties = bytes.get(section..)?;
    let count = u32_at(properties, 4)?.min(1000) as usize;
    let find = |wanted: u32| {
        let index = (0..count).find(|index| u32_at(properties, 8 + index * 8) == Some(wanted))?;
        properties.get(usize::try_from(u32_at(properties, 12 + index * 8)?).ok()?..)
    };
    let value = find(18)?;
    let length = usize::try_from(u32_at(value, 4)?).ok()?;
    match u16_at(value, 0)? {
        // A text in the code page of the file.
        30 => name(&text::decode(value.get(8..8 + length.min(value.len().saturating_sub(8)))?).text),
        31 => {
            let units: Vec<u16> = (0..length.min(LONGEST_NAME)).filter_map(|at| u16_at(value, 8 + at * 2)).collect();
            name(&String::from_utf16_lossy(&units))
        }
        _ => None,
    }
}

/// The first directory of a TIFF file, as far as it lies in the window.
struct Tiff<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Tiff<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        let bytes = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(&self, at: usize) -> Option<usize> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let number = if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
        usize::try_from(number).ok()
    }

    fn entry(&self, tag: u16) -> Option<usize> {
        let directory = self.u32(4)?;
        let count = usize::from(self.u16(directory)?);
        (0..count).map(|index| directory + 2 + index * 12).find(|at| self.u16(*at) == Some(tag))
    }

    fn short(&self, tag: u16) -> Option<u16> {
        self.u16(self.entry(tag)? + 8)
    }

    fn text(&self, tag: u16) -> Option<String> {
        let entry = self.entry(tag)?;
        let length = self.u32(entry + 4)?;
        let at = if length <= 4 { entry + 8 } else { self.u32(entry + 8)? };
        name(&text::decode(self.bytes.get(at..at.checked_add(length.min(LONGEST_NAME))?)?).text)
    }
}
