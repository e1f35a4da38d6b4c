//! What readers of images and sound have in common: the list they fill, numbers out of bytes, and text whose encoding nobody wrote down.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{BIG5, EUC_KR, GB18030, GBK, SHIFT_JIS, WINDOWS_1252};
use zhulu_record::{Element, Evidence, Statement, Warning};

use crate::extract::{Document, Method};
use crate::property;

/// More properties than this are not kept; a photograph with everything written into it has about 300.
const MAX_PROPERTIES: usize = 2000;

/// A longer value is cut.
const MAX_CHARS: usize = 4000;

/// What a file of images or sound says of itself.
#[derive(Debug, Default)]
pub(crate) struct Media {
    /// Native names with their group, and values.
    pub(crate) properties: Vec<(String, String)>,
    /// How large or how long it is, in words.
    pub(crate) extents: Vec<String>,
    /// What went wrong.
    pub(crate) warnings: Vec<Warning>,
}

impl Media {
    /// Note a property. Empty values say nothing and are left out; control characters are.
    pub(crate) fn push(&mut self, name: impl Into<String>, value: impl ToString) {
        if self.properties.len() >= MAX_PROPERTIES {
            return;
        }
        let value = value.to_string();
        let clean: String = value
            .chars()
            .map(|c| if c == '\n' || c == '\r' || c == '\t' { ' ' } else { c })
            .filter(|c| !c.is_control())
            .take(MAX_CHARS)
            .collect();
        let clean = clean.trim();
        if !clean.is_empty() {
            self.properties.push((name.into(), clean.to_owned()));
        }
    }

    pub(crate) fn warn(&mut self, code: &str, message: impl Into<String>) {
        if self.warnings.len() < 20 {
            self.warnings.push(Warning::new(code, message));
        }
    }

    /// The file is shorter than it says.
    pub(crate) fn warn_cut(&mut self, what: &str) {
        if self.warnings.iter().all(|warning| warning.code != "truncated") {
            let message =
                format!("The file ends within {what} and is probably cut short; what was left of it has been read.");
            self.warn("truncated", message);
        }
    }

    /// Something in the file is not what it has to be.
    pub(crate) fn warn_damaged(&mut self, what: &str) {
        self.warn("damaged", format!("The file is damaged: {what}. The rest of it has been read."));
    }

    /// The size of a picture.
    pub(crate) fn pixels(&mut self, width: u64, height: u64) {
        if width == 0 || height == 0 {
            self.warn_damaged("the picture has no width or no height");
        } else {
            self.extents.push(format!("{width} × {height} pixels"));
        }
    }

    /// The length of a sound in seconds.
    pub(crate) fn duration(&mut self, seconds: f64) {
        if !seconds.is_finite() || !(0.0..1e8).contains(&seconds) || seconds == 0.0 {
            return;
        }
        self.push("Audio:Duration", number(seconds));
        let whole = seconds.round().max(1.0) as u64;
        let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
        self.extents.push(match hours {
            0 => format!("{minutes:02}:{seconds:02}"),
            _ => format!("{hours}:{minutes:02}:{seconds:02}"),
        });
    }

    /// What all that amounts to in the catalogue's own words.
    pub(crate) fn statements(&self, reader: &str) -> Vec<Statement> {
        let mut statements = property::statements(&self.properties);
        statements.extend(
            self.extents.iter().map(|extent| {
                Statement::new(Element::EXTENT, extent.as_str()).because(Evidence::by(reader).sure(0.99))
            }),
        );
        statements
    }
}

impl Document {
    /// Take in what a reader of images or sound found.
    pub(crate) fn read_media(&mut self, media: Media, method: Method) {
        // The content alone says nothing: without the properties only the size is left.
        let statements = media.statements("reader:media");
        let kept = |said: &Statement| method == Method::All || said.element == Element::EXTENT;
        self.extraction.statements.extend(statements.into_iter().filter(kept));
        self.extraction.warnings.extend(media.warnings);
        self.properties.extend(media.properties);
    }
}

/// A number as people write it: ten significant digits at most, no trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = 9 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.clamp(0, 20) as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The name of a chunk or box as it may be shown: damaged ones are given in figures.
pub(crate) fn shown(kind: &[u8]) -> String {
    match kind.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        true => String::from_utf8_lossy(kind).trim().to_owned(),
        false => kind.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Bytes of a file, from `at`, `length` of them; `None` past its end.
pub(crate) fn slice(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

/// Which end of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Big,
    Little,
}

impl Order {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two: [u8; 2] = slice(bytes, at, 2)?.try_into().ok()?;
        Some(if self == Order::Big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) })
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four: [u8; 4] = slice(bytes, at, 4)?.try_into().ok()?;
        Some(if self == Order::Big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let eight: [u8; 8] = slice(bytes, at, 8)?.try_into().ok()?;
        Some(if self == Order::Big { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) })
    }
}

/// Text up to the first zero byte, in an encoding nobody wrote down.
pub(crate) fn unmarked_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let bytes = &bytes[..end.min(4 * MAX_CHARS)];
    unmarked_encoding(bytes).decode_without_bom_handling(bytes).0.trim().to_owned()
}

/// The encoding that makes the most sense of bytes. Tags are short, too short for statistics of letters alone, so the form of the
/// bytes is asked first: pairs of high bytes in the range of the common Chinese characters are GBK, as no European text has them.
pub(crate) fn unmarked_encoding(bytes: &[u8]) -> &'static encoding_rs::Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return encoding_rs::UTF_8;
    }
    let (mut common, mut pairs, mut odd) = (0, 0, 0);
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (0..=0x7f, _) => at += 1,
            (lead @ 0xa1..=0xf7, Some(0xa1..=0xfe)) => {
                pairs += 1;
                common += usize::from((0xb0..=0xd7).contains(&lead));
                at += 2;
            }
            _ => {
                odd += 1;
                at += 1;
            }
        }
    }
    if odd == 0 && 2 * common >= pairs && common > 0 {
        return GB18030;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    let eastern = [GBK, GB18030, BIG5, SHIFT_JIS, EUC_KR].contains(&guess);
    if eastern && guess.decode_without_bom_handling_and_without_replacement(bytes).is_some() {
        return if guess == GBK { GB18030 } else { guess };
    }
    WINDOWS_1252
}

/// UTF-16 text up to the first zero character.
pub(crate) fn utf16_text(bytes: &[u8], order: Order) -> String {
    let encoding = if order == Order::Big { encoding_rs::UTF_16BE } else { encoding_rs::UTF_16LE };
    let bytes = &bytes[..bytes.len().min(4 * MAX_CHARS) & !1];
    let text = encoding.decode_without_bom_handling(bytes).0;
    text.split('\0').next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_chinese_is_told_from_latin() {
        for text in ["云", "茉莉花", "邓丽君", "北京 2008"] {
            assert_eq!(unmarked_text(&encoding_rs::GBK.encode(text).0), text);
        }
        assert_eq!(unmarked_text(b"Caf\xe9"), "Café");
        assert_eq!(unmarked_text(b"Bj\xf6rk\0junk"), "Björk");
        assert_eq!(unmarked_text("天空".as_bytes()), "天空");
    }

    #[test]
    fn numbers_are_written_plainly() {
        assert_eq!(number(3.0), "3");
        assert_eq!(number(1.0 / 60.0), "0.01666666667");
        assert_eq!(number(72.5), "72.5");
        assert_eq!(number(f64::NAN), "");
    }
}
