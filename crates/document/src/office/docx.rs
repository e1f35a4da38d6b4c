//! DOCX: the paragraphs of the main part, with the sizes and names their styles give them.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::container::zip::Archive;

use super::xml::{self, Node, Tag};
use super::{Composer, Extent, Reading, Role, Run, ooxml};

/// How far styles may be based on each other.
const MAX_BASES: usize = 20;

/// What a style or a run says of letters; `None` where it leaves that to what it is based on.
#[derive(Debug, Clone, Default)]
struct Look {
    size: Option<f32>,
    bold: Option<bool>,
    raised: Option<bool>,
}

impl Look {
    fn read(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            // Half points.
            "sz" => self.size = tag.number("val").map(|half| half / 2.0).or(self.size),
            "b" => self.bold = Some(tag.is_on()),
            "vertAlign" => self.raised = Some(tag.attribute("val").as_deref() == Some("superscript")),
            _ => {}
        }
    }

    fn over(&self, base: &Look) -> Look {
        Look { size: self.size.or(base.size), bold: self.bold.or(base.bold), raised: self.raised.or(base.raised) }
    }
}

#[derive(Debug, Clone, Default)]
struct Style {
    name: String,
    base: Option<String>,
    level: Option<u8>,
    look: Look,
}

/// The styles by their identifiers.
#[derive(Debug, Default)]
struct Styles {
    default: Look,
    normal: Option<String>,
    all: HashMap<String, Style>,
}

