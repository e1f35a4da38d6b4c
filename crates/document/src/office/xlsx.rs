//! XLSX: the rows of every sheet as lines, cells set apart by tabs.

use std::ops::ControlFlow;

use crate::container::zip::Archive;

use super::xml::{self, Node};
use super::{Composer, Extent, Reading, Role, compose, ooxml};

/// How many shared texts and sheets are read.
const MAX_SHARED: usize = 500_000;
const MAX_SHEETS: usize = 500;

/// How many characters of a cell are kept; Excel itself allows so many.
const MAX_CELL: usize = 32_767;

/// The texts that cells point to by number.
fn shared(bytes: &[u8], reading: &mut Reading) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let (mut in_text, mut phonetic) = (false, false);
    let warning = xml::walk("xl/sharedStrings.xml", bytes, &mut |node| {
        match node {
            Node::Start(tag) => match tag.name() {
                "si" => texts.push(String::new()),
                // How a Japanese text is read aloud is not part of it.
                "rPh" => phonetic = true,
                "t" => in_text = !phonetic,
                _ => {}
            },
            Node::Text(text) if in_text => {
                if let Some(last) = texts.last_mut().filter(|last| last.len() < MAX_CELL) {
                    last.push_str(text);
                }
            }
            Node::End("t") => in_text = false,
            Node::End("rPh") => phonetic = false,
            _ => {}
        }
        if texts.len() < MAX_SHARED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    reading.take_warnings(warning);
    texts
}

fn sheet(part: &str, bytes: &[u8], shared: &[String], composer: &mut Composer, reading: &mut Reading) {
    let mut row = String::new();
    let (mut kind, mut value, mut in_value) = (String::new(), String::new(), false);
    let warning = xml::walk(part, bytes, &mut |node| {
        match node {
            Node::Start(tag) => match tag.name() {
                "row" => row.clear(),
                "c" => {
                    kind = tag.attribute("t").unwrap_or_default();
                    value.clear();
                }
                "v" | "t" => in_value = true,
                _ => {}
            },
            Node::Text(text) if in_value && value.len() < MAX_CELL => value.push_str(text),
            Node::End("v" | "t") => in_value = false,
            Node::End("c") => {
                let text = match kind.as_str() {
                    "s" => value
                        .trim()
                        .parse::<usize>()
                        .ok()
                        .and_then(|index| shared.get(index))
                        .map_or("", String::as_str),
                    "b" if value == "1" => "TRUE",
                    "b" => "FALSE",
                    _ => value.as_str(),
                };
                if !text.is_empty() && row.len() < 4 * MAX_CELL {
                    if !row.is_empty() {
                        row.push('\t');
                    }
                    row.push_str(text);
                }
            }
            Node::End("row") => composer.plain(&row.replace(['\n', '\r'], " "), compose::BODY, Role::Body),
            _ => {}
        }
        if composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    reading.take_warnings(warning);
}

/// Read an XLSX.
pub(super) fn read(archive: &Archive<'_>, reading: &mut Reading) {
    ooxml::properties(archive, reading);
    let part = ooxml::main_part(archive, "xl/workbook.xml", reading);
    let relations = ooxml::relations(archive, &part, reading);
    let mut sheets: Vec<String> = Vec::new();
    if let Some(bytes) = ooxml::required(archive, &part, reading) {
        let (leaves, warning) = xml::leaves(&part, &bytes);
        reading.take_warnings(warning);
        for leaf in leaves.iter().filter(|leaf| xml::local(&leaf.name) == "sheet").take(MAX_SHEETS) {
            reading.property("OOXML:workbook:sheets", leaf.attribute("name").unwrap_or_default());
            let id = leaf.attributes.iter().find(|(key, _)| key.ends_with(":id")).map(|(_, value)| value);
            let relation = relations.iter().find(|relation| Some(&relation.id) == id);
            sheets.extend(relation.map(|relation| relation.target.clone()));
        }
    }
    if sheets.is_empty() {
        let sheet = |name: &&str| name.starts_with("xl/worksheets/") && name.ends_with(".xml");
        sheets = archive.names().filter(sheet).take(MAX_SHEETS).map(str::to_owned).collect();
    }
    reading.extent = u32::try_from(sheets.len()).ok().filter(|count| *count > 0).map(Extent::Sheets);
    let texts = ooxml::related(archive, &relations, "sharedStrings", "xl/sharedStrings.xml");
    let texts = texts.map(|bytes| shared(&bytes, reading)).unwrap_or_default();
    let mut composer = Composer::default();
    for part in sheets {
        composer.page_break();
        if composer.is_full() {
            break;
        }
        // A chart stands on a sheet of its own that has no cells; the rest do.
        if let Some(bytes) = archive.read(&part) {
            sheet(&part, &bytes, &texts, &mut composer, reading);
        }
    }
    if composer.is_empty() {
        reading.warn("no-text", "The workbook has no cells with text or numbers.");
    }
    reading.take_rows(composer.finish());
}
