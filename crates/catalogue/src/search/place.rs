//! Places as they are searched: boxes in degrees, and the filter that finds records whose boxes meet one.

use tantivy::columnar::Column;
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED};
use zhulu_record::Value;

/// The column that holds the boxes of a record: west, south, east and north of the first, then of the next.
pub(super) const COLUMN: &str = "box";

/// A box that does not cross the antimeridian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub(super) west: f64,
    pub(super) south: f64,
    pub(super) east: f64,
    pub(super) north: f64,
}

impl Rectangle {
    /// The one or two rectangles of a box. One that begins east of where it ends crosses the antimeridian. The error is
    /// what is wrong with it.
    pub(super) fn of_box(west: f64, south: f64, east: f64, north: f64) -> Result<Vec<Rectangle>, &'static str> {
        if ![west, south, east, north].iter().all(|degrees| degrees.is_finite()) {
            return Err("a bound is no number");
        }
        if ![west, east].iter().all(|degrees| (-360.0..=360.0).contains(degrees)) {
            return Err("west and east are degrees from -180 to 180");
        }
        if ![south, north].iter().all(|degrees| (-90.0..=90.0).contains(degrees)) {
            return Err("south and north are degrees from -90 to 90");
        }
        if south > north {
            return Err("south is greater than north");
        }
        if east - west >= 360.0 {
            return Ok(vec![Rectangle { west: -180.0, south, east: 180.0, north }]);
        }
        // Some count longitude from 0 to 360.
        let wrap = |degrees: f64| match degrees {
            _ if degrees > 180.0 => degrees - 360.0,
            _ if degrees < -180.0 => degrees + 360.0,
            _ => degrees,
        };
        let (west, east) = (wrap(west), wrap(east));
        if west <= east {
            Ok(vec![Rectangle { west, south, east, north }])
        } else {
            Ok(vec![Rectangle { west, south, east: 180.0, north }, Rectangle { west: -180.0, south, east, north }])
        }
    }

    /// The rectangles of a record's bounding box; none if it cannot be read.
    pub(super) fn of_value(value: &Value) -> Vec<Rectangle> {
        let bound = |name: &str| value.part(name).and_then(Value::as_text).and_then(|text| text.trim().parse().ok());
        match (bound("west"), bound("south"), bound("east"), bound("north")) {
            (Some(west), Some(south), Some(east), Some(north)) => {
                Rectangle::of_box(west, south, east, north).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    fn meets(&self, other: &Rectangle) -> bool {
        self.west <= other.east && self.east >= other.west && self.south <= other.north && self.north >= other.south
    }
}

/// Finds records with a box that meets any of these rectangles.
#[derive(Debug, Clone)]
pub(super) struct BoxQuery(pub(super) Vec<Rectangle>);

impl Query for BoxQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(BoxWeight(self.0.clone())))
    }
}

struct BoxWeight(Vec<Rectangle>);

impl Weight for BoxWeight {
    fn scorer(&self, reader: &SegmentReader, _: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(column) = reader.fast_fields().column_opt::<f64>(COLUMN)? else { return Ok(Box::new(EmptyScorer)) };
        let mut matches = BoxScorer { column, rectangles: self.0.clone(), doc: 0, end: reader.max_doc() };
        matches.settle();
        Ok(Box::new(matches))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("a box of the record meets the one asked for", 0.0))
    }
}

/// Looks at a record's boxes only when asked about it, so that beside a word it costs what the word's records cost.
struct BoxScorer {
    column: Column<f64>,
    rectangles: Vec<Rectangle>,
    doc: DocId,
    end: DocId,
}

impl BoxScorer {
    /// Moves on to the first record at or after this one that matches.
    fn settle(&mut self) {
        while self.doc < self.end && !self.matches() {
            self.doc += 1;
        }
        if self.doc >= self.end {
            self.doc = TERMINATED;
        }
    }

    fn matches(&self) -> bool {
        let mut values = self.column.values_for_doc(self.doc);
        while let (Some(west), Some(south), Some(east), Some(north)) =
            (values.next(), values.next(), values.next(), values.next())
        {
            let rectangle = Rectangle { west, south, east, north };
            if self.rectangles.iter().any(|asked| asked.meets(&rectangle)) {
                return true;
            }
        }
        false
    }
}

impl DocSet for BoxScorer {
    fn advance(&mut self) -> DocId {
        if self.doc != TERMINATED {
            self.doc += 1;
            self.settle();
        }
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if target > self.doc {
            self.doc = target;
            self.settle();
        }
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.end
    }
}

impl Scorer for BoxScorer {
    fn score(&mut self) -> Score {
        0.0
    }
}
