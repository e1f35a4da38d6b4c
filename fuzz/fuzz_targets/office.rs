//! Any bytes under the name of any office document give a document: no panic, no endless loop, and places that are counted from 1.
//!
//! The first byte chooses how the document begins and its method, so that every reader is reached; the rest is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_document::{Method, extract};
use zhulu_record::Place;

/// Names, and the bytes without which no reader would look at the rest.
const KINDS: &[(&str, &[u8])] = &[
    ("文档.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("a.docx", b"PK\x03\x04"),
    ("a.rtf", b"{\\rtf1"),
    ("a.fodt", b"<?xml version='1.0'?><office:document "),
    ("a.wpd", b"\xffWPC"),
    ("a.md", b"---\n"),
    ("a.xml", b"<?xml version='1.0'?>"),
    ("a.doc", b"\xdb\xa5"),
    ("a.odt", b""),
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let (name, start) = KINDS[usize::from(*choice) % KINDS.len()];
    let method = [Method::All, Method::Content, Method::Rules][usize::from(*choice) / KINDS.len() % 3];
    // What already begins as it should, as a sample does, is taken as it is.
    let bytes = if rest.starts_with(start) { rest.to_vec() } else { [start, rest].concat() };
    let document = extract(name, &bytes, method);
    for statement in &document.extraction.statements {
        if let Some(Place::Paragraph(number) | Place::Slide(number)) = &statement.evidence.at {
            assert!(*number > 0);
        }
    }
    for warning in &document.extraction.warnings {
        assert!(warning.message.ends_with('.'), "{} is no sentence", warning.message);
    }
});
