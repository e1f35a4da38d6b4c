//! TeX's two encodings of text, for fonts that give their letters no names: bitmaps made by dvips above all.
//!
//! Both agree with ASCII where the letters are and differ where the ligatures and accents are; which one a font is in is told by
//! the codes that are used.

/// The old encoding (OT1) below ASCII.
const OT1_LOW: [&str; 32] = [
    "Γ", "Δ", "Θ", "Λ", "Ξ", "Π", "Σ", "Υ", "Φ", "Ψ", "Ω", "ff", "fi", "fl", "ffi", "ffl", "ı", "ȷ", "`", "´", "ˇ",
    "˘", "¯", "˚", "¸", "ß", "æ", "œ", "ø", "Æ", "Œ", "Ø",
];

/// Where the old encoding departs from ASCII.
const OT1_ODD: &[(u8, &str)] = &[
    (b'"', "”"),
    (b'\'', "’"),
    (b'<', "¡"),
    (b'>', "¿"),
    (b'\\', "“"),
    (b'_', "˙"),
    (b'`', "‘"),
    (b'{', "–"),
    (b'|', "—"),
    (b'}', "˝"),
    (b'~', "˜"),
    (127, "¨"),
];

/// The Cork encoding (T1) below ASCII.
const T1_LOW: [&str; 32] = [
    "`", "´", "ˆ", "˜", "¨", "˝", "˚", "ˇ", "˘", "¯", "˙", "¸", "˛", "‚", "‹", "›", "“", "”", "„", "«", "»", "–", "—",
    "", "", "ı", "ȷ", "ff", "fi", "fl", "ffi", "ffl",
];

/// The Cork encoding from 128 to 191; beyond it is Latin-1 but for four.
const T1_MIDDLE: &str = "ĂĄĆČĎĚĘĞĹĽŁŃŇŊŐŔŘŚŠŞŤŢŰŮŸŹŽŻĲİđ§ăąćčďěęğĺľłńňŋőŕřśšşťţűůÿźžżĳ¡¿£";

/// Latin-1 from 192 to 255 with the four that the Cork encoding puts in place of signs.
const T1_HIGH: &str = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß";

/// ASCII, to borrow its letters from.
const ASCII: &str = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";

/// Whether one of the encodings reads an ASCII code as something else.
pub(super) fn changes(code: u32) -> bool {
    OT1_ODD.iter().any(|(odd, _)| u32::from(*odd) == code)
}

/// What `code` reads as, given how often each code of its font is used; `None` if they do not look like text.
pub(super) fn read(used: &[u32], code: u8) -> Option<&'static str> {
    let count = |codes: std::ops::RangeInclusive<usize>| -> u32 {
        used.get(codes).map_or(0, |used| used.iter().fold(0, |sum, count| sum.saturating_add(*count)))
    };
    let letters = count(0x41..=0x5a).saturating_add(count(0x61..=0x7a));
    // Text is mostly letters; a font of symbols, or codes given out as letters come up, is not.
    if letters < 3 || letters.saturating_mul(2) < count(0..=255) {
        return None;
    }
    let cork = count(128..=255) > 0 || count(27..=31) > count(11..=15);
    let text = match (code, cork) {
        (0..=31, true) => T1_LOW[usize::from(code)],
        (0..=31, false) => OT1_LOW[usize::from(code)],
        (b'\'', true) => "’",
        (b'`', true) => "‘",
        (127, true) => "-",
        (128..=191, true) => nth(T1_MIDDLE, code - 128),
        (192..=255, true) => nth(T1_HIGH, code - 192),
        (_, false) if let Some((_, text)) = OT1_ODD.iter().find(|(odd, _)| *odd == code) => text,
        (32..=126, _) => nth(ASCII, code - 32),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn nth(table: &'static str, index: u8) -> &'static str {
    let mut characters = table.char_indices().skip(usize::from(index));
    match (characters.next(), characters.next()) {
        (Some((from, _)), Some((to, _))) => &table[from..to],
        (Some((from, _)), None) => &table[from..],
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(codes: &[u8]) -> Vec<u32> {
        let mut used = vec![0; 256];
        codes.iter().for_each(|code| used[usize::from(*code)] += 1);
        used
    }

    #[test]
    fn ligatures_tell_the_encodings_apart() {
        let old = used(b"e\x0ecient");
        assert_eq!(read(&old, 14), Some("ffi"));
        assert_eq!(read(&old, b'{'), Some("–"));
        let cork = used(b"e\x1ecient");
        assert_eq!(read(&cork, 30), Some("ffi"));
        assert_eq!(read(&used(b"Andr\xe9 wrote"), 0xe9), Some("é"));
        assert_eq!(read(&old, b'e'), Some("e"));
    }

    #[test]
    fn codes_that_are_no_text_stay_unread() {
        assert_eq!(read(&used(&[1, 2, 3, 4, 5, 6, 7, 65, 66, 67]), 65), None);
        assert_eq!(read(&[], 65), None);
    }

    #[test]
    fn tables_are_whole() {
        assert_eq!(T1_MIDDLE.chars().count(), 64);
        assert_eq!(T1_HIGH.chars().count(), 64);
        assert_eq!(ASCII.chars().count(), 95);
    }
}
