//! Evidence made visible: who says a value, how sure, and the boxes on the page it was read from.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use zhulu_record::{Confidence, Place, Record, Said};

use crate::language::Words;

/// How many pages of a document are shown beside its record.
const PAGES: usize = 4;

/// Evidence in one line, with a bar for the confidence. `number` is the statement's, by which its boxes are found; the
/// source is named where the record has `several`.
pub(super) fn line(words: Words, said: &Said, number: usize, several: bool) -> Markup {
    let evidence = &said.statement.evidence;
    html! {
        p.evidence {
            @if let Some(confidence) = evidence.confidence { (bar(words, confidence)) }
            span { @match &evidence.by { Some(by) => (by), None => (said.source) } }
            @if several && evidence.by.is_some() && !said.source.is_people() { span { (said.source) } }
            @if let Some(place) = &evidence.at {
                span {
                    @match place {
                        Place::Page { page, boxes } if !boxes.is_empty() => a href={ "#box-" (number) } { (words.with("at-page", &[("n", (*page).into())])) },
                        place => (at(words, place)),
                    }
                }
            }
        }
    }
}

/// Whether the page shows where a value stands.
pub(super) fn has_boxes(said: &Said) -> bool {
    matches!(&said.statement.evidence.at, Some(Place::Page { boxes, .. }) if !boxes.is_empty())
}

fn bar(words: Words, confidence: Confidence) -> Markup {
    let percent = (confidence.get() * 100.0).round();
    let label = words.with("confidence", &[("n", percent.into())]);
    html! {
        span.sure title=(label) {
            svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=(label) {
                rect.track width="100" height="10" rx="5" {}
                rect.fill width=(percent) height="10" rx="5" {}
            }
            " " (percent) "%"
        }
    }
}

fn at(words: Words, place: &Place) -> String {
    match place {
        Place::Page { page, .. } => words.with("at-page", &[("n", (*page).into())]),
        Place::Paragraph(number) => words.with("at-paragraph", &[("n", (*number).into())]),
        Place::Slide(number) => words.with("at-slide", &[("n", (*number).into())]),
        Place::Property(name) => words.with("at-property", &[("name", name.as_str().into())]),
        Place::Xpath(path) => path.clone(),
        Place::Bytes(from, to) => words.with("at-bytes", &[("from", (*from).into()), ("to", (*to).into())]),
    }
}

/// A statement's number, the statement, and its boxes on a page.
type Boxed<'r> = (usize, &'r Said, &'r [[u16; 4]]);

/// The pages that values were read from, each with the boxes of its statements over it. The boxes are drawn in thousandths
/// of the page, so they fit the image at any size; a statement's link lights its boxes up even without a script.
pub(super) fn pages(words: Words, record: &Record) -> Markup {
    let mut pages: BTreeMap<u32, Vec<Boxed<'_>>> = BTreeMap::new();
    for (number, said) in record.statements.iter().enumerate() {
        if let Some(Place::Page { page, boxes }) = &said.statement.evidence.at
            && said.statement.element != zhulu_record::Element::TEXT
        {
            pages.entry(*page).or_default().push((number, said, boxes));
        }
    }
    if pages.is_empty() && super::file::document(record).is_some_and(|blob| blob.media_type == "application/pdf") {
        pages.insert(1, Vec::new());
    }
    // Statements read from one place share their boxes; drawn over each other they would hide the text.
    let mut drawn = BTreeSet::new();
    html! {
        @if !pages.is_empty() && super::file::document(record).is_some() {
            aside.pages aria-label=(words.say("page-image")) tabindex="0" {
                @for (page, boxes) in pages.iter().take(PAGES) {
                    @let label = words.with("at-page", &[("n", (*page).into())]);
                    figure {
                        div.sheet {
                            img src={ "/record/" (record.id) "/page/" (page) ".png" } alt=(label) loading="lazy" width="900" height="1270";
                            svg viewBox="0 0 1000 1000" preserveAspectRatio="none" {
                                @for (number, said, boxes) in boxes {
                                    g id={ "box-" (number) } data-statement=(number) {
                                        title { (words.element(&said.statement.element)) }
                                        @for edges in *boxes {
                                            @let [left, top, right, bottom] = edges;
                                            @let again = !drawn.insert((page, edges));
                                            rect class=[again.then_some("again")] x=(left) y=(top) width=(right.saturating_sub(*left)) height=(bottom.saturating_sub(*top)) {}
                                        }
                                    }
                                }
                            }
                        }
                        figcaption.quiet { (label) }
                    }
                }
            }
        }
    }
}
