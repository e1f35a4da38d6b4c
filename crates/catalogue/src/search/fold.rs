//! Folding: what a character is searched as. Lower case, half width, no accents, simplified; one character at a time,
//! so that a place in folded text always leads back to a place in the text as written. Cutting text into words is
//! `tokenizer`'s.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::char::decompose_compatible;

/// Traditional to simplified characters; where they come from and under which licence stands in the file.
static VARIANTS_TEXT: &str = include_str!("variants.txt");

static VARIANTS: LazyLock<Variants> = LazyLock::new(|| Variants::read(VARIANTS_TEXT));

/// The blocks nearly all Chinese text is written in; looked up by place, since every character of a text comes by here.
const COMMON: std::ops::Range<u32> = 0x3400..0xA000;

struct Variants {
    common: Vec<char>,
    rare: HashMap<char, char>,
}

impl Variants {
    fn read(text: &str) -> Variants {
        let mut map = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut characters = line.chars();
            if let (Some(from), Some(to)) = (characters.next(), characters.next()) {
                map.insert(from, to);
            }
        }
        // A simplified form may itself be the traditional form of another; both ends of such a chain must meet.
        let last = |from: char| {
            let mut to = from;
            for _ in 0..4 {
                to = map.get(&to).copied().unwrap_or(to);
            }
            to
        };
        let common = COMMON.map(|code| char::from_u32(code).map_or('\0', last)).collect();
        let rare =
            map.keys().filter(|from| !COMMON.contains(&(**from as u32))).map(|from| (*from, last(*from))).collect();
        Variants { common, rare }
    }

    fn simplified(&self, c: char) -> char {
        let code = c as u32;
        if COMMON.contains(&code) {
            self.common[(code - COMMON.start) as usize]
        } else {
            self.rare.get(&c).copied().unwrap_or(c)
        }
    }
}

/// Folds a text: gives each folded character with the byte at which the character it came from begins. A character may
/// fold to several (`ﬁ`), or to none (an accent standing by itself).
pub(super) fn fold(text: &str, mut emit: impl FnMut(usize, char)) {
    let variants = &*VARIANTS;
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            emit(at, c.to_ascii_lowercase());
        } else if matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}') {
            emit(at, variants.simplified(c));
        } else if matches!(c, '\u{AC00}'..='\u{D7A3}') {
            // A Korean syllable would fall apart into its letters.
            emit(at, c);
        } else {
            decompose_compatible(c, |part| {
                if let Some(plain) = plain_letters(part) {
                    plain.chars().for_each(|letter| emit(at, letter));
                    return;
                }
                for small in part.to_lowercase().filter(|small| !vanishes(*small)) {
                    emit(at, variants.simplified(small));
                }
            });
        }
    }
}

/// The folded text alone.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold(text, |_, c| out.push(c));
    out
}

/// Letters that Unicode does not take apart, but that people type without their stroke.
fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'ł' | 'Ł' => "l",
        'ı' => "i",
        'þ' | 'Þ' => "th",
        _ => return None,
    })
}

/// Accents, the sound marks of kana, and characters that are not seen: text with and without them is the same to a
/// search.
pub(super) fn vanishes(c: char) -> bool {
    let accent = matches!(c, '\u{300}'..='\u{36F}' | '\u{3099}' | '\u{309A}');
    accent || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{200B}'..='\u{200D}' | '\u{AD}' | '\u{FEFF}')
}

/// Whether a (folded) character is searched by itself: Chinese characters, and the other scripts written without
/// spaces.
pub(super) fn stands_alone(c: char) -> bool {
    // Most text ends here.
    if c < '\u{2E80}' {
        return false;
    }
    let kana = matches!(c, '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}');
    let bopomofo = matches!(c, '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}');
    is_han(c) || kana || bopomofo || matches!(c, '\u{AC00}'..='\u{D7A3}')
}

/// Whether it is a Chinese character, of which the dictionary may know words.
pub(super) fn is_han(c: char) -> bool {
    let common = matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{3005}'..='\u{3007}');
    common || matches!(c, '\u{2E80}'..='\u{2FDF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_case_accents_and_script_fold() {
        for (text, expected) in [
            ("ＭＥＴＡ　Ｄａｔａ１２", "meta data12"),
            ("Émile Zola, naïve, ÅÄÖ", "emile zola, naive, aao"),
            ("e\u{301}tude", "etude"),
            ("Straße, Łódź, Søren", "strasse, lodz, soren"),
            ("圖書館學", "图书馆学"),
            ("乾燥 裏面 臺灣 薴", "干燥 里面 台湾 苎"),
            ("ﬁle №", "file no"),
            ("ｶﾞギ", "カキ"),
            ("서울", "서울"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn folding_twice_is_folding_once() {
        for line in VARIANTS_TEXT.lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(folded(&folded(line)), folded(line));
            let mut characters = folded(line).chars().collect::<Vec<_>>();
            characters.dedup();
            assert_eq!(characters.len(), 1, "both forms meet: {line}");
        }
    }
}
