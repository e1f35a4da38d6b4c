//! PDF: pages to lines of text with their places, and the properties the file carries.
//!
//! Parsing, decryption and font programs are the library's (hayro); here are its bounds (`bound`, `work`), a reader of pages for their
//! text (`content`) with what the library lacks of fonts (`font`, `tex`), lines and reading order (`line`), and the properties
//! (`info`, `facts`). What the lines mean is `rules`' to say.

mod bound;
mod content;
mod facts;
mod font;
mod glyph;
mod info;
mod line;
mod tex;
mod work;

use hayro_syntax::{LoadPdfError, Pdf};
use zhulu_record::{Place, Warning};

use crate::foreign::{self, Failure};
use crate::line::Line;

use content::Shared;
pub(crate) use info::Info;
pub(crate) use work::is_drawable;

/// A larger file is not opened: it would be held in memory more than once.
pub(crate) const MAX_BYTES: usize = 512 << 20;

/// How many pages are read for their text. What a document says of itself stands on the first few; the others are for searching.
const MAX_PAGES: usize = 20;

/// After so many pages that failed no more are tried: the file is broken, or made to waste time.
const MAX_FAILURES: usize = 3;

/// What a PDF gave.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// How many pages it has; `None` if it could not be opened.
    pub(crate) pages: Option<u32>,
    /// The lines of each page read, in reading order.
    pub(crate) lines: Vec<Vec<Line>>,
    /// Its own properties.
    pub(crate) info: Info,
    /// What went wrong.
    pub(crate) warnings: Vec<Warning>,
}

/// The text of the first pages of a PDF, one string for each, lines in reading order. Nothing if the bytes are no readable PDF: unlike
/// [`extract`](crate::extract()) this neither warns nor looks for meaning, and reads no more pages than it is asked for.
pub fn pdf_text(bytes: &[u8], pages: usize) -> Vec<String> {
    if bytes.len() > MAX_BYTES || !bound::can_be_opened(bytes) {
        return Vec::new();
    }
    let Ok(Ok(pdf)) = foreign::call(|| Pdf::new(bytes.to_vec())) else { return Vec::new() };
    let count = foreign::call(|| pdf.pages().len()).unwrap_or(0);
    let mut shared = Shared::new(&pdf);
    let mut texts = Vec::new();
    for index in 0..count.min(pages) {
        let lines = match content::glyphs(&pdf, index, &shared) {
            Ok(page) => line::lines(page, index as u32 + 1),
            Err(_) => {
                shared = Shared::new(&pdf);
                Vec::new()
            }
        };
        texts.push(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"));
    }
    texts
}

/// Read a PDF.
pub(crate) fn read(bytes: &[u8]) -> Reading {
    let mut reading = Reading::default();
    if bytes.is_empty() {
        reading.warn("empty", "The file has no content; fetch or copy it again.");
        return reading;
    }
    if bytes.len() > MAX_BYTES {
        let message =
            format!("The file has {} MB, more than the {} MB that are read.", bytes.len() >> 20, MAX_BYTES >> 20);
        reading.warn("too-large", message);
        return reading;
    }
    // The end mark may be followed by junk, as Acrobat allows.
    let tail = &bytes[bytes.len().saturating_sub(2048)..];
    if !tail.windows(5).any(|bytes| bytes == b"%%EOF") {
        reading.warn(
            "truncated",
            "The file has no end mark and is probably cut short; what was left of it has been read. Fetch or copy it again.",
        );
    }
    if !bound::can_be_opened(bytes) {
        reading.warn(
            "too-large",
            "The file's tables of objects unpack to more than is read, so only its format is known; it is damaged or made to harm.",
        );
        return reading;
    }
    match foreign::call(|| Pdf::new(bytes.to_vec())) {
        Ok(Ok(pdf)) => reading.read_pages(&pdf, bytes),
        Ok(Err(LoadPdfError::Decryption(_))) => reading.warn(
            "encrypted",
            "The file needs a password or uses an unknown encryption, so only its format is known; remove the protection and add it again.",
        ),
        Ok(Err(LoadPdfError::Invalid)) => reading.warn(
            "unreadable",
            "The file is not a PDF that can be read: no page was found in it. Fetch or copy it again.",
        ),
        Err(_) => reading.warn(
            "reader-failed",
            "The PDF reader gave up on this file, so only its format is known. The file is probably damaged; fetch or copy it again.",
        ),
    }
    reading
}

impl Reading {
    fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.warnings.push(Warning::new(code, message));
    }

    fn warn_at(&mut self, code: &str, page: usize, message: String) {
        let at = Some(Place::Page { page: page as u32, boxes: Vec::new() });
        self.warnings.push(Warning { at, ..Warning::new(code, message) });
    }

    fn read_pages(&mut self, pdf: &Pdf, bytes: &[u8]) {
        let Ok(count) = foreign::call(|| pdf.pages().len()) else {
            return self.warn("reader-failed", "The PDF reader gave up on this file's list of pages.");
        };
        self.pages = Some(u32::try_from(count).unwrap_or(u32::MAX));
        self.info = Info::read(pdf.metadata());
        match foreign::call(|| facts::read(pdf, bytes, count)) {
            Ok((facts, warnings)) => {
                self.info.more = facts;
                self.warnings.extend(warnings);
            }
            Err(_) => {
                self.warn("reader-failed", "The PDF reader gave up on the file's properties; its pages were read.")
            }
        }
        let mut shared = Shared::new(pdf);
        let mut failures = 0;
        for index in 0..count.min(MAX_PAGES) {
            let number = index + 1;
            match content::glyphs(pdf, index, &shared) {
                Ok(page) => {
                    if page.is_garbled() {
                        let message = format!(
                            "The text of page {number} is garbled: {} of {} letters have no meaning in the file.",
                            page.unmapped,
                            page.unmapped + page.glyphs.len()
                        );
                        self.warn_at("garbled", number, message);
                    }
                    if page.lost > 0 {
                        let message = format!(
                            "The content of page {number} is damaged: {} of its parts cannot be unpacked.",
                            page.lost
                        );
                        self.warn_at("damaged", number, message);
                    }
                    self.lines.push(line::lines(page, number as u32));
                }
                Err(failure) => {
                    shared = Shared::new(pdf);
                    let message = match failure {
                        Failure::Panicked => {
                            format!("The PDF reader gave up on page {number}; the other pages were read.")
                        }
                        Failure::TooMuch => format!("Page {number} holds more drawing than is read; it was left out."),
                    };
                    let code = if failure == Failure::Panicked { "reader-failed" } else { "too-large" };
                    self.warn_at(code, number, message);
                    self.lines.push(Vec::new());
                    failures += 1;
                    if failures == MAX_FAILURES {
                        break;
                    }
                }
            }
        }
        let fonts = shared.fonts.names();
        if !fonts.is_empty() {
            self.info.more.push(("PDF:Fonts".to_owned(), fonts.join("; ")));
        }
        if count == 0 {
            self.warn("no-pages", "The file has no pages; it is probably damaged. Fetch or copy it again.");
        } else if self.lines.first().is_some_and(Vec::is_empty)
            && self.warnings.iter().all(|warning| warning.at.is_none())
        {
            self.warn_at("no-text", 1, "Page 1 has no text layer; it may be a scan.".to_owned());
        }
    }
}
