//! OpenDocument texts, presentations and sheets (and OpenOffice's older formats, which differ only in names of namespaces), packed or
//! as one flat file.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::container::zip::Archive;

use super::compose::BODY;
use super::xml::{self, Node, Tag};
use super::{Composer, Extent, Reading, Role, Run, property};

/// How far styles may be based on each other.
const MAX_BASES: usize = 20;

/// How many spans around a text have a say in its look.
const MAX_SPANS: usize = 16;

/// Sizes of the letters of slides, where styles leave them out.
const TITLE: f32 = 40.0;
const SUBTITLE: f32 = 24.0;
const NOTE: f32 = 12.0;

/// Whether these bytes are a flat OpenDocument file: XML whose root says so.
pub(super) fn is_flat(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(1024)];
    let head = String::from_utf8_lossy(head);
    head.contains("<office:document") && head.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Read a flat file.
pub(super) fn read_flat(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    meta("the document", bytes, &mut reading);
    let mut walker = Walker::default();
    let warning = xml::walk("the document", bytes, &mut |node| walker.visit(node));
    reading.take_warnings(warning);
    walker.finish(&mut reading);
    reading
}

/// Read a packed document.
pub(super) fn read(archive: &Archive<'_>, reading: &mut Reading) {
    if let Some(kind) = archive.read("mimetype") {
        reading.property("ODF:mimetype", &String::from_utf8_lossy(&kind));
    }
    if let Some(bytes) = archive.read("META-INF/manifest.xml")
        && String::from_utf8_lossy(&bytes).contains("encryption-data")
    {
        reading.properties_only = true;
        reading.warn("encrypted", "The document is encrypted; it takes the password to read its text.");
    }
    if let Some(bytes) = archive.read("meta.xml").filter(|_| !reading.properties_only) {
        meta("meta.xml", &bytes, reading);
    }
    if reading.properties_only {
        return;
    }
    let mut walker = Walker::default();
    for part in ["styles.xml", "content.xml"] {
        let Some(bytes) = archive.read(part) else {
            if part == "content.xml" {
                reading.warn(
                    "missing-part",
                    "The part content.xml is missing, so there is no text to read; the file was cut off or damaged.",
                );
            }
            continue;
        };
        // The text of headers and footers is with the styles.
        walker.in_styles = part == "styles.xml";
        let warning = xml::walk(part, &bytes, &mut |node| walker.visit(node));
        reading.take_warnings(warning);
    }
    walker.finish(reading);
}

