//! From runs of text to lines on pages: what all office readers share.
//!
//! A word processor stores paragraphs, not lines or pages. A paragraph becomes a line (several, where it has line breaks of its own), and
//! pages end where the file says so or, failing that, after as much text as a page holds.

use crate::language::is_wide;
use crate::line::{Line, Spot};

/// The size of letters where nothing says it.
pub(crate) const BODY: f32 = 10.5;

/// How many characters are kept. The catalogue keeps a third of it for searching.
const MAX_CHARS: usize = 600_000;

/// A page of Chinese text in the usual size has about 1,500 characters, of English 3,000; a page with fewer letters has pictures.
const PAGE_CHARS: usize = 3000;
const PAGE_LINES: usize = 60;

/// A piece of text of one look.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) text: String,
    pub(crate) size: f32,
    pub(crate) bold: bool,
    /// Set above the line, as the marks that point to footnotes and affiliations are.
    pub(crate) raised: bool,
}

/// What a paragraph is, where its style or its place says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Running text.
    #[default]
    Body,
    /// A heading of this level, from 1.
    Heading(u8),
    /// The document's or the slide's title.
    Title,
}

/// Where the paragraphs of a document go.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    pages: Vec<Vec<Line>>,
    titles: Vec<(usize, usize)>,
    paragraph: u32,
    slide: Option<u32>,
    chars: usize,
    page_chars: usize,
}

impl Composer {
    /// Whether no more text is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.chars >= MAX_CHARS
    }

    /// Whether there is any text.
    pub(crate) fn is_empty(&self) -> bool {
        self.chars == 0
    }

    /// What comes is on the next page.
    pub(crate) fn page_break(&mut self) {
        if self.pages.last().is_some_and(|page| !page.is_empty()) {
            self.pages.push(Vec::new());
            self.page_chars = 0;
        }
    }

    /// What comes is on this slide.
    pub(crate) fn slide(&mut self, number: u32) {
        self.page_break();
        self.slide = Some(number);
    }

    /// A paragraph of one look.
    pub(crate) fn plain(&mut self, text: &str, size: f32, role: Role) {
        self.paragraph(&[Run { text: text.to_owned(), size, bold: false, raised: false }], role);
    }

    /// The paragraphs of a slide's title, which is one title however it is broken.
    pub(crate) fn title(&mut self, paragraphs: &[Vec<Run>]) {
        let full = |runs: &&Vec<Run>| runs.iter().any(|run| !run.text.trim().is_empty());
        let mut whole: Vec<Run> = Vec::new();
        for runs in paragraphs.iter().filter(full) {
            if let Some(last) = whole.last_mut() {
                last.text.push('\n');
            }
            whole.extend(runs.iter().cloned());
        }
        self.paragraph(&whole, Role::Title);
    }

    /// A paragraph. A line feed in it breaks the line, a form feed the page; a title is put together again.
    pub(crate) fn paragraph(&mut self, runs: &[Run], role: Role) {
        self.paragraph += 1;
        if role == Role::Title {
            return self.line(&joined(runs), role);
        }
        let mut line: Vec<Run> = Vec::new();
        for run in runs {
            let mut rest = run.text.as_str();
            while let Some(at) = rest.find(['\n', '\x0c', '\x0b', '\r']) {
                line.push(Run { text: rest[..at].to_owned(), ..run.clone() });
                self.line(&line, role);
                line.clear();
                if rest[at..].starts_with('\x0c') {
                    self.page_break();
                }
                rest = &rest[at + 1..];
            }
            line.push(Run { text: rest.to_owned(), ..run.clone() });
        }
        self.line(&line, role);
    }

    fn line(&mut self, runs: &[Run], role: Role) {
        let (mut text, mut marked) = (String::new(), String::new());
        let mut sizes: Vec<(f32, usize)> = Vec::new();
        let (mut bold, mut letters) = (0, 0);
        for run in runs {
            let shown: String = run.text.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
            text.push_str(&shown);
            let count = shown.chars().filter(|c| c.is_alphanumeric()).count();
            if run.raised && !shown.trim().is_empty() && !text.trim().is_empty() {
                marked.push(';');
                continue;
            }
            marked.push_str(&shown);
            letters += count;
            if run.bold {
                bold += count;
            }
            match sizes.iter_mut().find(|(size, _)| (size - run.size).abs() < 0.01) {
                Some((_, sum)) => *sum += count,
                None => sizes.push((run.size, count)),
            }
        }
        let text = text.trim().to_owned();
        if text.is_empty() || self.is_full() {
            return;
        }
        let size = sizes.into_iter().max_by_key(|(_, count)| *count).map_or(BODY, |(size, _)| size);
        let size = if size.is_finite() && size > 0.0 { size.min(500.0) } else { BODY };
        let count = text.chars().count();
        // Slides end where they end.
        let full =
            self.page_chars + count > PAGE_CHARS || self.pages.last().is_some_and(|page| page.len() >= PAGE_LINES);
        if self.pages.is_empty() || self.slide.is_none() && self.page_chars > 0 && full {
            self.pages.push(Vec::new());
            self.page_chars = 0;
        }
        self.chars += count;
        self.page_chars += count;
        let spot = self.slide.map_or(Spot::Paragraph(self.paragraph), Spot::Slide);
        let page_index = self.pages.len() - 1;
        if let Some(page) = self.pages.last_mut() {
            if role == Role::Title {
                self.titles.push((page_index, page.len()));
            }
            let bold = bold * 2 > letters || matches!(role, Role::Heading(_));
            page.push(Line { text, marked: marked.trim().to_owned(), size, bold, spot });
        }
    }

    /// The pages. A line whose style says that it is a title is made the largest of its page: the style was chosen by a person, the
    /// size of a banner above it was not.
    pub(crate) fn finish(mut self) -> Vec<Vec<Line>> {
        for (page, index) in self.titles {
            let Some(page) = self.pages.get_mut(page) else { continue };
            let largest = page.iter().map(|line| line.size).fold(0.0, f32::max);
            if let Some(line) = page.get_mut(index)
                && line.size < largest * 1.1
            {
                line.size = largest * 1.1;
            }
        }
        self.pages.retain(|page| !page.is_empty());
        self.pages
    }
}

