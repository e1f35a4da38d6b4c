//! The directory is the test: every file in `office/input/` has its expected reading in `office/expected/`, and the reverse. The inputs are our
//! own: written for this test, most of them exported by LibreOffice. `ZHULU_BLESS=1` writes the expectations anew; read the difference
//! before believing it.

#![allow(clippy::unwrap_used, reason = "what cannot be read here is a broken checkout")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zhulu_document::{Document, Method, extract};
use zhulu_record::{Element, Place};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/office").join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn read(name: &str, method: Method) -> Document {
    extract(name, &std::fs::read(folder("input").join(name)).unwrap(), method)
}

/// A document as the expectations show it. The format is `identify`'s to test; its media type is enough here.
fn shown(document: &Document) -> Value {
    json!({
        "mime": document.format.mime,
        "language": document.language,
        "pages": document.pages,
        "properties": document.properties,
        "statements": document.extraction.statements.iter().filter(|said| said.element != Element::FORMAT).collect::<Vec<_>>(),
        "warnings": document.extraction.warnings,
    })
}

#[test]
fn every_input_reads_as_expected() {
    let bless = std::env::var_os("ZHULU_BLESS").is_some();
    let mut wanted = BTreeSet::new();
    let mut faults = Vec::new();
    for input in files(&folder("input")) {
        let name = name(&input);
        wanted.insert(format!("{name}.json"));
        let actual = serde_json::to_string_pretty(&shown(&read(&name, Method::All))).unwrap() + "\n";
        let path = folder("expected").join(format!("{name}.json"));
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
    for path in files(&folder("expected")) {
        if !wanted.contains(&name(&path)) {
            faults.push(format!("{} expects a reading of a file that is not there", name(&path)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn values(document: &Document, element: Element) -> Vec<String> {
    let said = document.extraction.statements.iter().filter(|said| said.element == element);
    said.map(|said| said.value.to_string()).collect()
}

/// One paper in every format of text says the same of itself.
#[test]
fn one_paper_in_every_format() {
    let chinese = ["云雾.doc", "云雾.docx", "云雾.odt", "云雾.fodt", "云雾.rtf"];
    for file in chinese {
        let document = read(file, Method::Content);
        assert_eq!(values(&document, Element::TITLE), ["山间云雾观测记录的著录方法"], "{file}");
        assert_eq!(values(&document, Element::CREATOR), ["林晓云", "周远山"], "{file}");
        assert_eq!(values(&document, Element::SUBJECT), ["云雾", "观测记录", "著录规则"], "{file}");
        assert!(values(&document, Element::ABSTRACT)[0].ends_with("更容易被检索到。"), "{file}");
        assert!(document.extraction.warnings.is_empty(), "{file}: {:?}", document.extraction.warnings);
    }
    for file in ["fog.doc", "fog.docx", "fog.odt", "fog.rtf"] {
        let document = read(file, Method::Content);
        assert_eq!(values(&document, Element::TITLE), ["Cataloguing Records of Mountain Fog"], "{file}");
        assert_eq!(values(&document, Element::CREATOR), ["Jane Doe", "Richard Roe"], "{file}");
        assert_eq!(values(&document, Element::SUBJECT), ["fog", "observation records", "cataloguing rules"], "{file}");
    }
}

#[test]
fn slides_are_read_in_order_with_their_notes() {
    for file in ["幻灯片.ppt", "幻灯片.pptx", "幻灯片.odp"] {
        for method in [Method::All, Method::Rules] {
            let document = read(file, method);
            let title = document.extraction.statements.iter().find(|said| said.element == Element::TITLE).unwrap();
            assert_eq!(title.value.to_string(), "山间云雾的著录", "{file}");
            assert_eq!(title.evidence.at, Some(Place::Slide(1)), "{file}");
            assert_eq!(values(&document, Element::CREATOR), ["林晓云"], "{file}");
            assert!(values(&document, Element::EXTENT).contains(&"2 slides".to_owned()), "{file}");
            let text = values(&document, Element::TEXT).concat();
            let order = [
                "山间云雾的著录",
                "林晓云",
                "云岭大学气象系",
                "开场时先介绍观测站。",
                "观测记录",
                "能见度",
                "图一",
                "说明字段的来历。",
            ];
            let places: Vec<Option<usize>> = order.iter().map(|part| text.find(part)).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{file}: {text}");
        }
    }
}

#[test]
fn cells_are_read_row_by_row() {
    for file in ["雾日.xls", "雾日.xlsx", "雾日.ods"] {
        let document = read(file, Method::All);
        assert_eq!(values(&document, Element::TEXT), ["站名\t海拔\t雾日\n云岭\t1203.5\t88\n松谷\t640\t41"], "{file}");
        assert!(values(&document, Element::EXTENT).contains(&"1 sheet".to_owned()), "{file}");
    }
}

/// The paper's rule: the first line is the title. Properties are not looked at, but for dates.
#[test]
fn the_plain_rule_takes_the_first_line() {
    let document = read("云雾.doc", Method::Rules);
    assert_eq!(values(&document, Element::TITLE), ["云岭学报 第3卷 第2期"]);
    assert_eq!(values(&document, Element::CREATED), ["2004-05-06T07:08:09Z"]);
    assert!(values(&document, Element::DESCRIPTION).is_empty());
    let title = document.extraction.statements.iter().find(|said| said.element == Element::TITLE).unwrap();
    assert_eq!(title.evidence.at, Some(Place::Paragraph(1)));
}
