//! Any bytes are an entry of the log, or none; an entry that was read merges, shows and reads back as itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zhulu_record::{Datestamp, Entry, Key, Stamp, State};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entry) = serde_json::from_slice::<Entry>(bytes) {
        let state = State::of([&entry, &entry.erased(), &entry]);
        let _ = state.view(entry.record);
        let again = serde_json::to_vec(&entry).expect("an entry has a JSON form");
        assert_eq!(serde_json::from_slice::<Entry>(&again).expect("what was written reads back"), entry);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(stamp) = text.parse::<Stamp>() {
            assert_eq!(stamp.to_string().parse(), Ok(stamp));
        }
        if let Ok(datestamp) = text.parse::<Datestamp>() {
            assert_eq!(datestamp.to_string(), text);
        }
        let _ = (text.parse::<Key>(), Key::url(text));
    }
});
