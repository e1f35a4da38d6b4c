//! Damaged and hostile office documents: no panic, no endless work, warnings that are sentences with stable codes.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use zhulu_document::{Document, Method, extract};

const CUTS: usize = 20;
const CHANGES: usize = 100;
const PATIENCE: Duration = Duration::from_secs(5);

/// The same sequence every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn survives(name: &str, bytes: &[u8], damage: &str) -> Document {
    let start = Instant::now();
    let document = extract(name, bytes, Method::All);
    assert!(start.elapsed() < PATIENCE, "{name} {damage} took {:?}", start.elapsed());
    for warning in &document.extraction.warnings {
        assert!(warning.message.ends_with('.'), "{name} {damage}: {} is no sentence", warning.message);
        assert!(warning.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}: {}", warning.code);
    }
    document
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/office/input");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut samples: Vec<(String, Vec<u8>)> = entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    samples.sort();
    assert!(samples.len() >= 15, "the samples are where they should be");
    samples
}

#[test]
fn cut_short() {
    for (name, bytes) in samples() {
        let whole = extract(&name, &bytes, Method::All);
        for cut in 0..CUTS {
            let end = bytes.len() * cut / CUTS;
            let document = survives(&name, &bytes[..end], &format!("cut at {end}"));
            // A text that is cut is a shorter text; everything else says so, unless nothing that is read was lost.
            let plain = name.ends_with(".md") || name.ends_with(".wpd");
            let same = text(&document) == text(&whole) && document.properties == whole.properties;
            let said = !document.extraction.warnings.is_empty();
            assert!(plain || same || said, "{name} cut at {end} is not said to be damaged");
        }
    }
}

#[test]
fn bytes_changed() {
    for (name, bytes) in samples() {
        let mut dice = Dice(0x5eed_0ff1);
        for round in 0..CHANGES {
            let mut damaged = bytes.clone();
            for _ in 0..=round / 10 {
                let at = dice.below(damaged.len());
                damaged[at] = dice.below(256) as u8;
            }
            survives(&name, &damaged, &format!("with change {round}"));
        }
    }
}

/// An archive of these parts.
fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut table) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let header = file.len() as u32;
        let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(&packed);
        table.extend(b"PK\x01\x02\x14\x00");
        table.extend(&common);
        table.extend([0; 10]);
        table.extend(header.to_le_bytes());
        table.extend(name.as_bytes());
    }
    let start = file.len() as u32;
    file.extend(&table);
    file.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0");
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

fn codes(document: &Document) -> Vec<&str> {
    document.extraction.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

fn text(document: &Document) -> String {
    let said = document.extraction.statements.iter().find(|said| said.element.name() == "text");
    said.map(|said| said.value.to_string()).unwrap_or_default()
}

#[test]
fn entities_are_never_expanded() {
    let mut bomb = String::from("<!DOCTYPE d [<!ENTITY a0 \"lol\"><!ENTITY x SYSTEM \"file:///etc/passwd\">");
    for level in 1..10 {
        bomb += &format!("<!ENTITY a{level} \"{}\">", format!("&a{};", level - 1).repeat(10));
    }
    bomb += "]><w:document><w:body><w:p><w:r><w:t>Fog &a9;&x; and 云</w:t></w:r></w:p></w:body></w:document>";
    let document = survives("a.docx", &archive(&[("word/document.xml", bomb.as_bytes())]), "with entities");
    assert_eq!(codes(&document), ["entities"]);
    assert_eq!(text(&document), "Fog  and 云");
}

#[test]
fn a_part_that_unpacks_to_too_much_is_cut_short() {
    let mut part = b"<w:document><w:body><w:p><w:r><w:t>Fog</w:t></w:r></w:p><!--".to_vec();
    part.resize(200 << 20, b' ');
    let document = survives("a.docx", &archive(&[("word/document.xml", &part)]), "as a bomb");
    assert!(codes(&document).contains(&"bomb"), "{:?}", codes(&document));
    assert_eq!(text(&document), "Fog");
}

#[test]
fn archives_inside_are_left_alone() {
    let mut inner = archive(&[("word/document.xml", b"<w:document/>")]);
    for _ in 0..50 {
        inner = archive(&[
            ("word/embeddings/a.zip", &inner),
            ("word/document.xml", b"<w:p><w:r><w:t>Fog</w:t></w:r></w:p>"),
        ]);
    }
    assert_eq!(text(&survives("a.docx", &inner, "nested")), "Fog");
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    for (name, part, element) in [
        ("a.docx", "word/document.xml", "w:p"),
        ("a.pptx", "ppt/slides/slide1.xml", "p:sp"),
        ("a.xlsx", "xl/worksheets/sheet1.xml", "c"),
        ("a.odt", "content.xml", "text:span"),
    ] {
        let deep = format!("<{element}>").repeat(10_000);
        let document = survives(name, &archive(&[(part, deep.as_bytes())]), "nested 10,000 deep");
        assert!(codes(&document).contains(&"too-deep"), "{name}: {:?}", codes(&document));
    }
    let deep = "{\\rtf1 ".to_owned() + &"{\\b ".repeat(10_000) + "Fog";
    assert!(codes(&survives("a.rtf", deep.as_bytes(), "nested 10,000 deep")).contains(&"too-deep"));
    survives("a.md", "> ".repeat(100_000).as_bytes(), "quoted 100,000 deep");
    survives("a.md", "[".repeat(2 << 20).as_bytes(), "of brackets");
    survives("a.xml", ("<?xml version='1.0'?>".to_owned() + &"<a>".repeat(100_000)).as_bytes(), "nested 100,000 deep");
}

#[test]
fn an_archive_of_very_many_parts() {
    let names: Vec<String> = (0..30_000).map(|number| format!("word/{number}.xml")).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"<a/>"[..])).collect();
    let document = survives("a.docx", &archive(&parts), "of 30,000 parts");
    assert!(codes(&document).contains(&"too-many-entries"), "{:?}", codes(&document));
}

#[test]
fn styles_based_on_themselves_end() {
    let styles = "<w:styles><w:style w:type='paragraph' w:styleId='a'><w:basedOn w:val='b'/></w:style><w:style w:type='paragraph' w:styleId='b'><w:basedOn w:val='a'/></w:style></w:styles>";
    let body = "<w:p><w:pPr><w:pStyle w:val='a'/></w:pPr><w:r><w:t>Fog</w:t></w:r></w:p>";
    let bytes = archive(&[("word/styles.xml", styles.as_bytes()), ("word/document.xml", body.as_bytes())]);
    assert_eq!(text(&survives("a.docx", &bytes, "with styles in a circle")), "Fog");
}

/// The chain of sectors of a real document bent back on itself at every place in turn.
#[test]
fn sectors_in_a_circle_end() {
    for (name, bytes) in samples().into_iter().filter(|(_, bytes)| bytes.starts_with(&[0xd0, 0xcf])) {
        let fat = u32::from_le_bytes(bytes[76..80].try_into().unwrap()) as usize;
        let table = 512 * (fat + 1);
        for entry in 0..40 {
            let mut bent = bytes.clone();
            let at = table + entry * 4;
            if at + 4 <= bent.len() {
                bent[at..at + 4].copy_from_slice(&(entry as u32).to_le_bytes());
                survives(&name, &bent, &format!("with sector {entry} following itself"));
            }
        }
    }
}