/// Runs without breaks of lines: a space stands for one, except between Chinese characters.
fn joined(runs: &[Run]) -> Vec<Run> {
    let mut before = None;
    let mut broken = false;
    let mut whole = Vec::new();
    for run in runs {
        let mut text = String::with_capacity(run.text.len());
        for c in run.text.chars() {
            if matches!(c, '\n' | '\x0b' | '\r' | '\x0c') {
                broken = true;
                continue;
            }
            if std::mem::take(&mut broken) && !(before.is_some_and(is_wide) && is_wide(c)) {
                text.push(' ');
            }
            before = Some(c);
            text.push(c);
        }
        whole.push(Run { text, ..run.clone() });
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, raised: bool) -> Run {
        Run { text: text.to_owned(), size: 12.0, bold: false, raised }
    }

    #[test]
    fn raised_marks_separate_names() {
        let mut composer = Composer::default();
        composer.paragraph(&[run("张三", false), run("1", true), run("李四", false), run("2", true)], Role::Body);
        let pages = composer.finish();
        assert_eq!((pages[0][0].text.as_str(), pages[0][0].marked.as_str()), ("张三1李四2", "张三;李四;"));
    }

    #[test]
    fn a_title_is_one_however_it_is_broken() {
        let mut composer = Composer::default();
        composer.title(&[
            vec![run("分层图\x0b思想", false)],
            vec![run("", false)],
            vec![run("in Two", false)],
            vec![run("Lines", false)],
        ]);
        assert_eq!(composer.finish()[0][0].text, "分层图思想 in Two Lines");
    }

    #[test]
    fn a_title_by_style_is_the_largest() {
        let mut composer = Composer::default();
        composer.plain("Banner", 30.0, Role::Body);
        composer.plain("Title", 12.0, Role::Title);
        composer.plain("one\x0ctwo", 12.0, Role::Body);
        let pages = composer.finish();
        assert_eq!(pages.len(), 2);
        assert!(pages[0][1].size > pages[0][0].size);
        assert_eq!(pages[1][0].spot, Spot::Paragraph(3));
    }
}
