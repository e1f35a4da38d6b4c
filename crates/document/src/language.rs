//! Which language a text is in, told by its script and, for Latin script, by the commonest English words.
//!
//! Enough to tell Chinese from English and to stay silent otherwise; other languages are a later matter.

/// How many letters of a text belong to which script.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Scripts {
    pub(crate) han: usize,
    pub(crate) kana: usize,
    pub(crate) hangul: usize,
    pub(crate) latin: usize,
    pub(crate) other: usize,
}

impl Scripts {
    pub(crate) fn of(text: &str) -> Self {
        let mut scripts = Scripts::default();
        for c in text.chars() {
            match c {
                _ if is_han(c) => scripts.han += 1,
                '\u{3041}'..='\u{30ff}' => scripts.kana += 1,
                '\u{ac00}'..='\u{d7af}' => scripts.hangul += 1,
                'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | 'ａ'..='ｚ' | 'Ａ'..='Ｚ' => scripts.latin += 1,
                _ if c.is_alphabetic() => scripts.other += 1,
                _ => {}
            }
        }
        scripts
    }

    /// Letters of any script.
    pub(crate) fn letters(&self) -> usize {
        self.han + self.kana + self.hangul + self.latin + self.other
    }
}

/// Whether a character is a Chinese one.
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}' | '〇')
}

/// Whether a character is set without spaces around it: Chinese and Japanese letters and their full-width punctuation.
pub(crate) fn is_wide(c: char) -> bool {
    is_han(c) || matches!(c, '\u{3000}'..='\u{30ff}' | '\u{ff00}'..='\u{ffef}' | '—' | '“' | '”' | '‘' | '’' | '…')
}

/// Words that make up a quarter of any English prose and are rare in its neighbours.
#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "the", "of", "and", "to", "is", "for", "with", "that", "are", "by", "this", "from", "we", "on", "an", "in",
    "as", "it", "be",
];

/// The language of a text: `zh`, `ja`, `ko`, `en`; `None` where neither script nor words decide.
pub(crate) fn of(text: &str) -> Option<&'static str> {
    let scripts = Scripts::of(text);
    let letters = scripts.letters();
    if letters == 0 {
        return None;
    }
    // A Chinese character says about as much as four Latin letters, and technical Chinese is full of Latin words, so
    // even a modest share of Chinese characters makes a text Chinese.
    if scripts.kana * 5 > scripts.han.max(1) && scripts.kana * 4 > letters - scripts.han {
        return Some("ja");
    }
    if scripts.hangul * 4 > letters {
        return Some("ko");
    }
    if scripts.han * 4 > scripts.latin + scripts.other {
        return Some("zh");
    }
    if scripts.latin * 10 < letters * 9 {
        return None;
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(2000)
        .map(str::to_lowercase)
        .collect();
    let english = words.iter().filter(|word| ENGLISH.contains(&word.as_str())).count();
    // English prose has a share of 20 to 30 %, headlines less, French and German prose under 6 %. A few words without
    // any foreign letter are taken for English: in Chinese collections that is what Latin letters mostly are.
    let plain = text.chars().all(|c| !c.is_alphabetic() || c.is_ascii());
    (english * 100 >= words.len() * 8 || words.len() < 20 && plain).then_some("en")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_tell_languages() {
        assert_eq!(of("基于规则的元数据抽取"), Some("zh"));
        assert_eq!(of("基于PDF的Dublin Core抽取方法"), Some("zh"));
        assert_eq!(of("Metadata Extraction"), Some("en"));
        assert_eq!(of("メタデータの抽出"), Some("ja"));
        assert_eq!(of("12 345"), None);
        assert_eq!(of("Извлечение метаданных"), None);
        assert_eq!(of("Über die Grenzen der Gärung"), None, "Latin letters are not always English");
    }
}
