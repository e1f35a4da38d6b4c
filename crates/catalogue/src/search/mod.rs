//! Search: a tantivy index fed from the log, with its place in the log stored beside it.
//!
//! The index is a view: deleting its folder rebuilds it. It keeps no text to show; what is shown comes from the
//! records. Chinese is found by single characters side by side (so any piece of a text is found) and ranked by
//! dictionary words; both, and every other script, are folded so that traditional and simplified, full and half width,
//! with and without accents are one. Reading the log and deciding when to write is `catalogue`'s.

mod compile;
mod date;
mod facet;
mod fold;
mod highlight;
mod index;
mod place;
mod query;
mod schema;
mod tokenizer;

use zhulu_record::{Kind, RecordId};

pub use highlight::snippet;
pub use index::Index;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// In the query language of `docs/search.md`: words, "phrases", prefix*, title:word, creator:…, date:2001..2009,
    /// bbox:w,s,e,n, OR, -not and brackets. Empty for all.
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
    /// The best of them; where no words were asked for, the newest by their own date.
    pub hits: Vec<Hit>,
    /// Counts, by facet, in the order kind, source, language, year, creator, subject; empty if they were not asked for.
    pub facets: Vec<Facet>,
    /// Up to which entry of the log this is true.
    pub seq: u64,
}

/// One record found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which.
    pub id: RecordId,
    /// How well it fits; 0 where no words were asked for.
    pub score: f32,
}

/// Counts of one facet's values, most frequent first, at most ten.
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
