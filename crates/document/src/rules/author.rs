//! Authors: the lines after the title, until something that is not a name; and what a line of names holds.

use crate::language::is_han;
use crate::line::Line;

use super::Claim;
use super::label;

/// Words that name a place of work. A line with one of them ends the authors.
#[rustfmt::skip]
const AFFILIATION_WORDS: &[&str] = &[
    "department", "dept", "center", "centre", "school", "university", "univ", "institute", "institut",
    "institution", "college", "laboratory", "laboratories", "lab", "labs", "faculty", "academy", "hospital",
    "company", "corporation", "inc", "ltd", "gmbh", "research", "division", "universität", "université",
    "universidad", "universidade", "università", "politecnico", "ministry", "library", "society", "association",
    "foundation", "museum", "observatory", "clinic", "technologies", "street", "road", "usa", "china",
];

/// The same in Chinese, where words have no edges.
#[rustfmt::skip]
const AFFILIATION_PARTS: &[&str] = &[
    "大学", "学院", "研究所", "研究院", "研究室", "研究中心", "实验室", "图书馆", "公司", "医院", "科学院", "学校", "教研室", "大學", "學院", "出版社",
    "编辑部", "委员会",
];

/// Words that stand beside names and are none.
#[rustfmt::skip]
const NOT_NAMES: &[&str] = &[
    "member", "fellow", "senior", "student", "ieee", "acm", "the", "of", "for", "in", "on", "with", "an", "to",
    "from", "at", "received", "accepted", "published", "available", "online", "article", "paper", "open", "access",
    "volume", "issue", "journal", "proceedings", "conference", "international", "draft", "version", "january",
    "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "corresponding", "author", "authors", "email", "introduction", "abstract", "keywords", "copyright", "editor",
    "professor", "phd", "using", "based", "supplementary", "information", "original", "review",
];

/// Small words inside names.
#[rustfmt::skip]
const PARTICLES: &[&str] = &[
    "de", "da", "do", "dos", "das", "del", "della", "di", "du", "la", "le", "van", "von", "der", "den", "ten",
    "ter", "zu", "zur", "bin", "ibn", "al", "el", "y", "e", "af", "av", "st",
];

/// Labels before a name on a cover, a form or a slide. Longer ones first: a label is taken whole.
#[rustfmt::skip]
const AUTHOR_LABELS: &[&str] = &[
    "研究生姓名", "学生姓名", "作者姓名", "论文作者", "汇报人", "报告人", "主讲人", "研究生", "博士生", "硕士生", "作者", "姓名", "Submitted by",
    "Presented by", "Authors", "Author", "Candidate", "By", "by",
];

/// Labels before the names of others, and before whatever else a cover says. They end the authors too.
#[rustfmt::skip]
const OTHER_LABELS: &[&str] = &[
    "指导教师", "指导老师", "导师", "学科", "专业", "学号", "学位", "院系", "单位", "日期", "编辑", "译者", "Supervisor", "Supervised",
    "Advisor", "Adviser", "Date", "Edited", "Translated",
];

/// How many lines the authors may fill, and how many strange lines (a date, a dedication) may come before them.
const MAX_LINES: usize = 8;
const MAX_SKIPPED: usize = 2;

/// Whether a line cannot be one of authors: it begins with a bracket, or holds an affiliation, an address or a label.
pub(super) fn ends_authors(line: &Line) -> bool {
    let text = line.text.trim();
    text.starts_with(['(', '（', '[', '［', '〔', '【', '{'])
        || text.contains(['@', '＠'])
        || text.contains("://")
        || label::is_label(text)
        || OTHER_LABELS.iter().any(|label| text.starts_with(label))
        || has_affiliation(text)
}

fn has_affiliation(text: &str) -> bool {
    AFFILIATION_PARTS.iter().any(|part| text.contains(part))
        || text
            .split(|c: char| !c.is_alphabetic())
            .map(str::to_lowercase)
            .any(|word| AFFILIATION_WORDS.contains(&word.as_str()) || word.contains("universit"))
}

