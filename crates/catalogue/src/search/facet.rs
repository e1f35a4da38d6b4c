//! Counting facets: how many of the records found have each value.

use std::collections::HashMap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::Facet;
use super::schema::{FACETS, Fields};

/// How many values of a facet are told.
const TOLD: usize = 10;

/// A segment with no more values than this tells them all. Of one with more, so many of the most frequent may become
/// one of those told, and these are then counted in every segment: what is told is always exact, and a value is missed
/// only if it is frequent over all and in no segment among these.
const ALL: usize = 64;
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
    let mut exact = true;
    for Counts { column, counts, seen } in segments {
        let mut frequent = seen.clone();
        if frequent.len() > ALL {
            exact = false;
            frequent.select_nth_unstable_by_key(CANDIDATES, |value| std::cmp::Reverse(counts[*value as usize]));
            frequent.truncate(CANDIDATES);
        }
        // In the order of the dictionary, which is then read once from front to back.
        frequent.sort_unstable();
        let ordinals: Vec<u64> = frequent.iter().map(|value| u64::from(*value)).collect();
        let mut values = frequent.iter();
        column.dictionary().sorted_ords_to_term_cb(&ordinals, |text| {
            if let Some(value) = values.next() {
                let text = String::from_utf8_lossy(text).into_owned();
                *candidates.entry(text).or_default() += u64::from(counts[*value as usize]);
            }
        })?;
    }
    let by_count = |a: &(String, u64), b: &(String, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    let mut told: Vec<(String, u64)> = candidates.into_iter().collect();
    told.sort_by(by_count);
    if !exact && segments.len() > 1 {
        told.truncate(CANDIDATES);
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
