//! Evidence: who says a value, where it was read, and how sure that is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A probability in thousandths. Calibrated: of the values said with 0.9, nine in ten are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Confidence(u16);

impl Confidence {
    /// Beyond doubt: a person said so.
    pub const CERTAIN: Confidence = Confidence(1000);

    /// The confidence nearest to `probability`; what lies outside 0 to 1 (or is no number) is brought inside.
    pub fn new(probability: f64) -> Self {
        Confidence((probability.clamp(0.0, 1.0) * 1000.0).round() as u16)
    }

    /// As a number from 0 to 1.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl From<f64> for Confidence {
    fn from(probability: f64) -> Self {
        Confidence::new(probability)
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> f64 {
        confidence.get()
    }
}

/// Where in its source a value stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A page, from 1, and the boxes on it that the glyphs fill. Several when the value runs over several lines.
    Page {
        /// Counted from 1.
        page: u32,
        /// Left, top, right, bottom; in thousandths of the page's width and height, from its top left corner, so that they
        /// fit an image of the page at any size.
        boxes: Vec<[u16; 4]>,
    },
    /// A paragraph, counted from 1.
    Paragraph(u32),
    /// A slide, counted from 1.
    Slide(u32),
    /// A node of a web page or XML document.
    Xpath(String),
    /// Bytes of the file, from and up to.
    Bytes(u64, u64),
    /// A named property: `Info/Title`, `dc:creator`, `docProps/core.xml`.
    Property(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Page { page, .. } => write!(f, "page {page}"),
            Place::Paragraph(number) => write!(f, "paragraph {number}"),
            Place::Slide(number) => write!(f, "slide {number}"),
            Place::Xpath(path) => write!(f, "{path}"),
            Place::Bytes(from, to) => write!(f, "bytes {from}–{to}"),
            Place::Property(name) => write!(f, "property {name}"),
        }
    }
}

/// Why a value is believed. Every part may be left to the default that stands on the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Evidence {
    /// The rule, model, wrapper, harvest or person: `rule:largest-font`, `person:lin`, `harvest:https://…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Where it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// How sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

impl Evidence {
    /// Evidence that names only its author.
    pub fn by(by: impl Into<String>) -> Self {
        Evidence { by: Some(by.into()), ..Evidence::default() }
    }

    /// The same with a place.
    pub fn at(mut self, place: Place) -> Self {
        self.at = Some(place);
        self
    }

    /// The same with a confidence.
    pub fn sure(mut self, probability: f64) -> Self {
        self.confidence = Some(Confidence::new(probability));
        self
    }

    /// Whether it says nothing of its own.
    pub fn is_empty(&self) -> bool {
        *self == Evidence::default()
    }

    /// This evidence, with `default` where it is silent.
    pub fn or(&self, default: &Evidence) -> Evidence {
        Evidence {
            by: self.by.clone().or_else(|| default.by.clone()),
            at: self.at.clone().or_else(|| default.at.clone()),
            confidence: self.confidence.or(default.confidence),
        }
    }
}