impl Styles {
    fn read(bytes: &[u8], reading: &mut Reading) -> Self {
        let mut styles = Styles::default();
        let mut open: Option<(String, Style)> = None;
        let mut in_defaults = false;
        let warning = xml::walk("word/styles.xml", bytes, &mut |node| {
            match node {
                Node::Start(tag) => match (tag.name(), &mut open) {
                    ("style", _) => {
                        let id = tag.attribute("styleId").unwrap_or_default();
                        if tag.attribute("type").as_deref() == Some("paragraph")
                            && tag.attribute("default").as_deref() == Some("1")
                        {
                            styles.normal = Some(id.clone());
                        }
                        open = Some((id, Style::default()));
                    }
                    ("rPrDefault", _) => in_defaults = true,
                    ("name", Some((_, style))) => style.name = tag.attribute("val").unwrap_or_default().to_lowercase(),
                    ("basedOn", Some((_, style))) => style.base = tag.attribute("val"),
                    ("outlineLvl", Some((_, style))) => style.level = tag.number("val").map(|level| level as u8 + 1),
                    (_, Some((_, style))) => style.look.read(tag),
                    (_, None) if in_defaults => styles.default.read(tag),
                    _ => {}
                },
                Node::End("style") => {
                    if let Some((id, style)) = open.take() {
                        styles.all.insert(id, style);
                    }
                }
                Node::End("rPrDefault") => in_defaults = false,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        reading.take_warnings(warning);
        styles
    }

    /// The look of a style with all it is based on.
    fn look(&self, id: &str) -> Look {
        let mut look = Look::default();
        let mut next = Some(id);
        for _ in 0..MAX_BASES {
            let Some(style) = next.and_then(|id| self.all.get(id)) else { break };
            look = look.over(&style.look);
            next = style.base.as_deref();
        }
        look
    }

    /// What a paragraph of this style is.
    fn role(&self, id: &str) -> Role {
        let Some(style) = self.all.get(id) else { return Role::Body };
        match style.name.as_str() {
            "title" | "标题" | "論文題目" | "论文题目" | "papertitle" | "paper title" => Role::Title,
            name => match name.strip_prefix("heading ").and_then(|level| level.parse().ok()).or(style.level) {
                Some(level @ 1..=9) => Role::Heading(level),
                _ => Role::Body,
            },
        }
    }
}

/// A paragraph while it is read.
#[derive(Debug, Default)]
struct Paragraph {
    runs: Vec<Run>,
    style: Option<String>,
    look: Look,
    level: Option<u8>,
    ends_section: bool,
}

/// What is open around the text.
struct Walker<'a> {
    styles: &'a Styles,
    composer: Composer,
    /// Paragraphs nest: a text box stands inside the paragraph it is anchored to.
    open: Vec<Paragraph>,
    in_run: bool,
    in_text: bool,
    run: Look,
    /// How deep inside something that is left out.
    skipped: usize,
    hidden: bool,
}

impl Walker<'_> {
    fn visit(&mut self, node: Node<'_>) -> ControlFlow<()> {
        match node {
            Node::Start(tag) => self.start(tag),
            Node::Text(text) if self.in_text && self.skipped == 0 && !self.hidden => self.add(text),
            Node::Text(_) => {}
            Node::End(name) => self.end(name),
        }
        if self.composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        // The fallback repeats, for old programs, what the choice before it says; deleted text is gone.
        if self.skipped > 0 || matches!(name, "Fallback" | "del" | "moveFrom") {
            self.skipped += 1;
            return;
        }
        match name {
            "p" if !tag.qualified().starts_with("a:") => self.open.push(Paragraph::default()),
            "r" => {
                self.in_run = true;
                self.hidden = false;
                self.run = Look::default();
            }
            "t" | "delText" => self.in_text = name == "t",
            "tab" if self.in_run => self.add("\t"),
            "br" | "cr" => self.add(if tag.attribute("type").as_deref() == Some("page") { "\x0c" } else { "\n" }),
            "lastRenderedPageBreak" if self.run_is_first() => self.composer.page_break(),
            "noBreakHyphen" => self.add("-"),
            "footnoteReference" | "endnoteReference" => {
                self.run.raised = Some(true);
                self.add("*");
            }
            "vanish" if self.in_run => self.hidden = tag.is_on(),
            "pStyle" => {
                let style = tag.attribute("val");
                if let Some(paragraph) = self.open.last_mut() {
                    paragraph.style = style;
                }
            }
            "rStyle" => {
                if let Some(id) = tag.attribute("val").filter(|_| self.in_run) {
                    self.run = self.run.over(&self.styles.look(&id));
                }
            }
            "outlineLvl" => {
                let level = tag.number("val").map(|level| level as u8 + 1).filter(|level| *level <= 9);
                if let Some(paragraph) = self.open.last_mut() {
                    paragraph.level = level;
                }
            }
            "pageBreakBefore" if tag.is_on() => self.composer.page_break(),
            "type" => {
                if let Some(paragraph) = self.open.last_mut().filter(|paragraph| paragraph.ends_section) {
                    paragraph.ends_section = tag.attribute("val").as_deref() != Some("continuous");
                }
            }
            "sectPr" => {
                if let Some(paragraph) = self.open.last_mut() {
                    paragraph.ends_section = true;
                }
            }
            _ if self.in_run => self.run.read(tag),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        match name {
            "r" => self.in_run = false,
            "t" => self.in_text = false,
            "p" => {
                if let Some(paragraph) = self.open.pop() {
                    self.compose(paragraph);
                }
            }
            _ => {}
        }
    }

    /// Whether the run stands at the start of its paragraph. A page that ends inside a paragraph is no reason to cut it in two.
    fn run_is_first(&self) -> bool {
        self.open.last().is_none_or(|paragraph| paragraph.runs.is_empty())
    }

    fn add(&mut self, text: &str) {
        let (styles, run) = (self.styles, &self.run);
        let Some(paragraph) = self.open.last_mut() else { return };
        if paragraph.runs.is_empty() {
            let id = paragraph.style.as_ref().or(styles.normal.as_ref());
            paragraph.look = id.map_or_else(Look::default, |id| styles.look(id)).over(&styles.default);
        }
        let look = run.over(&paragraph.look);
        paragraph.runs.push(Run {
            text: text.to_owned(),
            size: look.size.unwrap_or(10.0),
            bold: look.bold.unwrap_or(false),
            raised: look.raised.unwrap_or(false),
        });
    }

    fn compose(&mut self, paragraph: Paragraph) {
        let by_style = paragraph.style.as_deref().map_or(Role::Body, |id| self.styles.role(id));
        let role = match (by_style, paragraph.level) {
            (Role::Body, Some(level)) => Role::Heading(level),
            (role, _) => role,
        };
        self.composer.paragraph(&paragraph.runs, role);
        if paragraph.ends_section {
            self.composer.page_break();
        }
    }
}

/// Read a DOCX.
pub(super) fn read(archive: &Archive<'_>, reading: &mut Reading) {
    ooxml::properties(archive, reading);
    reading.extent = reading.count("OOXML:app:Pages").map(Extent::Pages);
    let part = ooxml::main_part(archive, "word/document.xml", reading);
    let relations = ooxml::relations(archive, &part, reading);
    let styles = ooxml::related(archive, &relations, "styles", "word/styles.xml");
    let styles = styles.map(|bytes| Styles::read(&bytes, reading)).unwrap_or_default();
    let Some(bytes) = ooxml::required(archive, &part, reading) else { return };
    let mut walker = Walker {
        styles: &styles,
        composer: Composer::default(),
        open: Vec::new(),
        in_run: false,
        in_text: false,
        run: Look::default(),
        skipped: 0,
        hidden: false,
    };
    let warning = xml::walk(&part, &bytes, &mut |node| walker.visit(node));
    reading.take_warnings(warning);
    // What damage left open is a paragraph all the same.
    while let Some(paragraph) = walker.open.pop() {
        walker.compose(paragraph);
    }
    if walker.composer.is_empty() {
        reading.warn("no-text", "The document has no text.");
    }
    reading.pages = walker.composer.finish();
}
