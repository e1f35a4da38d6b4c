//! Cutting folded text into what is indexed: words of scripts with spaces, single characters of scripts without, and
//! beside the characters the Chinese words the dictionary knows. How characters fold is `fold`'s.
//!
//! Positions count words and characters, never dictionary words: a dictionary word stands at the position of its first
//! character. So characters side by side find any piece of Chinese text whatever the dictionary thinks of it, and a
//! match of a dictionary word only makes the record count for more. Pairs of characters as terms of their own would be
//! quicker to look up; tried on 200,000 generated records, they more than doubled both the index and the work of
//! loading it.

use std::borrow::Cow;
use std::sync::LazyLock;

use jieba_rs::Jieba;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::fold::{fold, is_han, stands_alone};

/// The dictionary, about 30 MB when open: read once, and only when the first Chinese text comes by.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The longest word kept, in bytes. What is longer is no word of any language, and only its beginning is indexed.
const LONGEST: usize = 96;

/// A word or a single character in folded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after its last.
    pub(super) end: usize,
    /// Its place among words and characters.
    pub(super) position: usize,
}

impl Piece {
    /// As it is indexed.
    pub(super) fn term<'t>(&self, folded: &'t str) -> Cow<'t, str> {
        stem(&folded[self.start..self.end])
    }

    /// Whether it is a single character of a script without spaces.
    pub(super) fn stands_alone(&self, folded: &str) -> bool {
        folded[self.start..].chars().next().is_some_and(stands_alone)
    }
}

/// The words and single characters of a folded text, in order.
pub(super) fn pieces(folded: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    cut(folded, &mut pieces, |_, _, _| {});
    pieces
}

/// Cuts; tells `run` of each run of Chinese characters: its first byte, the byte after its last, its first position.
fn cut(folded: &str, pieces: &mut Vec<Piece>, mut run: impl FnMut(usize, usize, usize)) {
    let mut position = 0;
    let mut word: Option<usize> = None;
    let mut han: Option<(usize, usize)> = None;
    // One separator more than there is, so that what is open at the end is closed by the same lines.
    let end = folded.len();
    for (at, c) in folded.char_indices().chain([(end, ' ')]) {
        let alone = stands_alone(c);
        let letter = !alone && (c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric()));
        if !letter && let Some(start) = word.take() {
            let end = at.min(folded.floor_char_boundary(start + LONGEST));
            pieces.push(Piece { start, end, position });
            position += 1;
        }
        if letter && word.is_none() {
            word = Some(at);
        }
        if alone && is_han(c) {
            han.get_or_insert((at, position));
        } else if let Some((start, first)) = han.take() {
            run(start, at, first);
        }
        if alone {
            pieces.push(Piece { start: at, end: at + c.len_utf8(), position });
            position += 1;
        }
    }
}

/// Plural and singular of an English word as one form. Deliberately no more than that: a full stemmer makes "organ" of
/// "organisation" and "univers" of "university", which costs a catalogue more than it gains, and knows nothing of
/// names. The form need not be a word ("cach"), only the same for both.
fn stem(word: &str) -> Cow<'_, str> {
    let plain = word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase());
    if !plain || matches!(word, "news" | "lens") {
        return Cow::Borrowed(word);
    }
    let singular = match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest,
        _ => word,
    };
    if singular.len() > 4
        && let Some(root) = singular.strip_suffix("ie")
    {
        return Cow::Owned(format!("{root}y"));
    }
    if ["che", "she", "xe", "ze", "sse"].iter().any(|end| singular.ends_with(end)) {
        return Cow::Borrowed(&singular[..singular.len() - 1]);
    }
    Cow::Borrowed(singular)
}

/// Terms that a word may have been indexed as if it begins with `prefix` but its indexed form does not.
pub(super) fn forms_of_prefix(prefix: &str) -> Vec<String> {
    let mut forms = vec![stem(prefix).into_owned()];
    if let Some(root) = prefix.strip_suffix('i') {
        forms.push(format!("{root}y"));
    }
    forms.retain(|form| !form.starts_with(prefix));
    forms
}

