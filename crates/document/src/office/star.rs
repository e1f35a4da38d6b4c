//! StarOffice 3 to 5 (SDW, SDC, SDD, SDA): the properties in their own stream, and what looks like text.
//!
//! The streams of text have no public description that covers all versions; runs of text are taken as they stand, and said to be so.

use encoding_rs::{Encoding, GB18030, WINDOWS_1252};

use crate::container::cfb::Compound;
use crate::container::{slice, u16_at, u32_at};

use super::{Composer, Reading, doc, ole};

/// The streams that hold text.
const STREAMS: &[&str] =
    &["StarWriterDocument", "StarCalcDocument", "StarDrawDocument3", "StarDrawDocument", "StarImageDocument"];

/// The fields of the stream of properties in their order: name, and the bytes each takes with its count.
const FIELDS: &[(&str, usize)] = &[
    ("Author", 33),
    ("LastModifiedBy", 33),
    ("PrintedBy", 33),
    ("Title", 65),
    ("Subject", 65),
    ("Comments", 257),
    ("Keywords", 129),
];

/// Read a document of StarOffice.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    let mut encoding = WINDOWS_1252;
    if let Some(bytes) = file.stream("SfxDocumentInfo") {
        encoding = info(&bytes, reading);
    }
    let mut composer = Composer::default();
    for stream in STREAMS {
        if let Some(bytes) = file.stream(stream) {
            doc::scan(&bytes, encoding, &mut composer);
        }
    }
    if composer.is_empty() {
        reading.warn("no-text", "No text was found in this document.");
    } else {
        reading.warn(
            "damaged-text",
            "The layout of this old format is not known; what looks like text was taken as it stands in the file.",
        );
    }
    reading.pages = composer.finish();
}

/// The properties; gives the encoding they are in.
fn info(bytes: &[u8], reading: &mut Reading) -> &'static Encoding {
    let name = usize::from(u16_at(bytes, 0));
    if slice(bytes, 2, name) != b"SfxDocumentInfo" {
        reading.warn("damaged-properties", "The document's properties cannot be read; they are damaged.");
        return WINDOWS_1252;
    }
    // Version, password, character set, two switches.
    let mut at = 2 + name + 3;
    // The character sets are numbered as in StarOffice's own toolkit: 1 is that of Windows, 76 UTF-8, 37 GBK.
    let encoding = match u16_at(bytes, at) {
        76 => encoding_rs::UTF_8,
        37 | 57 | 85 => GB18030,
        36 | 58 | 62 => encoding_rs::BIG5,
        _ => WINDOWS_1252,
    };
    at += 4;
    for (index, (field, size)) in FIELDS.iter().enumerate() {
        let length = usize::from(u16_at(bytes, at)).min(size - 2);
        let text = ole::text(slice(bytes, at + 2, length), encoding);
        reading.property(format!("StarOffice:{field}"), &text);
        at += size;
        if index < 3 {
            let (date, time) = (u32_at(bytes, at), u32_at(bytes, at + 4));
            let name = ["CreateDate", "ModifyDate", "LastPrinted"][index];
            if let Some(text) = date_time(date, time) {
                reading.property(format!("StarOffice:{name}"), &text);
            }
            at += 8;
        }
    }
    encoding
}

/// A day as YYYYMMDD and a time as HHMMSScc, both in decimal.
fn date_time(date: u32, time: u32) -> Option<String> {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    let sensible = (1980..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let (hour, minute, second) = (time / 1_000_000 % 24, time / 10_000 % 100, time / 100 % 100);
    sensible.then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_stand_at_fixed_places() {
        let mut bytes = vec![15, 0];
        bytes.extend(b"SfxDocumentInfo");
        bytes.extend([11, 0, 0, 1, 0, 0, 0]);
        for (field, size) in FIELDS {
            let text = GB18030.encode(match *field {
                "Author" => "张三",
                "Title" => "著录规则",
                _ => "",
            });
            bytes.extend((text.0.len() as u16).to_le_bytes());
            let mut padded = text.0.into_owned();
            padded.resize(size - 2, 0);
            bytes.extend(padded);
            if matches!(*field, "Author" | "LastModifiedBy" | "PrintedBy") {
                bytes.extend(19_990_102_u32.to_le_bytes());
                bytes.extend(13_141_500_u32.to_le_bytes());
            }
        }
        let mut reading = Reading::default();
        info(&bytes, &mut reading);
        assert_eq!(reading.value("StarOffice:Title"), Some("著录规则"));
        assert_eq!(reading.value("StarOffice:Author"), Some("张三"));
        assert_eq!(reading.value("StarOffice:CreateDate"), Some("1999-01-02T13:14:15"));
    }
}
