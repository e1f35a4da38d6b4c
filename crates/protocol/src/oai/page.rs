//! Reading a repository's response, however it is broken: one pass over the text, one value per record.
//!
//! Real repositories declare the wrong encoding, cut responses short, mix HTML entities in, forget end tags, and send PHP
//! notices after the end. Whatever can be read is read; what is wrong with a record is a warning on that record. Fetching,
//! retrying and following tokens are `gather`'s.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zhulu_record::{Datestamp, Statement, Warning};

use super::response::Item;
use crate::{dublin_core, xml};

/// One response, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Whether it is an OAI-PMH response at all; an HTML page of apologies is not.
    pub is_oai: bool,
    /// Whether its end was reached. A response cut short may have lost records and its token.
    pub complete: bool,
    /// The server's time: what to ask `from` next time.
    pub response_date: Option<Datestamp>,
    /// The records, or only their headers.
    pub records: Vec<Harvested>,
    /// What to come back with; `None` when the list is over.
    pub token: Option<String>,
    /// How many records the server says the list has.
    pub complete_list_size: Option<u64>,
    /// What the server refused.
    pub errors: Vec<Refusal>,
    /// Who the server is, if that was asked.
    pub identify: Option<Identified>,
    /// What is wrong with the response as a whole, and with records that could not be told apart.
    pub warnings: Vec<Warning>,
}

/// A record as it was harvested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Harvested {
    /// Its identifier in its repository.
    pub identifier: String,
    /// When it last changed there, as the repository writes it.
    pub datestamp: String,
    /// Whether the repository has removed it.
    pub deleted: bool,
    /// The sets it is in.
    pub sets: Vec<String>,
    /// Its metadata: one XML element that can stand alone. `None` for a deleted record, for a header, or when it is broken.
    pub metadata: Option<String>,
    /// What its metadata says, as far as it is Dublin Core.
    pub statements: Vec<Statement>,
    /// What is wrong with it.
    pub warnings: Vec<Warning>,
}

/// An `error` of a response. The code is the server's own word, since not all keep to the eight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// `noRecordsMatch`, `badResumptionToken`, …
    pub code: String,
    /// Why.
    pub message: String,
}

/// A server's `Identify`, as far as a harvester needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identified {
    /// Its name.
    pub name: String,
    /// Its address, as it thinks.
    pub base_url: String,
    /// No record is older; as it writes it.
    pub earliest: String,
    /// `no`, `transient` or `persistent`.
    pub deleted_record: String,
    /// How fine its datestamps are: `YYYY-MM-DD` or `YYYY-MM-DDThh:mm:ssZ`.
    pub granularity: String,
}

/// A datestamp as servers write it: by the book, or with fractions, an offset, a blank for the `T`, or only a day.
pub fn datestamp(text: &str) -> Option<Datestamp> {
    let text = text.trim();
    if let Ok(datestamp) = text.parse() {
        return Some(datestamp);
    }
    let text = text.replacen(' ', "T", 1);
    let candidates = [text.clone(), format!("{text}Z"), format!("{text}T00:00:00Z")];
    candidates.iter().find_map(|text| text.parse().ok()).map(Datestamp::from_timestamp)
}

/// Reads a response.
pub fn read(bytes: &[u8]) -> Page {
    let mut page = Page::default();
    let text = xml::decode(bytes, &mut page.warnings);
    let mut reading = Reading { page, path: Vec::new(), namespaces: Vec::new(), text: String::new(), record: None };
    let mut start = 0;
    while let Some(resume) = reading.run(&text, start) {
        start = resume;
    }
    reading.finish(text.len())
}

struct Reading<'t> {
    page: Page,
    /// The local names of the open elements; inside metadata it does not grow.
    path: Vec<String>,
    /// Declarations in scope, with the depth of the element they stand on.
    namespaces: Vec<(usize, String, String)>,
    /// The text of the current leaf.
    text: String,
    record: Option<Open<'t>>,
}

/// A record being read.
struct Open<'t> {
    /// Where its start tag ends in the text.
    begin: usize,
    /// How its tag is spelled, with prefix: a record's, or that of a header outside a record.
    tag: &'t str,
    header_only: bool,
    value: Harvested,
    metadata: Option<Collector>,
}

impl<'t> Open<'t> {
    /// A record whose start tag is `markup`; the name is taken from the text itself, which outlives the reader's events.
    fn new(markup: &'t str, begin: usize, header_only: bool) -> Self {
        let name = markup.trim_start_matches('<').split(|c: char| c.is_whitespace() || c == '>' || c == '/').next();
        Open { begin, tag: name.unwrap_or_default(), header_only, value: Harvested::default(), metadata: None }
    }
}

