//! The directory is the test: every file in `samples/` and in `golden/input/` has its expected reading in `golden/expected/`, and no
//! expectation is without its file. `ZHULU_BLESS=1` writes the expectations anew; read the difference before believing it.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zhulu_document::{Document, Method, extract};
use zhulu_record::Element;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{} cannot be read: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The inputs by name; the list of samples is no sample.
fn inputs() -> Vec<PathBuf> {
    let samples = files(&root().join("../../samples")).into_iter().filter(|path| name(path) != "README.md");
    samples.chain(files(&root().join("tests/golden/input"))).collect()
}

/// A document as the expectations show it: the text for searching is long, so its beginning and length stand for it.
fn shown(document: &Document) -> Value {
    let mut statements = serde_json::to_value(&document.extraction.statements).unwrap();
    for statement in statements.as_array_mut().unwrap() {
        if statement["element"] == Element::TEXT.name() {
            let text = statement["value"].as_str().unwrap().to_owned();
            let start: String = text.chars().take(60).collect();
            statement["value"] = json!({ "characters": text.chars().count(), "start": start });
        }
    }
    json!({
        "format": document.format,
        "language": document.language,
        "pages": document.pages,
        "properties": document.properties,
        "statements": statements,
        "warnings": document.extraction.warnings,
    })
}

#[test]
fn every_input_reads_as_expected() {
    let bless = std::env::var_os("ZHULU_BLESS").is_some();
    let folder = root().join("tests/golden/expected");
    let mut wanted = BTreeSet::new();
    let mut faults = Vec::new();
    for input in inputs() {
        let name = name(&input);
        wanted.insert(format!("{name}.json"));
        let document = extract(&name, &std::fs::read(&input).unwrap(), Method::All);
        let actual = serde_json::to_string_pretty(&shown(&document)).unwrap() + "\n";
        let path = folder.join(format!("{name}.json"));
        if bless {
            std::fs::write(&path, actual).unwrap();
            continue;
        }
        match std::fs::read_to_string(&path) {
            Ok(expected) if expected == actual => {}
            Ok(expected) => {
                let line = expected.lines().zip(actual.lines()).position(|(a, b)| a != b).unwrap_or_default();
                let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
                faults.push(format!("{name}, line {}: expected {}, got {}", line + 1, at(&expected), at(&actual)));
            }
            Err(_) => faults.push(format!("{name} has no expectation; ZHULU_BLESS=1 writes one")),
        }
    }
    for path in files(&folder) {
        if !wanted.contains(&name(&path)) {
            faults.push(format!("{} expects a reading of a file that is not there", name(&path)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn methods_differ_in_what_they_believe() {
    let path = root().join("../../samples/slides.pdf");
    let bytes = std::fs::read(path).unwrap();
    let has = |method, element: Element| {
        extract("slides.pdf", &bytes, method).extraction.statements.iter().any(|statement| statement.element == element)
    };
    assert!(has(Method::Rules, Element::CREATED) && !has(Method::Content, Element::CREATED));
    let sure = |method| {
        let document = extract("slides.pdf", &bytes, method);
        let title =
            document.extraction.statements.iter().find(|statement| statement.element == Element::TITLE).unwrap();
        title.evidence.confidence.unwrap()
    };
    assert!(sure(Method::All) > sure(Method::Content), "the property confirms the page");
}

#[test]
fn pages_can_be_looked_at() {
    let bytes = std::fs::read(root().join("../../samples/slides.pdf")).unwrap();
    let png = zhulu_document::page_image(&bytes, 1, 320).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(png[16..20], 320_u32.to_be_bytes());
    assert_eq!(png[20..24], 180_u32.to_be_bytes());
    let widest = zhulu_document::page_image(&bytes, 1, 1_000_000).unwrap();
    assert_eq!(widest[16..20], zhulu_document::MAX_WIDTH.to_be_bytes());
    assert!(zhulu_document::page_image(&bytes, 0, 320).is_none());
    assert!(zhulu_document::page_image(&bytes, 99, 320).is_none());
    assert!(zhulu_document::page_image(b"no picture of this", 1, 320).is_none());
}
