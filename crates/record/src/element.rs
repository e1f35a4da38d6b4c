//! Elements: the fifteen of Dublin Core, DCMI's refinements, and the few each kind of record needs.
//!
//! The vocabulary is open (a rules file may name any field), so an element is a name; the known ones are constants, and
//! what is known of them (which Dublin Core element they narrow) stands in one table.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::id::{ParseError, serde_as_text};

/// The name of an element: lower-case letters, digits, `-`, `_` and `.`, as `title` or `bounding-box`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Element(Cow<'static, str>);

macro_rules! elements {
    ($($constant:ident $name:literal $base:literal $doc:literal;)*) => {
        impl Element {
            $(#[doc = $doc] pub const $constant: Element = Element(Cow::Borrowed($name));)*

            /// Every element with a meaning of its own, in the order a person would read them.
            pub const KNOWN: &'static [Element] = &[$(Element::$constant),*];
        }

        /// The Dublin Core element that each known element is, or narrows.
        const BASES: &[(&str, &str)] = &[$(($name, $base)),*];
    };
}

elements! {
    TITLE "title" "title" "The name of the thing.";
    ALTERNATIVE "alternative" "title" "Another name: a subtitle, a short or running title.";
    CREATOR "creator" "creator" "An author; one statement each, in their order.";
    CONTRIBUTOR "contributor" "contributor" "Who helped: an editor, a translator, a supervisor.";
    AFFILIATION "affiliation" "contributor" "Where the creators work, as printed.";
    ABSTRACT "abstract" "description" "The abstract.";
    DESCRIPTION "description" "description" "Any other account of the content.";
    SUBJECT "subject" "subject" "A keyword or classification; one statement each.";
    PUBLISHER "publisher" "publisher" "Who makes it available.";
    DATE "date" "date" "A date, of whatever event.";
    CREATED "created" "date" "When it was made.";
    ISSUED "issued" "date" "When it was published.";
    MODIFIED "modified" "date" "When it was last changed.";
    TYPE "type" "type" "Its nature: Text, Dataset, Image …";
    FORMAT "format" "format" "Its media type or file format.";
    EXTENT "extent" "format" "Its size or duration.";
    IDENTIFIER "identifier" "identifier" "A reference to it: DOI, ISBN, URL.";
    CITATION "citation" "identifier" "How to cite it: journal, volume, issue, pages.";
    SOURCE "source" "source" "What it is derived from.";
    LANGUAGE "language" "language" "Its language.";
    RELATION "relation" "relation" "A related thing.";
    PART_OF "is-part-of" "relation" "What it is part of: a journal, a series, a course.";
    COVERAGE "coverage" "coverage" "What place or time it is about.";
    SPATIAL "spatial" "coverage" "What place it is about, in words.";
    TEMPORAL "temporal" "coverage" "What time it is about.";
    BOUNDING_BOX "bounding-box" "coverage" "What place it is about: a structure of west, south, east and north, in degrees.";
    RIGHTS "rights" "rights" "Who holds which rights.";
    LICENSE "license" "rights" "What others may do with it.";
    HOURS "hours" "" "The hours a course takes.";
    PARAMETER "parameter" "" "An API's parameter: a structure of name, required, type and description.";
    TEXT "text" "" "The text of the document, for searching; never published.";
}

impl Element {
    /// Its name, as it is stored and printed.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The Dublin Core element this one is or narrows; `None` if Dublin Core has no place for it.
    pub fn dublin_core(&self) -> Option<&'static str> {
        let (_, base) = BASES.iter().find(|(name, _)| *name == self.0)?;
        (!base.is_empty()).then_some(*base)
    }

    /// Its place in reading order; unknown elements come last.
    pub fn rank(&self) -> usize {
        BASES.iter().position(|(name, _)| *name == self.0).unwrap_or(BASES.len())
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Element {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // A known name borrows: most statements in a catalogue carry one of these.
        if let Some((known, _)) = BASES.iter().find(|(name, _)| *name == text) {
            return Ok(Element(Cow::Borrowed(known)));
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
        if text.is_empty()
            || text.len() > 64
            || !text.starts_with(|c: char| c.is_ascii_lowercase())
            || !text.chars().all(fits)
        {
            return Err(ParseError::new(text, "an element name (lower-case letters, digits, '-', '_' and '.')"));
        }
        Ok(Element(Cow::Owned(text.to_owned())))
    }
}

serde_as_text!(Element);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refinements_dumb_down_to_dublin_core() {
        assert_eq!(Element::ABSTRACT.dublin_core(), Some("description"));
        assert_eq!(Element::PARAMETER.dublin_core(), None);
        assert_eq!("course-id".parse::<Element>().unwrap().dublin_core(), None);
    }

    #[test]
    fn names_are_checked() {
        assert!("Title".parse::<Element>().is_err());
        assert!("".parse::<Element>().is_err());
        assert!("a b".parse::<Element>().is_err());
        assert_eq!("title".parse::<Element>().unwrap(), Element::TITLE);
    }
}