impl<'t> Reading<'t> {
    /// Reads from `offset` on until the end, or until something is broken: then the place to go on from.
    fn run(&mut self, text: &'t str, offset: usize) -> Option<usize> {
        let mut reader = Reader::from_str(&text[offset..]);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.allow_unmatched_ends = true;
        config.expand_empty_elements = true;
        loop {
            let before = offset + usize::try_from(reader.buffer_position()).unwrap_or(0);
            let event = reader.read_event();
            let position = offset + usize::try_from(reader.buffer_position()).unwrap_or(0);
            match event {
                Ok(Event::Start(start)) => self.start(&start, position, text, before),
                Ok(Event::End(end)) => self.end(end.local_name().into_inner()),
                Ok(Event::Text(piece)) => self.piece(&piece.xml10_content()),
                Ok(Event::CData(piece)) => self.piece(&piece.xml10_content()),
                Ok(Event::GeneralRef(name)) => match xml::reference(&name) {
                    Some(piece) => self.piece(&piece),
                    None => {
                        self.warn(
                            "unknown-reference",
                            format!("the reference &{}; stands for nothing and was kept as it is", &*name),
                        );
                        self.piece(&format!("&{};", &*name));
                    }
                },
                Ok(Event::DocType(_)) => {
                    self.warn("doctype", "the response has a DOCTYPE, whose definitions are never used")
                }
                Ok(Event::Eof) => return None,
                Ok(_) => {}
                // An end tag that does not fit what was forgotten to be closed: a fresh start takes it as it is.
                Err(_) if self.record.is_none() && before > offset && text[before..].starts_with("</") => {
                    self.warn(
                        "broken-response",
                        "the response is not well-formed: end tags do not fit their start tags",
                    );
                    return Some(before);
                }
                Err(error) => return self.recover(text, position.max(before), &error.to_string()),
            }
        }
    }

    fn warn(&mut self, code: &str, message: impl Into<String>) {
        let warnings = match &mut self.record {
            Some(record) => &mut record.value.warnings,
            None => &mut self.page.warnings,
        };
        // A record full of the same trouble says so once.
        if !warnings.iter().any(|warning| warning.code == code) {
            warnings.push(Warning::new(code, message));
        }
    }

    /// Leaves the broken record and finds the place behind it.
    fn recover(&mut self, text: &str, position: usize, error: &str) -> Option<usize> {
        let Some(record) = self.record.take() else {
            if !self.page.complete {
                self.page
                    .warnings
                    .push(Warning::new("broken-response", format!("the response is not well-formed: {error}")));
            }
            // Outside a record: whatever it was, the next record may be whole.
            let next = text.get(position..)?.find("record>").map(|found| position + found)?;
            let next = text[..next].rfind('<').filter(|next| *next >= position)?;
            self.path.truncate(2);
            return Some(next);
        };
        let tag = format!("</{}>", record.tag);
        // The first end tag after the record's start is its own, whatever was broken between them.
        let end = text[record.begin..].find(&tag).map(|found| record.begin + found + tag.len());
        self.close_broken(record, error);
        self.path.truncate(2);
        self.namespaces.retain(|(depth, ..)| *depth <= 2);
        end
    }

    fn close_broken(&mut self, record: Open<'_>, error: &str) {
        let mut value = record.value;
        let warning = Warning::new("broken-record", format!("the record is not well-formed XML: {error}"));
        if value.identifier.is_empty() {
            self.page.warnings.push(warning);
        } else {
            value.metadata = None;
            value.warnings.push(warning);
            self.page.records.push(value);
        }
    }

