//! XML parts as a stream of events: element names without their prefix, attributes, text with references resolved.
//!
//! Nothing is expanded: entities that a document declares are left out and said, outside ones are never fetched. Damage ends the
//! walk where it stands, and what came before counts.

use std::borrow::Cow;
use std::ops::ControlFlow;

use encoding_rs::{Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::escape::{resolve_html5_entity, resolve_xml_entity};
use quick_xml::events::{BytesStart, Event};
use zhulu_record::Warning;

/// How deep elements may nest. Word gives up at a few hundred.
const MAX_DEPTH: usize = 2000;

/// How many tags and texts of a part are read. A book of a thousand pages has a million; the text kept is read long before.
const MAX_EVENTS: usize = 4_000_000;

/// Something met on the walk.
pub(crate) enum Node<'a> {
    /// An element opens.
    Start(&'a Tag<'a>),
    /// The element of this local name closes.
    End(&'a str),
    /// Text.
    Text(&'a str),
}

/// An opening tag.
pub(crate) struct Tag<'a>(&'a BytesStart<'a>);

impl Tag<'_> {
    /// The name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(self.0.name().0)
    }

    /// The name as it is written.
    pub(crate) fn qualified(&self) -> &str {
        self.0.name().0
    }

    /// The value of an attribute, by its name without prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.attributes().find(|(key, _)| local(key) == name).map(|(_, value)| value)
    }

    /// All attributes, by the names as they are written.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (String, String)> {
        let mut all = self.0.attributes();
        all.with_checks(false);
        all.flatten().map(|attribute| (attribute.key.0.to_owned(), unescape(&attribute.value)))
    }

    /// A number in an attribute.
    pub(crate) fn number(&self, name: &str) -> Option<f32> {
        self.attribute(name)?.trim().parse().ok().filter(|number: &f32| number.is_finite())
    }

    /// A switch as Office writes it: the element alone means on, unless its `val` says otherwise.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.attribute("val").as_deref(), Some("0" | "false" | "off" | "none"))
    }
}

/// A name without its prefix.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Walk through a part. Gives the trouble met, if any.
pub(crate) fn walk(part: &str, bytes: &[u8], visit: &mut dyn FnMut(Node<'_>) -> ControlFlow<()>) -> Option<Warning> {
    let text = decode(bytes);
    let mut reader = Reader::from_str(&text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut depth = 0_usize;
    let mut warning = None;
    for _ in 0..MAX_EVENTS {
        let flow = match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let message =
                        format!("The elements of {part} nest deeper than {MAX_DEPTH}; what comes before was read.");
                    return Some(Warning::new("too-deep", message));
                }
                visit(Node::Start(&Tag(&start)))
            }
            Ok(Event::Empty(start)) => {
                let opened = visit(Node::Start(&Tag(&start)));
                if opened.is_continue() { visit(Node::End(local(start.name().0))) } else { opened }
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                visit(Node::End(local(end.name().0)))
            }
            Ok(Event::Text(text)) => visit(Node::Text(&text.xml10_content())),
            Ok(Event::CData(text)) => visit(Node::Text(&text.xml10_content())),
            Ok(Event::GeneralRef(name)) => match name.resolve_char_ref() {
                Ok(Some(c)) => visit(Node::Text(c.encode_utf8(&mut [0; 4]))),
                _ => {
                    let name = name.xml10_content();
                    match resolve_xml_entity(&name).or_else(|| resolve_html5_entity(&name)) {
                        Some(text) => visit(Node::Text(text)),
                        None => ControlFlow::Continue(()),
                    }
                }
            },
            Ok(Event::DocType(declared)) => {
                if declared.contains("<!ENTITY") {
                    let message = format!(
                        "{part} declares entities of its own; they are not expanded, and nothing outside is fetched."
                    );
                    warning = Some(Warning::new("entities", message));
                }
                ControlFlow::Continue(())
            }
            Ok(Event::Eof) => {
                if depth > 0 && warning.is_none() {
                    warning = Some(Warning::new(
                        "damaged-part",
                        format!("{part} ends before its elements are closed; what is there was read."),
                    ));
                }
                return warning;
            }
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                let message = format!(
                    "{part} is no proper XML after byte {} ({error}); what comes before was read.",
                    reader.error_position()
                );
                return Some(Warning::new("damaged-part", message));
            }
        };
        if flow.is_break() {
            return warning;
        }
    }
    let message = format!("{part} holds more than {MAX_EVENTS} tags and texts; what comes before was read.");
    Some(Warning::new("too-large", message))
}

