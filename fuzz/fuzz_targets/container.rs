//! Parts with any content inside a sound container: the readers of XML parts and of binary streams are reached at once, without the fuzzer having
//! to find its way through checks of the container first.
//!
//! The first byte chooses which part of which document the rest is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_document::{Method, extract};

/// Parts of packed documents.
const PARTS: &[(&str, &str)] = &[
    ("a.docx", "word/document.xml"),
    ("a.docx", "word/styles.xml"),
    ("a.docx", "docProps/core.xml"),
    ("a.pptx", "ppt/slides/slide1.xml"),
    ("a.xlsx", "xl/worksheets/sheet1.xml"),
    ("a.xlsx", "xl/sharedStrings.xml"),
    ("a.odt", "content.xml"),
    ("a.epub", "META-INF/container.xml"),
    ("a.vsdx", "visio/pages/page1.xml"),
];

/// Streams of compound files.
const STREAMS: &[&str] = &[
    "WordDocument",
    "PowerPoint Document",
    "Workbook",
    "VisioDocument",
    "SfxDocumentInfo",
    "\u{5}SummaryInformation",
    "\u{5}DocumentSummaryInformation",
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let choice = usize::from(*choice) % (PARTS.len() + STREAMS.len());
    let (name, bytes) = match PARTS.get(choice) {
        Some((name, part)) => (*name, archive(part, content)),
        None => ("a.doc", compound(STREAMS[choice - PARTS.len()], content)),
    };
    extract(name, &bytes, Method::All);
});

/// A ZIP archive of one part, not packed. Without a table of contents: that is found by the headers.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let mut file = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    for _ in 0..2 {
        file.extend((content.len() as u32).to_le_bytes());
    }
    file.extend((name.len() as u16).to_le_bytes());
    file.extend([0, 0]);
    file.extend(name.as_bytes());
    file.extend(content);
    file
}

/// A compound file of one stream among the large ones.
fn compound(name: &str, content: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    // Smaller streams are kept elsewhere.
    content.resize(content.len().clamp(4096, 60_000), 0);
    let sectors = content.len().div_ceil(512) as u32;
    let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    file.resize(512, 0);
    file[30] = 9;
    file[48] = 1;
    file[60..64].fill(0xff);
    file[68..72].fill(0xff);
    file[76..512].fill(0xff);
    file[76..80].fill(0);
    let end = u32::MAX - 1;
    let chain = (0..sectors).map(|index| if index + 1 == sectors { end } else { index + 3 });
    for number in [u32::MAX - 2, end].into_iter().chain(chain) {
        file.extend(number.to_le_bytes());
    }
    file.resize(1024, 0xff);
    for (name, kind, child, start, size) in
        [("Root Entry", 5, 1, u32::MAX, 0), (name, 2, u32::MAX, 2, content.len() as u32)]
    {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = entry.len() as u8 + 2;
        entry.resize(128, 0);
        entry[64] = length;
        entry[66] = kind;
        entry[68..76].fill(0xff);
        entry[76..80].copy_from_slice(&u32::to_le_bytes(child));
        entry[116..120].copy_from_slice(&u32::to_le_bytes(start));
        entry[120..124].copy_from_slice(&size.to_le_bytes());
        file.extend(entry);
    }
    file.resize(1536, 0);
    file.extend(content);
    file
}
