//! The plain rules: largest letters make the title, names follow it, labels announce the abstract and the keywords.
//!
//! They are those of the paper this project grew from, for Chinese and English, with the additions that `docs/documents.md` lists. They read lines, whoever made them, and give statements with
//! their place. A trained tagger may stand beside them; they stay available as the method `rules`.

mod author;
mod label;
mod title;

use zhulu_record::{Element, Evidence, Language, Statement};

use crate::language;
use crate::line::{self, Line};

pub(crate) use author::split as split_authors;
pub(crate) use label::split_keywords;

/// How sure each rule is: the accuracies that its authors measured on 199 Chinese and 200 English papers, both languages together
/// (title .841/.850, authors .708/.683, abstract .914/.930, keywords .901/.974). A beginning, until they are
/// calibrated on what people correct.
pub(crate) mod confidence {
    pub(crate) const TITLE: f64 = 0.84;
    pub(crate) const AUTHOR: f64 = 0.70;
    pub(crate) const ABSTRACT: f64 = 0.92;
    pub(crate) const KEYWORD: f64 = 0.93;
    /// Not measured by them: the first line of a plain text, which has nothing else to show; a dash before a subtitle, a label before a name are plain signs, a place among other lines is not.
    pub(crate) const FIRST_LINE: f64 = 0.70;
    pub(crate) const SUBTITLE: f64 = 0.70;
    pub(crate) const LABELLED_AUTHOR: f64 = 0.80;
    pub(crate) const TWIN: f64 = 0.60;
}

/// How far the rules look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The first page alone, as the paper does.
    FirstPage,
    /// The first page with text, and the few after it, where a thesis has its abstract.
    FrontMatter,
}

/// How many pages the front matter has at most.
const FRONT_MATTER: usize = 6;

/// How many lines of a page the rules look at. A dense page has 150; the bound keeps a made-up one from holding up the queue.
const MAX_LINES: usize = 2000;

/// A value and the lines it stands on.
#[derive(Debug, Clone, PartialEq)]
struct Claim {
    value: String,
    lines: Vec<usize>,
}

/// What the rules say of a document's pages.
pub(crate) fn apply(pages: &[Vec<Line>], reach: Reach) -> Vec<Statement> {
    let pages = match reach {
        Reach::FirstPage => pages.get(..1).unwrap_or_default(),
        Reach::FrontMatter => {
            let blank = pages.iter().take_while(|page| page.is_empty()).count();
            &pages[blank..pages.len().min(blank + FRONT_MATTER)]
        }
    };
    let Some(first) = pages.first().filter(|page| !page.is_empty()) else { return Vec::new() };
    let first = &first[..first.len().min(MAX_LINES)];
    let lines: Vec<Line> = pages.iter().flat_map(|page| page.iter().take(MAX_LINES)).cloned().collect();
    let mut sayings = Sayings { lines: &lines, statements: Vec::new() };

    let heading = title::find(first);
    let main = heading.as_ref().and_then(|heading| language::of(&heading.title.value));
    let passages = label::passages(&lines, heading.as_ref().map_or(&[], |heading| &heading.title.lines));
    if let Some(heading) = &heading {
        // A reader without sizes makes the first line the largest; that is then the rule. Further down only its size can have told it.
        let sized = heading.title.lines.first().is_some_and(|index| *index > 0 || first[*index].frame().is_some());
        let (by, sure) =
            if sized { ("rule:largest-font", confidence::TITLE) } else { ("rule:first-line", confidence::FIRST_LINE) };
        sayings.say(Element::TITLE, &heading.title, main, by, sure);
        if let Some(subtitle) = &heading.subtitle {
            let language = language::of(&subtitle.value);
            sayings.say(Element::ALTERNATIVE, subtitle, language, "rule:subtitle", confidence::SUBTITLE);
        }
        let follows = author::after(first, heading.end);
        let (found, by, sure) = if follows.is_empty() {
            (author::labelled(first), "rule:author-label", confidence::LABELLED_AUTHOR)
        } else {
            (follows, "rule:after-title", confidence::AUTHOR)
        };
        for claim in &found {
            sayings.say(Element::CREATOR, claim, name_language(&claim.value, None), by, sure);
        }
    }
    let mut twins = Vec::new();
    for passage in &passages {
        match passage.kind {
            label::Kind::Abstract => {
                let language = language::of(&passage.claim.value);
                sayings.say(Element::ABSTRACT, &passage.claim, language, "rule:abstract-label", confidence::ABSTRACT);
                // A paper with both languages repeats title and names above the abstract in the other one.
                if language.is_some() && main.is_some() && language != main && !twins.contains(&language) {
                    twins.push(language);
                    let from = passages
                        .iter()
                        .filter_map(|other| other.claim.lines.iter().max().copied())
                        .filter(|last| *last < passage.start)
                        .max()
                        .map_or(0, |last| last + 1)
                        .max(heading.as_ref().map_or(0, |heading| heading.end));
                    sayings.say_twin(from, passage.start, language);
                }
            }
            label::Kind::Keywords => {
                for keyword in label::split_keyword_lines(&passage.texts) {
                    let claim = Claim { value: keyword, lines: passage.claim.lines.clone() };
                    let language = language::of(&passage.claim.value);
                    sayings.say(Element::SUBJECT, &claim, language, "rule:keywords-label", confidence::KEYWORD);
                }
            }
            label::Kind::Other => {}
        }
    }
    sayings.statements
}

struct Sayings<'a> {
    lines: &'a [Line],
    statements: Vec<Statement>,
}

impl Sayings<'_> {
    fn say(&mut self, element: Element, claim: &Claim, language: Option<&str>, by: &str, sure: f64) {
        let mut evidence = Evidence::by(by).sure(sure);
        evidence.at = line::place(claim.lines.iter().filter_map(|index| self.lines.get(*index)));
        let mut statement = Statement::new(element, claim.value.as_str()).because(evidence);
        statement.language = language.map(Language::new);
        let known = |said: &Statement| said.element == statement.element && said.value == statement.value;
        if !claim.value.is_empty() && !self.statements.iter().any(known) {
            self.statements.push(statement);
        }
    }

    /// Title and names in the second language, from the lines between the last passage and its abstract.
    fn say_twin(&mut self, from: usize, to: usize, language: Option<&'static str>) {
        let Some(between) = self.lines.get(from..to) else { return };
        let Some(heading) = title::find_twin(between, language) else { return };
        let shift = |claim: &Claim| Claim {
            value: claim.value.clone(),
            lines: claim.lines.iter().map(|index| index + from).collect(),
        };
        self.say(Element::TITLE, &shift(&heading.title), language, "rule:twin-title", confidence::TWIN);
        for claim in author::after(between, heading.end) {
            let of = name_language(&claim.value, language);
            self.say(Element::CREATOR, &shift(&claim), of, "rule:twin-authors", confidence::TWIN);
        }
    }
}

/// A name in Chinese characters is Chinese; one in Latin letters has no language, unless it is the twin of a Chinese one.
fn name_language(name: &str, twin_of: Option<&'static str>) -> Option<&'static str> {
    if name.chars().any(language::is_han) { Some("zh") } else { twin_of }
}
