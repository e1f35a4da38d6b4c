//! From bytes to a document: which reader, which rules, and how the file's own properties are weighed against the page.

use serde::{Deserialize, Serialize};
use zhulu_record::{Confidence, Element, Evidence, Extraction, Language, Place, Statement, Value, Warning};

use crate::format::{Format, identify};
use crate::line::{self, Line, Spot};
use crate::office::{self, Extent, property::meaning};
use crate::rules::{self, Reach};
use crate::{audio, image, language, markup, pdf, text};

/// How values are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The page, weighed with the properties embedded in the file.
    #[default]
    All,
    /// The page alone.
    Content,
    /// The plain rules on the first page, beside the file's dates: the paper's, with the additions `docs/documents.md` lists.
    Rules,
}

/// What a file turned out to be and to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its format.
    pub format: Format,
    /// What could be said of it, and what went wrong.
    pub extraction: Extraction,
    /// Its main language.
    pub language: Option<Language>,
    /// How many pages it has, where it has pages.
    pub pages: Option<u32>,
    /// The properties embedded in it, by their own names, whatever the method.
    pub properties: Vec<(String, String)>,
}

/// How much of a document's text is kept for searching, in bytes.
const MAX_TEXT: usize = 200 << 10;

/// How sure an embedded property is where the page says nothing. Of the PDFs in the wild that have a title property, about half carry
/// the true title; names fare a little worse.
const PROPERTY: f64 = 0.5;

/// How sure a date is that the program itself wrote.
const DATE_PROPERTY: f64 = 0.9;

/// How sure the text layer is where nothing says that it is garbled.
const TEXT: f64 = 0.95;

/// How sure a title is that page and property agree on.
const AGREED: f64 = 0.97;

/// Titles that programs write when nobody gave one.
const EMPTY_TITLES: &[&str] =
    &["untitled", "microsoft word", "powerpoint presentation", "无标题", "slide 1", "文档", "幻灯片 1", "title"];

/// Names that programs and the makers of computers write when nobody gave one.
#[rustfmt::skip]
const EMPTY_NAMES: &[&str] = &[
    "user", "users", "admin", "administrator", "owner", "unknown", "author", "guest", "windows user", "microsoft user", "microsoft office user", "pc",
    "lenovo", "dell", "hp", "acer", "asus", "微软用户", "微软中国", "用户", "作者", "番茄花园", "雨林木风", "深度技术", "walkinnet", "python-docx", "openpyxl",
];

/// Endings of titles that are names of files.
const FILE_ENDINGS: &[&str] =
    &[".doc", ".docx", ".tex", ".dvi", ".pdf", ".indd", ".qxd", ".ppt", ".pptx", ".wps", ".ps", ".txt", ".caj"];

/// Parts of the media types of documents in containers. Such a file that no reader knows is damaged.
const CONTAINED: &[&str] =
    &["officedocument", "opendocument", "epub", "msword", "ms-powerpoint", "ms-excel", "visio", "rtf"];

/// Read a document: what it is, and what it says of itself. Any bytes give a document; trouble is in its warnings.
pub fn extract(name: &str, bytes: &[u8], method: Method) -> Document {
    let format = identify(name, bytes);
    let mut document =
        Document { format, extraction: Extraction::default(), language: None, pages: None, properties: Vec::new() };
    document.read(bytes, method);
    let named_pdf = name.to_lowercase().ends_with(".pdf");
    if bytes.is_empty() {
        document.extraction.warnings.retain(|warning| warning.code != "unsupported");
        if !document.has_warning("empty") {
            document.warn("empty", "The file has no content; fetch or copy it again.");
        }
    } else if named_pdf && document.format.mime != "application/pdf" {
        let message = format!(
            "The file is named as a PDF but is {}; a download that answered with an error page looks like this.",
            document.format.mime
        );
        document.warn("misnamed", message);
    }
    document.say_format();
    document
}

impl Document {
    fn warn(&mut self, code: &str, message: impl Into<String>) {
        self.extraction.warnings.push(Warning::new(code, message));
    }

    fn has_warning(&self, code: &str) -> bool {
        self.extraction.warnings.iter().any(|warning| warning.code == code)
    }

    fn say(&mut self, element: Element, value: impl Into<Value>, evidence: Evidence) {
        self.extraction.statements.push(Statement::new(element, value).because(evidence));
    }