/// The authors on the lines after a title.
pub(super) fn after(lines: &[Line], from: usize) -> Vec<Claim> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut skipped = 0;
    if let Some(claim) =
        lines.get(from).and_then(|line| signature(&line.text)).map(|value| Claim { value, lines: vec![from] })
    {
        return vec![claim];
    }
    for (index, line) in lines.iter().enumerate().skip(from) {
        if ends_authors(line) || chosen.len() >= MAX_LINES {
            break;
        }
        let first = chosen.first().map(|first| &lines[*first]);
        let other_size = first.is_some_and(|first| line.size < 0.8 * first.size || line.size > 1.25 * first.size);
        // Running text that happens to hold something like a name is long, and mostly no names.
        let names: usize = split(&line.marked).iter().map(|name| name.chars().count()).sum();
        let letters = line.marked.chars().filter(|c| c.is_alphabetic()).count();
        let mostly_names = names * 2 > letters;
        if mostly_names && !other_size {
            chosen.push(index);
        } else if !chosen.is_empty() || skipped == MAX_SKIPPED {
            break;
        } else {
            skipped += 1;
        }
    }
    // Names set side by side, each above its own affiliation, are read column by column; their row brings them together.
    if let Some(first) = chosen.first().copied() {
        let row = lines.iter().enumerate().skip(from).filter(|(index, line)| {
            !chosen.contains(index)
                && line.beside(&lines[first])
                && !ends_authors(line)
                && !split(&line.marked).is_empty()
        });
        let row: Vec<usize> = row.map(|(index, _)| index).collect();
        chosen.extend(row);
        let place = |index: &usize| lines[*index].frame().map_or((0.0, 0.0), |frame| (frame.baseline, frame.left));
        if chosen.iter().all(|index| lines[*index].beside(&lines[first])) {
            chosen.sort_by(|a, b| place(a).1.total_cmp(&place(b).1));
        }
    }
    claims(lines, &chosen)
}

/// The name in a line like `云岭县第一中学 张三`: where somebody works or learns, and who it is.
fn signature(text: &str) -> Option<String> {
    let (place, name) = text.trim().split_once(char::is_whitespace)?;
    let long = place.chars().count() > 4 && place.chars().all(is_han);
    let name: String = name.split_whitespace().collect();
    (long && name.chars().count() <= 3 && is_han_name(&name)).then_some(name)
}

/// The authors that a label announces, wherever it stands on the page.
pub(super) fn labelled(lines: &[Line]) -> Vec<Claim> {
    for (index, line) in lines.iter().enumerate() {
        let Some(rest) = after_label(&line.marked) else { continue };
        let names = split(rest);
        if !names.is_empty() {
            return names.into_iter().map(|value| Claim { value, lines: vec![index] }).collect();
        }
        // On a form the name stands in the next field.
        if rest.trim().is_empty()
            && let Some(next) = lines.get(index + 1).filter(|next| line.beside(next) && !ends_authors(next))
        {
            return split(&next.marked).into_iter().map(|value| Claim { value, lines: vec![index + 1] }).collect();
        }
    }
    Vec::new()
}

/// The names on some lines. A name of two characters may be set so wide that its halves are two pieces of a line.
fn claims(lines: &[Line], chosen: &[usize]) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut carried = String::new();
    for (position, index) in chosen.iter().enumerate() {
        let mut text = std::mem::take(&mut carried) + &lines[*index].marked;
        let next = chosen.get(position + 1).map(|next| &lines[*next]);
        if next.is_some_and(|next| lines[*index].beside(next))
            && let Some((at, last)) = text.trim_end().char_indices().next_back()
            && is_han(last)
            && !text[..at].ends_with(is_han)
        {
            carried = format!("{last} ");
            text.truncate(at);
        }
        for value in split(&text) {
            if claims.iter().all(|claim| claim.value != value) {
                claims.push(Claim { value, lines: vec![*index] });
            }
        }
    }
    claims
}

/// What follows a label like `作者：` or `By`. Spaces may stretch the label: `作　者`.
fn after_label(text: &str) -> Option<&str> {
    let text = text.trim_start();
    for label in AUTHOR_LABELS {
        let stretched = !label.is_ascii();
        let mut rest = text;
        let matches = label.chars().all(|c| {
            if stretched {
                rest = rest.trim_start();
            }
            match rest.strip_prefix(c) {
                Some(shorter) => {
                    rest = shorter;
                    true
                }
                None => false,
            }
        });
        let separated =
            rest.is_empty() || rest.starts_with([':', '：', '/', '／']) || rest.starts_with(char::is_whitespace);
        if matches && separated {
            return Some(rest.trim_start_matches(|c: char| c.is_whitespace() || ":：/／".contains(c)));
        }
    }
    None
}