/// The text of an XML part, in the encoding that its mark or its first line names.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0;
    }
    let head = &bytes[..bytes.len().min(200)];
    if head.starts_with(b"<\0") || head.starts_with(b"\0<") {
        let decoded = crate::text::decode(bytes);
        return Cow::Owned(decoded.text);
    }
    let declared = String::from_utf8_lossy(head);
    let label = declared.split_once("encoding=").and_then(|(_, rest)| rest.get(1..)?.split(['"', '\'']).next());
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    // Without a label a small part may be in any encoding; in a large one a bad byte is damage.
    if label.is_none() && bytes.len() < 1 << 20 && std::str::from_utf8(bytes).is_err() {
        return Cow::Owned(crate::text::decode(bytes).text);
    }
    encoding.decode_without_bom_handling(bytes).0
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    quick_xml::escape::unescape_with(text, |name| resolve_xml_entity(name).or_else(|| resolve_html5_entity(name)))
        .map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// The leaves of a small part: the path of local names under the root (`coreProperties` left out), the qualified name, and the text.
pub(crate) fn leaves(part: &str, bytes: &[u8]) -> (Vec<Leaf>, Option<Warning>) {
    let mut leaves: Vec<Leaf> = Vec::new();
    let mut open: Vec<Leaf> = Vec::new();
    let warning = walk(part, bytes, &mut |node| {
        match node {
            Node::Start(tag) => {
                if let Some(parent) = open.last_mut() {
                    parent.parent = true;
                }
                open.push(Leaf {
                    name: tag.qualified().to_owned(),
                    attributes: tag.attributes().collect(),
                    text: String::new(),
                    parent: false,
                });
            }
            Node::Text(text) => {
                if let Some(leaf) = open.last_mut().filter(|leaf| leaf.text.len() < 64 << 10) {
                    leaf.text.push_str(text);
                }
            }
            Node::End(_) => {
                if let Some(leaf) = open.pop().filter(|leaf| !leaf.parent) {
                    leaves.push(leaf);
                }
            }
        }
        if leaves.len() < 20_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    // What a cut left open still says what it says.
    leaves.extend(open.into_iter().rev().filter(|leaf| !leaf.parent));
    (leaves, warning)
}

/// An element without elements in it.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    /// Whether it turned out to hold elements.
    parent: bool,
}

impl Leaf {
    /// The value of an attribute, by its name without prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| local(key) == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_expanded_and_nesting_ends() {
        let bomb =
            b"<!DOCTYPE a [<!ENTITY b \"boom\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]><a>&b;&c;&amp;&#20113;</a>";
        let (leaves, warning) = leaves("a part", bomb);
        assert_eq!(leaves[0].text, "&云");
        assert_eq!(warning.expect("it is said").code, "entities");
        let deep = "<a>".repeat(100_000);
        let warning = walk("a part", deep.as_bytes(), &mut |_| ControlFlow::Continue(()));
        assert_eq!(warning.expect("it is said").code, "too-deep");
    }

    #[test]
    fn encodings_are_those_the_part_names() {
        let (gbk, ..) = encoding_rs::GBK.encode("<?xml version=\"1.0\" encoding=\"GB2312\"?><题>著录</题>");
        assert!(decode(&gbk).contains("著录"));
        let wide: Vec<u8> = "<题>著录</题>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(decode(&wide).contains("著录"));
    }
}
