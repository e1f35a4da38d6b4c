//! IPTC: what press agencies write into pictures; and Photoshop's resource blocks, which carry it.

use super::{read_xmp, tiff};
use crate::media::{Media, Order, slice, unmarked_encoding};

/// Datasets of the application record, by number.
const DATASETS: &[(u8, &str)] = &[
    (3, "ObjectTypeReference"),
    (5, "ObjectName"),
    (7, "EditStatus"),
    (10, "Urgency"),
    (12, "SubjectReference"),
    (15, "Category"),
    (20, "SupplementalCategories"),
    (22, "FixtureIdentifier"),
    (25, "Keywords"),
    (26, "ContentLocationCode"),
    (27, "ContentLocationName"),
    (30, "ReleaseDate"),
    (35, "ReleaseTime"),
    (37, "ExpirationDate"),
    (40, "SpecialInstructions"),
    (55, "DateCreated"),
    (60, "TimeCreated"),
    (62, "DigitalCreationDate"),
    (63, "DigitalCreationTime"),
    (65, "OriginatingProgram"),
    (70, "ProgramVersion"),
    (75, "ObjectCycle"),
    (80, "By-line"),
    (85, "By-lineTitle"),
    (90, "City"),
    (92, "Sub-location"),
    (95, "Province-State"),
    (100, "Country-PrimaryLocationCode"),
    (101, "Country-PrimaryLocationName"),
    (103, "OriginalTransmissionReference"),
    (105, "Headline"),
    (110, "Credit"),
    (115, "Source"),
    (116, "CopyrightNotice"),
    (118, "Contact"),
    (120, "Caption-Abstract"),
    (121, "LocalCaption"),
    (122, "Writer-Editor"),
    (130, "ImageType"),
    (131, "ImageOrientation"),
    (135, "LanguageIdentifier"),
];

/// Datasets beyond this are not read.
const MAX_DATASETS: usize = 2000;

/// Read a list of datasets.
pub(super) fn read(bytes: &[u8], media: &mut Media) {
    let mut found: Vec<(&str, &[u8])> = Vec::new();
    let mut utf8 = false;
    let mut at = 0;
    while let Some([0x1c, record, dataset, high, low]) = slice(bytes, at, 5) {
        let short = usize::from(u16::from_be_bytes([*high, *low]));
        at += 5;
        let length = if short & 0x8000 == 0 {
            short
        } else {
            // A long dataset: so many bytes give its length.
            let digits = short & 0x7fff;
            let Some(length) = slice(bytes, at, digits).filter(|_| digits <= 4) else {
                return media.warn_damaged("a dataset of its IPTC block has an impossible length");
            };
            at += digits;
            length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
        };
        let Some(value) = slice(bytes, at, length) else {
            media.warn_cut("its IPTC block");
            break;
        };
        at += length;
        match (record, dataset) {
            (1, 90) => utf8 = value == b"\x1b%G",
            (2, dataset) => {
                if let Some((_, name)) = DATASETS.iter().find(|(number, _)| number == dataset) {
                    found.push((name, value));
                }
            }
            _ => {}
        }
        if found.len() >= MAX_DATASETS {
            break;
        }
    }
    // Without a mark the encoding is told from all texts together: each alone is too short.
    let all: Vec<u8> = found.iter().flat_map(|(_, value)| value.iter().chain(b"\n")).copied().take(64 << 10).collect();
    let encoding = if utf8 { encoding_rs::UTF_8 } else { unmarked_encoding(&all) };
    for (name, value) in found {
        let text = encoding.decode_without_bom_handling(value).0;
        let text = match name {
            "DateCreated" | "ReleaseDate" | "ExpirationDate" | "DigitalCreationDate" => date(&text),
            "TimeCreated" | "ReleaseTime" | "DigitalCreationTime" => time(&text),
            _ => text.into_owned(),
        };
        media.push(format!("IPTC:{name}"), text);
    }
}

