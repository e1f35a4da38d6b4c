//! Microsoft Works, and other documents in a compound file that have no reader here: what they say of themselves.

use crate::container::cfb::Compound;

use super::Reading;

/// Whether these bytes are a Works document from before it used compound files.
pub(super) fn is_works(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x01, 0xfe, 0x32, 0x00]) || bytes.starts_with(&[0x01, 0xfe, 0x33, 0x00])
}

/// Read the header of an early Works document: it has no properties but its version.
pub(super) fn read(bytes: &[u8]) -> Reading {
    let mut reading = Reading { properties_only: true, ..Reading::default() };
    reading.property("Works:Version", if bytes[2] == 0x32 { "2" } else { "3" });
    reading.warn("properties-only", "Only the header of this Works document was read; its text is not.");
    reading
}

/// Name what is in a compound file of another kind; its properties have been read.
pub(super) fn read_compound(file: &Compound<'_>, reading: &mut Reading) {
    let program = if file.has("MM") || file.has("MatOST") {
        reading.property("Works:Version", "4");
        "Works"
    } else if file.has("CONTENTS") && file.has("SPELLING") {
        reading.property("Works:Version", "5 or later");
        "Works"
    } else if file.has("PerfectOffice_MAIN") {
        "WordPerfect"
    } else {
        let names: Vec<&str> = file.names().take(20).filter(|name| !name.starts_with('\u{5}')).collect();
        reading.property("OLE:Streams", &names.join("; "));
        "this kind"
    };
    reading.warn(
        "properties-only",
        format!("Only the properties of this document were read; the text of documents of {program} is not."),
    );
}
