//! Prints the text of the first two pages of each PDF named, and how long the first page takes: for comparing engines.
//!
//! `cargo run --release -p zhulu-document --example pdf_text -- [--repeat N] FILE…`; one JSON object for each file, with the least time
//! of N readings in microseconds. Reading the file from disk is not part of the time.

use serde_json::json;
use zhulu_document::pdf_text;

fn main() {
    let mut repeat = 1;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--repeat" {
            repeat = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(1);
            continue;
        }
        let bytes = match std::fs::read(&argument) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{argument} cannot be read: {error}");
                continue;
            }
        };
        // The clock on the wall never shows less than the processor's, so that this errs against us.
        let mut least = u128::MAX;
        for _ in 0..repeat {
            let before = std::time::Instant::now();
            std::hint::black_box(pdf_text(&bytes, 1));
            least = least.min(before.elapsed().as_micros());
        }
        println!(
            "{}",
            json!({ "file": argument, "microseconds": u64::try_from(least).unwrap_or(u64::MAX), "pages": pdf_text(&bytes, 2) })
        );
    }
}
