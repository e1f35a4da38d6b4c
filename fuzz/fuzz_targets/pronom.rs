//! Any bytes under any name are identified, and any bytes are a signature file or refused: no panic, no endless search.
//!
//! The first byte chooses what the rest is: a file, a signature file, a container signature file, or packed signatures.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_document::pronom::{Hints, Identifier, Scan};

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let name = ["a.pdf", "文档.doc", "a.zip", "a"][usize::from(choice / 4 % 4)];
    let hints = Hints { name, mime: Some("text/plain") };
    match choice % 4 {
        0 => {
            let scan = if *choice >= 128 { Scan::Whole } else { Scan::default() };
            let (found, _) = Identifier::built_in().identify_with_details(&bytes, hints, scan);
            assert!(found.matches.iter().all(|one| !one.basis.is_empty() && !one.format.puid.is_empty()));
        }
        1 | 2 => {
            let (signatures, containers) = if choice % 4 == 1 { (Some(bytes), None) } else { (None, Some(bytes)) };
            if let Ok(identifier) = Identifier::from_xml(signatures, containers) {
                identifier.identify(&bytes, hints, Scan::default());
                let packed = identifier.compact();
                let again = Identifier::from_compact(&packed).expect("what was packed can be unpacked");
                assert_eq!(again.compact(), packed);
            }
        }
        _ => {
            if let Some(identifier) = Identifier::from_compact(bytes) {
                identifier.identify(&bytes, hints, Scan::default());
            }
        }
    }
});
