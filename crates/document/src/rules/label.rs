//! Labels: the words that announce an abstract, keywords, or the end of either, and the passages they open.

use crate::language::{is_han, is_wide};
use crate::line::{Line, join};

use super::Claim;

/// What a label opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Abstract,
    Keywords,
    /// Something else, which ends what was open.
    Other,
}

/// A label and the text it opens.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) kind: Kind,
    /// The line of the label.
    pub(super) start: usize,
    /// The running text and the lines it stands on.
    pub(super) claim: Claim,
    /// The text line by line.
    pub(super) texts: Vec<String>,
}

/// Labels without spaces and in small letters; `true` for those that are also ordinary words, and so need a colon or a line of their own.
const LABELS: &[(&str, Kind, bool)] = &[
    ("内容摘要", Kind::Abstract, false),
    ("中文摘要", Kind::Abstract, false),
    ("英文摘要", Kind::Abstract, false),
    ("论文摘要", Kind::Abstract, false),
    ("内容提要", Kind::Abstract, false),
    ("摘要", Kind::Abstract, false),
    ("提要", Kind::Abstract, true),
    ("abstract", Kind::Abstract, false),
    ("summary", Kind::Abstract, true),
    ("关键词", Kind::Keywords, false),
    ("关键字", Kind::Keywords, false),
    ("關鍵詞", Kind::Keywords, false),
    ("主题词", Kind::Keywords, false),
    ("keywordsandphrases", Kind::Keywords, false),
    ("authorkeywords", Kind::Keywords, false),
    ("keywords", Kind::Keywords, false),
    ("keyword", Kind::Keywords, true),
    ("indexterms", Kind::Keywords, false),
    ("中图分类号", Kind::Other, false),
    ("中图法分类号", Kind::Other, false),
    ("分类号", Kind::Other, false),
    ("文献标识码", Kind::Other, false),
    ("文献标志码", Kind::Other, false),
    ("文章编号", Kind::Other, false),
    ("收稿日期", Kind::Other, false),
    ("基金项目", Kind::Other, false),
    ("作者简介", Kind::Other, false),
    ("参考文献", Kind::Other, false),
    ("引用格式", Kind::Other, false),
    ("目录", Kind::Other, true),
    ("引言", Kind::Other, true),
    ("前言", Kind::Other, true),
    ("绪论", Kind::Other, true),
    ("introduction", Kind::Other, true),
    ("contents", Kind::Other, true),
    ("background", Kind::Other, true),
    ("references", Kind::Other, true),
    ("clcnumber", Kind::Other, false),
    ("documentcode", Kind::Other, false),
    ("doi", Kind::Other, true),
    ("categoriesandsubjectdescriptors", Kind::Other, false),
    ("ccsconcepts", Kind::Other, false),
    ("generalterms", Kind::Other, false),
    ("acmreferenceformat", Kind::Other, false),
    ("mathematicssubjectclassification", Kind::Other, false),
    ("jelclassification", Kind::Other, false),
    ("receiveddate", Kind::Other, false),
];

/// No abstract is longer; what goes on is the paper itself, whose heading was not seen.
const MAX_CHARS: usize = 6000;

/// No document has more abstracts and lists of keywords, in however many languages.
const MAX_PASSAGES: usize = 16;

/// No list of keywords has more lines.
const MAX_KEYWORD_LINES: usize = 12;

/// A label at the start of a line, and the rest of the line.
fn label(text: &str) -> Option<(Kind, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || "【[［〔〈<《「*#■◆●".contains(c));
    LABELS.iter().find_map(|(word, kind, ordinary)| {
        let mut rest = text;
        for wanted in word.chars() {
            rest = rest.trim_start();
            let c = rest.chars().next()?;
            if c.to_lowercase().next() != Some(wanted) {
                return None;
            }
            rest = &rest[c.len_utf8()..];
        }
        let after = rest.trim_start_matches(|c: char| c.is_whitespace() || "】]］〕〉>》」*".contains(c));
        let closed = after.len() < rest.trim_start().len();
        let body =
            after.trim_start_matches([':', '：', '—', '–', '-', '―', '─', '|', '│', '·', '.', '．', '。']).trim();
        let separated = closed || body.len() < after.trim_end().len() || body.is_empty();
        // `Abstract machines` at the start of a line is a label only by its capital and what follows it.
        let ascii = word.is_ascii();
        let capital = text.starts_with(char::is_uppercase);
        let spaced = rest.starts_with(char::is_whitespace);
        let opens = match kind {
            Kind::Keywords => spaced && (capital || !ascii),
            _ if ascii => spaced && capital && body.starts_with(|c: char| c.is_uppercase() || c.is_numeric()),
            _ => spaced,
        };
        // In a table of contents the label is followed by its page.
        let contents =
            !body.is_empty() && body.chars().all(|c| c.is_numeric() || c.is_whitespace() || ".…·．".contains(c));
        let edge = !rest.starts_with(|c: char| c.is_alphanumeric()) || !ascii;
        (edge && !contents && (separated || !ordinary && opens)).then_some((*kind, body))
    })
}

