//! Images and sound: every file in `media/input/` has its expected properties, statements and warnings in `media/expected/`, and no
//! expectation is without its file. `ZHULU_BLESS=1` writes them anew. The inputs were made for this purpose (a few pixels, a second of a
//! tone); the expected values agree with exiftool's on every field both report.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use zhulu_document::{Method, extract, property};
use zhulu_record::Element;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/media").join(name)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn every_input_reads_as_expected() {
    let bless = std::env::var_os("ZHULU_BLESS").is_some();
    let mut wanted = BTreeSet::new();
    let mut faults = Vec::new();
    for (name, bytes) in files(&folder("input")) {
        wanted.insert(format!("{name}.json"));
        let document = extract(&name, &bytes, Method::All);
        // Which format it is, identification tells and its own tests check.
        let said = |element: &Element| *element != Element::FORMAT && *element != Element::LANGUAGE;
        let statements: Vec<_> =
            document.extraction.statements.iter().filter(|statement| said(&statement.element)).collect();
        let shown = json!({
            "properties": document.properties,
            "statements": statements,
            "warnings": document.extraction.warnings,
        });
        let actual = serde_json::to_string_pretty(&shown).unwrap() + "\n";
        let path = folder("expected").join(format!("{name}.json"));
        if bless {
            std::fs::write(&path, actual).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != actual {
            let line = expected.lines().zip(actual.lines()).position(|(a, b)| a != b).unwrap_or_default();
            let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
            faults.push(format!("{name}, line {}: expected {}, got {}", line + 1, at(&expected), at(&actual)));
        }
    }
    for (name, _) in files(&folder("expected")) {
        if !wanted.contains(&name) {
            faults.push(format!("{name} expects a reading of a file that is not there"));
        }
    }
    assert!(wanted.len() >= 15, "the inputs are where they should be");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn values(name: &str, element: Element) -> Vec<String> {
    let bytes = std::fs::read(folder("input").join(name)).unwrap();
    let document = extract(name, &bytes, Method::All);
    let own = document.extraction.statements.into_iter().filter(|statement| statement.element == element);
    own.map(|statement| statement.value.to_string()).collect()
}

#[test]
fn chinese_tags_are_read_whatever_their_encoding() {
    assert_eq!(values("茶馆.jpg", Element::TITLE), ["茶馆"], "IPTC in GBK without a mark");
    assert_eq!(values("茶馆.jpg", Element::SUBJECT), ["老北京", "茶"]);
    assert_eq!(values("老歌.mp3", Element::TITLE), ["夜来香"], "ID3v1 in GBK");
    assert_eq!(values("老歌.mp3", Element::CREATOR), ["李香兰"]);
    assert_eq!(values("月亮.mp3", Element::TITLE), ["月亮代表我的心"], "ID3v2 in UTF-16");
    assert_eq!(values("茉莉花.flac", Element::RIGHTS), ["公有领域"]);
    assert_eq!(values("长城.jpg", Element::EXTENT), ["48 × 32 pixels"]);
    assert_eq!(values("长城.jpg", Element::CREATED), ["2024-05-01T12:30:00"]);
}

#[test]
fn the_same_fact_has_one_name_in_every_format() {
    for (name, bytes) in files(&folder("input")) {
        let document = extract(&name, &bytes, Method::All);
        let normal: Vec<&str> =
            document.properties.iter().filter_map(|(native, _)| property(native)).map(|p| p.name).collect();
        let sound = [".mp3", ".wav", ".flac", ".ogg", ".opus", ".m4a"].iter().any(|ending| name.ends_with(ending));
        let wanted: &[&str] =
            if sound { &["duration", "sample-rate", "channels", "bit-rate"] } else { &["width", "height"] };
        for fact in wanted {
            assert!(normal.contains(fact), "{name} has no {fact}: {:?}", document.properties);
        }
    }
}

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

fn survives(name: &str, bytes: &[u8]) -> Vec<String> {
    let start = Instant::now();
    let document = extract(name, bytes, Method::All);
    assert!(start.elapsed() < Duration::from_secs(5), "{name} took {:?}", start.elapsed());
    for warning in &document.extraction.warnings {
        assert!(warning.message.ends_with('.'), "{name}: {} is no sentence", warning.message);
    }
    document.extraction.warnings.into_iter().map(|warning| warning.code).collect()
}

#[test]
fn cut_short_is_said() {
    for (name, bytes) in files(&folder("input")) {
        for cut in 0..20 {
            // With less than its signature nothing says what the file was.
            let end = (bytes.len() * cut / 20).max(16);
            let codes = survives(&name, &bytes[..end]);
            // A stream of frames that ends between two of them, or a tag behind the sound that is gone, leaves no trace.
            let traceless =
                name.ends_with(".mp3") || name.ends_with(".flac") || name.contains("tone.o") || name.ends_with(".tif");
            assert!(traceless || !codes.is_empty(), "{name} cut at {end} of {} is taken for whole", bytes.len());
        }
    }
}

#[test]
fn changed_bytes_do_no_harm() {
    for (name, bytes) in files(&folder("input")) {
        let mut dice = Dice(0x5eed_c10d);
        for round in 0..100 {
            let mut damaged = bytes.clone();
            for _ in 0..=round / 10 {
                // Headers are where harm is done.
                let reach = if round % 2 == 0 { damaged.len() } else { damaged.len().min(300) };
                damaged[dice.below(reach)] ^= 1 << dice.below(8);
            }
            survives(&name, &damaged);
        }
    }
}
