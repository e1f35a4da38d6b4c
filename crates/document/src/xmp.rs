//! XMP: the packet of RDF that Adobe's programs and many others write into files of every kind.
//!
//! The tree is flattened to names and values: `dc:creator` once for each creator, a structure's parts after a slash
//! (`xmpMM:DerivedFrom/stRef:documentID`), a text in a further language with its tag (`dc:title[zh-CN]`). Prefixes are the usual ones
//! whatever the file calls them. What the names mean is `property`'s.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::{BytesStart, Event};

use crate::text;

/// A longer packet is read up to here. The longest seen hold a history of edits of some hundred kilobytes.
const MAX_BYTES: usize = 4 << 20;

/// Deeper nesting than this is not followed.
const MAX_DEPTH: usize = 40;

/// More values than this are not kept.
const MAX_VALUES: usize = 1000;

/// The usual prefixes of namespaces.
const PREFIXES: &[(&str, &str)] = &[
    ("http://purl.org/dc/elements/1.1/", "dc"),
    ("http://purl.org/dc/terms/", "dcterms"),
    ("http://ns.adobe.com/xap/1.0/", "xmp"),
    ("http://ns.adobe.com/xap/1.0/mm/", "xmpMM"),
    ("http://ns.adobe.com/xap/1.0/rights/", "xmpRights"),
    ("http://ns.adobe.com/xap/1.0/t/pg/", "xmpTPg"),
    ("http://ns.adobe.com/xap/1.0/bj/", "xmpBJ"),
    ("http://ns.adobe.com/xap/1.0/sType/ResourceRef#", "stRef"),
    ("http://ns.adobe.com/xap/1.0/sType/ResourceEvent#", "stEvt"),
    ("http://ns.adobe.com/xap/1.0/sType/Dimensions#", "stDim"),
    ("http://ns.adobe.com/xmp/1.0/DynamicMedia/", "xmpDM"),
    ("http://ns.adobe.com/pdf/1.3/", "pdf"),
    ("http://ns.adobe.com/pdfx/1.3/", "pdfx"),
    ("http://www.aiim.org/pdfa/ns/id/", "pdfaid"),
    ("http://www.aiim.org/pdfua/ns/id/", "pdfuaid"),
    ("http://www.npes.org/pdfx/ns/id/", "pdfxid"),
    ("http://ns.adobe.com/photoshop/1.0/", "photoshop"),
    ("http://ns.adobe.com/camera-raw-settings/1.0/", "crs"),
    ("http://ns.adobe.com/exif/1.0/", "exif"),
    ("http://ns.adobe.com/exif/1.0/aux/", "aux"),
    ("http://cipa.jp/exif/1.0/", "exifEX"),
    ("http://ns.adobe.com/tiff/1.0/", "tiff"),
    ("http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/", "Iptc4xmpCore"),
    ("http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "Iptc4xmpExt"),
    ("http://creativecommons.org/ns#", "cc"),
    ("http://ns.useplus.org/ldf/xmp/1.0/", "plus"),
    ("http://prismstandard.org/namespaces/basic/2.0/", "prism"),
    ("http://prismstandard.org/namespaces/basic/2.1/", "prism"),
    ("http://prismstandard.org/namespaces/basic/3.0/", "prism"),
    ("http://crossref.org/crossmark/1.0/", "crossmark"),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"),
    ("adobe:ns:meta/", "x"),
];

/// What a packet says.
#[derive(Debug, Default)]
pub(crate) struct Packet {
    /// Names with their prefix and values, in the order they stand.
    pub(crate) values: Vec<(String, String)>,
    /// What was wrong with it.
    pub(crate) fault: Option<String>,
}

impl Packet {
    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// What an open element is.
enum Open {
    /// `rdf:RDF` and what stands around it.
    Frame,
    /// `rdf:Description`, or the content of a structure.
    Node,
    /// A property or a part of one.
    Property,
    /// `rdf:Bag`, `rdf:Seq`, `rdf:Alt`.
    List,
    /// `rdf:li`, with its language.
    Item(Option<String>),
}

/// Read a packet.
pub(crate) fn read(bytes: &[u8]) -> Packet {
    let decoded = text::decode(&bytes[..bytes.len().min(MAX_BYTES)]);
    let source = decoded.text.trim_matches(|c: char| c == '\0' || c == '\u{feff}' || c.is_whitespace());
    let mut packet = Packet::default();
    if decoded.damaged {
        packet.fault = Some("some of its bytes have no meaning".to_owned());
    }
    let mut reader = Reader::from_str(source);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    let mut walk = Walk { packet, ..Walk::default() };
    let mut events = 0_usize;
    loop {
        events += 1;
        match reader.read_event() {
            Ok(Event::Eof) => break,
            _ if events > 500_000 || walk.packet.values.len() >= MAX_VALUES => {
                walk.packet.fault = Some("it holds more than is read".to_owned());
                break;
            }
            Ok(Event::Start(start)) => {
                if walk.open.len() >= MAX_DEPTH {
                    walk.packet.fault = Some("it is nested too deep".to_owned());
                    break;
                }
                walk.start(&start);
            }
            Ok(Event::Empty(start)) => {
                if walk.open.len() < MAX_DEPTH {
                    walk.start(&start);
                    walk.end();
                }
            }
            Ok(Event::End(_)) => walk.end(),
            Ok(Event::Text(part)) => walk.text.push_str(&part.xml10_content()),
            Ok(Event::CData(part)) => walk.text.push_str(&part.xml10_content()),
            Ok(Event::GeneralRef(reference)) => {
                if let Ok(Some(c)) = reference.resolve_char_ref() {
                    walk.text.push(c);
                } else if let Some(text) = resolve_html5_entity(&reference) {
                    walk.text.push_str(text);
                }
            }
            Ok(_) => {}
            Err(error) => {
                walk.packet.fault =
                    Some(format!("it is not well-formed at its byte {}: {error}", reader.error_position()));
                break;
            }
        }
    }
    if walk.packet.fault.is_none() && walk.open.iter().any(|(open, _)| !matches!(open, Open::Frame)) {
        walk.packet.fault = Some("it ends in the middle".to_owned());
    }
    walk.packet
}

#[derive(Default)]
struct Walk {
    packet: Packet,
    /// Open elements, and how long the path was before each.
    open: Vec<(Open, usize)>,
    /// Where in the tree of properties we are.
    path: String,
    text: String,
    prefixes: HashMap<String, String>,
}

impl Walk {
    /// A name with the usual prefix.
    fn name(&self, name: &str) -> String {
        let Some((prefix, local)) = name.split_once(':') else { return name.to_owned() };
        match self.prefixes.get(prefix) {
            Some(usual) => format!("{usual}:{local}"),
            None => name.to_owned(),
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        self.text.clear();
        let mut attributes = Vec::new();
        for attribute in start.attributes().with_checks(false).flatten().take(500) {
            let key = attribute.key.as_ref().to_owned();
            let Ok(value) = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0) else { continue };
            if let Some(prefix) = key.strip_prefix("xmlns:") {
                let usual = PREFIXES.iter().find(|(uri, _)| *uri == value).map_or(prefix, |(_, usual)| usual);
                self.prefixes.insert(prefix.to_owned(), usual.to_owned());
            } else if key != "xmlns" {
                attributes.push((key, value.into_owned()));
            }
        }
        let name = self.name(start.name().as_ref());
        let length = self.path.len();
        let language = attributes.iter().find(|(key, _)| key == "xml:lang").map(|(_, value)| value.clone());
        let open = match name.as_str() {
            "rdf:RDF" | "x:xmpmeta" | "x:xapmeta" => Open::Frame,
            "rdf:Description" => Open::Node,
            "rdf:Bag" | "rdf:Seq" | "rdf:Alt" => Open::List,
            "rdf:li" => Open::Item(language),
            // A qualified value: the value itself stands for it, and the qualifiers are left aside with their own names.
            "rdf:value" => Open::Property,
            // Outside of the description nothing is a property.
            _ if self.open.iter().any(|(open, _)| matches!(open, Open::Node)) => {
                if !self.path.is_empty() {
                    self.path.push('/');
                }
                self.path.push_str(&name);
                Open::Property
            }
            _ => Open::Frame,
        };
        let holds = matches!(open, Open::Node | Open::Property | Open::Item(_));
        self.open.push((open, length));
        if holds {
            for (key, value) in attributes {
                let key = self.name(&key);
                if key.starts_with("rdf:") || key.starts_with("xml:") || !key.contains(':') {
                    // A reference instead of a text.
                    if key == "rdf:resource" && !self.path.is_empty() {
                        self.note(self.path.clone(), &value);
                    }
                    continue;
                }
                let path = if self.path.is_empty() { key } else { format!("{}/{key}", self.path) };
                self.note(path, &value);
            }
        }
    }

    fn end(&mut self) {
        let Some((open, length)) = self.open.pop() else { return };
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() && !self.path.is_empty() {
            match &open {
                Open::Property => self.note(self.path.clone(), &text),
                Open::Item(Some(language)) if language != "x-default" => {
                    self.note(format!("{}[{language}]", self.path), &text);
                }
                Open::Item(_) => self.note(self.path.clone(), &text),
                _ => {}
            }
        }
        self.path.truncate(length);
    }

    fn note(&mut self, path: String, value: &str) {
        let value = value.trim();
        // History lists and thumbnails fill pages and say nothing of the content.
        let noise = path.starts_with("xmpMM:History") || path.starts_with("xmp:Thumbnails") || path.starts_with("crs:");
        if !value.is_empty() && !noise && path.len() <= 200 {
            let measured = ["exif:", "exifEX:", "tiff:", "aux:"].iter().any(|prefix| path.starts_with(prefix));
            let value = if measured { fractions(value) } else { value.chars().take(4000).collect() };
            self.packet.values.push((path, value));
        }
    }
}

/// Measures are written as fractions (`35/10`): as numbers, where all of the value is such.
fn fractions(value: &str) -> String {
    let number = |part: &str| -> Option<String> {
        let (up, down) = part.split_once('/')?;
        let (up, down): (i64, i64) = (up.parse().ok()?, down.parse().ok()?);
        (down != 0).then(|| crate::media::number(up as f64 / down as f64))
    };
    let numbers: Option<Vec<String>> = value.split(' ').take(100).map(number).collect();
    numbers.map_or_else(|| value.chars().take(4000).collect(), |numbers| numbers.join(" "))
}

/// Where a packet stands in a file that has no table to say so: from its start mark to its end mark.
pub(crate) fn find(bytes: &[u8]) -> Option<&[u8]> {
    let start = memchr::memmem::find(bytes, b"<x:xmpmeta").or_else(|| memchr::memmem::find(bytes, b"<rdf:RDF"))?;
    let rest = &bytes[start..];
    let end = memchr::memmem::find(rest, b"</x:xmpmeta>").map(|end| end + 12);
    let end = end.or_else(|| memchr::memmem::find(rest, b"</rdf:RDF>").map(|end| end + 10));
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: &str = r#"<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<r:Description r:about="" xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:xap="http://ns.adobe.com/xap/1.0/" xap:CreatorTool="Pen &amp; Ink">
<d:title><r:Alt><r:li xml:lang="x-default">Clouds &lt;1&gt;</r:li><r:li xml:lang="zh-CN">云</r:li></r:Alt></d:title>
<d:creator><r:Seq><r:li>王小明</r:li><r:li>Ann Lee</r:li></r:Seq></d:creator>
<q:From xmlns:q="urn:other" r:parseType="Resource"><q:id>7</q:id></q:From>
</r:Description></r:RDF></x:xmpmeta><?xpacket end="w"?>"#;

    #[test]
    fn a_packet_is_flattened() {
        let packet = read(PACKET.as_bytes());
        let expected = [
            ("xmp:CreatorTool", "Pen & Ink"),
            ("dc:title", "Clouds <1>"),
            ("dc:title[zh-CN]", "云"),
            ("dc:creator", "王小明"),
            ("dc:creator", "Ann Lee"),
            ("q:From/q:id", "7"),
        ];
        let found: Vec<(&str, &str)> =
            packet.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(packet.fault, None);
        assert_eq!(packet.get("dc:title"), Some("Clouds <1>"));
    }

    #[test]
    fn utf16_is_read() {
        let bytes: Vec<u8> = [0xfe, 0xff].into_iter().chain(PACKET.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(read(&bytes).get("dc:title[zh-CN]"), Some("云"));
    }

    #[test]
    fn damage_is_named() {
        assert!(read(&PACKET.as_bytes()[..600]).fault.is_some());
        assert!(read("<a>".repeat(100).as_bytes()).fault.is_some());
        assert_eq!(read(b"").values, []);
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><rdf:Description><dc:title>&c;</dc:title></rdf:Description>";
        assert_eq!(read(bomb.as_bytes()).values, []);
    }

    #[test]
    fn a_packet_is_found_in_a_file() {
        let file = [b"junk".as_slice(), PACKET.as_bytes(), b"junk"].concat();
        let found = find(&file).unwrap();
        assert!(found.starts_with(b"<x:xmpmeta") && found.ends_with(b"</x:xmpmeta>"));
        assert_eq!(find(b"nothing"), None);
    }
}
