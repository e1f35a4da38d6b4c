//! XML as every message here needs it: a writer that cannot produce ill-formed text, and a reader's way with text, references
//! and encodings that real servers get wrong. What the elements mean is left to the modules that use this.

use std::borrow::Cow;

use quick_xml::Writer;
use quick_xml::escape::{partial_escape, resolve_html5_entity, resolve_xml_entity};
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};
use zhulu_record::Warning;

/// Whether XML 1.0 can carry this character, even as a reference.
pub(crate) fn is_legal(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// The text without the characters that XML 1.0 cannot carry.
pub(crate) fn legal(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_legal) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().filter(|c| is_legal(*c)).collect())
    }
}

/// The text as character data.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    partial_escape(legal(text))
}

/// A document in the making, in memory.
pub(crate) struct Xml {
    writer: Writer<Vec<u8>>,
    open: Vec<&'static str>,
}

impl Xml {
    /// A document with its declaration.
    pub(crate) fn document() -> Self {
        let mut xml = Xml::fragment();
        xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml
    }

    /// A piece of a document.
    pub(crate) fn fragment() -> Self {
        Xml { writer: Writer::new(Vec::new()), open: Vec::new() }
    }

    fn event(&mut self, event: Event<'_>) {
        self.writer.write_event(event).expect("memory takes every write");
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) -> &mut Self {
        let attributes = attributes.iter().map(|(key, value)| (*key, legal(value)));
        let mut start = BytesStart::new(name);
        attributes.for_each(|attribute| start.push_attribute(attribute));
        self.event(Event::Start(start));
        self.open.push(name);
        self
    }

    /// Closes the element opened last.
    pub(crate) fn close(&mut self) -> &mut Self {
        if let Some(name) = self.open.pop() {
            self.event(Event::End(BytesEnd::new(name)));
        }
        self
    }

    /// An element with text in it.
    pub(crate) fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) -> &mut Self {
        self.open(name, attributes);
        self.event(Event::Text(BytesText::from_escaped(escape(text))));
        self.close()
    }

    /// Text that is XML already, as our own writers made it.
    pub(crate) fn raw(&mut self, xml: &str) -> &mut Self {
        self.writer.get_mut().extend_from_slice(xml.as_bytes());
        self
    }

    /// A new line, where a person who looks at the message would want one.
    pub(crate) fn line(&mut self) -> &mut Self {
        self.raw("\n")
    }

    /// The text, with every element closed.
    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        String::from_utf8(self.writer.into_inner()).expect("only text was written")
    }
}

/// The text of a message: decoded by its byte order mark, else as its XML declaration says, else as UTF-8; without illegal
/// characters and without what stands before the first markup.
pub(crate) fn decode<'b>(bytes: &'b [u8], warnings: &mut Vec<Warning>) -> Cow<'b, str> {
    let (encoding, bytes) = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, length)) => (encoding, &bytes[length..]),
        None => (declared(bytes).unwrap_or(encoding_rs::UTF_8), bytes),
    };
    let (mut text, broken) = encoding.decode_without_bom_handling(bytes);
    if broken && encoding == encoding_rs::UTF_8 {
        // Said to be UTF-8 and is not. The usual truth is Windows-1252 or GB18030; a strict decoder tells the two apart.
        warnings.push(Warning::new("encoding", "the response is not in the encoding it declares; another was guessed"));
        let guess = encoding_rs::GB18030.decode_without_bom_handling_and_without_replacement(bytes);
        let chinese = guess.filter(|guess| looks_chinese(guess));
        text = chinese.unwrap_or_else(|| mixed(bytes));
    } else if broken {
        warnings.push(Warning::new("encoding", format!("some bytes are not {} and were replaced", encoding.name())));
    }
    let text = match text.find('<') {
        None | Some(0) => text,
        Some(start) => Cow::Owned(text[start..].to_owned()),
    };
    if text.chars().all(is_legal) {
        return text;
    }
    warnings.push(Warning::new("control-characters", "characters that XML does not allow were dropped"));
    Cow::Owned(legal(&text).into_owned())
}

/// UTF-8 where the bytes are that, and Windows-1252 byte by byte where they are not: pages glued from two sources.
fn mixed(bytes: &[u8]) -> Cow<'static, str> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&encoding_rs::WINDOWS_1252.decode_without_bom_handling(chunk.invalid()).0);
    }
    Cow::Owned(text)
}