/// Whether a line opens with a label of any kind.
pub(super) fn is_label(text: &str) -> bool {
    label(text).is_some() || is_heading(text)
}

/// Whether a line is the heading of a paper's first section: `1 Introduction`, `0 引言`, `一、问题的提出`.
fn is_heading(text: &str) -> bool {
    let text = text.trim();
    if text.chars().count() > 40 {
        return false;
    }
    let number =
        ["0", "1", "I", "一", "第一章", "第1章", "０", "１"].iter().find_map(|number| text.strip_prefix(number));
    number.is_some_and(|rest| {
        let title = rest.trim_start_matches(|c: char| c.is_whitespace() || ".．、".contains(c));
        let parted = title.len() < rest.len();
        let ends = !text.ends_with(['.', ',', '，', '。', ';', '；']);
        parted && ends && title.starts_with(|c: char| c.is_uppercase() || is_han(c))
    })
}

/// Where a label stands inside a line, as in `…得到了验证。关键词：云；山`.
fn inner_label(text: &str) -> Option<usize> {
    ["关键词", "关键字", "Keywords", "Key words", "Key Words", "KEYWORDS"].iter().find_map(|word| {
        let at = text.find(word).filter(|at| *at > 0)?;
        let rest = text[at + word.len()..].trim_start();
        let before = text[..at].trim_end();
        let after_end = before.ends_with(['。', '.', '．', '【', '[', '［']);
        (after_end && rest.starts_with([':', '：', '】', ']', '］', '—'])).then_some(at)
    })
}

/// All passages that labels open. The lines of the title are no labels, whatever they say.
pub(super) fn passages(lines: &[Line], title: &[usize]) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if passages.len() >= MAX_PASSAGES {
            break;
        }
        // A label may stand between the lines of a passage, in another column, but not on one of them.
        let taken = title.contains(&index) || passages.iter().any(|passage| passage.claim.lines.contains(&index));
        let Some((kind @ (Kind::Abstract | Kind::Keywords), rest)) = label(&line.text).filter(|_| !taken) else {
            continue;
        };
        let (passage, inner) = read(lines, index, kind, rest);
        passages.push(passage);
        // Keywords that begin inside the abstract's last line.
        if let Some((at, rest)) = inner {
            passages.push(read(lines, at, Kind::Keywords, &rest).0);
        }
    }
    passages.retain(|passage| !passage.claim.value.is_empty());
    passages
}

