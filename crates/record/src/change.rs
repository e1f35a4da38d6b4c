//! Changes: what a source says of a record, as the log keeps it. What they add up to is `merge`'s.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::element::Element;
use crate::evidence::Evidence;
use crate::id::{Digest, Key, NodeId, ParseError, RecordId, serde_as_text};
use crate::stamp::Stamp;
use crate::statement::Statement;

/// Who may speak of a record: `people` (on all nodes one source), or one machine source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(String);

impl Source {
    /// A machine source: a folder, a site, a repository. The name is the same on every node that uses it.
    pub fn machine(name: impl Into<String>) -> Self {
        Source(name.into())
    }

    /// All people, on all nodes.
    pub fn people() -> Self {
        Source("people".to_owned())
    }

    /// Whether it is people who speak.
    pub fn is_people(&self) -> bool {
        self.0 == "people"
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of thing a record describes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A paper, report, book, slide deck.
    #[default]
    Document,
    /// A web page.
    Page,
    /// A course.
    Course,
    /// A programming interface.
    Api,
    /// A dataset, geographic or not.
    Dataset,
    /// A sound or picture.
    Media,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [Kind::Document, Kind::Page, Kind::Course, Kind::Api, Kind::Dataset, Kind::Media];

    /// Its name, as it is stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Document => "document",
            Kind::Page => "page",
            Kind::Course => "course",
            Kind::Api => "api",
            Kind::Dataset => "dataset",
            Kind::Media => "media",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| ParseError::new(text, "a kind (document, page, course, api, dataset or media)"))
    }
}

/// The name of a set, in OAI-PMH's form: parts of letters, digits and `-_.!~*'()`, joined by `:` for nesting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetName(String);

impl SetName {
    /// The set of all records of a kind.
    pub fn of_kind(kind: Kind) -> Self {
        SetName(format!("kind-{kind}"))
    }

    /// The set of all records a source has spoken of. What the form does not allow in its name becomes `_`.
    pub fn of_source(source: &Source) -> Self {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.!~*'()".contains(c);
        SetName(format!("source-{}", source.name().replace(|c| !fits(c), "_")))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Itself and every set it lies in: `a:b` is in `a`.
    pub fn with_parents(&self) -> impl Iterator<Item = SetName> + '_ {
        let ends = self.0.match_indices(':').map(|(end, _)| end).chain([self.0.len()]);
        ends.map(|end| SetName(self.0[..end].to_owned()))
    }
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SetName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.!~*'()".contains(c);
        if text.len() <= 200 && text.split(':').all(|part| !part.is_empty() && part.chars().all(fits)) {
            Ok(SetName(text.to_owned()))
        } else {
            Err(ParseError::new(text, "a set name (letters, digits and -_.!~*'() in parts joined by ':')"))
        }
    }
}

serde_as_text!(SetName);

/// A file or response kept beside a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// Its content's hash, which is its name in the blob store.
    pub digest: Digest,
    /// The name it came with.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Where a harvested record came from: OAI-PMH's `provenance`. The upstream date lives here and never becomes ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Provenance {
    /// The repository's address.
    pub base_url: String,
    /// Its identifier for the record.
    pub identifier: String,
    /// Its datestamp, as it wrote it.
    pub datestamp: String,
    /// The namespace of the format harvested.
    pub namespace: String,
}

/// "This is what I say now."
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Put {
    /// What it describes.
    pub kind: Kind,
    /// What makes it this record; the first gave it its identifier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
    /// What is said. From a machine all it has to say; from a person the new values of the elements that occur.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    /// Elements that a person says have no value.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub clears: BTreeSet<Element>,
    /// The evidence of every statement that does not bring its own.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
    /// Sets the source puts it in, beside those of its kind and source.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sets: BTreeSet<SetName>,
    /// Files kept with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<BlobRef>,
    /// Where it was harvested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

impl Put {
    /// The elements it speaks of.
    pub fn elements(&self) -> BTreeSet<&Element> {
        self.statements.iter().map(|statement| &statement.element).chain(&self.clears).collect()
    }
}

/// What happens to a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The source says this.
    Put(Box<Put>),
    /// A machine withdraws its own say; a person removes the record.
    Delete,
    /// A person gives these elements back to the machines; none named, the whole record.
    Release(BTreeSet<Element>),
    /// Legal removal: everything said up to here is purged, on every node, and only this marker stays.
    Erase,
    /// What is left of a change whose values were erased: only which identifiers its keys gave.
    Erased(Vec<Key>),
}

