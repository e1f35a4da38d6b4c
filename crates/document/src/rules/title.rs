//! The title: the text in the largest letters, and a subtitle below it.

use crate::language::{self, Scripts, is_han};
use crate::line::{Line, join};

use super::Claim;
use super::author;
use super::label;

/// A title, its subtitle, and where the lines after them begin.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) title: Claim,
    pub(super) subtitle: Option<Claim>,
    /// The first line after both.
    pub(super) end: usize,
}

/// What is often set larger than the title and never is one: the kind of thesis, the kind of article.
#[rustfmt::skip]
const KINDS: &[&str] = &[
    "学位论文", "毕业论文", "毕业设计", "博士论文", "硕士论文", "本科毕业", "研究报告", "researcharticle", "originalarticle", "reviewarticle",
    "originalresearch", "article", "articles", "openaccess", "dissertation", "thesis", "report", "technicalreport",
    "letter", "review", "preprint", "workingpaper",
];

/// Letters whose sizes differ by less than this share are of one size.
const SAME_SIZE: f32 = 0.05;

/// Find the title among the lines of a page. Lines above it (a journal's name, a number) are allowed.
pub(super) fn find(lines: &[Line]) -> Option<Heading> {
    let mut sizes: Vec<f32> = lines.iter().map(|line| line.size).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    sizes.dedup();
    let mut fallback = None;
    for largest in sizes.into_iter().take(12) {
        let alike = |line: &Line| line.size <= largest && line.size >= largest * (1.0 - SAME_SIZE);
        let mut start = 0;
        while let Some(offset) = lines[start..].iter().position(alike) {
            let first = start + offset;
            let group = block(lines, first, &alike);
            start = group.last().map_or(first, |last| *last) + 1;
            let value = text_of(lines, &group);
            let scripts = Scripts::of(&value);
            let compact: String = value.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
            let is_kind =
                KINDS.iter().any(|kind| if kind.is_ascii() { compact == *kind } else { compact.ends_with(kind) });
            if label::is_label(&value) || value.contains("://") || scripts.letters() < 2 {
                continue;
            }
            let heading = Heading { end: start, title: Claim { value, lines: group }, subtitle: None };
            // Two letters in a huge size are a logo or an initial; without sizes the first line is the title, however short.
            let long_enough = lines[first].frame().is_none() || scripts.han >= 4 || scripts.letters() >= 8;
            if !is_kind && !is_journal(lines, &heading.title) && long_enough {
                return Some(with_subtitle(lines, heading));
            }
            if !is_kind && fallback.is_none() {
                fallback = Some(heading);
            }
        }
    }
    fallback
}

/// Whether the page's head repeats a text with a volume or a year beside it: then it is the journal's name.
fn is_journal(lines: &[Line], claim: &Claim) -> bool {
    let skeleton =
        |text: &str| text.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect::<String>();
    let name = skeleton(&claim.value);
    let from = claim.lines.first().copied().unwrap_or_default();
    lines.iter().enumerate().any(|(index, line)| {
        let numbered = line.text.chars().filter(char::is_ascii_digit).count() >= 3;
        !claim.lines.contains(&index)
            && index < from + 6
            && numbered
            && line.size < lines[from].size
            && skeleton(&line.text).contains(&name)
    })
}

/// Find the title in the second language, among the few lines above its abstract.
pub(super) fn find_twin(lines: &[Line], language: Option<&str>) -> Option<Heading> {
    let fits = |line: &Line| {
        let scripts = Scripts::of(&line.text);
        let han = language == Some("zh");
        scripts.letters() >= 2
            && (scripts.han > 0) == han
            && !label::is_label(&line.text)
            && !author::ends_authors(line)
    };
    // Far from the abstract there is other matter.
    let near = lines.len().saturating_sub(14);
    let largest = lines[near..].iter().filter(|line| fits(line)).map(|line| line.size).fold(0.0, f32::max);
    let alike =
        |line: &Line| fits(line) && line.size >= largest * (1.0 - SAME_SIZE) && author::split(&line.marked).is_empty();
    let first = near + lines[near..].iter().position(alike)?;
    let group = block(lines, first, &alike);
    let end = group.last().map_or(first, |last| *last) + 1;
    let value = text_of(lines, &group);
    (language::of(&value) == language).then_some(Heading { title: Claim { value, lines: group }, subtitle: None, end })
}

/// The lines from `first` on that look alike and stand close together.
fn block(lines: &[Line], first: usize, alike: &dyn Fn(&Line) -> bool) -> Vec<usize> {
    let mut group = vec![first];
    for (index, line) in lines.iter().enumerate().skip(first + 1) {
        let last = &lines[group[group.len() - 1]];
        let close = last.beside(line) || last.white_to(line).is_some_and(|white| white < 1.2);
        let apart_in_text = line.frame().is_none();
        if !alike(line) || !close || apart_in_text || group.len() >= 8 {
            break;
        }
        group.push(index);
    }
    group
}

