//! Snippets: the part of a record's text worth showing for a query, with what fits marked. Computed from the text, not
//! from the index, through the same folding: a query in traditional characters lights up simplified text, and the
//! reverse.

use super::fold::{fold, stands_alone, vanishes};
use super::query::{Form, Node, parse};
use super::tokenizer::{Piece, pieces, terms, units};
use super::{Query, Snippet};

/// What shows that a text goes on.
const ELLIPSIS: char = '…';

/// How far a cut may move to avoid going through a word.
const NUDGE: usize = 16;

/// What is to be marked: these terms side by side; the last may go on.
struct Pattern {
    terms: Vec<String>,
    prefix: bool,
}

/// A marked part, in characters, and the pattern it fits.
#[derive(Debug, Clone, Copy)]
struct Mark {
    start: usize,
    end: usize,
    pattern: usize,
}

/// The part of a text worth showing for a query, at most `length` characters, with matches marked. A query that cannot
/// be read marks nothing. Words asked for in one field are marked wherever they are: the text is the caller's choice.
pub fn snippet(text: &str, query: &Query, length: usize) -> Snippet {
    let mut patterns = Vec::new();
    if let Ok(node) = parse(&query.text) {
        wanted(&node, &mut patterns);
    }
    let characters: Vec<char> = text.chars().collect();
    let marks = if patterns.is_empty() { Vec::new() } else { marks(text, &patterns) };
    let (start, end) = window(&characters, &marks, patterns.len(), length);
    pieces_of(&characters, &marks, start, end)
}

fn wanted(node: &Node, patterns: &mut Vec<Pattern>) {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| wanted(node, patterns)),
        Node::Text(_, Form::Phrase, text) => patterns.push(Pattern { terms: terms(text), prefix: false }),
        Node::Text(_, Form::Words, text) => {
            patterns.extend(units(text).into_iter().map(|unit| Pattern { terms: unit.terms, prefix: false }));
        }
        Node::Text(_, Form::Prefix, text) => {
            let folded = super::fold::folded(text);
            let all = pieces(&folded);
            let Some((last, before)) = all.split_last() else { return };
            let mut terms: Vec<String> = before.iter().map(|piece| piece.term(&folded).into_owned()).collect();
            terms.push(folded[last.start..last.end].to_owned());
            patterns.push(Pattern { terms, prefix: true });
        }
        Node::All | Node::Nothing | Node::Not(_) | Node::Label(..) | Node::Date(_) | Node::Box(_) => {}
    }
}

/// All places where a pattern fits, in order.
fn marks(text: &str, patterns: &[Pattern]) -> Vec<Mark> {
    // For each byte of the folded text, the character of the text it came from.
    let mut folded = String::with_capacity(text.len());
    let mut origin: Vec<u32> = Vec::with_capacity(text.len());
    let mut character = 0;
    let mut last = 0;
    fold(text, |at, c| {
        if at > last {
            character += text[last..at].chars().count() as u32;
            last = at;
        }
        folded.push(c);
        origin.resize(folded.len(), character);
    });
    let all = pieces(&folded);
    let fits = |piece: &Piece, term: &str, prefix: bool| {
        if prefix {
            folded[piece.start..piece.end].starts_with(term) || piece.term(&folded) == term
        } else {
            piece.term(&folded) == term
        }
    };
    let mut marks = Vec::new();
    for at in 0..all.len() {
        for (pattern, Pattern { terms, prefix }) in patterns.iter().enumerate() {
            let Some(place) = all.get(at..at + terms.len()) else { continue };
            let last = terms.len() - 1;
            let same =
                place.iter().zip(terms).enumerate().all(|(n, (piece, term))| fits(piece, term, *prefix && n == last));
            if same {
                let start = origin[place[0].start] as usize;
                let end = origin[place[last].end - 1] as usize + 1;
                marks.push(Mark { start, end, pattern });
            }
        }
    }
    marks
}

/// Which characters to show: those with the most different patterns, then the most marks, then the earliest.
fn window(characters: &[char], marks: &[Mark], patterns: usize, length: usize) -> (usize, usize) {
    if characters.len() <= length {
        return (0, characters.len());
    }
    // Room for the two ellipses.
    let room = length.saturating_sub(2);
    let mut best = (0, 0);
    let mut chosen: Option<(usize, usize)> = None;
    let mut seen = vec![0usize; patterns];
    let mut different = 0;
    let mut next = 0;
    for (first, mark) in marks.iter().enumerate() {
        while next < marks.len() && marks[next].end.max(mark.end) <= mark.start + room {
            different += usize::from(seen[marks[next].pattern] == 0);
            seen[marks[next].pattern] += 1;
            next += 1;
        }
        if next > first {
            let value = (different, next - first);
            if value > best {
                best = value;
                chosen = Some((mark.start, marks[first..next].iter().map(|mark| mark.end).max().unwrap_or(mark.end)));
            }
            seen[mark.pattern] -= 1;
            different -= usize::from(seen[mark.pattern] == 0);
        } else {
            // A mark longer than the window: it is passed over by both ends.
            next = first + 1;
        }
    }
    let (first, last) = chosen.or_else(|| marks.first().map(|mark| (mark.start, mark.start))).unwrap_or((0, 0));
    // A little of what comes before, more of what comes after.
    let spare = room.saturating_sub(last - first);
    let start = first.saturating_sub(spare / 3);
    let end = (start + room).min(characters.len());
    let start = end.saturating_sub(room).min(start);
    tidy(characters, start, end, first, last)
}

