//! The information dictionary: what the program that wrote the file says of it.

use encoding_rs::WINDOWS_1252;
use hayro_syntax::metadata::Metadata;
use hayro_syntax::object::DateTime;

use crate::text;

/// A longer property is cut: it is no title and no name, and would only fill the catalogue.
const MAX_CHARS: usize = 2000;

/// The properties a PDF carries.
#[derive(Debug, Default)]
pub(crate) struct Info {
    pub(crate) title: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) keywords: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) creator: Option<String>,
    pub(crate) producer: Option<String>,
    pub(crate) created: Option<String>,
    pub(crate) modified: Option<String>,
    /// Everything else the file says of itself, by native names.
    pub(super) more: Vec<(String, String)>,
}

impl Info {
    pub(super) fn read(metadata: &Metadata) -> Self {
        let text = |bytes: &Option<Box<[u8]>>| bytes.as_deref().and_then(decode);
        Info {
            title: text(&metadata.title),
            author: text(&metadata.author),
            keywords: text(&metadata.keywords),
            subject: text(&metadata.subject),
            creator: text(&metadata.creator),
            producer: text(&metadata.producer),
            created: metadata.creation_date.and_then(instant),
            modified: metadata.modification_date.and_then(instant),
            more: Vec::new(),
        }
    }

    /// All of them by the names they have in the file, with their group, as they came.
    pub(crate) fn properties(&self) -> Vec<(String, String)> {
        let named = [
            ("Title", &self.title),
            ("Author", &self.author),
            ("Subject", &self.subject),
            ("Keywords", &self.keywords),
            ("Creator", &self.creator),
            ("Producer", &self.producer),
            ("CreationDate", &self.created),
            ("ModDate", &self.modified),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((format!("Info:{name}"), value.clone()?)));
        named.chain(self.more.iter().cloned()).collect()
    }
}

/// A text of the dictionary. The standard knows UTF-16, UTF-8 with a mark, and a Latin set; Chinese programs also write plain
/// GBK, which no standard allows and every viewer shows.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let bytes = &bytes[..bytes.len().min(4 * MAX_CHARS)];
    let marked =
        bytes.starts_with(&[0xfe, 0xff]) || bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xef, 0xbb, 0xbf]);
    let decoded = text::decode(bytes);
    let text = match decoded.encoding {
        _ if marked => decoded.text,
        "UTF-8" | "gb18030" | "Big5" if !decoded.damaged => decoded.text,
        _ => WINDOWS_1252.decode(bytes).0.into_owned(),
    };
    let clean: String = text.chars().filter(|c| !c.is_control()).take(MAX_CHARS).collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

/// A date of the dictionary as ISO 8601, if there is such a day.
fn instant(date: DateTime) -> Option<String> {
    let leap = date.year.is_multiple_of(4) && (!date.year.is_multiple_of(100) || date.year.is_multiple_of(400));
    let days = match date.month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // Programs without a clock write the year 0 or the epoch of their platform's calendar.
    if date.day == 0 || date.day > days || date.year < 1970 {
        return None;
    }
    let DateTime { year, month, day, hour, minute, second, utc_offset_hour: hours, utc_offset_minute: minutes } = date;
    let zone = match (hours, minutes) {
        (0, 0) => "Z".to_owned(),
        _ => format!("{}{:02}:{minutes:02}", if hours < 0 { '-' } else { '+' }, hours.unsigned_abs()),
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_properties_are_read_however_they_were_written() {
        let text = "基于规则的元数据抽取方法研究与实现";
        let utf16: Vec<u8> = [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(decode(&utf16).as_deref(), Some(text));
        assert_eq!(decode(text.as_bytes()).as_deref(), Some(text));
        let (gbk, ..) = encoding_rs::GBK.encode(text);
        assert_eq!(decode(&gbk).as_deref(), Some(text));
        assert_eq!(decode(b"Caf\xe9 society").as_deref(), Some("Café society"));
        assert_eq!(decode(b" \x00 "), None);
    }

    #[test]
    fn impossible_days_are_left_out() {
        let date = DateTime {
            year: 2024,
            month: 2,
            day: 29,
            hour: 8,
            minute: 5,
            second: 0,
            utc_offset_hour: 8,
            utc_offset_minute: 0,
        };
        assert_eq!(instant(date).as_deref(), Some("2024-02-29T08:05:00+08:00"));
        assert_eq!(instant(DateTime { year: 2023, ..date }), None);
    }
}
