//! Office documents: which reader a container needs, and what every reader gives.
//!
//! Readers turn bytes into lines with their looks and place, and properties by their native names; what they mean is said in
//! `property`, what the lines mean by `rules`, and both are brought together in `extract`.

mod compose;
mod doc;
mod docx;
mod epub;
mod odf;
mod ole;
mod ooxml;
mod ppt;
mod pptx;
pub(crate) mod property;
mod rtf;
mod star;
mod vsd;
mod wordperfect;
mod works;
mod xls;
mod xlsx;
pub(crate) mod xml;

pub(crate) use compose::{Composer, Role, Run};
use zhulu_record::Warning;

use crate::container::cfb::{self, Compound};
use crate::container::zip::Archive;
use crate::line::Line;

/// What a reader made of a file.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Its lines, page by page or slide by slide.
    pub(crate) pages: Vec<Vec<Line>>,
    /// Its properties by their native names with the group before them.
    pub(crate) properties: Vec<(String, String)>,
    /// What went wrong.
    pub(crate) warnings: Vec<Warning>,
    /// How long it is, by its own account or by counting.
    pub(crate) extent: Option<Extent>,
    /// Whether its text is read at all; where only properties are, a file without text is no wonder.
    pub(crate) properties_only: bool,
    /// Whether it is data rather than a document, so that nothing in it is a title by its place.
    pub(crate) is_data: bool,
}

/// How long a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Pages(u32),
    Slides(u32),
    Sheets(u32),
}

impl Reading {
    /// Note a trouble; each kind once.
    pub(crate) fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.take_warnings([Warning::new(code, message)]);
    }

    /// Note troubles met elsewhere; each kind once.
    pub(crate) fn take_warnings(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            if self.warnings.iter().all(|known| known.code != warning.code) {
                self.warnings.push(warning);
            }
        }
    }

    /// Note a property, made fit; an empty one says nothing. A name that comes again adds to what is there, as a list.
    pub(crate) fn property(&mut self, name: impl Into<String>, value: &str) {
        let (name, value) = (property::clean(&name.into()), property::clean(value));
        if value.is_empty() || self.properties.len() > 500 {
            return;
        }
        match self.properties.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known == value => {}
            Some((_, known)) if known.len() < 8000 => {
                known.push_str("; ");
                known.push_str(&value);
            }
            Some(_) => {}
            None => self.properties.push((name, value)),
        }
    }

    /// The value of a property.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A table whose first row has several cells begins with the names of its columns, not with a title.
    fn take_rows(&mut self, pages: Vec<Vec<Line>>) {
        self.is_data = pages.first().and_then(|page| page.first()).is_none_or(|row| row.text.contains('\t'));
        self.pages = pages;
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.value(name)?.parse().ok().filter(|count| *count > 0)
    }
}

/// Read an office document, whatever its name says. `None` if these bytes are none that is known here.
pub(crate) fn read(bytes: &[u8]) -> Option<Reading> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return read_archive(bytes);
    }
    if bytes.starts_with(cfb::MAGIC) {
        return Some(read_compound(bytes));
    }
    if rtf::is_rtf(bytes) {
        return Some(rtf::read(bytes));
    }
    if wordperfect::is_wordperfect(bytes) {
        return Some(wordperfect::read(bytes));
    }
    if works::is_works(bytes) {
        return Some(works::read(bytes));
    }
    if doc::is_bare(bytes) {
        return Some(doc::read_bare(bytes));
    }
    odf::is_flat(bytes).then(|| odf::read_flat(bytes))
}

fn read_archive(bytes: &[u8]) -> Option<Reading> {
    let archive = Archive::open(bytes);
    let mut reading = Reading::default();
    let has_folder = |folder: &str| archive.names().any(|name| name.starts_with(folder));
    if has_folder("word/") {
        docx::read(&archive, &mut reading);
    } else if has_folder("ppt/") {
        pptx::read(&archive, &mut reading);
    } else if has_folder("xl/") {
        xlsx::read(&archive, &mut reading);
    } else if has_folder("visio/") {
        vsd::read_vsdx(&archive, &mut reading);
    } else if archive.has("META-INF/container.xml") && !archive.has("content.xml") {
        epub::read(&archive, &mut reading);
    } else if archive.has("content.xml") || archive.has("meta.xml") && archive.has("mimetype") {
        odf::read(&archive, &mut reading);
    } else {
        return None;
    }
    reading.take_warnings(archive.into_warnings());
    Some(reading)
}

fn read_compound(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let Some(file) = Compound::open(bytes) else { return reading };
    ole::read(&file, &mut reading);
    if file.has("WordDocument") {
        doc::read(&file, &mut reading);
    } else if file.has("PowerPoint Document") || file.has("PP40") {
        ppt::read(&file, &mut reading);
    } else if file.has("Workbook") || file.has("Book") {
        xls::read(&file, &mut reading);
    } else if file.has("VisioDocument") {
        vsd::read(&file, &mut reading);
    } else if file.has("SfxDocumentInfo") || file.names().any(|name| name.starts_with("Star")) {
        star::read(&file, &mut reading);
    } else if file.has("EncryptedPackage") {
        reading.properties_only = true;
        reading.warn("encrypted", "The document is encrypted; it takes the password to read its text and properties.");
    } else {
        reading.properties_only = true;
        // Works, WordPerfect and others keep their text in streams of their own; what they say of themselves is in the usual place.
        works::read_compound(&file, &mut reading);
    }
    // A broken directory may hide the streams from sight that are still there by their beginning.
    if reading.pages.is_empty() && !reading.properties_only {
        reading.warn("no-text", "No text was found in this document.");
    }
    reading.take_warnings(file.into_warnings());
    reading
}
