//! Prints one JSON object for each file named, with its properties as a list of pairs: for comparing with other readers of metadata.
//!
//! `cargo run -p zhulu-document --example properties -- FILE…`

use serde_json::json;
use zhulu_document::{Method, extract};
use zhulu_record::{Element, Statement};

fn main() {
    for argument in std::env::args().skip(1) {
        let bytes = match std::fs::read(&argument) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{argument} cannot be read: {error}");
                continue;
            }
        };
        let document = extract(&argument, &bytes, Method::All);
        let statements: Vec<&Statement> =
            document.extraction.statements.iter().filter(|statement| statement.element != Element::TEXT).collect();
        let object = json!({
            "file": argument,
            "mime": document.format.mime,
            "properties": document.properties,
            "statements": statements,
            "warnings": document.extraction.warnings,
        });
        println!("{object}");
    }
}