/// Whether a decoding as GB18030 gave Chinese: most of what is not ASCII is common ideographs and their punctuation.
/// Latin-1 read as GB18030 gives single rare ideographs between letters instead.
fn looks_chinese(text: &str) -> bool {
    let (mut chinese, mut other, mut runs, mut before) = (0, 0, 0, false);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        let ideograph = matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}');
        chinese += usize::from(ideograph);
        other += usize::from(!ideograph && !c.is_ascii());
        runs += usize::from(ideograph && before);
        before = ideograph;
    }
    chinese > other && runs * 2 > chinese
}

/// The encoding an XML declaration names; for UTF-16 without a byte order mark, by the shape of `<?`.
fn declared(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    match bytes {
        [b'<', 0, b'?', 0, ..] => return Some(encoding_rs::UTF_16LE),
        [0, b'<', 0, b'?', ..] => return Some(encoding_rs::UTF_16BE),
        _ => {}
    }
    let start = &bytes[..bytes.len().min(400)];
    let text: String = start.iter().map(|byte| char::from(*byte)).collect();
    let declaration = text.split_once("<?xml")?.1.split_once("?>")?.0;
    let value = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let name = value.trim_start_matches(['"', '\'']).split(['"', '\'']).next()?;
    // GB2312 means GB18030 in practice, which encoding_rs knows as GBK; a declared UTF-16 in a text whose declaration we
    // could read byte by byte is not UTF-16.
    let encoding = encoding_rs::Encoding::for_label(name.trim().as_bytes())?;
    (encoding != encoding_rs::UTF_16LE && encoding != encoding_rs::UTF_16BE).then_some(encoding)
}

/// What a reference (`amp`, `#x4e2d`, `nbsp`) stands for. Nothing that a document defines itself is ever expanded.
pub(crate) fn reference(name: &str) -> Option<Cow<'static, str>> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        let c = char::from_u32(code)?;
        // A reference to what XML cannot carry stands for nothing.
        return Some(if is_legal(c) { Cow::Owned(c.to_string()) } else { Cow::Borrowed("") });
    }
    resolve_xml_entity(name).or_else(|| resolve_html5_entity(name)).map(Cow::Borrowed)
}

/// An attribute's value with its references replaced; unknown ones stay as they are.
pub(crate) fn attribute(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        match after.split_once(';').and_then(|(name, after)| Some((reference(name)?, after))) {
            Some((value, after)) => {
                text.push_str(&value);
                rest = after;
            }
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text + rest
}

/// The attribute of a start tag with this qualified name.
pub(crate) fn get(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    attributes.with_checks(false);
    attributes.flatten().find(|found| found.key.0 == name).map(|found| attribute(&found.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_found_by_mark_then_declaration_then_content() {
        let text = "<?xml version=\"1.0\" encoding=\"GB2312\"?><a>著录</a>";
        let (gb, _, _) = encoding_rs::GB18030.encode(text);
        let decode = |bytes: &[u8]| decode(bytes, &mut Vec::new()).into_owned();
        assert_eq!(decode(&gb), text);
        let (lying, _, _) = encoding_rs::GB18030.encode("<a>元数据自动抽取，著录</a>");
        assert_eq!(decode(&lying), "<a>元数据自动抽取，著录</a>", "no declaration means UTF-8, but it is not");
        assert_eq!(decode(b"<a>caf\xe9 na\xefve</a>"), "<a>café naïve</a>");
        assert_eq!(decode("\u{feff}<a>é</a>".as_bytes()), "<a>é</a>");
        let utf16: Vec<u8> = "\u{feff}<a>录</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&utf16), "<a>录</a>");
        assert_eq!(decode(b"\n\n <a>\x01x</a>"), "<a>x</a>");
    }

    #[test]
    fn references_are_replaced_and_never_expanded() {
        assert_eq!(attribute("a&amp;b&nbsp;&#x4e2d;&bomb;&"), "a&b\u{a0}中&bomb;&");
        assert_eq!(reference("#1").as_deref(), Some(""));
        assert_eq!(reference("#xd800"), None);
    }

    #[test]
    fn what_xml_cannot_carry_is_dropped_on_writing() {
        let mut xml = Xml::fragment();
        xml.leaf("a", &[("b", "\u{0}\"\n")], "x\u{b}<\u{ffff}\r");
        assert_eq!(xml.finish(), "<a b=\"&quot;&#10;\">x&lt;&#13;</a>");
    }
}