/// Read on from a label to the end of what it opens. Also gives a label for keywords met inside a line: its line, and what follows it.
fn read(lines: &[Line], start: usize, kind: Kind, rest: &str) -> (Passage, Option<(usize, String)>) {
    let mut texts: Vec<String> = Vec::new();
    let mut used: Vec<usize> = Vec::new();
    let mut inner = None;
    let mut take = |index: usize, text: &str, texts: &mut Vec<String>| -> bool {
        used.push(index);
        if kind == Kind::Abstract
            && let Some(at) = inner_label(text)
        {
            texts.push(text[..at].trim_end_matches(['【', '[', '［', ' ']).to_owned());
            if let Some((Kind::Keywords, after)) = label(&text[at..]) {
                inner = Some((index, after.to_owned()));
            }
            return false;
        }
        texts.push(text.to_owned());
        true
    };
    let mut open = rest.is_empty() || take(start, rest, &mut texts);
    let mut previous = start;
    let mut chars = rest.chars().count();
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        // Beside a label on a line of its own there may be another column, as narrow as dates and keywords are, whose lines come between.
        let lower = lines[previous].white_to(line).is_some();
        let apart =
            !lines[start].overlaps(line) && !lines[previous].overlaps(line) && !lines[previous].neighbours(line);
        if rest.is_empty() && open && lower && apart {
            continue;
        }
        if !open || is_label(&line.text) || chars > MAX_CHARS {
            break;
        }
        let before = &lines[previous];
        let first = texts.is_empty();
        let length = line.text.chars().count();
        // The first line of a passage may be set otherwise than its label; after that a change of size or a wide gap ends it.
        let resized = (line.size - before.size).abs() > 0.08 * before.size && length > 8;
        let white = before.white_to(line);
        let ended = texts.last().is_some_and(|text| text.trim_end().ends_with(['.', '。', '!', '！', '?', '？', '．']));
        let ends = match kind {
            _ if first => white.is_some_and(|white| white > 4.0),
            Kind::Abstract => resized || white.map_or(ended, |white| white > 1.5),
            _ => {
                resized
                    || white.is_none_or(|white| white > 1.0)
                    || !continues(&lines[start..index], before, &texts)
                    || texts.len() >= MAX_KEYWORD_LINES
            }
        };
        if ends {
            break;
        }
        open = take(index, &line.text, &mut texts);
        chars += length;
        previous = index;
    }
    let value = close_up(&join(texts.iter().map(String::as_str)));
    let value = if kind == Kind::Abstract { without_notice(&value).to_owned() } else { value };
    (Passage { kind, start, claim: Claim { value, lines: used }, texts }, inner)
}

/// An abstract without the publisher's notice that is often set as its last sentence.
fn without_notice(text: &str) -> &str {
    let end = text.rfind('©').or_else(|| {
        let start = text.strip_suffix("All rights reserved.")?.trim_end();
        // The sign is often lost on the way; the year is not.
        start.rfind(['.', '。']).and_then(|_| start.rfind(" 20").or_else(|| start.rfind(" 19")))
    });
    let cut = end.filter(|end| text.len() - end < 200).map_or(text, |end| &text[..end]);
    cut.trim_end()
}

/// Take out the spaces that stand between Chinese characters: prose has none, they are left over from typesetting.
fn close_up(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let kept = chars.iter().enumerate().filter(|(index, c)| {
        let beside = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| is_wide(*c));
        !(c.is_whitespace() && beside(index.checked_sub(1)) && beside(index.checked_add(1)))
    });
    kept.map(|(_, c)| c).collect()
}

/// Whether a list of keywords goes on after a line: it is full, or ends with a separator, or stands one keyword to a line.
fn continues(so_far: &[Line], last: &Line, texts: &[String]) -> bool {
    let text = texts.last().map(|text| text.trim_end()).unwrap_or_default();
    if text.ends_with(['.', '。', '．']) {
        return false;
    }
    if text.ends_with([',', '，', ';', '；', '、', '-', '·', '•']) {
        return true;
    }
    let right = so_far.iter().filter_map(Line::frame).map(|frame| frame.right).fold(0.0, f32::max);
    let (Some(frame), Some(label)) = (last.frame(), so_far.first()) else { return false };
    // With the label on a line of its own and no separators, each line is a keyword.
    let column = texts.iter().all(|text| !text.contains([',', '，', ';', '；', '、']))
        && self::label(&label.text).is_some_and(|(_, rest)| rest.is_empty());
    let full = frame.right - frame.left > 0.35 * frame.page.0 && frame.right > right - 2.0 * last.size;
    column || full
}

/// The keywords of a passage: split at separators, or, where it has none, at its lines.
pub(super) fn split_keyword_lines(texts: &[String]) -> Vec<String> {
    let whole = join(texts.iter().map(String::as_str));
    let keywords = split_keywords(&whole);
    if keywords.len() == 1 && texts.len() > 1 {
        return texts.iter().flat_map(|text| split_keywords(text)).collect();
    }
    keywords
}

