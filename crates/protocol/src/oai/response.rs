//! Writing responses. Every one of them is valid against the protocol's schema; the tests hold that with `xmllint`.

use zhulu_record::{Datestamp, SetName};

use super::{Fault, NAMESPACE, SCHEMA, Verb};
use crate::xml::{Xml, is_legal};

/// What stands around every answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The time up to which the answer is true: a harvester that comes back `from` it misses nothing.
    pub response_date: Datestamp,
    /// The repository's address.
    pub base_url: String,
    /// The arguments to repeat; see [`super::Asked::echo`].
    pub echo: Vec<(&'static str, String)>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Who we are.
    Identify(Identify),
    /// Which formats there are.
    ListMetadataFormats(Vec<Format>),
    /// Which sets there are; at least one.
    ListSets(Vec<Set>),
    /// One record.
    GetRecord(Item),
    /// Records; at least one.
    ListRecords(List),
    /// Their headers; at least one.
    ListIdentifiers(List),
    /// What is wrong; at least one.
    Errors(Vec<Fault>),
}

/// Who a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identify {
    /// Its name, for people.
    pub name: String,
    /// Whom to write to.
    pub admin_email: String,
    /// No record has an earlier datestamp.
    pub earliest: Datestamp,
    /// The namespace of its identifiers, when they follow `oai-identifier`.
    pub namespace: Option<String>,
    /// One of its identifiers, as an example.
    pub sample: String,
    /// Whole `description` contents, each one XML element with its own schema: announcements, friends, branding.
    pub descriptions: Vec<String>,
}

/// A format that records can be had in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// Its name in requests.
    pub prefix: String,
    /// Where its schema is.
    pub schema: String,
    /// Its namespace.
    pub namespace: String,
}

/// A set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Its name in requests.
    pub spec: SetName,
    /// Its name for people.
    pub name: String,
}

/// A record as a harvester sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its identifier: `oai:<namespace>:<id>`.
    pub identifier: String,
    /// When it last changed.
    pub datestamp: Datestamp,
    /// The sets it is in.
    pub sets: Vec<SetName>,
    /// Its metadata: one XML element. `None` for a deleted record.
    pub metadata: Option<String>,
}

/// Part of a list, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The records of this part.
    pub items: Vec<Item>,
    /// How it goes on; `None` for a list that is complete in one response.
    pub resume: Option<Resume>,
}

/// How a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// What to come back with; `None` on the last part of a list in several parts.
    pub token: Option<String>,
    /// How many records the list has in all.
    pub complete_list_size: u64,
    /// How many came before this part.
    pub cursor: u64,
}

/// Whether `oai-identifier`'s schema takes this as the namespace of identifiers: a domain name with a dot in it.
pub fn is_namespace(text: &str) -> bool {
    let fits = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.contains('.') && text.split('.').all(fits)
}

/// Whether the protocol's schema takes this as an e-mail address.
pub fn is_email(text: &str) -> bool {
    let fits = |(who, host): (&str, &str)| {
        !who.is_empty() && host.split_once('.').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty())
    };
    !text.contains(char::is_whitespace) && text.chars().all(is_legal) && text.split_once('@').is_some_and(fits)
}

