//! What goes into a store and comes out: batches, log entries, records with their place in this node's time, listings.

use serde::{Deserialize, Serialize};
use zhulu_record::{Datestamp, Digest, Draft, Entry, NodeId, Record, RecordId, SetName, Source};

/// What is appended together: all of it, with its source's cursor, or nothing.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// New changes, to be stamped here.
    pub drafts: Vec<Draft>,
    /// Entries that other nodes (or an earlier life of this catalogue) have stamped.
    pub entries: Vec<Entry>,
    /// Where the source will go on.
    pub cursor: Option<CursorUpdate>,
}

impl Batch {
    /// A batch of new changes.
    pub fn of(drafts: Vec<Draft>) -> Self {
        Batch { drafts, ..Batch::default() }
    }
}

/// A source's new cursor, committed with the batch it stands after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorUpdate {
    /// Whose.
    pub source: Source,
    /// In the source's own words; the catalogue does not look inside.
    pub cursor: String,
}

/// What became of one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It made a record.
    Created,
    /// It changed what is seen of a record.
    Changed,
    /// It is in the log, and nothing visible changed.
    Unchanged,
    /// The log had it already.
    Known,
    /// Its stamp is too far ahead; it waits in quarantine.
    Quarantined,
    /// The record was erased, and a machine may not bring it back.
    Erased,
}

/// The answer to an append: it is durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The log's last seq with this batch in it. A search `after` it sees the batch.
    pub seq: u64,
    /// For each draft, then each entry: its record and what became of it.
    pub outcomes: Vec<(RecordId, Outcome)>,
    /// Blobs that an erasure, or a change refused because of one, left without any reference: to be removed.
    pub orphaned: Vec<Digest>,
}

/// Where the log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// This node.
    pub node: NodeId,
    /// The last seq given.
    pub seq: u64,
    /// The last datestamp given; `None` in an empty catalogue.
    pub datestamp: Option<Datestamp>,
    /// The earliest datestamp any record has had.
    pub earliest: Option<Datestamp>,
    /// How many records there are, deleted ones included.
    pub records: u64,
    /// How many of them are deleted.
    pub deleted: u64,
}

/// An entry with its place in this node's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Its place.
    pub seq: u64,
    /// When this node took it in.
    pub datestamp: Datestamp,
    /// The entry.
    pub entry: Entry,
}

/// A record with its place in this node's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// When it last changed visibly.
    pub datestamp: Datestamp,
    /// The entry that changed it.
    pub seq: u64,
    /// As it is.
    pub record: Record,
    /// The record it turned out to be, if keys have brought the two together. This one is then deleted.
    pub merged_into: Option<RecordId>,
}

/// A place in a listing: after this record of this datestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The datestamp of the last record seen.
    pub datestamp: Datestamp,
    /// Its identifier.
    pub record: RecordId,
}

/// Which records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Changed at or after this.
    pub from: Option<Datestamp>,
    /// Changed at or before this.
    pub until: Option<Datestamp>,
    /// In this set.
    pub set: Option<SetName>,
}

/// A page of records in the order of (datestamp, identifier).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Which records.
    pub filter: Filter,
    /// After this place (before it, when newest come first).
    pub after: Option<Position>,
    /// At most so many.
    pub limit: usize,
    /// Newest first, for feeds and the portal; harvesters go from old to new.
    pub newest_first: bool,
}

/// A set and how many records are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetInfo {
    /// Its name.
    pub name: SetName,
    /// Records in it, deleted ones included.
    pub records: u64,
}

/// A source as the catalogue keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// Its name; the same on every node that uses it.
    pub source: Source,
    /// What it is: `files`, `oai`, `feed`, `site`.
    pub kind: String,
    /// Where it is.
    pub address: String,
    /// Where to go on, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Whatever else its kind needs to know, without secrets.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub settings: serde_json::Value,
}

/// A bearer token, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Who holds it.
    pub name: String,
    /// The SHA-256 of the token: the token itself is shown once and never stored.
    pub digest: Digest,
    /// When it was made.
    pub created: Datestamp,
}