/// The tokenizer tantivy runs in its writing threads. It keeps its buffers from text to text.
#[derive(Debug, Clone, Default)]
pub(super) struct TextTokenizer {
    folded: String,
    pieces: Vec<Piece>,
    words: Vec<Piece>,
    token: Token,
}

impl TextTokenizer {
    /// Its name in the schema. It carries the number of the index's form: with any change to folding, cutting, stemming
    /// or the dictionary the number goes up, and every index of the older form is rebuilt when opened.
    pub(super) const NAME: &'static str = "zhulu-1";
}

impl Tokenizer for TextTokenizer {
    type TokenStream<'a> = TextStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TextStream<'a> {
        let TextTokenizer { folded, pieces, words, token } = self;
        folded.clear();
        pieces.clear();
        words.clear();
        fold(text, |_, c| folded.push(c));
        let folded = &*folded;
        cut(folded, pieces, |start, end, first| {
            dictionary_words(folded, start, end, first, |piece| words.push(piece));
        });
        token.reset();
        TextStream { folded, pieces: pieces.iter().chain(words.iter()), token }
    }
}

/// The words of two or more characters in a run of Chinese characters.
fn dictionary_words(folded: &str, start: usize, end: usize, first: usize, mut emit: impl FnMut(Piece)) {
    // One character is three bytes (or four); it has no room for a word.
    if end - start < 6 {
        return;
    }
    // Without the model for unknown words: it costs as much again, and what the dictionary lacks the characters find.
    for token in JIEBA.cut(&folded[start..end], false) {
        if token.end - token.start > 1 {
            emit(Piece { start: start + token.byte_start, end: start + token.byte_end, position: first + token.start });
        }
    }
}

/// What the tokenizer gives: all words and characters, then all dictionary words.
pub(super) struct TextStream<'a> {
    folded: &'a str,
    pieces: std::iter::Chain<std::slice::Iter<'a, Piece>, std::slice::Iter<'a, Piece>>,
    token: &'a mut Token,
}

impl TokenStream for TextStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(piece) = self.pieces.next() else { return false };
        self.token.text.clear();
        self.token.text.push_str(&piece.term(self.folded));
        self.token.position = piece.position;
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// What one word of a query asks for: these terms, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// As they are indexed.
    pub(super) terms: Vec<String>,
    /// The same as one dictionary word, if it is one: finding it counts for more.
    pub(super) word: Option<String>,
}

/// Words that join others; a record need not have them.
const PARTICLES: [&str; 10] = ["的", "了", "和", "与", "及", "之", "在", "等", "并", "或"];

/// Up to so many characters, a word with something in it that the dictionary does not know is taken for a name or a
/// term and looked for as it stands; what is longer is a sentence, whose words may be found apart.
const LONGEST_NAME: usize = 4;

