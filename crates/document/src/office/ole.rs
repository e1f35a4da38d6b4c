//! OLE property sets: SummaryInformation and DocumentSummaryInformation, and the code pages their texts are in.
//!
//! The streams number their properties; the names given here are those exiftool uses, so that people can compare.

use encoding_rs::{BIG5, EUC_KR, Encoding, GB18030, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1252};

use crate::container::cfb::Compound;
use crate::container::{slice, u16_at, u32_at, u64_at};

use super::{Reading, property};

/// The name of a stream of properties begins with this character.
const SUMMARY: &str = "\u{5}SummaryInformation";
const DOCUMENT_SUMMARY: &str = "\u{5}DocumentSummaryInformation";

const SUMMARY_NAMES: &[(u32, &str)] = &[
    (2, "Title"),
    (3, "Subject"),
    (4, "Author"),
    (5, "Keywords"),
    (6, "Comments"),
    (7, "Template"),
    (8, "LastModifiedBy"),
    (9, "RevisionNumber"),
    (10, "TotalEditTime"),
    (11, "LastPrinted"),
    (12, "CreateDate"),
    (13, "ModifyDate"),
    (14, "Pages"),
    (15, "Words"),
    (16, "Characters"),
    (18, "Software"),
    (19, "Security"),
];

const DOCUMENT_SUMMARY_NAMES: &[(u32, &str)] = &[
    (2, "Category"),
    (3, "PresentationTarget"),
    (4, "Bytes"),
    (5, "Lines"),
    (6, "Paragraphs"),
    (7, "Slides"),
    (8, "Notes"),
    (9, "HiddenSlides"),
    (10, "MMClips"),
    (11, "ScaleCrop"),
    (12, "HeadingPairs"),
    (13, "TitleOfParts"),
    (14, "Manager"),
    (15, "Company"),
    (16, "LinksUpToDate"),
    (17, "CharCountWithSpaces"),
    (19, "SharedDoc"),
    (22, "HyperlinksChanged"),
    (23, "AppVersion"),
    (26, "ContentType"),
    (27, "ContentStatus"),
    (28, "Language"),
    (29, "DocVersion"),
];

/// How many properties a section may list, and how many texts a list.
const MAX_PROPERTIES: u32 = 1000;
const MAX_LIST: u32 = 200;

/// The encoding of a Windows code page.
pub(super) fn code_page(number: u32) -> Option<&'static Encoding> {
    Some(match number {
        936 | 54936 => GB18030,
        950 => BIG5,
        932 => SHIFT_JIS,
        949 => EUC_KR,
        65001 => UTF_8,
        1200 => UTF_16LE,
        10000 => encoding_rs::MACINTOSH,
        10008 => GB18030,
        10002 => BIG5,
        1252 | 0 => WINDOWS_1252,
        874 => encoding_rs::WINDOWS_874,
        number @ 1250..=1258 => Encoding::for_label(format!("windows-{number}").as_bytes())?,
        _ => return None,
    })
}

/// The code page of a Windows language number, where it is not the Latin one.
pub(super) fn code_page_of_language(lid: u16) -> &'static Encoding {
    match lid {
        // China, Singapore.
        0x0804 | 0x1004 => GB18030,
        // Taiwan, Hong Kong, Macao.
        0x0404 | 0x0c04 | 0x1404 => BIG5,
        0x0411 => SHIFT_JIS,
        0x0412 => EUC_KR,
        _ => match lid & 0x3ff {
            0x19 | 0x22 | 0x23 | 0x02 => encoding_rs::WINDOWS_1251,
            0x05 | 0x0e | 0x15 | 0x18 | 0x1b | 0x24 => encoding_rs::WINDOWS_1250,
            0x08 => encoding_rs::WINDOWS_1253,
            0x1f => encoding_rs::WINDOWS_1254,
            _ => WINDOWS_1252,
        },
    }
}

/// Whether bytes are Chinese in the GB 2312 part of GBK: the bytes above ASCII come in pairs from its rows. Latin text has single ones,
/// and curly quotes in Latin code pages lie below.
pub(super) fn is_gbk(bytes: &[u8]) -> bool {
    let (mut pairs, mut high, mut at) = (0, 0, 0);
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (0xb0..=0xf7 | 0xa1..=0xa3, Some(0xa1..=0xfe)) => {
                (pairs, high, at) = (pairs + 1, high + 2, at + 2);
            }
            (0x80.., _) => (high, at) = (high + 1, at + 1),
            _ => at += 1,
        }
    }
    pairs >= 2 && pairs * 2 * 10 >= high * 9
}