/// The names in a line; whatever is no name is left out.
pub(crate) fn split(text: &str) -> Vec<String> {
    let text = after_label(text).unwrap_or(text);
    let text = text.strip_prefix("文/").unwrap_or(text);
    let pieces = pieces(text);
    let mut names: Vec<String> = Vec::new();
    let mut index = 0;
    while index < pieces.len() {
        let piece = &pieces[index];
        // `Lee, A. B.` is one name turned round.
        if let Some(next) = pieces.get(index + 1)
            && is_initials(next)
            && is_surname(piece)
        {
            names.push(format!("{next} {piece}"));
            index += 2;
            continue;
        }
        if piece.chars().any(is_han) {
            names.extend(han_names(piece));
        } else if is_latin_name(piece) {
            names.push(piece.clone());
        }
        index += 1;
    }
    names
}

/// Cut a line at everything that separates names, and drop the marks that point to footnotes.
fn pieces(text: &str) -> Vec<String> {
    let mut cut = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' | '（' | '[' | '［' | '【' | '〔' => depth += 1,
            ')' | '）' | ']' | '］' | '】' | '〕' => {
                depth = depth.saturating_sub(1);
                cut.push(';');
            }
            _ if depth > 0 => {}
            ',' | '，' | '、' | ';' | '；' | '|' | '&' | '•' | '∙' | '/' | '*' | '∗' | '＊' | '†' | '‡' | '§' | '¶'
            | '#' | '⋆' | '★' | '☆' | '✉' | '△' | '▲' | '∥' | '‖' | ':' | '：' => cut.push(';'),
            '0'..='9' | '０'..='９' | '¹' | '²' | '³' | '⁰'..='⁹' | '①'..='⑳' => cut.push(';'),
            '\u{3000}' | '\t' => cut.push_str("  "),
            _ => cut.push(c),
        }
    }
    let mut pieces = Vec::new();
    for part in cut.split(';') {
        let mut piece = String::new();
        let mut flush = |piece: &mut String| {
            let trimmed = piece.trim().trim_start_matches(['-', '–', '—', '.', '．']).trim();
            if !trimmed.is_empty() {
                pieces.push(trimmed.to_owned());
            }
            piece.clear();
        };
        for word in part.split(' ') {
            if ["and", "And", "AND", "和", "与", "及", "und", "et"].contains(&word) {
                flush(&mut piece);
            } else {
                // Empty words keep the width of a gap, which tells Chinese names apart.
                piece.push_str(word);
                piece.push(' ');
            }
        }
        flush(&mut piece);
    }
    pieces
}

/// The Chinese names in a piece: `张 三` and `张 小三` are one each, `张三 李四` are two, `王五和赵六` are two.
fn han_names(piece: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut words = piece.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let of_length = |word: &str, most: usize| word.chars().count() <= most && word.chars().all(is_han);
        // One character alone is no name: it is a surname set off from what follows.
        if of_length(word, 1)
            && let Some(next) = words.next_if(|next| of_length(next, 2))
        {
            names.push(format!("{word}{next}"));
            continue;
        }
        let long = word.chars().count() > 4;
        let parts = word.split(|c| long && matches!(c, '和' | '与' | '及'));
        names.extend(parts.filter(|part| is_han_name(part)).map(str::to_owned));
    }
    names
}

fn is_han_name(name: &str) -> bool {
    let dotted = name.contains(['·', '•', '．', '・']);
    let count = name.chars().filter(|c| is_han(*c)).count();
    let fits =
        name.chars().all(|c| is_han(c) || "·•．・".contains(c)) && (2..=if dotted { 15 } else { 4 }).contains(&count);
    let other = [
        "作者", "摘要", "教授", "博士", "编辑", "论文", "导师", "姓名", "专业", "单位", "日期", "目录", "等", "年",
        "月", "期", "卷", "第",
    ];
    fits && !other.iter().any(|word| name.ends_with(word) || name.starts_with(word))
}

