//! Visio: the properties of binary drawings, the text and properties of packed ones.
//!
//! The text of a binary drawing (VSD) lies in compressed chunks of a form of its own and is not read; its properties are in the usual place.

use std::ops::ControlFlow;

use crate::container::cfb::Compound;
use crate::container::zip::Archive;

use super::compose::BODY;
use super::xml::{self, Node};
use super::{Composer, Extent, Reading, Role, ooxml};

/// How many pages of a drawing are read.
const MAX_PAGES: usize = 500;

/// What a binary drawing says of itself beside its properties: the version of Visio that wrote it.
pub(super) fn read(file: &Compound<'_>, reading: &mut Reading) {
    reading.properties_only = true;
    if let Some(version) =
        file.stream("VisioDocument").and_then(|bytes| bytes.get(0x1a).copied()).filter(|version| *version > 0)
    {
        reading.property("VSD:Version", &version.to_string());
    }
    reading.warn("properties-only", "Only the properties of this drawing were read; the text in its shapes is not.");
}

/// Read a VSDX.
pub(super) fn read_vsdx(archive: &Archive<'_>, reading: &mut Reading) {
    ooxml::properties(archive, reading);
    let number = |name: &str| name.strip_prefix("visio/pages/page")?.strip_suffix(".xml")?.parse::<u32>().ok();
    let mut pages: Vec<(u32, String)> =
        archive.names().filter_map(|name| Some((number(name)?, name.to_owned()))).collect();
    pages.sort();
    reading.extent = u32::try_from(pages.len()).ok().filter(|count| *count > 0).map(Extent::Pages);
    let mut composer = Composer::default();
    for (_, part) in pages.iter().take(MAX_PAGES) {
        composer.page_break();
        let Some(bytes) = archive.read(part) else { continue };
        let mut text: Option<String> = None;
        let warning = xml::walk(part, &bytes, &mut |node| {
            match node {
                Node::Start(tag) if tag.name() == "Text" => text = Some(String::new()),
                Node::Text(more) => {
                    if let Some(text) = text.as_mut().filter(|text| text.len() < 64 << 10) {
                        text.push_str(more);
                    }
                }
                Node::End("Text") => {
                    if let Some(text) = text.take() {
                        composer.plain(&text, BODY, Role::Body);
                    }
                }
                _ => {}
            }
            if composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        reading.take_warnings(warning);
    }
    if composer.is_empty() {
        reading.warn("no-text", "The drawing has no text.");
    }
    reading.pages = composer.finish();
}