    /// Choose the reader. Containers and marked-up text are told by what is in them: their media types have many names, and a file that
    /// is called a spreadsheet may be a web page.
    fn read(&mut self, bytes: &[u8], method: Method) {
        let mime = self.format.mime.clone();
        if mime == "application/pdf" {
            return self.read_pdf(bytes, method);
        }
        if !mime.starts_with("text/")
            && let Some(media) = image::read(bytes).or_else(|| audio::read(bytes))
        {
            return self.read_media(media, method);
        }
        if let Some(reading) = office::read(bytes) {
            return self.read_office(reading, method);
        }
        let markup_of_its_own = mime == "text/html" || mime == "application/xhtml+xml";
        if mime == "text/markdown" {
            return self.read_lined(markup::read_markdown(bytes), "reader:text", method);
        }
        if !markup_of_its_own
            && (mime.ends_with("/xml") || mime.ends_with("+xml") || mime.starts_with("text/") && markup::is_xml(bytes))
        {
            return self.read_lined(markup::read_xml(bytes), "reader:xml", method);
        }
        if mime.starts_with("text/") && !markup_of_its_own {
            return self.read_text(bytes, method);
        }
        if CONTAINED.iter().any(|part| mime.contains(part)) {
            let message = format!(
                "The file is named as {mime}, but its beginning is damaged or it is something else; nothing could be read."
            );
            return self.warn("unreadable", message);
        }
        let message = format!("Only the format of this file is known; text and metadata of {mime} are not read.");
        self.warn("unsupported", message);
    }

    fn read_pdf(&mut self, bytes: &[u8], method: Method) {
        let reading = pdf::read(bytes);
        self.extraction.warnings.extend(reading.warnings);
        self.pages = reading.pages;
        self.properties = reading.info.properties();
        let reach = if method == Method::Rules { Reach::FirstPage } else { Reach::FrontMatter };
        self.read_lines(&reading.lines, reach, "reader:pdf");
        if method == Method::All {
            self.weigh(&reading.info);
        }
        // The page does not tell these; the paper counts them among its results.
        if method != Method::Content {
            let dates = [
                (Element::CREATED, "CreationDate", reading.info.created),
                (Element::MODIFIED, "ModDate", reading.info.modified),
            ];
            for (element, name, date) in dates {
                if let Some(date) = date {
                    self.say(element, date, property(name).sure(DATE_PROPERTY));
                }
            }
        }
    }

    fn read_text(&mut self, bytes: &[u8], method: Method) {
        if bytes.len() > text::MAX_BYTES {
            self.warn("too-large", format!("Only the first {} MB of the text were read.", text::MAX_BYTES >> 20));
        }
        let decoded = text::decode(&bytes[..bytes.len().min(text::MAX_BYTES)]);
        if decoded.damaged {
            self.warn(
                "garbled",
                format!("Some bytes have no meaning in {}, the encoding this text seems to be in.", decoded.encoding),
            );
        }
        let lines = text::lines(&decoded.text);
        if lines.is_empty() && !bytes.is_empty() {
            self.warn("no-text", "The file holds nothing but blank lines.");
        }
        self.properties.push(("encoding".to_owned(), decoded.encoding.to_owned()));
        let reach = if method == Method::Rules { Reach::FirstPage } else { Reach::FrontMatter };
        // The first row of a table has the names of its columns.
        if self.format.mime.contains("csv") || self.format.mime.contains("tab-separated") {
            self.read_language(&[lines], "reader:text");
        } else {
            self.read_lines(&[lines], reach, "reader:text");
        }
    }

    /// An office document. The paper's rule for it is plain: the first line is the title, the next the author.
    fn read_office(&mut self, mut reading: office::Reading, method: Method) {
        if method == Method::Rules
            && let Some(first) = reading.pages.first_mut()
        {
            let size = first.first().map_or(0.0, |line| line.size);
            first.iter_mut().for_each(|line| line.size = size);
        }
        self.read_lined(reading, "reader:office", method);
    }

    /// A document of lines and properties, whoever read it.
    fn read_lined(&mut self, reading: office::Reading, reader: &str, method: Method) {
        self.extraction.warnings.extend(reading.warnings);
        let reach = if method == Method::Rules { Reach::FirstPage } else { Reach::FrontMatter };
        if !reading.pages.is_empty() {
            if !reading.is_data {
                self.extraction.statements.extend(rules::apply(&reading.pages, reach));
            }
            self.read_language(&reading.pages, reader);
        }
        let counted =
            |count: u32, one: &str, many: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
        let extent = match reading.extent {
            Some(Extent::Pages(count)) => {
                self.pages = Some(count);
                None
            }
            Some(Extent::Slides(count)) => Some(counted(count, "slide", "slides")),
            Some(Extent::Sheets(count)) => Some(counted(count, "sheet", "sheets")),
            None => None,
        };
        for (name, value) in &reading.properties {
            self.weigh_property(name, value, method);
        }
        if let Some(extent) = extent {
            self.say(Element::EXTENT, extent, Evidence::by("reader:office").sure(0.99));
        }
        self.properties.extend(reading.properties);
    }