fn is_initials(piece: &str) -> bool {
    let letters = piece.chars().filter(|c| c.is_alphabetic()).count();
    (1..=3).contains(&letters)
        && piece.contains('.')
        && piece.chars().all(|c| c.is_uppercase() || matches!(c, '.' | '-' | ' '))
}

fn is_surname(piece: &str) -> bool {
    piece.chars().next().is_some_and(char::is_uppercase)
        && piece.split_whitespace().count() <= 2
        && piece.chars().all(|c| c.is_alphabetic() || " -'’".contains(c))
        && piece.chars().count() > 1
}

fn is_latin_name(piece: &str) -> bool {
    let words: Vec<&str> = piece.split_whitespace().collect();
    if !(2..=6).contains(&words.len()) {
        return false;
    }
    let fits = |word: &&str| {
        let bare = word.trim_matches(['.', '’', '\'']);
        let lower = bare.to_lowercase();
        let letters = bare
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '-' | '‐' | '.' | '\'' | '’' | '`' | '´' | '¨' | '˜' | 'ˇ'));
        let named = bare.chars().next().is_some_and(|c| c.is_uppercase() || "'’`´¨˜ˇ".contains(c))
            || PARTICLES.contains(&lower.as_str());
        letters && named && !NOT_NAMES.contains(&lower.as_str())
    };
    let capital = |word: &&str| word.chars().next().is_some_and(char::is_uppercase);
    words.iter().all(fits)
        && words.last().is_some_and(capital)
        && words.iter().any(|word| word.chars().filter(|c| c.is_alphabetic()).count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_names() {
        assert_eq!(
            split("Ann Lee, Bo van der Berg and C. D. O’Neill"),
            ["Ann Lee", "Bo van der Berg", "C. D. O’Neill"]
        );
        assert_eq!(split("Ann Lee1,2*, Bo Chen3†"), ["Ann Lee", "Bo Chen"]);
        assert_eq!(split("Ann Lee; Bo Chen;"), ["Ann Lee", "Bo Chen"], "raised marks come as semicolons");
        assert_eq!(split("Lee, A. B., Chen, B."), ["A. B. Lee", "B. Chen"]);
        assert_eq!(split("Ann Lee, Senior Member, IEEE, and Bo Chen"), ["Ann Lee", "Bo Chen"]);
        assert_eq!(split("By Ann Lee"), ["Ann Lee"]);
        assert_eq!(split("ANN LEE & BO CHEN"), ["ANN LEE", "BO CHEN"]);
        assert_eq!(split("This is a sentence, and it has words"), [""; 0]);
        assert_eq!(split("Received 12 March 2020"), [""; 0]);
    }

    #[test]
    fn chinese_names() {
        assert_eq!(split("张三，李四、王小五"), ["张三", "李四", "王小五"]);
        assert_eq!(split("张 三　李 四"), ["张三", "李四"]);
        assert_eq!(split("张三 李四 王小五"), ["张三", "李四", "王小五"]);
        assert_eq!(split("林 溪　　欧阳知秋　　贺 北辰"), ["林溪", "欧阳知秋", "贺北辰"]);
        assert_eq!(split("张三1，李四2*"), ["张三", "李四"]);
        assert_eq!(split("张三和李四"), ["张三", "李四"]);
        assert_eq!(split("李和平"), ["李和平"], "a name may hold what joins names");
        assert_eq!(split("作者：欧阳修远"), ["欧阳修远"]);
        assert_eq!(split("作　者：张三（1990—）"), ["张三"]);
        assert_eq!(split("阿依古丽·买买提"), ["阿依古丽·买买提"]);
        assert_eq!(split("本文讨论了元数据的抽取方法"), [""; 0]);
    }

    #[test]
    fn a_signature_is_a_place_and_a_name() {
        assert_eq!(signature("云岭县第一中学 张三").as_deref(), Some("张三"));
        assert_eq!(signature("云岭县第一中学 张 三").as_deref(), Some("张三"));
        assert_eq!(signature("张三 李四"), None);
    }

    #[test]
    fn affiliations_are_told_by_their_words() {
        for text in ["Department of Nothing", "1 School of Clouds", "某某大学信息学院", "The Lab, Inc."] {
            assert!(has_affiliation(text), "{text}");
        }
        assert!(!has_affiliation("Ann Label, Schoolman Bo"));
    }
}