/// Split a list of keywords. A semicolon is the strongest separator: a list that has one may hold commas in its keywords.
pub(crate) fn split_keywords(text: &str) -> Vec<String> {
    let separators: &[&[char]] =
        &[&[';', '；'], &[',', '，', '、', '|', '•', '∙', '·', '—', '–'], &['.', '。', '．', '/'], &['\u{3000}']];
    let text = text.trim().trim_end_matches(['.', '。', '．', ';', '；', ',', '，', '、']);
    let chosen = separators.iter().find(|set| text.contains(**set));
    let mut pieces: Vec<&str> = match chosen {
        Some(set) => text.split(*set).collect(),
        None => vec![text],
    };
    // Chinese lists often have nothing but spaces between the words.
    if chosen.is_none() && text.chars().filter(|c| is_han(*c)).count() * 2 > text.chars().count() {
        pieces = text.split_whitespace().collect();
    }
    let mut keywords: Vec<String> = Vec::new();
    for piece in pieces {
        let piece = piece.trim().trim_matches(['"', '“', '”', ':', '：']).trim();
        // What is longer than any term is running text that no label ended.
        if !piece.is_empty()
            && piece.chars().count() <= 100
            && piece.chars().any(char::is_alphanumeric)
            && !keywords.iter().any(|known| known == piece)
        {
            keywords.push(piece.to_owned());
        }
    }
    keywords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_in_both_languages() {
        let cases = [
            ("摘　要：本文", Some((Kind::Abstract, "本文"))),
            ("【摘要】本文", Some((Kind::Abstract, "本文"))),
            ("[摘 要] 本文", Some((Kind::Abstract, "本文"))),
            ("摘要", Some((Kind::Abstract, ""))),
            ("Abstract—We show", Some((Kind::Abstract, "We show"))),
            ("ABSTRACT", Some((Kind::Abstract, ""))),
            ("A B S T R A C T", Some((Kind::Abstract, ""))),
            ("Abstract This paper", Some((Kind::Abstract, "This paper"))),
            ("Abstraction is good", None),
            ("abstract machines are", None),
            ("Summary of results", None),
            ("关键词：云；山", Some((Kind::Keywords, "云；山"))),
            ("关 键 词 云 山", Some((Kind::Keywords, "云 山"))),
            ("Key words: clouds", Some((Kind::Keywords, "clouds"))),
            ("Index Terms—clouds", Some((Kind::Keywords, "clouds"))),
            ("Keywords and phrases: clouds", Some((Kind::Keywords, "clouds"))),
            ("中图分类号：G250", Some((Kind::Other, "G250"))),
            ("Introduction", Some((Kind::Other, ""))),
            ("Introduction of new words", None),
            ("摘要 ............ 2", None),
        ];
        for (text, expected) in cases {
            assert_eq!(label(text), expected, "{text}");
        }
    }

    #[test]
    fn a_publishers_notice_is_no_part_of_an_abstract() {
        assert_eq!(without_notice("We count. © 2005 Nobody Ltd. All rights reserved."), "We count.");
        assert_eq!(without_notice("We count. 2005 Nobody Ltd. All rights reserved."), "We count.");
        assert_eq!(without_notice("We count in 2005."), "We count in 2005.");
    }

    #[test]
    fn headings_end_an_abstract() {
        for text in ["1 Introduction", "1. INTRODUCTION", "I. INTRODUCTION", "0 引言", "一、问题的提出", "第一章 绪论"]
        {
            assert!(is_heading(text), "{text}");
        }
        for text in ["1 of them is here.", "In the beginning", "10 years later", "一个问题"] {
            assert!(!is_heading(text), "{text}");
        }
    }

    #[test]
    fn keywords_are_split_at_the_strongest_separator() {
        assert_eq!(split_keywords("云；山，高；水。"), ["云", "山，高", "水"]);
        assert_eq!(split_keywords("metadata, Dublin Core, extraction."), ["metadata", "Dublin Core", "extraction"]);
        assert_eq!(split_keywords("元数据 抽取 仓储"), ["元数据", "抽取", "仓储"]);
        assert_eq!(split_keywords("元数据、抽取、元数据"), ["元数据", "抽取"]);
        assert_eq!(split_keywords("digital library"), ["digital library"]);
        assert_eq!(split_keywords(""), [""; 0]);
    }

    #[test]
    fn a_label_inside_a_line_ends_the_abstract() {
        let text = "本文讨论云。关键词：云；山";
        assert_eq!(inner_label(text).map(|at| &text[at..]), Some("关键词：云；山"));
        assert_eq!(inner_label("关键词：云"), None);
        assert_eq!(inner_label("论关键词：一种方法"), None);
    }
}