/// `20240501` as `2024:05:01`.
fn date(text: &str) -> String {
    match text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("{}:{}:{}", &text[..4], &text[4..6], &text[6..]),
        false => text.to_owned(),
    }
}

/// `123000+0800` as `12:30:00+08:00`.
fn time(text: &str) -> String {
    let parts = |text: &str| -> Option<String> {
        let (digits, zone) = text.split_at_checked(6)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let zone = match zone.len() {
            5 => format!("{}:{}", zone.get(..3)?, zone.get(3..)?),
            _ => zone.to_owned(),
        };
        Some(format!("{}:{}:{}{zone}", &digits[..2], &digits[2..4], &digits[4..]))
    };
    parts(text).unwrap_or_else(|| text.to_owned())
}

/// Read Photoshop's resource blocks.
pub(super) fn read_resources(bytes: &[u8], media: &mut Media) {
    let order = Order::Big;
    let mut at = 0;
    for _ in 0..1000 {
        let Some(b"8BIM" | b"8BPS" | b"MeSa" | b"PHUT" | b"DCSR" | b"AgHg") = slice(bytes, at, 4) else { return };
        let (Some(id), Some(name)) = (order.u16(bytes, at + 4), bytes.get(at + 6)) else {
            return media.warn_cut("its Photoshop block");
        };
        // Names and data are padded to an even length.
        let name = (usize::from(*name) + 2) & !1;
        let Some(length) = order.u32(bytes, at + 6 + name) else { return media.warn_cut("its Photoshop block") };
        let start = at + 10 + name;
        let Some(data) = slice(bytes, start, length as usize) else { return media.warn_cut("its Photoshop block") };
        match id {
            0x03ed => {
                let resolution = |at: usize| order.u32(data, at).map(|fixed| f64::from(fixed) / 65536.0);
                if let (Some(x), Some(y)) = (resolution(0), resolution(8)) {
                    media.push("Photoshop:XResolution", crate::media::number(x));
                    media.push("Photoshop:YResolution", crate::media::number(y));
                }
            }
            0x0404 => read(data, media),
            0x0422 => tiff::read_exif(data, media),
            0x0424 => read_xmp(data, media),
            0x040a => media.push("Photoshop:CopyrightFlag", u8::from(data.first().is_some_and(|flag| *flag != 0))),
            0x040b => media.push("Photoshop:URL", crate::media::unmarked_text(data)),
            _ => {}
        }
        at = start + ((length as usize + 1) & !1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(number: u8, value: &[u8]) -> Vec<u8> {
        [&[0x1c, 2, number], &(value.len() as u16).to_be_bytes()[..], value].concat()
    }

    fn properties(bytes: &[u8]) -> Vec<(String, String)> {
        let mut media = Media::default();
        read(bytes, &mut media);
        media.properties
    }

    #[test]
    fn chinese_without_a_mark_is_read() {
        let gbk = |text: &str| encoding_rs::GBK.encode(text).0.into_owned();
        let bytes =
            [dataset(5, &gbk("长城")), dataset(25, &gbk("秋")), dataset(55, b"20240501"), dataset(60, b"123000+0800")]
                .concat();
        let named = |name: &str, value: &str| (format!("IPTC:{name}"), value.to_owned());
        let expected = [
            named("ObjectName", "长城"),
            named("Keywords", "秋"),
            named("DateCreated", "2024:05:01"),
            named("TimeCreated", "12:30:00+08:00"),
        ];
        assert_eq!(properties(&bytes), expected);
        assert_eq!(properties(&dataset(5, "长城".as_bytes())), [named("ObjectName", "长城")]);
        assert_eq!(properties(&dataset(116, b"\xa9 M\xfcller")), [named("CopyrightNotice", "© Müller")]);
    }

    #[test]
    fn lengths_are_not_believed() {
        assert_eq!(properties(&[0x1c, 2, 5, 0xff, 0xff, 1]), []);
        assert_eq!(properties(&[0x1c, 2, 5, 0x10, 0, 1]), []);
    }
}