/// The whole response.
pub fn write(envelope: &Envelope, answer: &Answer) -> String {
    let mut xml = Xml::document();
    let location = format!("{NAMESPACE} {SCHEMA}");
    let root = [
        ("xmlns", NAMESPACE),
        ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
        ("xsi:schemaLocation", location.as_str()),
    ];
    xml.open("OAI-PMH", &root).line();
    xml.leaf("responseDate", &[], &envelope.response_date.to_string()).line();
    let echo: Vec<(&str, &str)> = envelope.echo.iter().map(|(name, value)| (*name, value.as_str())).collect();
    xml.leaf("request", &echo, &envelope.base_url).line();
    match answer {
        Answer::Identify(identify) => write_identify(&mut xml, &envelope.base_url, identify),
        Answer::ListMetadataFormats(formats) => {
            xml.open("ListMetadataFormats", &[]).line();
            for format in formats {
                xml.open("metadataFormat", &[]);
                xml.leaf("metadataPrefix", &[], &format.prefix);
                xml.leaf("schema", &[], &format.schema);
                xml.leaf("metadataNamespace", &[], &format.namespace);
                xml.close().line();
            }
            xml.close().line();
        }
        Answer::ListSets(sets) => {
            xml.open("ListSets", &[]).line();
            for set in sets {
                xml.open("set", &[]);
                xml.leaf("setSpec", &[], set.spec.name()).leaf("setName", &[], &set.name);
                xml.close().line();
            }
            xml.close().line();
        }
        Answer::GetRecord(item) => {
            xml.open("GetRecord", &[]).line();
            write_record(&mut xml, item);
            xml.close().line();
        }
        Answer::ListRecords(list) => write_list(&mut xml, Verb::ListRecords, list, write_record),
        Answer::ListIdentifiers(list) => write_list(&mut xml, Verb::ListIdentifiers, list, write_header),
        Answer::Errors(faults) => {
            for fault in faults {
                xml.leaf("error", &[("code", fault.code.name())], &fault.message).line();
            }
        }
    }
    xml.close().line();
    xml.finish()
}

fn write_identify(xml: &mut Xml, base_url: &str, identify: &Identify) {
    xml.open("Identify", &[]).line();
    xml.leaf("repositoryName", &[], &identify.name).line();
    xml.leaf("baseURL", &[], base_url).line();
    xml.leaf("protocolVersion", &[], "2.0").line();
    xml.leaf("adminEmail", &[], &identify.admin_email).line();
    xml.leaf("earliestDatestamp", &[], &identify.earliest.to_string()).line();
    xml.leaf("deletedRecord", &[], "persistent").line();
    xml.leaf("granularity", &[], "YYYY-MM-DDThh:mm:ssZ").line();
    xml.leaf("compression", &[], "gzip").line();
    if let Some(namespace) = &identify.namespace {
        const SCHEME: &str = "http://www.openarchives.org/OAI/2.0/oai-identifier";
        let location = format!("{SCHEME} {SCHEME}.xsd");
        let attributes = [
            ("xmlns", SCHEME),
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("xsi:schemaLocation", location.as_str()),
        ];
        xml.open("description", &[]).open("oai-identifier", &attributes);
        xml.leaf("scheme", &[], "oai").leaf("repositoryIdentifier", &[], namespace);
        xml.leaf("delimiter", &[], ":").leaf("sampleIdentifier", &[], &identify.sample);
        xml.close().close().line();
    }
    for description in &identify.descriptions {
        xml.open("description", &[]).raw(description).close().line();
    }
    xml.close().line();
}

fn write_list(xml: &mut Xml, verb: Verb, list: &List, write: fn(&mut Xml, &Item)) {
    xml.open(verb.name(), &[]).line();
    for item in &list.items {
        write(xml, item);
    }
    if let Some(Resume { token, complete_list_size, cursor }) = &list.resume {
        let (size, cursor) = (complete_list_size.to_string(), cursor.to_string());
        let attributes = [("completeListSize", size.as_str()), ("cursor", cursor.as_str())];
        xml.leaf("resumptionToken", &attributes, token.as_deref().unwrap_or_default()).line();
    }
    xml.close().line();
}

fn write_header(xml: &mut Xml, item: &Item) {
    let deleted: &[(&str, &str)] = if item.metadata.is_none() { &[("status", "deleted")] } else { &[] };
    xml.open("header", deleted);
    xml.leaf("identifier", &[], &item.identifier).leaf("datestamp", &[], &item.datestamp.to_string());
    for set in &item.sets {
        xml.leaf("setSpec", &[], set.name());
    }
    xml.close().line();
}

fn write_record(xml: &mut Xml, item: &Item) {
    xml.open("record", &[]);
    write_header(xml, item);
    if let Some(metadata) = &item.metadata {
        xml.open("metadata", &[]).raw(metadata).close().line();
    }
    xml.close().line();
}
