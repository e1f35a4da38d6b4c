//! Plain text and Markdown: which encoding it is in, and its lines.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE};

use crate::line::{Line, Spot};

/// How many bytes of a text are read; the rest of a longer one is left aside with a warning.
pub(crate) const MAX_BYTES: usize = 4 << 20;

/// The size a heading gets, so that the rule of the largest letters finds it. Body text has 10.
const HEADING: f32 = 20.0;
const BODY: f32 = 10.0;

/// The text of some bytes, the name of their encoding, and whether some of them had no meaning in it.
pub(crate) struct Decoded {
    pub(crate) text: String,
    pub(crate) encoding: &'static str,
    pub(crate) damaged: bool,
}

/// Read bytes as text in whichever encoding makes sense of them.
pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let encoding = encoding_of(bytes);
    let (text, encoding, damaged) = encoding.decode(bytes);
    Decoded { text: text.into_owned(), encoding: encoding.name(), damaged }
}

/// Read the first bytes of a file as text, if that is what they are. The last character may be cut in two.
pub(crate) fn decode_head(head: &[u8]) -> Option<String> {
    if head.is_empty() {
        return None;
    }
    let decoded = decode(head);
    let strange =
        decoded.text.chars().filter(|&c| c == '\u{fffd}' || c.is_control() && !"\t\r\n\x0c".contains(c)).count();
    // One broken character at the cut is no wonder; more than one in a hundred means that this is no text.
    (strange <= 1 + decoded.text.chars().count() / 100).then_some(decoded.text).filter(|text| !text.contains('\0'))
}

fn encoding_of(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    // UTF-16 without its mark: in Latin text every other byte is zero, and line ends are so in any text. Zeros are good UTF-8 too, so this comes
    // first.
    let head = &bytes[..bytes.len().min(4096)];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if even.max(odd) >= 4 && even.max(odd) * 50 > head.len() && even.min(odd) * 10 <= even.max(odd) {
        return if even > odd { UTF_16BE } else { UTF_16LE };
    }
    // A cut inside the last character must not make good UTF-8 look bad.
    match std::str::from_utf8(bytes) {
        Ok(_) => return UTF_8,
        Err(error) if error.error_len().is_none() => return UTF_8,
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Allow);
    // GB18030 is GBK with every other character beside.
    if guess == GBK { GB18030 } else { guess }
}

/// The lines of a text. Its first line (or the first Markdown heading, if that comes first) is set as a heading.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut paragraph = 0;
    let mut after_blank = true;
    let mut lines = Vec::new();
    for raw in text.lines() {
        let trimmed = raw.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        // A line of rules (`---`, `===`) only decorates the one above it.
        if trimmed.is_empty() || trimmed.len() >= 3 && trimmed.chars().all(|c| "-=*_~#".contains(c)) {
            after_blank = true;
            continue;
        }
        if after_blank {
            paragraph += 1;
            after_blank = false;
        }
        let heading = trimmed.trim_start_matches('#');
        let depth = trimmed.len() - heading.len();
        let is_heading = lines.is_empty() || depth == 1 && heading.starts_with(' ');
        let shown = if depth > 0 && heading.starts_with(' ') { heading } else { trimmed };
        let shown = shown.trim().replace("**", "");
        lines.push(Line {
            marked: shown.clone(),
            text: shown,
            size: if is_heading { HEADING } else { BODY },
            bold: is_heading,
            spot: Spot::Paragraph(paragraph),
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        let text = "著录规则\n张三，李四\n摘要：本文讨论中文元数据的自动抽取方法，并给出实验结果。";
        let (gb, ..) = GB18030.encode(text);
        assert_eq!(decode(&gb).text, text);
        let (big5, ..) =
            encoding_rs::BIG5.encode("著錄規則與圖書館目錄的歷史，本文討論中文編目的發展與資訊組織的問題。");
        assert_eq!(decode(&big5).encoding, "Big5");
        let utf16: Vec<u8> = "Title\nline\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&utf16).text, "Title\nline\n");
        let marked: Vec<u8> = [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(decode(&marked).text, text);
        assert_eq!(decode(&text.as_bytes()[..text.len() - 1]).encoding, "UTF-8", "cut in a character");
    }

    #[test]
    fn the_first_line_is_the_heading() {
        let lines = lines("\n# A *Study*\n\nJane Doe\n---\n## Part\ntext");
        assert_eq!(lines[0].text, "A *Study*");
        assert_eq!(lines.iter().map(|line| line.size).collect::<Vec<_>>(), [HEADING, BODY, BODY, BODY]);
        assert_eq!(lines[2].text, "Part");
    }
}