    fn start(&mut self, start: &BytesStart<'_>, position: usize, text: &'t str, before: usize) {
        if let Some(collector) = self.record.as_mut().and_then(|record| record.metadata.as_mut()) {
            collector.start(start);
            return;
        }
        let name = start.local_name().into_inner();
        if self.path.is_empty() && name == "OAI-PMH" {
            self.page.is_oai = true;
        }
        let parent = self.path.last().map(String::as_str);
        match name {
            "record" if parent == Some("record") || self.record.is_none() => {
                if let Some(unclosed) = self.record.take() {
                    self.close_broken(unclosed, "the next record begins before its end");
                    self.path.pop();
                }
                self.record = Some(Open::new(&text[before..position], position, false));
            }
            "header" => {
                let deleted = xml::get(start, "status").is_some_and(|status| status.trim() == "deleted");
                let record = self.record.get_or_insert_with(|| Open::new(&text[before..position], position, true));
                record.value.deleted |= deleted;
            }
            "metadata" if parent == Some("record") => {
                if let Some(record) = &mut self.record {
                    record.metadata = Some(Collector::new(&self.namespaces));
                    return;
                }
            }
            "resumptionToken" => {
                self.page.complete_list_size =
                    xml::get(start, "completeListSize").and_then(|size| size.trim().parse().ok());
            }
            "error" => {
                let code = xml::get(start, "code").unwrap_or_default();
                self.page.errors.push(Refusal { code, message: String::new() });
            }
            "Identify" => self.page.identify = Some(Identified::default()),
            _ => {}
        }
        self.path.push(name.to_owned());
        let mut attributes = start.attributes();
        attributes.with_checks(false);
        for found in attributes.flatten().filter(|found| found.key.0.starts_with("xmlns")) {
            self.namespaces.push((self.path.len(), found.key.0.to_owned(), xml::attribute(&found.value)));
        }
        self.text.clear();
    }

    fn piece(&mut self, piece: &str) {
        match self.record.as_mut().and_then(|record| record.metadata.as_mut()) {
            Some(collector) => collector.text(piece),
            None => self.text.push_str(piece),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(record) = &mut self.record
            && let Some(collector) = &mut record.metadata
        {
            if collector.end() {
                return;
            }
            let collected = record.metadata.take().and_then(Collector::finish);
            match collected {
                Some(_) if record.value.deleted => {
                    let message = "a deleted record came with metadata, which was ignored";
                    record.value.warnings.push(Warning::new("deleted-with-metadata", message));
                }
                Some(document) => {
                    let (statements, warnings) = dublin_core::read(&document);
                    record.value.statements = statements;
                    record.value.warnings.extend(warnings);
                    record.value.metadata = Some(document);
                }
                None if record.value.deleted => {}
                None => record.value.warnings.push(Warning::new("empty-metadata", "the record's metadata is empty")),
            }
            return;
        }
        if !self.path.iter().any(|open| open == name) {
            return;
        }
        // End tags left over from a broken record close what they can.
        while self.path.pop().is_some_and(|open| open != name) {}
        self.namespaces.retain(|(depth, ..)| *depth <= self.path.len());
        let text = std::mem::take(&mut self.text);
        self.leaf(name, text.trim());
    }

    fn leaf(&mut self, name: &str, text: &str) {
        let in_header = self.path.last().is_some_and(|parent| parent == "header");
        match (name, &mut self.record, &mut self.page.identify) {
            ("identifier", Some(record), _) if in_header => record.value.identifier = text.to_owned(),
            ("datestamp", Some(record), _) if in_header => record.value.datestamp = text.to_owned(),
            ("setSpec", Some(record), _) if in_header => record.value.sets.push(text.to_owned()),
            ("header", Some(Open { header_only: true, .. }), _) | ("record", Some(_), _) => {
                if let Some(record) = self.record.take() {
                    self.close(record);
                }
            }
            ("responseDate", None, _) if self.path.len() <= 1 => {
                self.page.response_date = datestamp(text);
                if self.page.response_date.is_none() {
                    self.warn("response-date", "the responseDate is no date");
                }
            }
            ("resumptionToken", None, _) => self.page.token = Some(text.to_owned()).filter(|token| !token.is_empty()),
            ("error", None, _) => {
                if let Some(error) = self.page.errors.last_mut() {
                    error.message = text.to_owned();
                }
            }
            ("repositoryName", None, Some(identify)) => identify.name = text.to_owned(),
            ("baseURL", None, Some(identify)) if identify.base_url.is_empty() => identify.base_url = text.to_owned(),
            ("earliestDatestamp", None, Some(identify)) => identify.earliest = text.to_owned(),
            ("deletedRecord", None, Some(identify)) => identify.deleted_record = text.to_owned(),
            ("granularity", None, Some(identify)) => identify.granularity = text.to_owned(),
            ("OAI-PMH", _, _) => self.page.complete = true,
            _ => {}
        }
    }

    fn close(&mut self, record: Open<'_>) {
        let value = record.value;
        if value.identifier.is_empty() {
            let message = "a record without an identifier was left out";
            self.page.warnings.push(Warning::new("no-identifier", message));
        } else {
            self.page.records.push(value);
        }
    }

    fn finish(mut self, length: usize) -> Page {
        if let Some(record) = self.record.take() {
            self.close_broken(record, "the response ends in the middle of it");
        }
        if self.page.is_oai && !self.page.complete {
            let message = format!("the response ends after {length} bytes of text without its end tag");
            self.page.warnings.push(Warning::new("truncated", message));
        } else if !self.page.is_oai {
            self.page.warnings.push(Warning::new("not-oai", "the response is not an OAI-PMH document"));
        }
        self.page
    }
}

/// Rewrites the content of a `metadata` element so that it can stand alone: references replaced, declarations of the
/// elements around it brought along.
struct Collector {
    xml: String,
    open: Vec<String>,
    inherited: Vec<(String, String)>,
    /// Where the root element's name ends, and which declarations it brings itself.
    root: Option<(usize, Vec<String>)>,
    unprefixed: bool,
    done: bool,
}

impl Collector {
    fn new(namespaces: &[(usize, String, String)]) -> Self {
        let mut inherited: Vec<(String, String)> = Vec::new();
        // Innermost first: an inner declaration hides an outer one.
        for (_, key, value) in namespaces.iter().rev() {
            if !inherited.iter().any(|(seen, _)| seen == key) {
                inherited.push((key.clone(), value.clone()));
            }
        }
        Collector { xml: String::new(), open: Vec::new(), inherited, root: None, unprefixed: false, done: false }
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        let name = start.name().into_inner();
        self.open.push(name.to_owned());
        if self.done {
            return;
        }
        self.unprefixed |= !name.contains(':');
        self.xml.push('<');
        self.xml.push_str(name);
        let end_of_name = self.xml.len();
        let mut keys: Vec<String> = Vec::new();
        let mut attributes = start.attributes();
        attributes.with_checks(false);
        for found in attributes.flatten() {
            let key = found.key.0;
            if !keys.iter().any(|seen| seen == key) {
                let value = xml::attribute(&found.value);
                self.xml.push_str(&format!(" {key}=\"{}\"", quick_xml::escape::escape(xml::legal(&value))));
                keys.push(key.to_owned());
            }
        }
        self.xml.push('>');
        self.root.get_or_insert((end_of_name, keys));
    }

