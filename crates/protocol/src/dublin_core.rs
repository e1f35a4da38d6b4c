//! Dublin Core, as OAI-PMH carries it: the `oai_dc` container of the fifteen elements.
//!
//! Writing dumbs refinements down to the element they narrow; reading gives the plain element back. Which other formats a
//! record has is not decided here.

use std::collections::HashSet;

use quick_xml::Reader;
use quick_xml::events::Event;
use zhulu_record::{Element, Language, Statement, Warning};

use crate::xml::{self, Xml};

/// The namespace of the container.
pub const NAMESPACE: &str = "http://www.openarchives.org/OAI/2.0/oai_dc/";
/// Where its schema is.
pub const SCHEMA: &str = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd";
/// The format's name in OAI-PMH requests.
pub const PREFIX: &str = "oai_dc";

/// A statement longer than this is not metadata, whatever it says it is.
const LONGEST_VALUE: usize = 1 << 20;

/// The fifteen elements as they are named in XML, in the order of the schema.
const NAMES: [(&str, &str); 15] = [
    ("title", "dc:title"),
    ("creator", "dc:creator"),
    ("subject", "dc:subject"),
    ("description", "dc:description"),
    ("publisher", "dc:publisher"),
    ("contributor", "dc:contributor"),
    ("date", "dc:date"),
    ("type", "dc:type"),
    ("format", "dc:format"),
    ("identifier", "dc:identifier"),
    ("source", "dc:source"),
    ("language", "dc:language"),
    ("relation", "dc:relation"),
    ("coverage", "dc:coverage"),
    ("rights", "dc:rights"),
];

/// The statements as an `oai_dc` document without an XML declaration. What Dublin Core has no place for is left out, and so
/// is the text of the document.
pub fn write<'s>(statements: impl IntoIterator<Item = &'s Statement>) -> String {
    let mut xml = Xml::fragment();
    let location = format!("{NAMESPACE} {SCHEMA}");
    let container = [
        ("xmlns:oai_dc", NAMESPACE),
        ("xmlns:dc", "http://purl.org/dc/elements/1.1/"),
        ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
        ("xsi:schemaLocation", location.as_str()),
    ];
    xml.open("oai_dc:dc", &container);
    let mut seen = HashSet::new();
    for statement in statements {
        let Some(base) = statement.element.dublin_core() else { continue };
        let Some((_, name)) = NAMES.iter().find(|(base_name, _)| *base_name == base) else { continue };
        let text = statement.value.to_string();
        let tag = statement.language.as_ref().map(Language::tag).filter(|tag| is_language_tag(tag));
        // A refinement and its base may say the same; dumbed down, one of them is enough.
        if text.trim().is_empty() || !seen.insert((*name, text.clone(), tag)) {
            continue;
        }
        let language = tag.map(|tag| [("xml:lang", tag)]);
        xml.leaf(name, language.as_ref().map_or(&[], |attributes| &attributes[..]), &text);
    }
    xml.finish()
}

/// Whether the schema of XML takes this as a language.
fn is_language_tag(tag: &str) -> bool {
    let mut parts = tag.split('-');
    let short = |part: &str| (1..=8).contains(&part.len());
    parts.next().is_some_and(|part| short(part) && part.bytes().all(|b| b.is_ascii_alphabetic()))
        && parts.all(|part| short(part) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The element that a Dublin Core or DCMI term is, by its local name.
fn element(name: &str) -> Option<Element> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "ispartof" => Some(Element::PART_OF),
        "bibliographiccitation" => Some(Element::CITATION),
        "text" => None,
        _ => name.parse().ok().filter(|element: &Element| element.dublin_core().is_some()),
    }
}

/// The statements in a Dublin Core document, whatever its container is called, and what was wrong with it. Elements of
/// DCMI's refinements are understood too, since many repositories mix them in.
pub fn read(document: &str) -> (Vec<Statement>, Vec<Warning>) {
    let mut statements = Vec::new();
    let mut warnings = Vec::new();
    let mut reader = Reader::from_str(document);
    reader.config_mut().allow_dangling_amp = true;
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0usize;
    let mut current: Option<(Element, Option<String>, String)> = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                if depth == 2 {
                    let language = xml::get(&start, "xml:lang").or_else(|| xml::get(&start, "lang"));
                    current =
                        element(start.local_name().into_inner()).map(|element| (element, language, String::new()));
                }
            }
            Ok(Event::End(_)) => {
                if depth == 2
                    && let Some((element, language, text)) = current.take()
                    && !text.trim().is_empty()
                {
                    let statement = Statement::new(element, text.trim());
                    statements.push(match language.map(Language::from) {
                        Some(language) if is_language_tag(language.tag()) => statement.lang(language.tag()),
                        _ => statement,
                    });
                }
                depth = depth.saturating_sub(1);
            }
            Ok(Event::Text(text)) => push(&mut current, &text.xml10_content()),
            Ok(Event::CData(text)) => push(&mut current, &text.xml10_content()),
            Ok(Event::GeneralRef(name)) => match xml::reference(&name) {
                Some(text) => push(&mut current, &text),
                None => push(&mut current, &format!("&{};", &*name)),
            },
            Ok(Event::Eof) => return (statements, warnings),
            Ok(_) => {}
            Err(error) => {
                warnings.push(Warning::new("broken-metadata", format!("the metadata is not well-formed XML: {error}")));
                return (statements, warnings);
            }
        }
    }
}

fn push(current: &mut Option<(Element, Option<String>, String)>, text: &str) {
    if let Some((_, _, value)) = current
        && value.len() + text.len() <= LONGEST_VALUE
    {
        value.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refinements_dumb_down_and_text_stays_home() {
        let statements = [
            Statement::new(Element::TITLE, "元数据 & more").lang("zh"),
            Statement::new(Element::ABSTRACT, "An abstract").lang("en"),
            Statement::new(Element::DESCRIPTION, "An abstract").lang("en"),
            Statement::new(Element::TEXT, "secret full text"),
            Statement::new(Element::PARAMETER, "q"),
            Statement::new(Element::SUBJECT, "x").lang("中文"),
            Statement::new(Element::SUBJECT, "  "),
        ];
        let xml = write(&statements);
        let (read, warnings) = read(&xml);
        assert_eq!(
            read,
            [
                Statement::new(Element::TITLE, "元数据 & more").lang("zh"),
                Statement::new(Element::DESCRIPTION, "An abstract").lang("en"),
                Statement::new(Element::SUBJECT, "x"),
            ]
        );
        assert!(warnings.is_empty() && !xml.contains("secret"), "{xml}");
    }

    #[test]
    fn real_documents_are_read_with_what_is_wrong_with_them() {
        let (statements, _) = read(
            "<qdc:dc xmlns:dc='x'><dc:title lang='EN_us'>A <i>b</i>&nbsp;&amp; c & d</dc:title><dcterms:isPartOf><![CDATA[ J. ]]></dcterms:isPartOf>\
             <dc:date/><dc:text>never</dc:text><thumb>no</thumb><dc:creator>cut",
        );
        assert_eq!(statements[0].value.as_text(), Some("A b\u{a0}& c & d"));
        assert_eq!(statements[1], Statement::new(Element::PART_OF, "J."));
        assert_eq!(statements.len(), 2);
    }
}
