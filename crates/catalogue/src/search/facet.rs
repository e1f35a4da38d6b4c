//! Counting facets: how many of the records found have each value.

use std::collections::HashMap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::Facet;
use super::schema::{FACETS, Fields};

/// How many values of a facet are told.
const TOLD: usize = 10;

/// How many of a segment's most frequent values may become one of those told. A value told is always counted exactly; one is
/// missed only if it is frequent over all and in no segment among these.
const CANDIDATES: usize = 25;

/// Counts the values of all facets.
pub(super) struct FacetCollector;

/// The counts of one segment: for each facet that has values there.
pub(super) struct SegmentCounts {
    facets: Vec<Option<Counts>>,
}

/// How often each value was seen.
struct Counts {
    column: StrColumn,
    /// By the value's number in the column.
    counts: Vec<u32>,
    /// The values seen at all: there may be a million names, and a search that meets three of them.
    seen: Vec<u32>,
}

impl Collector for FacetCollector {
    type Fruit = Vec<Facet>;
    type Child = SegmentCounts;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentCounts> {
        let mut facets = Vec::with_capacity(FACETS.len());
        for name in FACETS {
            let column = segment.fast_fields().str(&Fields::facet_column(name))?;
            facets.push(column.map(|column| {
                let counts = vec![0; column.num_terms()];
                Counts { column, counts, seen: Vec::new() }
            }));
        }
        Ok(SegmentCounts { facets })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<SegmentCounts>) -> tantivy::Result<Vec<Facet>> {
        let facets = FACETS.iter().enumerate().map(|(place, name)| {
            let columns: Vec<_> = segments.iter().filter_map(|segment| segment.facets[place].as_ref()).collect();
            Ok(Facet { name: (*name).to_owned(), counts: top(&columns)? })
        });
        facets.collect()
    }
}

impl SegmentCollector for SegmentCounts {
    type Fruit = SegmentCounts;

    fn collect(&mut self, doc: DocId, _: Score) {
        for Counts { column, counts, seen } in self.facets.iter_mut().flatten() {
            for value in column.term_ords(doc) {
                let count = &mut counts[value as usize];
                if *count == 0 {
                    seen.push(value as u32);
                }
                *count += 1;
            }
        }
    }

    fn harvest(self) -> SegmentCounts {
        self
    }
}

/// The most frequent values over all segments.
fn top(segments: &[&Counts]) -> tantivy::Result<Vec<(String, u64)>> {
    let mut candidates: HashMap<String, u64> = HashMap::new();
    for Counts { column, counts, seen } in segments {
        let mut seen: Vec<(u32, u32)> = seen.iter().map(|value| (counts[*value as usize], *value)).collect();
        if seen.len() > CANDIDATES {
            seen.select_nth_unstable_by(CANDIDATES, |a, b| b.cmp(a));
            seen.truncate(CANDIDATES);
        }
        for (count, value) in seen {
            let mut text = String::new();
            if column.ord_to_str(u64::from(value), &mut text)? {
                *candidates.entry(text).or_default() += u64::from(count);
            }
        }
    }
    let by_count = |a: &(String, u64), b: &(String, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    let mut told: Vec<(String, u64)> = candidates.into_iter().collect();
    told.sort_by(by_count);
    told.truncate(CANDIDATES);
    if segments.len() > 1 {
        for (text, total) in &mut told {
            *total = 0;
            for Counts { column, counts, .. } in segments {
                if let Some(value) = column.dictionary().term_ord(text.as_bytes())? {
                    *total += u64::from(counts[value as usize]);
                }
            }
        }
        told.sort_by(by_count);
    }
    told.truncate(TOLD);
    Ok(told)
}
