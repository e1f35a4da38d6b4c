//! XMP: any packet, in the smallest picture that can carry one, gives properties with a name and a value, and never more than is kept.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_document::{Method, extract};

fuzz_target!(|data: &[u8]| {
    // A WebP file of one chunk: the packet as it is.
    let length = (data.len() as u32).to_le_bytes();
    let bytes = [b"RIFF", &(data.len() as u32 + 12).to_le_bytes()[..], b"WEBPXMP ", &length, data].concat();
    let document = extract("a.webp", &bytes, Method::All);
    assert!(document.properties.len() <= 2000);
    for (name, value) in &document.properties {
        assert!(name.starts_with("XMP:") || name.starts_with("EXIF:") || name.contains(':'), "{name}");
        assert!(!value.is_empty() && value.chars().count() <= 4000);
    }
});