/// The properties under `office:meta`.
fn meta(part: &str, bytes: &[u8], reading: &mut Reading) {
    let mut inside = false;
    let mut open: Option<(String, String)> = None;
    let warning = xml::walk(part, bytes, &mut |node| {
        match node {
            Node::Start(tag) if tag.name() == "meta" => inside = true,
            Node::Start(tag) if inside => {
                let name = match tag.name() {
                    "user-defined" => format!("ODF:user-defined:{}", tag.attribute("name").unwrap_or_default()),
                    "document-statistic" | "template" => {
                        for (key, value) in
                            tag.attributes().filter(|(key, _)| key.starts_with("meta:") || key.ends_with("title"))
                        {
                            reading.property(format!("ODF:{key}"), &value);
                        }
                        String::new()
                    }
                    // The list around keywords in OpenOffice's older files.
                    "keywords" => String::new(),
                    _ => format!("ODF:{}", tag.qualified()),
                };
                open = (!name.is_empty()).then(|| (name, String::new()));
            }
            Node::Text(text) => {
                if let Some((_, value)) = open.as_mut().filter(|(_, value)| value.len() < 8000) {
                    value.push_str(text);
                }
            }
            Node::End("meta") => return ControlFlow::Break(()),
            Node::End(_) => {
                if let Some((name, value)) = open.take() {
                    // LibreOffice writes local time to the nanosecond.
                    let date = name.ends_with("date") && value.len() > 19;
                    reading.property(name, value.get(..19).filter(|_| date).unwrap_or(&value));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    reading.take_warnings(warning);
}

#[derive(Debug, Clone, Default)]
struct Style {
    base: Option<String>,
    size: Option<f32>,
    /// A share of the size of what it is based on.
    share: Option<f32>,
    bold: Option<bool>,
    raised: Option<bool>,
    breaks: bool,
}

/// What is open around the text.
#[derive(Default)]
struct Walker {
    styles: HashMap<String, Style>,
    composer: Composer,
    in_styles: bool,
    style: Option<(String, Style)>,
    /// Styles of the paragraph and the spans in it, innermost last.
    spans: Vec<Option<String>>,
    runs: Vec<Run>,
    role: Role,
    in_paragraph: usize,
    /// How deep inside what is no running text: notes, comments, changes.
    skipped: usize,
    /// What the frame on a slide is for.
    class: Option<String>,
    in_notes: bool,
    slides: u32,
    tables: u32,
    row: Option<String>,
    kind: Kind,
    titles: Vec<String>,
    /// The boxes of the slide that is open.
    boxes: Vec<Frame>,
}

/// A box on a slide with its paragraphs.
#[derive(Debug, Default)]
struct Frame {
    is_title: bool,
    is_note: bool,
    /// From the top and from the left.
    place: (f32, f32),
    paragraphs: Vec<Vec<Run>>,
}

/// A length in points.
fn points(value: &str) -> f32 {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &value[number.len()..] {
        "cm" => 28.35,
        "mm" => 2.835,
        "in" => 72.0,
        _ => 1.0,
    };
    number.parse::<f32>().ok().filter(|number| number.is_finite()).map_or(0.0, |number| number * unit)
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Text,
    Slides,
    Sheets,
}

impl Walker {
    fn visit(&mut self, node: Node<'_>) -> ControlFlow<()> {
        match node {
            Node::Start(_) if self.skipped > 0 => self.skipped += 1,
            Node::End(_) if self.skipped > 0 => self.skipped -= 1,
            Node::Start(tag) => self.start(tag),
            Node::End(name) => self.end(name),
            // White space is one space, however long; more is written as elements.
            Node::Text(text) if self.in_paragraph > 0 && self.skipped == 0 => {
                let joined =
                    text.split(['\n', '\t', '\r']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
                self.add(&joined);
            }
            Node::Text(_) => {}
        }
        if self.composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "note" => {
                self.add_raised();
                self.skipped = 1;
            }
            "annotation"
            | "tracked-changes"
            | "footnote"
            | "endnote"
            | "forms"
            | "table-of-content-source"
            | "master-styles" => {
                self.skipped = 1;
            }
            "style" | "default-style" => {
                let name = tag.attribute("name").unwrap_or_else(|| "default".to_owned());
                let style = Style { base: tag.attribute("parent-style-name"), ..Style::default() };
                self.style = Some((name, style));
            }
            "text-properties" | "properties" | "paragraph-properties" => self.read_look(tag),
            "presentation" => self.kind = Kind::Slides,
            "spreadsheet" => self.kind = Kind::Sheets,
            "page" if self.kind == Kind::Slides => {
                self.slide();
                self.slides += 1;
                self.composer.slide(self.slides);
            }
            "notes" => self.in_notes = true,
            "frame" | "custom-shape" | "text-box" if self.kind == Kind::Slides => {
                if tag.attribute("class").is_some() || tag.name() != "text-box" {
                    self.class = tag.attribute("class");
                }
                if tag.name() != "text-box" || self.boxes.is_empty() {
                    let length = |name: &str| tag.attribute(name).map_or(0.0, |value| points(&value));
                    let is_title = self.class.as_deref() == Some("title");
                    let place = (length("y"), length("x"));
                    self.boxes.push(Frame { is_title, is_note: self.in_notes, place, paragraphs: Vec::new() });
                }
            }
            "table" if self.kind == Kind::Sheets => {
                self.tables += 1;
                self.titles.extend(tag.attribute("name"));
                self.composer.page_break();
            }
            "table-row" if self.kind == Kind::Sheets => self.row = Some(String::new()),
            "p" | "h" if !self.in_styles => {
                self.in_paragraph += 1;
                let style = tag.attribute("style-name");
                if style.as_ref().is_some_and(|id| self.styles.get(id).is_some_and(|style| style.breaks))
                    && self.row.is_none()
                {
                    self.composer.page_break();
                }
                self.role = self.role_of(tag, style.as_deref());
                self.spans.push(style);
            }
            "span" if self.in_paragraph > 0 => self.spans.push(tag.attribute("style-name")),
            "s" => {
                let count = tag.number("c").unwrap_or(1.0).clamp(1.0, 100.0) as usize;
                self.add(&" ".repeat(count));
            }
            "tab" | "tab-stop" => self.add("\t"),
            "line-break" => self.add("\n"),
            "soft-page-break" if self.runs.is_empty() => self.composer.page_break(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "style" | "default-style" => {
                if let Some((name, style)) = self.style.take() {
                    self.styles.insert(name, style);
                }
            }
            "notes" => self.in_notes = false,
            "frame" | "custom-shape" => self.class = None,
            "page" if self.kind == Kind::Slides => self.slide(),
            "p" | "h" if self.in_paragraph > 0 => {
                self.spans.pop();
                self.in_paragraph -= 1;
                if self.in_paragraph == 0 {
                    self.paragraph();
                }
            }
            "span" if self.in_paragraph > 0 && self.spans.len() > self.in_paragraph => {
                self.spans.pop();
            }
            "table-row" => {
                if let Some(row) = self.row.take() {
                    self.composer.plain(&row, BODY, Role::Body);
                }
            }
            _ => {}
        }
    }

    fn paragraph(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        if let Some(row) = &mut self.row {
            let text: String = runs.iter().map(|run| run.text.as_str()).collect();
            if !text.trim().is_empty() && row.len() < 64 << 10 {
                if !row.is_empty() {
                    row.push('\t');
                }
                row.push_str(text.trim());
            }
        } else if let Some(frame) = self.boxes.last_mut().filter(|_| self.kind == Kind::Slides) {
            frame.paragraphs.push(runs);
        } else {
            self.composer.paragraph(&runs, self.role);
        }
    }

    /// The slide that is open, as people read it: the title, the boxes from the top, the notes.
    fn slide(&mut self) {
        let mut boxes = std::mem::take(&mut self.boxes);
        boxes.sort_by(|a, b| a.place.0.total_cmp(&b.place.0).then(a.place.1.total_cmp(&b.place.1)));
        boxes.sort_by_key(|frame| (frame.is_note, !frame.is_title));
        for frame in boxes {
            if frame.is_title && !frame.is_note {
                self.composer.title(&frame.paragraphs);
            } else {
                frame.paragraphs.iter().for_each(|runs| self.composer.paragraph(runs, Role::Body));
            }
        }
    }

    fn role_of(&self, tag: &Tag<'_>, style: Option<&str>) -> Role {
        if self.row.is_some() || self.kind == Kind::Slides {
            return Role::Body;
        }
        if tag.name() == "h" {
            let level = tag.number("outline-level").or_else(|| tag.number("level")).unwrap_or(1.0);
            return Role::Heading(level.clamp(1.0, 9.0) as u8);
        }
        let mut next = style;
        for _ in 0..MAX_BASES {
            match next {
                Some("Title") => return Role::Title,
                Some(id) => next = self.styles.get(id).and_then(|style| style.base.as_deref()),
                None => break,
            }
        }
        Role::Body
    }

    fn read_look(&mut self, tag: &Tag<'_>) {
        let Some((_, style)) = &mut self.style else { return };
        for (key, value) in tag.attributes() {
            match xml::local(&key) {
                // Chinese text has a size of its own, mostly the same; the larger one counts.
                "font-size" | "font-size-asian" => match value.strip_suffix('%') {
                    Some(share) => style.share = share.parse().ok().map(|share: f32| share / 100.0),
                    None => {
                        let points = value.trim_end_matches("pt").parse::<f32>().ok();
                        style.size = points.into_iter().chain(style.size).reduce(f32::max);
                    }
                },
                "font-weight" | "font-weight-asian" => style.bold = Some(value == "bold" || value == "700"),
                "text-position" => {
                    style.raised = Some(
                        value.starts_with("super")
                            || value.trim_start().starts_with(|c: char| c.is_ascii_digit()) && !value.starts_with("0%"),
                    )
                }
                "break-before" => style.breaks = value == "page",
                _ => {}
            }
        }
    }

    /// The look of what stands inside all open spans.
    fn look(&self) -> (Option<f32>, bool, bool) {
        let (mut size, mut bold, mut raised): (Option<f32>, _, _) = (None, None, None);
        let mut share = 1.0;
        for id in self.spans.iter().rev().flatten().take(MAX_SPANS) {
            let mut next = Some(id.as_str());
            for _ in 0..MAX_BASES {
                let Some(style) = next.and_then(|id| self.styles.get(id)) else { break };
                if size.is_none() {
                    size = style.size;
                    share *= style.share.unwrap_or(1.0);
                }
                bold = bold.or(style.bold);
                raised = raised.or(style.raised);
                next = style.base.as_deref();
            }
        }
        let default = self.styles.get("default").and_then(|style| style.size);
        (size.or(default).map(|size| size * share), bold.unwrap_or(false), raised.unwrap_or(false))
    }

    fn add(&mut self, text: &str) {
        if self.in_paragraph == 0 || text.is_empty() {
            return;
        }
        let (size, bold, raised) = self.look();
        let class = match self.class.as_deref().filter(|_| self.kind == Kind::Slides) {
            _ if self.in_notes => Some(NOTE),
            Some("title") => Some(TITLE),
            Some("subtitle" | "outline") => Some(SUBTITLE),
            _ => None,
        };
        let size = if self.in_notes { NOTE } else { size.or(class).unwrap_or(BODY) };
        self.runs.push(Run { text: text.to_owned(), size, bold, raised });
    }

    fn add_raised(&mut self) {
        if self.in_paragraph > 0 && !self.runs.is_empty() {
            self.runs.push(Run { text: "*".to_owned(), size: BODY, bold: false, raised: true });
        }
    }

    fn finish(mut self, reading: &mut Reading) {
        self.paragraph();
        self.slide();
        reading.extent = match self.kind {
            Kind::Text => reading.count("ODF:meta:page-count").map(Extent::Pages),
            Kind::Slides => Some(self.slides).filter(|count| *count > 0).map(Extent::Slides),
            Kind::Sheets => Some(self.tables).filter(|count| *count > 0).map(Extent::Sheets),
        };
        for title in self.titles.iter().take(200) {
            reading.property("ODF:table:name", &property::clean(title));
        }
        if self.composer.is_empty() {
            reading.warn("no-text", "The document has no text.");
        }
        if self.kind == Kind::Sheets {
            reading.take_rows(self.composer.finish());
        } else {
            reading.pages = self.composer.finish();
        }
    }
}
