//! PPTX: the slides in their order, titles first, with their notes.

use std::ops::ControlFlow;

use crate::container::zip::Archive;

use super::xml::{self, Node, Tag};
use super::{Composer, Extent, Reading, Role, Run, ooxml};

/// Sizes of the letters of placeholders, where the slide leaves them to its layout: those of the default design.
const TITLE: f32 = 40.0;
const SUBTITLE: f32 = 24.0;
const BODY: f32 = 20.0;
const NOTE: f32 = 12.0;

/// How many slides are read.
const MAX_SLIDES: usize = 3000;

/// A shape's paragraphs while they are read.
#[derive(Debug, Default)]
struct Shape {
    /// The placeholder it fills: `title`, `body`, `sldNum`…
    holds: Option<String>,
    /// Where it stands, from the top and from the left; a placeholder may leave that to its layout.
    place: Option<(f32, f32)>,
    paragraphs: Vec<Vec<Run>>,
}

impl Shape {
    fn is_title(&self) -> bool {
        matches!(self.holds.as_deref(), Some("title" | "ctrTitle"))
    }

    /// Dates, numbers and footers are the same on every slide.
    fn is_furniture(&self) -> bool {
        matches!(self.holds.as_deref(), Some("dt" | "ftr" | "hdr" | "sldNum" | "sldImg"))
    }

    fn size(&self) -> f32 {
        match self.holds.as_deref() {
            Some("title" | "ctrTitle") => TITLE,
            Some("subTitle") => SUBTITLE,
            _ => BODY,
        }
    }
}

/// The shapes of a slide or its notes, in their order.
fn shapes(part: &str, bytes: &[u8], reading: &mut Reading) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let mut shape = Shape::default();
    let (mut in_text, mut skipped) = (false, 0_usize);
    let (mut size, mut bold, mut raised) = (None, false, false);
    let warning = xml::walk(part, bytes, &mut |node| {
        match node {
            Node::Start(_) if skipped > 0 => skipped += 1,
            Node::End(_) if skipped > 0 => skipped -= 1,
            Node::Start(tag) => match tag.name() {
                "Fallback" => skipped = 1,
                "sp" | "graphicFrame" | "cxnSp" => shapes.extend(full(&mut shape)),
                "ph" => shape.holds = Some(tag.attribute("type").unwrap_or_else(|| "body".to_owned())),
                "off" if shape.place.is_none() => shape.place = tag.number("y").zip(tag.number("x")),
                "p" => shape.paragraphs.push(Vec::new()),
                "r" | "fld" => (size, bold, raised) = (None, false, false),
                "rPr" => (size, bold, raised) = look(tag),
                "br" => add(&mut shape, "\n", size, bold, raised),
                "t" => in_text = true,
                _ => {}
            },
            Node::Text(text) if in_text && skipped == 0 => add(&mut shape, text, size, bold, raised),
            Node::End("t") => in_text = false,
            Node::End("sp" | "graphicFrame" | "cxnSp") => shapes.extend(full(&mut shape)),
            _ => {}
        }
        if shapes.len() < 5000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    reading.take_warnings(warning);
    shapes.extend(full(&mut shape));
    shapes
}

/// The shape, if anything is in it; the next one begins empty.
fn full(shape: &mut Shape) -> Option<Shape> {
    let shape = std::mem::take(shape);
    (!shape.paragraphs.is_empty() && !shape.is_furniture()).then_some(shape)
}

fn look(tag: &Tag<'_>) -> (Option<f32>, bool, bool) {
    let size = tag.number("sz").map(|hundredths| hundredths / 100.0);
    let bold = matches!(tag.attribute("b").as_deref(), Some("1" | "true"));
    (size, bold, tag.number("baseline").is_some_and(|baseline| baseline > 0.0))
}

fn add(shape: &mut Shape, text: &str, size: Option<f32>, bold: bool, raised: bool) {
    let size = size.unwrap_or_else(|| shape.size());
    if let Some(paragraph) = shape.paragraphs.last_mut() {
        paragraph.push(Run { text: text.to_owned(), size, bold, raised });
    }
}

/// The slides in the order of the presentation or, where that is lost, of their numbers.
fn slides(archive: &Archive<'_>, reading: &mut Reading) -> Vec<String> {
    let part = ooxml::main_part(archive, "ppt/presentation.xml", reading);
    let relations = ooxml::relations(archive, &part, reading);
    let mut slides = Vec::new();
    if let Some(bytes) = archive.read(&part) {
        let (leaves, warning) = xml::leaves(&part, &bytes);
        reading.take_warnings(warning);
        for leaf in leaves.iter().filter(|leaf| xml::local(&leaf.name) == "sldId") {
            // The other `id`, without a prefix, is a number.
            let id = leaf.attributes.iter().find(|(key, _)| key.ends_with(":id")).map(|(_, value)| value);
            let relation = relations.iter().find(|relation| Some(&relation.id) == id);
            slides.extend(relation.map(|relation| relation.target.clone()));
        }
    }
    if slides.is_empty() {
        let number = |name: &str| name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse::<u32>().ok();
        let mut numbered: Vec<(u32, String)> =
            archive.names().filter_map(|name| Some((number(name)?, name.to_owned()))).collect();
        numbered.sort();
        slides = numbered.into_iter().map(|(_, name)| name).collect();
    }
    slides
}

/// Read a PPTX.
pub(super) fn read(archive: &Archive<'_>, reading: &mut Reading) {
    ooxml::properties(archive, reading);
    let slides = slides(archive, reading);
    reading.extent = u32::try_from(slides.len()).ok().filter(|count| *count > 0).map(Extent::Slides);
    let mut composer = Composer::default();
    for (part, number) in slides.iter().take(MAX_SLIDES).zip(1..) {
        if composer.is_full() {
            break;
        }
        composer.slide(number);
        let Some(bytes) = ooxml::required(archive, part, reading) else { continue };
        let mut shapes = shapes(part, &bytes, reading);
        // The order of shapes is the order they were drawn in; people read from the top, and the title first.
        if shapes.iter().all(|shape| shape.is_title() || shape.place.is_some()) {
            let place = |shape: &Shape| shape.place.unwrap_or_default();
            shapes.sort_by(|a, b| place(a).0.total_cmp(&place(b).0).then(place(a).1.total_cmp(&place(b).1)));
        }
        shapes.sort_by_key(|shape| !shape.is_title());
        for shape in &shapes {
            if shape.is_title() {
                composer.title(&shape.paragraphs);
            } else {
                shape.paragraphs.iter().for_each(|runs| composer.paragraph(runs, Role::Body));
            }
        }
        let relations = ooxml::relations(archive, part, reading);
        let Some(notes) = relations.iter().find(|relation| relation.kind == "notesSlide") else { continue };
        if let Some(bytes) = archive.read(&notes.target) {
            for runs in self::shapes(&notes.target, &bytes, reading).iter().flat_map(|shape| &shape.paragraphs) {
                let text: String = runs.iter().map(|run| run.text.as_str()).collect();
                composer.plain(&text, NOTE, Role::Body);
            }
        }
    }
    if composer.is_empty() {
        reading.warn("no-text", "The slides have no text.");
    }
    reading.pages = composer.finish();
}