fn with_subtitle(lines: &[Line], mut heading: Heading) -> Heading {
    let Some(line) = lines.get(heading.end) else { return heading };
    let title = &lines[heading.title.lines[heading.title.lines.len() - 1]];
    let dashed = line.text.trim_start().starts_with(['—', '─', '―', '–']) || line.text.trim_start().starts_with("--");
    let close = title.white_to(line).is_some_and(|white| white < 1.2);
    // Without a dash it takes more: nearly as large as the title, larger than what follows, and no list of names.
    let below = lines.get(heading.end + 1).map_or(0.0, |next| next.size);
    let plain = line.frame().is_some()
        && line.size >= 0.6 * title.size
        && line.size >= 1.15 * below
        && line.bold == title.bold
        && author::split(&line.marked).is_empty()
        && !author::ends_authors(line)
        && Scripts::of(&line.text).letters() >= 6;
    if !close || label::is_label(&line.text) || !(dashed || plain) {
        return heading;
    }
    let alike = |other: &Line| {
        (other.size - line.size).abs() <= SAME_SIZE * line.size
            && author::split(&other.marked).is_empty()
            && !author::ends_authors(other)
    };
    let group = block(lines, heading.end, &alike);
    let value = text_of(lines, &group);
    let value = value.trim_start_matches(|c: char| c.is_whitespace() || "—─―–-".contains(c)).to_owned();
    heading.end = group.last().map_or(heading.end, |last| last + 1);
    heading.subtitle = Some(Claim { value, lines: group });
    heading
}

/// The text of some lines, without the footnote mark at its end and the spaces that only stretch Chinese over a line.
fn text_of(lines: &[Line], group: &[usize]) -> String {
    let texts = group.iter().map(|index| {
        let line = &lines[*index];
        match line.marked.trim_end().strip_suffix(';') {
            Some(unmarked) if !line.text.trim_end().ends_with(';') && !unmarked.contains(';') => unmarked,
            _ => line.text.as_str(),
        }
    });
    let text = join(texts);
    let text = text.trim().trim_end_matches(['*', '∗', '†', '‡', '★', '☆', '①', '⋆', ' ']);
    let text = strip_title_label(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let single = words.iter().filter(|word| word.chars().count() == 1 && word.chars().all(is_han)).count();
    if single * 2 > words.len() && words.len() > 2 { words.concat() } else { text.to_owned() }
}

/// Forms and covers write `题目：` before the title.
fn strip_title_label(text: &str) -> &str {
    for label in ["论文题目", "题目", "标题", "Title", "TITLE"] {
        if let Some(rest) = text.strip_prefix(label)
            && let Some(rest) = rest.trim_start().strip_prefix([':', '：'])
        {
            return rest.trim();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{Frame, Spot};

    fn line(text: &str, size: f32, baseline: f32) -> Line {
        let frame = Frame {
            left: 0.0,
            right: 100.0,
            top: baseline - 0.85 * size,
            bottom: baseline + 0.2 * size,
            baseline,
            page: (600.0, 800.0),
        };
        Line { text: text.to_owned(), marked: text.to_owned(), size, bold: false, spot: Spot::Page(1, frame) }
    }

    #[test]
    fn the_largest_letters_are_the_title() {
        let lines = [
            line("Journal of Invented Studies 3 (2020)", 8.0, 20.0),
            line("A Study of", 18.0, 80.0),
            line("Nothing Much", 18.0, 100.0),
            line("Ann Lee and Bo Chen", 12.0, 130.0),
        ];
        let heading = find(&lines).unwrap();
        assert_eq!(heading.title.value, "A Study of Nothing Much");
        assert_eq!(heading.title.lines, [1, 2]);
        assert!(heading.subtitle.is_none());
        assert_eq!(heading.end, 3);
    }

    #[test]
    fn a_journals_name_is_not_the_title() {
        let lines = [
            line("Annals of Nothing 12 (2019) 3–9", 7.0, 20.0),
            line("Annals of Nothing", 20.0, 60.0),
            line("The Colour of Rain", 18.0, 120.0),
        ];
        assert_eq!(find(&lines).unwrap().title.value, "The Colour of Rain");
    }

    #[test]
    fn a_dash_opens_a_subtitle() {
        let lines = [line("山 中 的 云", 18.0, 80.0), line("——以三个村庄为例", 14.0, 104.0), line("张三", 12.0, 130.0)];
        let heading = find(&lines).unwrap();
        assert_eq!(heading.title.value, "山中的云");
        assert_eq!(heading.subtitle.unwrap().value, "以三个村庄为例");
        assert_eq!(heading.end, 2);
    }

    #[test]
    fn the_kind_of_a_thesis_is_not_its_title() {
        let lines = [line("硕 士 学 位 论 文", 30.0, 80.0), line("题目：河流泥沙的长期观测", 18.0, 200.0)];
        assert_eq!(find(&lines).unwrap().title.value, "河流泥沙的长期观测");
    }
}
