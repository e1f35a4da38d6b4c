//! Plain XML and Markdown: their text in reading order, and what they say of themselves.
//!
//! XML of a kind with a reader of its own (a flat OpenDocument file) goes there; HTML is `page`'s.

use std::ops::ControlFlow;

use crate::office::xml::{self, Node};
use crate::office::{Composer, Reading, Role, Run};
use crate::text;

/// How many bytes are read.
const MAX_BYTES: usize = 16 << 20;

/// How many bytes of a line are read, and how many a link may take.
const MAX_LINE: usize = 100_000;
const MAX_LINK: usize = 500;

/// Sizes of headings by their level, and of text.
const HEADINGS: [f32; 6] = [24.0, 18.0, 15.0, 13.0, 12.0, 11.0];
const BODY: f32 = 10.5;

/// What elements that hold a title are called.
const TITLES: &[&str] = &["title", "Title", "article-title", "题名", "标题", "题目"];

/// Whether a text begins as XML does.
pub(crate) fn is_xml(bytes: &[u8]) -> bool {
    let decoded = xml::decode(&bytes[..bytes.len().min(512)]);
    decoded.trim_start_matches('\u{feff}').trim_start().starts_with("<?xml")
}

/// The text of XML: each element with text of its own is a paragraph. Its declaration and root are its properties. Only an element that is
/// called a title makes one: the first words of some data are none.
pub(crate) fn read_xml(bytes: &[u8]) -> Reading {
    let mut reading = Reading { is_data: true, ..Reading::default() };
    if bytes.len() > MAX_BYTES {
        reading.warn("too-large", format!("Only the first {} MB were read.", MAX_BYTES >> 20));
    }
    let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
    declaration(&xml::decode(&bytes[..bytes.len().min(2048)]), &mut reading);
    let mut composer = Composer::default();
    let mut text = String::new();
    let mut root = None;
    let mut in_title = false;
    let warning = xml::walk("The document", bytes, &mut |node| {
        match node {
            Node::Start(tag) => {
                if root.is_none() {
                    root = Some((tag.qualified().to_owned(), tag.attributes().collect::<Vec<_>>()));
                }
                flush(&mut text, in_title, &mut composer);
                in_title = composer.is_empty() && TITLES.contains(&tag.name());
            }
            Node::Text(more) => text.push_str(more),
            Node::End(_) => {
                if in_title && !text.trim().is_empty() {
                    reading.is_data = false;
                }
                flush(&mut text, in_title, &mut composer);
                in_title = false;
            }
        }
        if composer.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    flush(&mut text, false, &mut composer);
    reading.take_warnings(warning);
    if let Some((name, attributes)) = root {
        reading.property("XML:root", &name);
        let prefix = name.split_once(':').map_or("xmlns".to_owned(), |(prefix, _)| format!("xmlns:{prefix}"));
        for (key, value) in attributes {
            if key == prefix {
                reading.property("XML:namespace", &value);
            } else if xml::local(&key) == "schemaLocation" || xml::local(&key) == "noNamespaceSchemaLocation" {
                reading.property("XML:schemaLocation", &value);
            }
        }
    }
    if composer.is_empty() {
        reading.warn("no-text", "The document has no text between its elements.");
    }
    reading.pages = composer.finish();
    reading
}

fn flush(text: &mut String, is_title: bool, composer: &mut Composer) {
    let words: Vec<&str> = text.split_whitespace().collect();
    if !words.is_empty() {
        composer.plain(&words.join(" "), BODY, if is_title { Role::Title } else { Role::Body });
    }
    text.clear();
}

fn declaration(head: &str, reading: &mut Reading) {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    if let Some(declared) = head.strip_prefix("<?xml").and_then(|rest| rest.split("?>").next()) {
        for name in ["version", "encoding", "standalone"] {
            let value = declared.split_once(name).and_then(|(_, rest)| rest.split(['"', '\'']).nth(1));
            reading.property(format!("XML:{name}"), value.unwrap_or_default());
        }
    }
    if let Some((_, rest)) = head.split_once("<!DOCTYPE") {
        reading.property("XML:doctype", rest.split(['>', '[']).next().unwrap_or_default());
    }
}

/// The text of Markdown: headings by their level, properties from the block at its top.
pub(crate) fn read_markdown(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    if bytes.len() > MAX_BYTES {
        reading.warn("too-large", format!("Only the first {} MB were read.", MAX_BYTES >> 20));
    }
    let decoded = text::decode(&bytes[..bytes.len().min(MAX_BYTES)]);
    if decoded.damaged {
        let message =
            format!("Some bytes have no meaning in {}, the encoding this text seems to be in.", decoded.encoding);
        reading.warn("garbled", message);
    }
    reading.property("encoding", decoded.encoding);
    let body = front_matter(decoded.text.trim_start_matches('\u{feff}'), &mut reading);
    let mut composer = Composer::default();
    // A paragraph goes on until a blank line; a table, a list or a block of code goes line by line.
    let mut lines = body.lines().peekable();
    let mut fenced = false;
    while let Some(raw) = lines.next() {
        let line = raw[..raw.floor_char_boundary(MAX_LINE)].trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let rule = line.len() >= 3 && line.chars().all(|c| "-=*_~".contains(c));
        if line.is_empty() || rule && !fenced {
            continue;
        }
        let underlined = lines.peek().map_or(0, |next| {
            let next = next.trim();
            let all = |c: char| next.len() >= 3 && next.chars().all(|other| other == c);
            if all('=') {
                1
            } else if all('-') {
                2
            } else {
                0
            }
        });
        let hashes = line.chars().take_while(|c| *c == '#').count();
        let level = match line.as_bytes().get(hashes) {
            _ if fenced => 0,
            Some(b' ') if (1..=6).contains(&hashes) => hashes,
            _ => underlined,
        };
        let shown = if level > 0 { line.trim_start_matches('#').trim_end_matches('#') } else { line };
        let text = if fenced { shown.to_owned() } else { plain(shown.trim()) };
        // A line that is nothing but an address or a picture has no text of its own.
        if text.trim().is_empty() {
            continue;
        }
        if level > 0 {
            let run = Run { text, size: HEADINGS[level - 1], bold: true, raised: false };
            composer.paragraph(&[run], Role::Heading(level as u8));
        } else {
            composer.plain(&text, BODY, Role::Body);
        }
        if composer.is_full() {
            break;
        }
    }
    if composer.is_empty() && !bytes.is_empty() {
        reading.warn("no-text", "The file holds nothing but blank lines.");
    }
    reading.pages = composer.finish();
    reading
}

/// The properties in a block between `---` at the top, as `name: value` and lists of `- value`. Gives what comes after.
fn front_matter<'a>(text: &'a str, reading: &mut Reading) -> &'a str {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else { return text };
    let mut name = String::new();
    let mut at = text.len() - rest.len();
    for line in rest.split_inclusive('\n').take(200) {
        at += line.len();
        let trimmed = line.trim();
        if trimmed == "---" || trimmed == "..." {
            return &text[at..];
        }
        let unquote = |value: &str| value.trim().trim_matches(['"', '\'']).to_owned();
        if let Some(item) = trimmed.strip_prefix("- ") {
            let item = item.strip_prefix("name:").unwrap_or(item);
            reading.property(format!("Markdown:{name}"), &unquote(item));
        } else if let Some((key, value)) =
            trimmed.split_once(':').filter(|(key, _)| !key.contains(' ') && !key.is_empty())
        {
            if line.starts_with(' ') {
                continue;
            }
            name = key.to_lowercase();
            let value = value.trim();
            match value.strip_prefix('[').and_then(|value| value.strip_suffix(']')) {
                Some(list) => {
                    list.split(',').for_each(|item| reading.property(format!("Markdown:{name}"), &unquote(item)))
                }
                None => reading.property(format!("Markdown:{name}"), &unquote(value)),
            }
        }
    }
    // No end was found: it is a line of dashes and nothing more.
    reading.properties.retain(|(name, _)| !name.starts_with("Markdown:"));
    text
}

