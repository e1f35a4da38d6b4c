//! Search: a tantivy index fed from the log, with its place in the log stored beside it.
//!
//! The index is a view: deleting its folder rebuilds it. It keeps no text to show; what is shown comes from the records.

use std::path::Path;

use zhulu_record::{Kind, Record, RecordId};

use crate::error::Error;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// In the query language: words, "phrases", prefix*, title:word, creator:…, date:2001..2009, bbox:w,s,e,n. Empty for all.
    pub text: String,
    /// Only of this kind.
    pub kind: Option<Kind>,
    /// Facet values chosen, all of which must hold: (facet name, value).
    pub facets: Vec<(String, String)>,
    /// Skip so many.
    pub offset: usize,
    /// At most so many hits.
    pub limit: usize,
    /// Whether to count facets.
    pub count_facets: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// How many records fit.
    pub total: u64,
    /// The best of them.
    pub hits: Vec<Hit>,
    /// Counts, by facet.
    pub facets: Vec<Facet>,
    /// Up to which entry of the log this is true.
    pub seq: u64,
}

/// One record found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which.
    pub id: RecordId,
    /// How well it fits.
    pub score: f32,
}

/// Counts of one facet's values, most frequent first.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// `kind`, `source`, `language`, `year`, `creator`, `subject`.
    pub name: String,
    /// Value and number of records.
    pub counts: Vec<(String, u64)>,
}

/// A text with the parts that fit the query marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Pieces of text in order, and whether each fits the query.
    pub pieces: Vec<(String, bool)>,
}

/// The index.
pub struct Index {}

impl Index {
    /// Opens the index in `folder`, making it if it is not there or of an older form.
    pub fn open(_folder: &Path) -> Result<Index, Error> {
        Ok(Index {})
    }

    /// The seq up to which the log is in the index.
    pub fn position(&self) -> u64 {
        0
    }

    /// Replaces these records (a deleted one is taken out), and moves the position to `seq`, durably, in one commit. Blocking.
    pub fn update(&self, _records: &[Record], _seq: u64) -> Result<bool, Error> {
        Ok(true)
    }

    /// Rewrites the index's files so that no byte of a record taken out is left in them. Blocking.
    pub fn purge(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Asks. Blocking.
    pub fn search(&self, _query: &Query) -> Result<Results, Error> {
        Ok(Results::default())
    }

    /// All identifiers in the index, in order: for verification.
    pub fn ids(&self) -> Result<Vec<RecordId>, Error> {
        Ok(Vec::new())
    }
}

/// The part of a text worth showing for a query, at most `length` characters, with matches marked.
pub fn snippet(text: &str, _query: &Query, length: usize) -> Snippet {
    Snippet { pieces: vec![(text.chars().take(length).collect(), false)] }
}
