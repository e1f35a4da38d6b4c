//! Any text is a query, or an error that says why not; what it lights up is the text it was given.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_catalogue::search::{Query, snippet};

fuzz_target!(|pair: (String, String)| {
    let (query, text) = pair;
    let query = Query { text: query, ..Query::default() };
    let shown = snippet(&text, &query, 200);
    assert!(shown.pieces.iter().map(|(piece, _)| piece.chars().count()).sum::<usize>() <= 210);
});
