//! Prints one JSON object for each file named, in the form `zhulu extract --to jsonl` has: for scoring against a labelled folder.
//!
//! `cargo run -p zhulu-document --example extract_jsonl -- [--method all|content|rules] FILE…`

use serde_json::json;
use zhulu_document::{Method, extract};
use zhulu_record::{Element, Statement};

fn main() {
    let mut method = Method::All;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--method" {
            method = match arguments.next().as_deref() {
                Some("rules") => Method::Rules,
                Some("content") => Method::Content,
                _ => Method::All,
            };
            continue;
        }
        let bytes = match std::fs::read(&argument) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{argument} cannot be read: {error}");
                continue;
            }
        };
        let document = extract(&argument, &bytes, method);
        let lang = document.language.as_ref().map(|language| language.tag());
        let values = |element: Element| -> Vec<&str> {
            let all: Vec<&Statement> =
                document.extraction.statements.iter().filter(|statement| statement.element == element).collect();
            let own = |statement: &&&Statement| {
                statement.language.as_ref().is_none_or(|language| Some(language.tag()) == lang)
            };
            let of_language: Vec<&str> =
                all.iter().filter(own).filter_map(|statement| statement.value.as_text()).collect();
            if of_language.is_empty() {
                all.iter().filter_map(|statement| statement.value.as_text()).collect()
            } else {
                of_language
            }
        };
        let statements: Vec<&Statement> =
            document.extraction.statements.iter().filter(|statement| statement.element != Element::TEXT).collect();
        let properties: serde_json::Map<String, serde_json::Value> =
            document.properties.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let object = json!({
            "file": argument,
            "format": document.format,
            "lang": lang,
            "title": values(Element::TITLE).first(),
            "authors": values(Element::CREATOR),
            "abstract": values(Element::ABSTRACT).first(),
            "keywords": values(Element::SUBJECT),
            "properties": properties,
            "statements": statements,
            "warnings": document.extraction.warnings,
        });
        println!("{object}");
    }
}