/// One change to one record, as the log keeps it and peers exchange it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When, by the hybrid clock, and on which node.
    pub stamp: Stamp,
    /// Its number among the entries that its node wrote, from 1, without gaps.
    pub origin_seq: u64,
    /// What it is about.
    pub record: RecordId,
    /// Who speaks.
    pub source: Source,
    /// The person who did it, where the change itself does not say: a put names them in its evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The stamp its author saw in the register and meant to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Stamp>,
    /// What happens.
    pub change: Change,
}

impl Entry {
    /// The node that wrote it.
    pub fn origin(&self) -> NodeId {
        self.stamp.node
    }

    /// The person whose word it is, by name; `None` for a machine's, or where nobody was named.
    pub fn person(&self) -> Option<&str> {
        let in_evidence = match &self.change {
            Change::Put(put) if self.source.is_people() => put.evidence.by.as_deref(),
            _ => None,
        };
        let by = self.by.as_deref().or(in_evidence)?;
        Some(by.strip_prefix("person:").unwrap_or(by))
    }

    /// The keys it claims for its record.
    pub fn keys(&self) -> &[Key] {
        match &self.change {
            Change::Put(put) => &put.keys,
            Change::Erased(keys) => keys,
            _ => &[],
        }
    }

    /// The blobs it refers to.
    pub fn blobs(&self) -> &[BlobRef] {
        match &self.change {
            Change::Put(put) => &put.blobs,
            _ => &[],
        }
    }

    /// What may stay of it once its record is erased: its place, and the identifiers of its keys.
    pub fn erased(&self) -> Entry {
        let keys = self.keys().iter().map(|key| Key::Opaque(key.record())).collect();
        let change = match &self.change {
            Change::Put(_) | Change::Erased(_) => Change::Erased(keys),
            other => other.clone(),
        };
        Entry { change, by: None, ..self.clone() }
    }
}

/// A change on its way into the log: the sequencer will give it a stamp and a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What it is about.
    pub record: RecordId,
    /// Who speaks.
    pub source: Source,
    /// The person who does it, where the change itself does not say.
    pub by: Option<String>,
    /// The stamp its author saw; `None` for a register nobody had written.
    pub replaces: Option<Stamp>,
    /// What happens.
    pub change: Change,
}

impl Draft {
    /// A machine's snapshot of the record its first key names. `None` without a key: nothing says which record it is.
    pub fn put(source: Source, put: Put) -> Option<Draft> {
        let record = put.keys.first()?.record();
        Some(Draft { record, source, by: None, replaces: None, change: Change::Put(Box::new(put)) })
    }

    /// Withdraws (a machine) or removes (a person).
    pub fn delete(source: Source, record: RecordId) -> Draft {
        Draft { record, source, by: None, replaces: None, change: Change::Delete }
    }

    /// Legal removal.
    pub fn erase(record: RecordId) -> Draft {
        Draft { record, source: Source::people(), by: None, replaces: None, change: Change::Erase }
    }

    /// With the person who does it.
    pub fn by(mut self, person: &str) -> Draft {
        self.by = Some(format!("person:{person}"));
        self
    }

    /// With the stamp its author saw.
    pub fn replacing(mut self, stamp: Option<Stamp>) -> Draft {
        self.replaces = stamp;
        self
    }

    /// As an entry of the log.
    pub fn stamped(self, stamp: Stamp, origin_seq: u64) -> Entry {
        let Draft { record, source, by, replaces, change } = self;
        Entry { stamp, origin_seq, record, source, by, replaces, change }
    }
}