    /// Let a native property confirm what the text says, or stand in where it says nothing.
    fn weigh_property(&mut self, name: &str, value: &str, method: Method) {
        let Some((element, sure)) = meaning(name) else { return };
        let is_date = element == Element::CREATED || element == Element::MODIFIED;
        if method == Method::Content || method == Method::Rules && !is_date {
            return;
        }
        let group = name.split(':').next().unwrap_or(name).to_lowercase();
        let evidence = Evidence::by(format!("property:{group}")).at(Place::Property(name.to_owned())).sure(sure);
        let from_text = |said: &Statement| !said.evidence.by.as_deref().is_some_and(|by| by.starts_with("property:"));
        let said = self.extraction.statements.iter().any(|said| said.element == element && from_text(said));
        let values: Vec<String> = if element == Element::TITLE {
            let titles = self.extraction.statements.iter_mut().filter(|said| said.element == Element::TITLE);
            for said in titles {
                if said.value.as_text().is_some_and(|text| skeleton(text) == skeleton(value)) {
                    said.evidence.confidence = Some(Confidence::new(AGREED));
                }
            }
            if said || !is_title(value) { Vec::new() } else { vec![value.to_owned()] }
        } else if element == Element::CREATOR {
            if said { Vec::new() } else { names(value) }
        } else if element == Element::SUBJECT {
            if said { Vec::new() } else { rules::split_keywords(value) }
        } else if element == Element::LANGUAGE {
            let tag = value.len() <= 12 && value.starts_with(|c: char| c.is_ascii_alphabetic());
            if said || !tag { Vec::new() } else { vec![value.to_owned()] }
        } else if element == Element::CONTRIBUTOR {
            let mut names = names(value);
            let known = |name: &String| {
                let same = |said: &&Statement| said.element == Element::CREATOR && said.value.as_text() == Some(name);
                self.extraction.statements.iter().find(same).is_some()
            };
            names.retain(|name| !known(name));
            names
        } else {
            vec![value.to_owned()]
        };
        for value in values {
            let language = if element == Element::TITLE { language::of(&value).map(Language::new) } else { None };
            let mut statement = Statement::new(element.clone(), value).because(evidence.clone());
            statement.language = language;
            let known = |said: &Statement| said.element == statement.element && said.value == statement.value;
            if !self.extraction.statements.iter().any(known) {
                self.extraction.statements.push(statement);
            }
        }
    }

    /// What the rules say of the lines, the language, and the text for searching.
    fn read_lines(&mut self, pages: &[Vec<Line>], reach: Reach, reader: &str) {
        self.extraction.statements.extend(rules::apply(pages, reach));
        self.read_language(pages, reader);
    }

    /// The language of the lines, and their text for searching.
    fn read_language(&mut self, pages: &[Vec<Line>], reader: &str) {
        let text = text_for_search(pages);
        let title = self.extraction.statements.iter().find(|statement| statement.element == Element::TITLE);
        let language =
            title.and_then(|title| title.language.clone()).or_else(|| language::of(&text).map(Language::new));
        if let Some(language) = &language {
            self.say(Element::LANGUAGE, language.tag(), Evidence::by("rule:script").sure(0.95));
        }
        self.language = language;
        if !text.is_empty() {
            self.say(Element::TEXT, text, Evidence::by(reader).sure(TEXT));
        }
    }

    /// Let the properties confirm what the page says, and stand in where it says nothing.
    fn weigh(&mut self, info: &pdf::Info) {
        let statements = &mut self.extraction.statements;
        if let Some(title) = info.title.as_deref().filter(|title| is_title(title)) {
            match statements.iter_mut().find(|statement| statement.element == Element::TITLE) {
                Some(said) if said.value.as_text().is_some_and(|text| skeleton(text) == skeleton(title)) => {
                    said.evidence.confidence = Some(Confidence::new(AGREED));
                }
                Some(_) => {}
                None => {
                    let mut statement = Statement::new(Element::TITLE, title).because(property("Title").sure(PROPERTY));
                    statement.language = language::of(title).map(Language::new);
                    statements.push(statement);
                }
            }
        }
        let has = |element: Element, statements: &[Statement]| {
            statements.iter().any(|statement| statement.element == element)
        };
        if !has(Element::CREATOR, statements) {
            for author in info.author.iter().flat_map(|authors| rules::split_authors(authors)) {
                statements.push(Statement::new(Element::CREATOR, author).because(property("Author").sure(PROPERTY)));
            }
        }
        if !has(Element::SUBJECT, statements) {
            for keyword in info.keywords.iter().flat_map(|keywords| rules::split_keywords(keywords)) {
                statements.push(Statement::new(Element::SUBJECT, keyword).because(property("Keywords").sure(PROPERTY)));
            }
        }
    }