/// Text in a code page. Chinese programs write GBK under the name of the Latin one, so that is looked at.
pub(super) fn text(bytes: &[u8], encoding: &'static Encoding) -> String {
    let encoding = if encoding == WINDOWS_1252 && is_gbk(bytes) { GB18030 } else { encoding };
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// Read both sets, and what program the file names as its maker.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    if let Some(bytes) = file.stream(SUMMARY) {
        read_set(&bytes, SUMMARY_NAMES, reading);
    }
    if let Some(bytes) = file.stream(DOCUMENT_SUMMARY) {
        read_set(&bytes, DOCUMENT_SUMMARY_NAMES, reading);
    }
    if let Some(bytes) = file.stream("\u{1}CompObj") {
        let length = u32_at(&bytes, 28) as usize;
        let name = slice(&bytes, 32, length.min(200));
        let name = text(name.split(|byte| *byte == 0).next().unwrap_or_default(), WINDOWS_1252);
        reading.property("OLE:CompObjUserType", &name);
    }
}

fn read_set(bytes: &[u8], names: &[(u32, &str)], reading: &mut Reading) {
    if u16_at(bytes, 0) != 0xfffe {
        reading.warn("damaged-properties", "The document's properties cannot be read; they are damaged.");
        return;
    }
    for section in 0..u32_at(bytes, 24).min(2) as usize {
        let start = u32_at(bytes, 28 + section * 20 + 16) as usize;
        if start == 0 || start >= bytes.len() {
            reading.warn("damaged-properties", "Some of the document's properties cannot be read; they are damaged.");
            continue;
        }
        read_section(&bytes[start..], if section == 0 { Some(names) } else { None }, reading);
    }
}

/// One section; without names it has its own, in a dictionary.
fn read_section(bytes: &[u8], names: Option<&[(u32, &str)]>, reading: &mut Reading) {
    let count = u32_at(bytes, 4).min(MAX_PROPERTIES) as usize;
    let listed = (0..count).map(|index| (u32_at(bytes, 8 + index * 8), u32_at(bytes, 12 + index * 8) as usize));
    let listed: Vec<(u32, usize)> = listed.filter(|(_, at)| *at < bytes.len()).collect();
    let page = listed.iter().find(|(id, _)| *id == 1).map(|(_, at)| u32::from(u16_at(bytes, at + 4)));
    let encoding = page.and_then(code_page).unwrap_or(WINDOWS_1252);
    if let (Some(_), Some(page)) = (names, page) {
        reading.properties.retain(|(name, _)| name != "OLE:CodePage");
        reading.property("OLE:CodePage", &page.to_string());
    }
    let dictionary = match names {
        Some(_) => Vec::new(),
        None => listed
            .iter()
            .find(|(id, _)| *id == 0)
            .map(|(_, at)| dictionary(&bytes[*at..], encoding))
            .unwrap_or_default(),
    };
    for (id, at) in listed {
        let name = match names {
            Some(names) => names.iter().find(|(known, _)| *known == id).map(|(_, name)| format!("OLE:{name}")),
            None => dictionary.iter().find(|(known, _)| *known == id).map(|(_, name)| format!("OLE:custom:{name}")),
        };
        let Some(name) = name.filter(|_| id > 1) else { continue };
        let value = match name.as_str() {
            // A span of time in the form of a moment.
            "OLE:TotalEditTime" => Some((u64_at(bytes, at + 4) / 10_000_000).to_string()),
            "OLE:AppVersion" => {
                let number = u32_at(bytes, at + 4);
                Some(format!("{}.{:04}", number >> 16, number & 0xffff))
            }
            _ => value(&bytes[at..], encoding),
        };
        // Office keeps its list of links and its own marks among the properties of the user.
        if let Some(value) = value.filter(|_| !name.starts_with("OLE:custom:_PID_")) {
            reading.property(name, &value);
        }
    }
}

fn dictionary(bytes: &[u8], encoding: &'static Encoding) -> Vec<(u32, String)> {
    let mut names = Vec::new();
    let mut at = 4;
    for _ in 0..u32_at(bytes, 0).min(MAX_PROPERTIES) {
        let (id, length) = (u32_at(bytes, at), u32_at(bytes, at + 4) as usize);
        let wide = encoding == UTF_16LE;
        let size = if wide { length.saturating_mul(2) } else { length };
        let name = text(slice(bytes, at + 8, size.min(1024)), encoding);
        names.push((id, name.trim_end_matches('\0').to_owned()));
        at = at.saturating_add(8).saturating_add(if wide { size.next_multiple_of(4) } else { size });
        if at >= bytes.len() {
            break;
        }
    }
    names
}

