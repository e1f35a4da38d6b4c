//! WordPerfect: the header, and the summary that versions from 6 on keep in a packet of their own.

use crate::container::{slice, u16_at, u32_at};

use super::Reading;

/// The packet that holds the summary.
const SUMMARY: u8 = 0x12;

/// How many packets and how many fields of the summary are looked at.
const MAX_PACKETS: u16 = 4096;
const MAX_FIELDS: usize = 100;

/// The fields of the summary by their numbers, as far as they are worth telling.
#[rustfmt::skip]
const FIELDS: &[(u16, &str)] = &[
    (0x01, "Abstract"), (0x02, "Account"), (0x05, "Author"), (0x0a, "Category"), (0x0b, "Checked By"), (0x0c, "Client"),
    (0x0d, "Comments"), (0x0e, "Creation Date"), (0x10, "Department"), (0x11, "Descriptive Name"), (0x12, "Descriptive Type"),
    (0x16, "Document Number"), (0x17, "Editor"), (0x1a, "Keywords"), (0x1b, "Language"), (0x1f, "Owner"), (0x20, "Project"),
    (0x21, "Publisher"), (0x22, "Purpose"), (0x26, "Reference"), (0x27, "Revision Date"), (0x28, "Revision Notes"),
    (0x29, "Revision Number"), (0x2c, "Source"), (0x2d, "Status"), (0x2e, "Subject"), (0x30, "Typist"), (0x33, "Version Number"),
];

/// Whether these bytes are a file of WordPerfect.
pub(super) fn is_wordperfect(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xffWPC")
}

/// Read the header and the summary.
pub(super) fn read(bytes: &[u8]) -> Reading {
    let mut reading = Reading { properties_only: true, ..Reading::default() };
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let product = match byte(8) {
        1 => "WordPerfect",
        other => &format!("product {other}"),
    };
    let kind = match byte(9) {
        0x0a => "document",
        0x2c => "Macintosh document",
        other => &format!("file type {other}"),
    };
    let version = match (byte(10), byte(11)) {
        (0, 0) => "5.0".to_owned(),
        (0, minor) => format!("5.{minor}"),
        (2, 0) => "6.0".to_owned(),
        (2, minor) => format!("6.{minor} or later"),
        (major, minor) => format!("{major}.{minor}"),
    };
    reading.property("WordPerfect:Product", product);
    reading.property("WordPerfect:File Type", kind);
    reading.property("WordPerfect:Version", &version);
    if u16_at(bytes, 12) != 0 {
        reading.warn("encrypted", "The document is encrypted; it takes the password to read it.");
        return reading;
    }
    if byte(10) >= 2 {
        summaries(bytes, &mut reading);
    }
    reading.warn(
        "properties-only",
        "Only the header and the summary of this WordPerfect document were read; its text is not.",
    );
    reading
}

/// The index of packets stands at the place the header names; each entry is fourteen bytes.
fn summaries(bytes: &[u8], reading: &mut Reading) {
    let index = usize::from(u16_at(bytes, 14));
    let count = u16_at(bytes, index + 2).min(MAX_PACKETS);
    for number in 1..usize::from(count) {
        let entry = index + number * 14;
        if bytes.get(entry + 1) != Some(&SUMMARY) {
            continue;
        }
        let packet = slice(bytes, u32_at(bytes, entry + 10) as usize, u32_at(bytes, entry + 6) as usize);
        let mut at = 0;
        for _ in 0..MAX_FIELDS {
            let size = usize::from(u16_at(packet, at));
            if size < 6 {
                break;
            }
            field(slice(packet, at + 2, size - 2), reading);
            at += size;
        }
    }
}

/// A field: its number, flags, its name as the user sees it, and its value.
fn field(bytes: &[u8], reading: &mut Reading) {
    let number = u16_at(bytes, 0);
    let (name, after) = characters(bytes, 4);
    let known = FIELDS.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    let name = known.unwrap_or(name);
    if name.is_empty() {
        return;
    }
    let value = if name.ends_with("Date") { date(slice(bytes, after, 10)) } else { Some(characters(bytes, after).0) };
    if let Some(value) = value {
        reading.property(format!("WordPerfect:{name}"), &value);
    }
}

/// A text of WordPerfect's characters: a number in a set, and the set. Set 0 is ASCII; the letters of others are not known here.
fn characters(bytes: &[u8], from: usize) -> (String, usize) {
    let mut text = String::new();
    let mut at = from;
    while at + 2 <= bytes.len() {
        let (c, set) = (bytes[at], bytes[at + 1]);
        at += 2;
        match (c, set) {
            (0, 0) => break,
            (0x20..=0x7e, 0) => text.push(char::from(c)),
            _ => text.push('\u{fffd}'),
        }
    }
    (text, at)
}

/// Year, month, day, hour, minute, second.
fn date(bytes: &[u8]) -> Option<String> {
    let year = u16_at(bytes, 0);
    let [month, day, hour, minute, second] = bytes.get(2..7)?.try_into().ok()?;
    let sensible = (1980..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    sensible.then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(text: &str) -> Vec<u8> {
        text.bytes().chain([0]).flat_map(|byte| [byte, 0]).collect()
    }

    #[test]
    fn the_summary_is_found() {
        let mut packet = Vec::new();
        for (number, value) in [
            (0x11_u16, wide("Cloud Shapes")),
            (0x05, wide("Jane Doe")),
            (0x0e, vec![0xce, 0x07, 5, 6, 7, 8, 9, 0, 0, 0]),
        ] {
            let mut field = number.to_le_bytes().to_vec();
            field.extend([0, 0]);
            field.extend(wide(""));
            field.extend(value);
            packet.extend((field.len() as u16 + 2).to_le_bytes());
            packet.extend(field);
        }
        let mut bytes = b"\xffWPC".to_vec();
        bytes.extend([0, 0, 0, 0, 1, 0x0a, 2, 1, 0, 0, 16, 0]);
        bytes.extend([2, 0, 2, 0]);
        bytes.resize(16 + 14, 0);
        bytes.extend([0, SUMMARY, 0, 0, 0, 0]);
        bytes.extend((packet.len() as u32).to_le_bytes());
        bytes.extend(44_u32.to_le_bytes());
        bytes.extend(packet);
        let reading = read(&bytes);
        assert_eq!(reading.value("WordPerfect:Descriptive Name"), Some("Cloud Shapes"));
        assert_eq!(reading.value("WordPerfect:Author"), Some("Jane Doe"));
        assert_eq!(reading.value("WordPerfect:Creation Date"), Some("1998-05-06T07:08:09"));
        assert_eq!(reading.value("WordPerfect:Version"), Some("6.1 or later"));
    }
}
