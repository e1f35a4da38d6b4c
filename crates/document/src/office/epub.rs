//! EPUB: the book's own catalogue entry, and the text of its chapters in their order.

use std::ops::ControlFlow;

use crate::container::zip::Archive;

use super::ooxml::resolve;
use super::xml::{self, Node};
use super::{Composer, Reading, Role, Run};

/// Sizes that browsers give headings and text.
const SIZES: &[(&str, f32)] = &[("h1", 24.0), ("h2", 18.0), ("h3", 14.0), ("h4", 12.0), ("h5", 12.0), ("h6", 12.0)];
const BODY: f32 = 12.0;

/// How many chapters are read.
const MAX_CHAPTERS: usize = 2000;

/// Elements that end a paragraph.
#[rustfmt::skip]
const BLOCKS: &[&str] = &[
    "p", "div", "li", "td", "th", "tr", "dt", "dd", "section", "article", "header", "footer", "blockquote", "pre", "figcaption", "h1", "h2",
    "h3", "h4", "h5", "h6", "body", "caption", "aside", "nav",
];

/// Read an EPUB.
pub(super) fn read(archive: &Archive<'_>, reading: &mut Reading) {
    let package = archive.read("META-INF/container.xml").and_then(|bytes| {
        let (leaves, warning) = xml::leaves("META-INF/container.xml", &bytes);
        reading.take_warnings(warning);
        let root = leaves.iter().find(|leaf| xml::local(&leaf.name) == "rootfile")?;
        root.attribute("full-path").map(str::to_owned)
    });
    let package = package.or_else(|| archive.names().find(|name| name.ends_with(".opf")).map(str::to_owned));
    let Some((path, bytes)) = package.and_then(|path| Some((path.clone(), archive.read(&path)?))) else {
        reading.warn(
            "missing-part",
            "The book's package file is missing, so its chapters cannot be found; the file was cut off or damaged.",
        );
        return;
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (leaves, warning) = xml::leaves(&path, &bytes);
    reading.take_warnings(warning);
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut spine: Vec<&str> = Vec::new();
    for leaf in &leaves {
        match leaf.name.as_str() {
            "meta" | "opf:meta" => {
                match (leaf.attribute("name"), leaf.attribute("content"), leaf.attribute("property")) {
                    (Some(name), Some(content), _) => reading.property(format!("EPUB:meta:{name}"), content),
                    (_, _, Some(name)) => reading.property(format!("EPUB:{name}"), &leaf.text),
                    _ => {}
                }
            }
            "item" | "opf:item" => {
                if let (Some(id), Some(target)) = (leaf.attribute("id"), leaf.attribute("href")) {
                    items.push((id, resolve(folder, &unescape(target))));
                }
            }
            "itemref" | "opf:itemref" => spine.extend(leaf.attribute("idref")),
            name if name.starts_with("dc:") => reading.property(format!("EPUB:{name}"), &leaf.text),
            _ => {}
        }
    }
    let chapters: Vec<&String> =
        spine.iter().filter_map(|id| items.iter().find(|(item, _)| item == id)).map(|(_, path)| path).collect();
    let mut composer = Composer::default();
    for path in chapters.into_iter().take(MAX_CHAPTERS) {
        if composer.is_full() {
            break;
        }
        composer.page_break();
        let Some(bytes) = archive.read(path) else {
            reading.warn("missing-part", format!("The chapter {path} is missing."));
            continue;
        };
        chapter(path, &bytes, &mut composer, reading);
    }
    if composer.is_empty() {
        reading.warn("no-text", "The book has no text.");
    }
    reading.pages = composer.finish();
}

/// The text of an XHTML page.
pub(super) fn chapter(path: &str, bytes: &[u8], composer: &mut Composer, reading: &mut Reading) {
    let mut runs: Vec<Run> = Vec::new();
    let (mut in_body, mut skipped, mut raised, mut bold) = (false, 0_usize, 0_usize, 0_usize);
    let mut heading: Option<(u8, f32)> = None;
    let warning = xml::walk(path, bytes, &mut |node| {
        match node {
            Node::Start(_) if skipped > 0 => skipped += 1,
            Node::End(_) if skipped > 0 => skipped -= 1,
            Node::Start(tag) => {
                let name = tag.name();
                if BLOCKS.contains(&name) {
                    flush(&mut runs, heading, composer);
                }
                match name {
                    "body" => in_body = true,
                    "script" | "style" | "svg" | "math" => skipped = 1,
                    "sup" => raised += 1,
                    "b" | "strong" => bold += 1,
                    "br" => runs.push(Run { text: "\n".to_owned(), size: BODY, bold: false, raised: false }),
                    _ => {}
                }
                if let Some((position, (_, size))) = SIZES.iter().enumerate().find(|(_, (known, _))| *known == name) {
                    heading = Some((position as u8 + 1, *size));
                }
            }
            Node::End(name) => {
                match name {
                    "sup" => raised = raised.saturating_sub(1),
                    "b" | "strong" => bold = bold.saturating_sub(1),
                    _ => {}
                }
                if BLOCKS.contains(&name) {
                    flush(&mut runs, heading, composer);
                    heading = None;
                }
            }
            Node::Text(text) if in_body => {
                let folded =
                    text.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
                let size = heading.map_or(BODY, |(_, size)| size);
                runs.push(Run { text: folded, size, bold: bold > 0 || heading.is_some(), raised: raised > 0 });
            }
            Node::Text(_) => {}
        }
        if composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    reading.take_warnings(warning);
    flush(&mut runs, heading, composer);
}

fn flush(runs: &mut Vec<Run>, heading: Option<(u8, f32)>, composer: &mut Composer) {
    let runs = std::mem::take(runs);
    if runs.iter().any(|run| !run.text.trim().is_empty()) {
        composer.paragraph(&runs, heading.map_or(Role::Body, |(level, _)| Role::Heading(level)));
    }
}

/// A path in a reference: `%E4%B9%A6.xhtml` is a Chinese name.
fn unescape(path: &str) -> String {
    let path = path.split('#').next().unwrap_or(path);
    let bytes = path.as_bytes();
    let mut plain = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| bytes[at] == b'%');
        plain.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_larger() {
        let page = "<html><head><title>no</title></head><body><h1>第一章</h1><p>One<br/>two &nbsp; <b>three</b></p></body></html>";
        let mut composer = Composer::default();
        let mut reading = Reading::default();
        chapter("a", page.as_bytes(), &mut composer, &mut reading);
        let pages = composer.finish();
        let lines: Vec<(&str, f32)> = pages[0].iter().map(|line| (line.text.as_str(), line.size)).collect();
        assert_eq!(lines, [("第一章", 24.0), ("One", 12.0), ("two \u{a0} three", 12.0)]);
        assert_eq!(unescape("%E4%B9%A6.xhtml#a"), "书.xhtml");
    }
}
