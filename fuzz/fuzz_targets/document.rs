//! Any bytes under any name give a document: no panic of ours, no endless loop, and evidence that lies on the page.
//!
//! The first byte chooses the name and the method, so that every reader is reached; the rest is the file.

#![no_main]

use std::panic;
use std::sync::Once;

use libfuzzer_sys::fuzz_target;
use zhulu_document::{Method, extract, identify};
use zhulu_record::Place;

/// libFuzzer aborts on any panic, even one that is caught. `extract` catches those of the PDF library on purpose, so only
/// panics in this project's own files count here.
fn count_only_our_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let abort = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = info
                .location()
                .is_some_and(|place| place.file().contains("crates/document") || place.file().contains("fuzz_targets"));
            if ours {
                abort(info);
            }
        }));
    });
}

fuzz_target!(|data: &[u8]| {
    count_only_our_panics();
    let Some((choice, bytes)) = data.split_first() else { return };
    let name = ["a.pdf", "文档.txt", "a.md", "a"][usize::from(choice % 4)];
    let method = [Method::All, Method::Content, Method::Rules][usize::from(choice / 4 % 3)];
    let document = extract(name, bytes, method);
    assert_eq!(document.format, identify(name, bytes));
    for statement in &document.extraction.statements {
        if let Some(Place::Page { page, boxes }) = &statement.evidence.at {
            assert!(document.pages.is_some_and(|pages| (1..=pages).contains(page)));
            assert!(boxes.iter().flatten().all(|edge| *edge <= 1000));
        }
    }
});