    fn say_format(&mut self) {
        let sure = match self.format.basis.as_str() {
            "signature" | "container" => 0.99,
            "content" => 0.95,
            "extension" => 0.7,
            _ => 0.1,
        };
        let by = format!("identify:{}", self.format.basis);
        self.say(Element::FORMAT, self.format.mime.clone(), Evidence::by(by).sure(sure));
        let said = self.extraction.statements.iter().any(|statement| statement.element == Element::EXTENT);
        if let Some(pages) = self.pages.filter(|_| !said) {
            let reader = if self.format.mime == "application/pdf" { "reader:pdf" } else { "reader:office" };
            let extent = if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") };
            self.say(Element::EXTENT, extent, Evidence::by(reader).sure(0.99));
        }
    }
}

fn property(name: &str) -> Evidence {
    Evidence::by("property:info").at(Place::Property(format!("Info/{name}")))
}

/// Whether a title property is more than what a program writes by itself.
fn is_title(title: &str) -> bool {
    let lower = title.trim().to_lowercase();
    lower.chars().filter(|c| c.is_alphabetic()).count() >= 4
        && !EMPTY_TITLES.iter().any(|empty| lower == *empty || empty.len() > 6 && lower.starts_with(empty))
        && !FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// The names in a property; those that nobody gave are left out.
fn names(value: &str) -> Vec<String> {
    let empty = |name: &str| EMPTY_NAMES.contains(&name.trim().to_lowercase().as_str());
    if empty(value) {
        return Vec::new();
    }
    rules::split_authors(value).into_iter().filter(|name| !empty(name)).collect()
}

/// A title's letters and digits alone: how it is spaced and cased does not make it another.
fn skeleton(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The text of all pages read, up to a bound. Lines that look alike and follow each other run on, so that divided words and Chinese
/// phrases are whole; a heading does not run into what follows it.
fn text_for_search(pages: &[Vec<Line>]) -> String {
    let runs_on = |a: &Line, b: &Line| {
        let alike = (a.size - b.size).abs() <= 0.05 * a.size && a.bold == b.bold;
        let same_paragraph = match (a.spot, b.spot) {
            (Spot::Paragraph(a), Spot::Paragraph(b)) => a == b,
            (Spot::Slide(_), _) => false,
            _ => true,
        };
        alike && same_paragraph && a.white_to(b).is_none_or(|white| white < 1.0)
    };
    let mut whole = String::new();
    for run in pages.iter().flat_map(|page| page.chunk_by(runs_on)) {
        if !whole.is_empty() {
            whole.push('\n');
        }
        whole.push_str(&line::join(run.iter().map(|line| line.text.as_str())));
        if whole.len() > MAX_TEXT {
            let mut end = MAX_TEXT;
            while !whole.is_char_boundary(end) {
                end -= 1;
            }
            whole.truncate(end);
            break;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(name: &str, bytes: &[u8]) -> Vec<String> {
        extract(name, bytes, Method::All).extraction.warnings.into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn trouble_has_a_name() {
        assert_eq!(codes("a.pdf", b""), ["empty"]);
        assert_eq!(codes("a.txt", b""), ["empty"]);
        assert_eq!(codes("a.pdf", b"%PDF-1.4\nnothing here\n%%EOF"), ["unreadable"]);
        assert_eq!(codes("a.pdf", b"%PDF-1.4\nnothing here"), ["truncated", "unreadable"]);
        assert_eq!(codes("a.pdf", b"<!DOCTYPE html><p>not found"), ["unsupported", "misnamed"]);
        assert_eq!(codes("a.zip", b"PK\x03\x04"), ["unsupported"]);
        assert_eq!(codes("a.txt", b" \n \n"), ["no-text"]);
        assert_eq!(codes("a.txt", "云\n".as_bytes()), [""; 0]);
    }

    #[test]
    fn titles_nobody_gave_are_not_taken() {
        for title in ["Microsoft Word - draft3.doc", "Untitled", "paper.tex", "幻灯片 1", "12"] {
            assert!(!is_title(title), "{title}");
        }
        assert!(is_title("云的形状"));
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        let deep = format!("%PDF-1.4\n1 0 obj\n{}\nendobj\ntrailer <</Root 1 0 R>>\n%%EOF", "[".repeat(200_000));
        assert!(!codes("a.pdf", deep.as_bytes()).is_empty());
        let deep = format!("%PDF-1.4\n1 0 obj\n{}\nendobj\ntrailer <</Root 1 0 R>>\n%%EOF", "<</A".repeat(200_000));
        assert!(!codes("a.pdf", deep.as_bytes()).is_empty());
    }
}