/// A line without its marks: links and pictures show their text, stars and ticks go.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.trim_start_matches("> ");
    while let Some(c) = rest.chars().next() {
        if let Some((shown, after)) = link(rest) {
            text.push_str(shown);
            rest = after;
            continue;
        }
        let next = &rest[c.len_utf8()..];
        match c {
            '\\' => {}
            '`' => {}
            '*' if rest.starts_with("**") => rest = &rest[1..],
            '_' if rest.starts_with("__") && !text.ends_with(char::is_alphanumeric) => rest = &rest[1..],
            '|' if line.starts_with('|') => text.push('\t'),
            _ => text.push(c),
        }
        rest = if rest.len() < next.len() + c.len_utf8() { &rest[c.len_utf8()..] } else { next };
    }
    text.trim().to_owned()
}

/// A link or picture at the start of a text: what it shows, and what follows it.
fn link(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("![").or_else(|| text.strip_prefix('['))?;
    // Looked for nearby only: a line of nothing but brackets must not cost the square of its length.
    let near = &inner[..inner.floor_char_boundary(MAX_LINK)];
    let (shown, after) = near.split_once("](")?;
    let end = after.find(')')?;
    (!shown.contains('[')).then(|| (shown, &inner[shown.len() + 2 + end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(reading: &Reading) -> Vec<(&str, f32)> {
        reading.pages.iter().flatten().map(|line| (line.text.as_str(), line.size)).collect()
    }

    #[test]
    fn markdown_has_headings_and_properties() {
        let text = "---\ntitle: \"云的形状\"\nauthor:\n  - 张三\n  - 李四\ntags: [a, b]\n---\nbadge\n\n# On *Clouds*\n\n[text](http://x) and **bold**\n\nPart\n----\n```\n# code\n```\n";
        let reading = read_markdown(text.as_bytes());
        assert_eq!(reading.value("Markdown:title"), Some("云的形状"));
        assert_eq!(reading.value("Markdown:author"), Some("张三; 李四"));
        assert_eq!(reading.value("Markdown:tags"), Some("a; b"));
        let expected =
            [("badge", BODY), ("On *Clouds*", 24.0), ("text and bold", BODY), ("Part", 18.0), ("# code", BODY)];
        assert_eq!(lines(&reading), expected);
    }

    #[test]
    fn xml_gives_its_text() {
        let (bytes, ..) = encoding_rs::GBK.encode("<?xml version='1.0' encoding='GBK'?><!DOCTYPE 书 SYSTEM \"a.dtd\"><书 xmlns='urn:x'><题>著录 规则</题> <b/></书>");
        let reading = read_xml(&bytes);
        assert_eq!(lines(&reading), [("著录 规则", BODY)]);
        assert_eq!(reading.value("XML:root"), Some("书"));
        assert_eq!(reading.value("XML:namespace"), Some("urn:x"));
        assert_eq!(reading.value("XML:encoding"), Some("GBK"));
        assert!(reading.value("XML:doctype").is_some());
    }
}