/// Moves the cuts out of words and away from accents, never across a mark.
fn tidy(characters: &[char], mut start: usize, mut end: usize, first: usize, last: usize) -> (usize, usize) {
    let inside = |at: usize| {
        let letter = |c: char| c.is_alphanumeric() && !stands_alone(c);
        at > 0 && at < characters.len() && letter(characters[at - 1]) && letter(characters[at])
    };
    if let Some(nudge) = (0..NUDGE).find(|nudge| start + nudge <= first && !inside(start + nudge)) {
        start += nudge;
    }
    if let Some(nudge) = (0..NUDGE).find(|nudge| end >= last + nudge && end - nudge > start && !inside(end - nudge)) {
        end -= nudge;
    }
    while start > 0 && start < end && vanishes(characters[start]) {
        start += 1;
    }
    while end > start && end < characters.len() && vanishes(characters[end]) {
        end -= 1;
    }
    (start, end)
}

fn pieces_of(characters: &[char], marks: &[Mark], start: usize, end: usize) -> Snippet {
    let mut marked = vec![false; end - start];
    for mark in marks.iter().filter(|mark| mark.end > start && mark.start < end) {
        marked[mark.start.max(start) - start..mark.end.min(end) - start].fill(true);
    }
    let mut pieces: Vec<(String, bool)> = Vec::new();
    let mut push = |c: char, fits: bool| match pieces.last_mut() {
        Some((text, same)) if *same == fits => text.push(c),
        _ => pieces.push((c.to_string(), fits)),
    };
    if start > 0 && end > start {
        push(ELLIPSIS, false);
    }
    let mut before = false;
    for (c, fits) in characters[start..end].iter().zip(marked) {
        // An accent belongs to its letter.
        before = fits || (before && vanishes(*c));
        push(*c, before);
    }
    if end < characters.len() && end > start {
        push(ELLIPSIS, false);
    }
    Snippet { pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, query: &str, length: usize) -> String {
        let query = Query { text: query.to_owned(), ..Query::default() };
        let pieces = snippet(text, &query, length).pieces;
        pieces.into_iter().map(|(text, fits)| if fits { format!("[{text}]") } else { text }).collect()
    }

    #[test]
    fn what_fits_is_marked_as_it_is_written() {
        for (text, query, expected) in [
            ("數位圖書館的元數據", "图书馆", "數位[圖書館]的元數據"),
            ("数字图书馆", "圖書館", "数字[图书馆]"),
            ("ＸＭＬ　Ｄａｔａ", "xml", "[ＸＭＬ]　Ｄａｔａ"),
            ("Two repositories, one Repository", "repository", "Two [repositories], one [Repository]"),
            ("the café and the cafe\u{301}s", "cafe", "the [café] and the [cafe\u{301}s]"),
            ("metadata and meta", "meta*", "[metadata] and [meta]"),
            ("a digital library, a library", "\"digital library\"", "a [digital library], a library"),
            ("apples and pears", "apples -pears", "[apples] and pears"),
            ("书", "title:书 date:2005", "[书]"),
            ("text", "date:nonsense", "text"),
            ("ﬁle", "file", "[ﬁle]"),
        ] {
            assert_eq!(marked(text, query, 100), expected);
        }
    }

    #[test]
    fn the_best_part_is_chosen_and_stays_within_its_length() {
        let text =
            format!("{} apples {} apples and pears together {}", "x ".repeat(200), "y ".repeat(200), "z ".repeat(200));
        let shown = marked(&text, "apples pears", 40);
        assert!(shown.contains("[apples] and [pears]"), "{shown}");
        for length in 0..60 {
            let query = Query { text: "apples pears".to_owned(), ..Query::default() };
            let shown: String = snippet(&text, &query, length).pieces.into_iter().map(|(text, _)| text).collect();
            assert!(shown.chars().count() <= length, "{length}: {shown}");
        }
        let chinese = "的".repeat(300) + "元数据" + &"了".repeat(300);
        let shown = marked(&chinese, "元数据", 20);
        assert!(shown.contains("[元数据]") && shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn a_letter_keeps_its_accent() {
        let text = "e\u{301}".repeat(50);
        for length in 3..20 {
            let shown = marked(&text, "nothing", length);
            let inner = shown.trim_matches('…');
            assert!(inner.is_empty() || (inner.starts_with('e') && inner.ends_with('\u{301}')), "{shown:?}");
        }
    }
}