/// A typed value as text.
fn value(bytes: &[u8], encoding: &'static Encoding) -> Option<String> {
    let kind = u32_at(bytes, 0);
    Some(match kind & 0xffff {
        2 => (u16_at(bytes, 4) as i16).to_string(),
        3 => (u32_at(bytes, 4) as i32).to_string(),
        18 => u16_at(bytes, 4).to_string(),
        19 => u32_at(bytes, 4).to_string(),
        20 | 21 => u64_at(bytes, 4).to_string(),
        4 => f32::from_bits(u32_at(bytes, 4)).to_string(),
        5 => f64::from_bits(u64_at(bytes, 4)).to_string(),
        11 => (if u16_at(bytes, 4) == 0 { "No" } else { "Yes" }).to_owned(),
        30 => string(bytes, 4, encoding).0,
        31 => wide_string(bytes, 4).0,
        64 => property::file_time(u64_at(bytes, 4))?,
        list @ (0x101e | 0x101f) => {
            let mut at = 8;
            let mut texts = Vec::new();
            for _ in 0..u32_at(bytes, 4).min(MAX_LIST) {
                let (text, size) = if list == 0x101e { string(bytes, at, encoding) } else { wide_string(bytes, at) };
                texts.push(property::clean(&text));
                at = at.saturating_add(size);
                if at >= bytes.len() {
                    break;
                }
            }
            texts.retain(|text| !text.is_empty());
            texts.join("; ")
        }
        // A list of values that each say their type: kinds of parts and their counts.
        0x100c => {
            let mut at = 8;
            let mut pairs = Vec::new();
            for _ in 0..u32_at(bytes, 4).min(MAX_LIST) {
                // Some writers pad to four bytes, some do not.
                if !matches!(u32_at(bytes, at), 2 | 3 | 30 | 31) {
                    at = at.next_multiple_of(4);
                }
                let Some(one) = bytes.get(at..) else { break };
                let kind = u32_at(one, 0);
                let (text, size) = match kind {
                    2 | 3 => (value(one, encoding)?, 4),
                    30 => string(one, 4, encoding),
                    31 => wide_string(one, 4),
                    _ => break,
                };
                pairs.push(property::clean(&text));
                at = at.saturating_add(4 + size);
            }
            pairs.chunks(2).map(|pair| pair.join(", ")).collect::<Vec<_>>().join("; ")
        }
        _ => return None,
    })
}

/// A counted string and how many bytes it takes with its count.
fn string(bytes: &[u8], at: usize, encoding: &'static Encoding) -> (String, usize) {
    let length = u32_at(bytes, at) as usize;
    let content = slice(bytes, at + 4, length.min(64 << 10));
    let text = if encoding == UTF_16LE {
        text(content, encoding)
    } else {
        text(content.split(|byte| *byte == 0).next().unwrap_or_default(), encoding)
    };
    (text.split('\0').next().unwrap_or_default().to_owned(), length.saturating_add(4))
}

/// The same in UTF-16, counted in characters and padded to four bytes.
fn wide_string(bytes: &[u8], at: usize) -> (String, usize) {
    let length = (u32_at(bytes, at) as usize).saturating_mul(2);
    let text = text(slice(bytes, at + 4, length.min(64 << 10)), UTF_16LE);
    (text.split('\0').next().unwrap_or_default().to_owned(), length.next_multiple_of(4).saturating_add(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set with a code page and one text in it.
    fn set(page: u16, title: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xfe, 0xff, 0, 0];
        bytes.resize(24, 0);
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend([0; 16]);
        bytes.extend(48_u32.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(2_u32.to_le_bytes());
        for number in [1_u32, 24, 2, 32, 2, u32::from(page), 30, title.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(title);
        bytes
    }

    #[test]
    fn code_pages_of_chinese_titles() {
        let gbk = GB18030.encode("左偏树的特点").0.into_owned();
        let big5 = BIG5.encode("著錄規則").0.into_owned();
        let wide: Vec<u8> = "著录".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [(u16, &[u8], &str); 6] = [
            (936, &gbk, "左偏树的特点"),
            (1252, &gbk, "左偏树的特点"),
            (950, &big5, "著錄規則"),
            (1200, &wide, "著录"),
            (65001, "著录".as_bytes(), "著录"),
            (1252, b"Caf\xe9 \x93M\xfcnchen\x94\0", "Café “München”"),
        ];
        for (page, title, expected) in cases {
            let mut reading = Reading::default();
            read_set(&set(page, title), SUMMARY_NAMES, &mut reading);
            assert_eq!(reading.value("OLE:Title"), Some(expected), "code page {page}");
        }
    }

    #[test]
    fn rubbish_is_said() {
        let mut reading = Reading::default();
        read_set(b"nothing", SUMMARY_NAMES, &mut reading);
        assert_eq!(reading.warnings[0].code, "damaged-properties");
    }
}
