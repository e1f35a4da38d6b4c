//! Images and sound: any bytes give a document, whose properties are clean, and whose statements come from its properties.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_document::{Method, extract, property};
use zhulu_record::Place;

/// Beginnings that lead to each reader; the fuzzer supplies the rest.
const HEADS: &[&[u8]] = &[
    b"",
    b"\xff\xd8\xff\xe1",
    b"\x89PNG\r\n\x1a\n",
    b"GIF89a",
    b"BM",
    b"RIFF\0\0\0\0WEBP",
    b"8BPS\0\x01",
    b"II*\0",
    b"MM\0*",
    b"II+\0",
    b"RIFF\0\0\0\0WAVE",
    b"fLaC",
    b"OggS",
    b"\0\0\0\x10ftyp",
    b"ID3\x03\0\0",
    b"ID3\x04\0\0",
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let bytes = [HEADS[usize::from(*choice) % HEADS.len()], rest].concat();
    let document = extract("媒体", &bytes, Method::All);
    for (name, value) in &document.properties {
        assert!(!value.trim().is_empty() && !value.chars().any(char::is_control), "{name}: {value:?}");
    }
    for statement in &document.extraction.statements {
        if let Some(Place::Property(native)) = &statement.evidence.at {
            assert!(document.properties.iter().any(|(name, _)| name == native), "{native}");
            if let Some(element) = property(native).and_then(|meaning| meaning.element) {
                assert_eq!(statement.element.name(), element);
            }
        }
    }
});