    fn text(&mut self, text: &str) {
        if !self.open.is_empty() && !self.done {
            self.xml.push_str(&xml::escape(text));
        }
    }

    /// Whether an element inside was closed; if none is open, it is the `metadata` element's own end.
    fn end(&mut self) -> bool {
        let Some(name) = self.open.pop() else { return false };
        if !self.done {
            self.xml.push_str(&format!("</{name}>"));
        }
        // Only the first element counts: metadata holds exactly one.
        self.done |= self.open.is_empty();
        true
    }

    fn finish(mut self) -> Option<String> {
        let (place, keys) = self.root.take()?;
        let needed = self.inherited.iter().filter(|(key, _)| !keys.contains(key)).filter(|(key, _)| {
            match key.strip_prefix("xmlns:") {
                Some(prefix) => self.xml.contains(&format!("{prefix}:")),
                None => self.unprefixed,
            }
        });
        let declarations: String =
            needed.map(|(key, value)| format!(" {key}=\"{}\"", quick_xml::escape::escape(xml::legal(value)))).collect();
        self.xml.insert_str(place, &declarations);
        Some(self.xml)
    }
}

/// What a harvester of this item reads.
impl From<&Item> for Harvested {
    fn from(item: &Item) -> Self {
        let (statements, warnings) = item.metadata.as_deref().map(dublin_core::read).unwrap_or_default();
        Harvested {
            identifier: item.identifier.clone(),
            datestamp: item.datestamp.to_string(),
            deleted: item.metadata.is_none(),
            sets: item.sets.iter().map(|set| set.name().to_owned()).collect(),
            metadata: item.metadata.clone(),
            statements,
            warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(records: &str) -> Page {
        let text = format!(
            "<?xml version='1.0'?><OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/' xmlns:dc='http://purl.org/dc/elements/1.1/'>\
             <responseDate>2020-01-01T00:00:00Z</responseDate><request/><ListRecords>{records}</ListRecords></OAI-PMH>\n<b>Notice</b>"
        );
        read(text.as_bytes())
    }

    fn record(id: &str, metadata: &str) -> String {
        format!(
            "<record><header><identifier>{id}</identifier><datestamp>2020-01-01</datestamp></header><metadata>{metadata}</metadata></record>"
        )
    }

    fn ids(page: &Page) -> Vec<&str> {
        page.records.iter().map(|record| record.identifier.as_str()).collect()
    }

    #[test]
    fn a_broken_record_costs_only_itself() {
        let broken = [
            record("b", "<oai_dc><dc:title>x</oai_dc>"),
            record("b", "<dc><dc:title>x</dc:title></dc").replace("</metadata>", ""),
            record("b", "<dc><dc:title a=\"x>y</dc:title></dc>"),
            record("b", "<dc><record>x</record><y></dc>"),
            record("b", "<dc/>").replace("</record>", ""),
            record("b", "<!-- <dc/>"),
        ];
        for broken in broken {
            let page =
                list(&format!("{}{broken}{}", record("a", "<dc><dc:title>甲</dc:title></dc>"), record("c", "<dc/>")));
            assert!(ids(&page).starts_with(&["a"]) && ids(&page).ends_with(&["c"]), "{broken}: {page:#?}");
            assert!(page.complete && page.is_oai, "{broken}: {page:#?}");
            assert_eq!(page.records[0].statements, [Statement::new(zhulu_record::Element::TITLE, "甲")]);
            let told = page.records.iter().flat_map(|record| &record.warnings).chain(&page.warnings).count();
            assert!(told > 0, "{broken}: {page:#?}");
        }
    }

    #[test]
    fn metadata_can_stand_alone() {
        let page = list(&record(
            "a",
            "<x:dc xmlns:x='u'><dc:title t='a&nbsp;\"'>a &eacute; & <![CDATA[<b>]]></dc:title></x:dc>",
        ));
        let expected = "<x:dc xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:x=\"u\">\
                        <dc:title t=\"a\u{a0}&quot;\">a é &amp; &lt;b&gt;</dc:title></x:dc>";
        assert_eq!(page.records[0].metadata.as_deref(), Some(expected));
        let page = list(&record("a", "<dc><title>b</title></dc>"));
        assert_eq!(
            page.records[0].metadata.as_deref(),
            Some("<dc xmlns=\"http://www.openarchives.org/OAI/2.0/\"><title>b</title></dc>")
        );
    }

    #[test]
    fn a_response_cut_short_is_not_complete() {
        let whole =
            format!("<OAI-PMH><ListRecords>{}{}", record("a", "<dc/>"), record("b", "<dc><dc:title>x</dc:title></dc>"));
        for end in [whole.len(), whole.len() - 20, whole.len() - 40] {
            let page = read(&whole.as_bytes()[..end]);
            assert!(!page.complete && page.is_oai);
            assert_eq!(page.records[0].identifier, "a");
            assert!(page.warnings.iter().any(|warning| warning.code == "truncated"));
        }
    }

    #[test]
    fn what_is_no_oai_says_so() {
        for bytes in [&b"<html><body>Maintenance</body></html>"[..], b"", b"busy", b"\x00\xff\xfe", b"<"] {
            let page = read(bytes);
            assert!(!page.is_oai && page.records.is_empty());
        }
    }

    #[test]
    fn headers_deletions_tokens_and_errors() {
        let page = read(
            b"<o:OAI-PMH xmlns:o='u'><o:responseDate>2020-01-01T00:00:00.5+02:00</o:responseDate><o:ListIdentifiers>\
              <o:header status='deleted'><o:identifier> a </o:identifier><o:setSpec>x:y</o:setSpec></o:header>\
              <o:header><o:identifier>b</o:identifier></o:header><o:header/>\
              <o:resumptionToken completeListSize='9' cursor='0'>\n t&amp;1 \n</o:resumptionToken></o:ListIdentifiers></o:OAI-PMH>",
        );
        assert_eq!(ids(&page), ["a", "b"]);
        assert!(page.records[0].deleted && !page.records[1].deleted);
        assert_eq!(page.records[0].sets, ["x:y"]);
        assert_eq!((page.token.as_deref(), page.complete_list_size), (Some("t&1"), Some(9)));
        assert_eq!(page.response_date.unwrap().to_string(), "2019-12-31T22:00:00Z");
        let page = read(b"<OAI-PMH><error code='odd'>why</error><error code='noRecordsMatch'/></OAI-PMH>");
        assert_eq!(page.errors[0], Refusal { code: "odd".into(), message: "why".into() });
        assert_eq!(page.errors[1].code, "noRecordsMatch");
        assert_eq!(list("<resumptionToken>  </resumptionToken>").token, None);
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><OAI-PMH><ListRecords>".to_owned()
            + &record("a", "<dc><dc:title>&b;</dc:title></dc>")
            + "</ListRecords></OAI-PMH>";
        let page = read(bomb.as_bytes());
        assert_eq!(page.records[0].statements[0].value.as_text(), Some("&b;"));
    }
}
