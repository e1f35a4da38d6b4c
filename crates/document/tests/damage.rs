//! Bytes that went wrong: every sample cut short and with bytes changed, at fixed places, gives a reading and never a panic, and gives
//! it in good time.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::path::Path;
use std::time::{Duration, Instant};

use zhulu_document::{Method, extract, page_image};

/// Slow machines are slow; a reader that hangs is slower.
const PATIENCE: Duration = Duration::from_secs(20);

const CUTS: usize = 20;
const CHANGES: usize = 100;

/// A small generator with a fixed start: the same damage on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn survives(name: &str, bytes: &[u8], damage: &str) {
    let start = Instant::now();
    let document = extract(name, bytes, Method::All);
    assert!(start.elapsed() < PATIENCE, "{name} {damage} took {:?}", start.elapsed());
    for warning in &document.extraction.warnings {
        assert!(warning.message.ends_with('.'), "{name} {damage}: {} is no sentence", warning.message);
    }
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file() && path.extension().is_some_and(|ending| ending != "md"));
    let mut samples: Vec<(String, Vec<u8>)> = files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    samples.sort();
    assert!(samples.len() >= 8, "the samples are where they should be");
    samples
}

#[test]
fn cut_short() {
    for (name, bytes) in samples() {
        for cut in 0..CUTS {
            let end = bytes.len() * cut / CUTS;
            survives(&name, &bytes[..end], &format!("cut at {end}"));
        }
    }
}

#[test]
fn bytes_changed() {
    for (name, bytes) in samples() {
        let mut dice = Dice(0x5eed_c10d);
        for round in 0..CHANGES {
            let mut damaged = bytes.clone();
            // One byte at first, then more at a time.
            for _ in 0..=round / 10 {
                let at = dice.below(damaged.len());
                damaged[at] ^= 1 << dice.below(8);
            }
            survives(&name, &damaged, &format!("with change {round}"));
        }
    }
}

#[test]
fn pictures_of_damaged_pages() {
    for (name, bytes) in samples() {
        let mut dice = Dice(0xc10d_5eed);
        for _ in 0..5 {
            let mut damaged = bytes.clone();
            for _ in 0..20 {
                let at = dice.below(damaged.len());
                damaged[at] = dice.below(256) as u8;
            }
            let start = Instant::now();
            let _ = page_image(&damaged, 1, 200);
            assert!(start.elapsed() < PATIENCE, "a picture of {name} took {:?}", start.elapsed());
        }
    }
}

/// A page that draws this, in one piece or many.
fn page_of(content: &str) -> Vec<u8> {
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F {font} >> >> >>"
        ),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        file += &format!("{} 0 obj\n{object}\nendobj\n", index + 1);
    }
    // Without a table of objects the reader finds them by itself.
    file += "trailer\n<< /Root 1 0 R >>\n%%EOF\n";
    file.into_bytes()
}

#[test]
fn a_page_of_endless_drawing_is_left_out() {
    let small = page_of("BT /F 12 Tf 50 700 Td (A Page of a Few Words) Tj ET");
    assert!(extract("a.pdf", &small, Method::All).extraction.warnings.is_empty());
    assert!(page_image(&small, 1, 100).is_some());
    let large = page_of(&format!("BT /F 12 Tf 50 700 Td ({}) Tj ET", "words ".repeat(60_000)));
    let document = extract("a.pdf", &large, Method::All);
    let codes: Vec<&str> = document.extraction.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["too-large"]);
    assert!(page_image(&large, 1, 100).is_none());
}

#[test]
fn a_form_that_draws_itself_ends() {
    let page = String::from_utf8(page_of("/X Do BT /F 12 Tf 50 700 Td (Mirrors Facing Each Other) Tj ET")).unwrap();
    let page = page.replace("/Font <<", "/XObject << /X 5 0 R >> /Font <<");
    let form = "5 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X 5 0 R >> >> /Length 12 >>\n\
                stream\n/X Do /X Do \nendstream\nendobj\ntrailer";
    let bytes = page.replace("trailer", form).into_bytes();
    survives("a.pdf", &bytes, "with a form in itself");
    let _ = page_image(&bytes, 1, 100);
}

#[test]
fn forms_that_double_are_stopped() {
    let page = String::from_utf8(page_of("/X Do")).unwrap().replace("/Font <<", "/XObject << /X 5 0 R >> /Font <<");
    let mut forms = String::new();
    for number in 5..5 + 40 {
        let next = number + 1;
        forms += &format!(
            "{number} 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X {next} 0 R >> >> /Length 12 >>\n\
             stream\n/X Do /X Do \nendstream\nendobj\n"
        );
    }
    let bytes = page.replace("trailer", &format!("{forms}trailer")).into_bytes();
    survives("a.pdf", &bytes, "with forms that double");
    let document = extract("a.pdf", &bytes, Method::All);
    assert_eq!(document.extraction.warnings.first().map(|warning| warning.code.as_str()), Some("too-large"));
    assert!(page_image(&bytes, 1, 100).is_none());
}

#[test]
fn a_page_of_absurd_size_has_no_picture() {
    let text = String::from_utf8(page_of("")).unwrap();
    for size in ["0 0 1 100000", "0 0 0 0", "0 0 -5 1e30", "0 0 nan inf"] {
        let bytes = text.replace("0 0 600 800", size).into_bytes();
        let picture = page_image(&bytes, 1, 2000);
        assert!(picture.is_none_or(|png| png.len() < 1 << 20), "{size}");
    }
}