/// Cuts a query word, which in Chinese may be a whole sentence, into what a record must contain.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let folded = super::fold::folded(text);
    let mut all = Vec::new();
    let mut runs = Vec::new();
    cut(&folded, &mut all, |start, end, first| runs.push((start, end, first)));
    let mut words = Vec::new();
    for (start, end, first) in runs {
        dictionary_words(&folded, start, end, first, |piece| words.push(piece));
    }
    let whole = |pieces: &[Piece]| pieces.iter().map(|piece| piece.term(&folded).into_owned()).collect::<Vec<_>>();
    let known: usize = words.iter().map(|word| folded[word.start..word.end].chars().count()).sum();
    let alone = all.iter().filter(|piece| piece.stands_alone(&folded)).count();
    if known < alone && all.len() <= LONGEST_NAME {
        return vec![Unit { terms: whole(&all), word: None }];
    }

    /// What came before, which what is like it continues.
    #[derive(PartialEq)]
    enum Before {
        Letters,
        Characters,
        Nothing,
    }
    let mut words = words.into_iter().peekable();
    let mut units: Vec<Unit> = Vec::new();
    let mut before = Before::Nothing;
    let mut at = 0;
    while at < all.len() {
        let piece = all[at];
        if let Some(word) = words.next_if(|word| word.start == piece.start) {
            let count = all[at..].iter().take_while(|piece| piece.end <= word.end).count();
            let text = folded[word.start..word.end].to_owned();
            units.push(Unit { terms: whole(&all[at..at + count]), word: Some(text) });
            before = Before::Nothing;
            at += count;
            continue;
        }
        at += 1;
        let term = piece.term(&folded).into_owned();
        if PARTICLES.contains(&term.as_str()) {
            before = Before::Nothing;
            continue;
        }
        let now = if piece.stands_alone(&folded) { Before::Characters } else { Before::Letters };
        match units.last_mut() {
            Some(unit) if before == now => unit.terms.push(term),
            _ => units.push(Unit { terms: vec![term], word: None }),
        }
        before = now;
    }
    if units.is_empty() && !all.is_empty() {
        // Nothing but particles: then they are what is meant.
        units.push(Unit { terms: whole(&all), word: None });
    }
    units
}

/// All terms of a text, one after the other: what a phrase asks for.
pub(super) fn terms(text: &str) -> Vec<String> {
    let folded = super::fold::folded(text);
    pieces(&folded).iter().map(|piece| piece.term(&folded).into_owned()).collect()
}

/// Whether there is anything in it to search for.
pub(super) fn is_searchable(text: &str) -> bool {
    !pieces(&super::fold::folded(text)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_meets_singular_and_little_else() {
        for (one, many) in [
            ("repository", "repositories"),
            ("book", "books"),
            ("class", "classes"),
            ("cache", "caches"),
            ("box", "boxes"),
            ("movie", "movies"),
            ("size", "sizes"),
            ("database", "databases"),
        ] {
            assert_eq!(stem(one), stem(many));
        }
        for word in ["corpus", "analysis", "news", "gas", "class", "university", "universe", "metadata"] {
            assert!(stem(word) == word || word.ends_with("se"), "{word} stays");
        }
        assert_ne!(stem("university"), stem("universe"));
    }

    #[test]
    fn a_text_gives_characters_and_words_at_their_positions() {
        let mut tokenizer = TextTokenizer::default();
        let mut stream = tokenizer.token_stream("Using 圖書館 metadata");
        let mut seen = Vec::new();
        while stream.advance() {
            seen.push((stream.token().position, stream.token().text.clone()));
        }
        seen.sort();
        let expected = [(0, "using"), (1, "图"), (1, "图书馆"), (2, "书"), (3, "馆"), (4, "metadata")];
        assert_eq!(seen, expected.map(|(position, text)| (position, text.to_owned())));
    }

    #[test]
    fn query_words_are_cut_where_the_dictionary_says() {
        let cut = |text: &str| units(text).into_iter().map(|unit| unit.terms.concat()).collect::<Vec<_>>();
        assert_eq!(cut("图书馆元数据"), ["图书馆", "元", "数据"]);
        assert_eq!(cut("元数据"), ["元数据"], "a term the dictionary does not know stays whole");
        assert_eq!(cut("中国的图书馆"), ["中国", "图书馆"]);
        assert_eq!(cut("meta-data"), ["metadata"]);
        assert_eq!(cut("2008年"), ["2008年"]);
        assert_eq!(cut("的"), ["的"]);
        assert_eq!(cut("，。"), Vec::<String>::new());
    }

    #[test]
    fn a_word_without_end_is_cut_short() {
        let long = "é".repeat(10_000);
        assert_eq!(terms(&long), ["e".repeat(LONGEST)]);
    }
}
