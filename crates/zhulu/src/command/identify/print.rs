//! The results as a table, as CSV with DROID's columns, as JSON and as XML. All but a terminal's table are written row by row.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use jiff::tz::TimeZone;
use serde::Serialize;
use zhulu_document::pronom::{Match, Release, extension};
use zhulu_gather::identify::{Hash, Row};

use super::To;
use crate::output::Output;
use crate::table::Table;

/// DROID's columns.
const COLUMNS: &str = "ID,PARENT_ID,URI,FILE_PATH,NAME,METHOD,STATUS,SIZE,TYPE,EXT,LAST_MODIFIED,EXTENSION_MISMATCH,HASH,\
                       FORMAT_COUNT,PUID,MIME_TYPE,FORMAT_NAME,FORMAT_VERSION";

/// How many rows of a table a terminal gets at once; the widths of columns are those of these rows.
const TABLE_ROWS: usize = 500;

const HEADINGS: [&str; 6] = ["file", "puid", "media type", "format", "basis", "warning"];

pub(super) struct Printer {
    to: To,
    output: Output,
    release: Release,
    hash: Option<Hash>,
    table: Table,
    table_rows: usize,
    /// How many rows or errors have been printed.
    count: usize,
}

/// One result, with the names that programs rely on.
#[derive(Serialize)]
struct Identified<'a> {
    file: &'a str,
    puid: Option<&'a str>,
    mime: Option<&'a str>,
    name: Option<&'a str>,
    version: Option<&'a str>,
    basis: Option<&'a str>,
    warning: Option<&'a str>,
    alternatives: Vec<Alternative<'a>>,
    method: Option<&'static str>,
    size: u64,
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Checksum<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    software: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compression: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_order: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Alternative<'a> {
    puid: &'a str,
    mime: Option<&'a str>,
    name: &'a str,
    version: Option<&'a str>,
    basis: &'a str,
}

#[derive(Serialize)]
struct Checksum<'a> {
    kind: &'static str,
    value: &'a str,
}

#[derive(Serialize)]
struct Failed<'a> {
    file: &'a str,
    error: &'a str,
}

impl Printer {
    pub(super) fn new(to: To, release: Release, hash: Option<Hash>) -> Self {
        Printer { to, output: Output::new(), release, hash, table: Table::new(&HEADINGS), table_rows: 0, count: 0 }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self.to {
            To::Table => Ok(()),
            To::Csv => writeln!(self.output, "{COLUMNS}"),
            To::Json => write!(self.output, "["),
            To::Xml => {
                let Release { version, container_version, .. } = &self.release;
                let (version, containers) = (escaped(version), escaped(container_version));
                writeln!(self.output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
                writeln!(self.output, "<identifications signatures=\"{version}\" containers=\"{containers}\">")
            }
        }
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        match self.to {
            To::Table => self.flush_table()?,
            To::Csv => {}
            To::Json => writeln!(self.output, "{}]", if self.count > 0 { "\n" } else { "" })?,
            To::Xml => writeln!(self.output, "</identifications>")?,
        }
        self.output.flush()
    }

    /// A file and its members.
    pub(super) fn rows(&mut self, rows: &[Row<'_>]) -> io::Result<()> {
        let first = self.count;
        for row in rows {
            match self.to {
                To::Table => self.table_row(row)?,
                To::Csv => self.csv(row, first)?,
                To::Json => self.json(&identified(row, self.hash))?,
                To::Xml => self.xml(row)?,
            }
            self.count += 1;
        }
        Ok(())
    }

    /// A file that could not be read.
    pub(super) fn failed(&mut self, file: &str, error: &str) -> io::Result<()> {
        match self.to {
            // Standard error has said it.
            To::Table => {}
            To::Csv => {
                let id = (self.count + 1).to_string();
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                let fields = [&id, "", "", file, name, "", "Access Denied", "", "File"];
                self.csv_line(fields.into_iter().chain([""; 9]))?;
            }
            To::Json => self.json(&Failed { file, error })?,
            To::Xml => {
                writeln!(self.output, "  <file path=\"{}\"><error>{}</error></file>", escaped(file), escaped(error))?
            }
        }
        self.count += 1;
        Ok(())
    }

    fn table_row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let warning = row.identification.warning.as_deref().unwrap_or_default();
        match row.identification.matches.first() {
            Some(one) => {
                let shown = format!("{} {}", one.format.name, one.format.version);
                let mime = first_mime(one).unwrap_or("–");
                self.table.row([&row.path, &one.format.puid, mime, shown.trim_end(), &one.basis, warning]);
            }
            None => self.table.row([&row.path, "–", "–", "unknown", "", warning]),
        }
        self.table_rows += 1;
        // A pipe gets its lines as they come.
        if self.table_rows >= TABLE_ROWS || self.output.width.is_none() { self.flush_table() } else { Ok(()) }
    }

    fn flush_table(&mut self) -> io::Result<()> {
        let table = std::mem::replace(&mut self.table, Table::new(&HEADINGS));
        if std::mem::take(&mut self.table_rows) > 0 { table.print(&mut self.output) } else { Ok(()) }
    }

    fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        write!(self.output, "{}\n  {text}", if self.count > 0 { "," } else { "" })
    }

    /// One line for every format, as DROID's reports have when each format gets its own; `first` is how many rows came before this file's.
    fn csv(&mut self, row: &Row<'_>, first: usize) -> io::Result<()> {
        let identification = &row.identification;
        let id = (self.count + 1).to_string();
        let parent = row.parent.map(|parent| (first + parent + 1).to_string()).unwrap_or_default();
        let size = row.size.to_string();
        let count = identification.matches.len().to_string();
        let modified = modified(row).unwrap_or_default();
        let ending = extension(&row.name).unwrap_or_default();
        let status = if identification.trouble.is_some() { "Error" } else { "Done" };
        let kind = if row.opened { "Container" } else { "File" };
        let mismatch = if identification.mismatch { "true" } else { "false" };
        let none = [None];
        let all = identification.matches.iter().map(Some);
        let formats: Vec<Option<&Match<'_>>> =
            if identification.matches.is_empty() { none.to_vec() } else { all.collect() };
        for one in formats {
            let format = one.map(|one| one.format);
            let told = |text: Option<&'_ String>| text.map_or(String::new(), Clone::clone);
            let (puid, mime) = (told(format.map(|format| &format.puid)), told(format.map(|format| &format.mime)));
            let (name, version) = (told(format.map(|format| &format.name)), told(format.map(|format| &format.version)));
            let method = one.map_or("", |one| one.by.method());
            let hash = row.hash.as_deref().unwrap_or_default();
            self.csv_line([
                &id, &parent, &row.uri, &row.path, &row.name, method, status, &size, kind, &ending, &modified,
                mismatch, hash, &count, &puid, &mime, &name, &version,
            ])?;
        }
        Ok(())
    }

    fn csv_line<'f>(&mut self, fields: impl IntoIterator<Item = &'f str>) -> io::Result<()> {
        let mut line = String::new();
        for field in fields {
            if !line.is_empty() {
                line.push(',');
            }
            line.push('"');
            line.push_str(&field.replace('"', "\"\""));
            line.push('"');
        }
        writeln!(self.output, "{line}")
    }

    fn xml(&mut self, row: &Row<'_>) -> io::Result<()> {
        let identification = &row.identification;
        let mut text = String::new();
        let _ = write!(text, "  <file path=\"{}\" size=\"{}\"", escaped(&row.path), row.size);
        if let Some(modified) = modified(row) {
            let _ = write!(text, " modified=\"{modified}\"");
        }
        let _ = write!(text, " mismatch=\"{}\">", identification.mismatch);
        if let (Some(hash), Some(value)) = (self.hash, &row.hash) {
            let _ = write!(text, "\n    <hash kind=\"{}\">{value}</hash>", hash.name());
        }
        for one in &identification.matches {
            let format = one.format;
            let _ = write!(
                text,
                "\n    <format puid=\"{}\" mime=\"{}\" name=\"{}\" version=\"{}\" method=\"{}\" basis=\"{}\"/>",
                escaped(&format.puid),
                escaped(&format.mime),
                escaped(&format.name),
                escaped(&format.version),
                one.by.method(),
                escaped(&one.basis)
            );
        }
        let details = &row.details;
        for (name, value) in [
            ("software", &details.software),
            ("compression", &details.compression),
            ("byteOrder", &details.byte_order),
            ("encoding", &details.encoding),
            ("warning", &identification.warning),
            ("error", &identification.trouble),
        ] {
            if let Some(value) = value {
                let _ = write!(text, "\n    <{name}>{}</{name}>", escaped(value));
            }
        }
        writeln!(self.output, "{text}\n  </file>")
    }
}

fn identified<'a>(row: &'a Row<'_>, hash: Option<Hash>) -> Identified<'a> {
    let identification = &row.identification;
    let first = identification.matches.first();
    let details = &row.details;
    Identified {
        file: &row.path,
        puid: first.map(|one| one.format.puid.as_str()),
        mime: first.and_then(first_mime),
        name: first.map(|one| one.format.name.as_str()),
        version: first.and_then(|one| some(&one.format.version)),
        basis: first.map(|one| one.basis.as_str()),
        warning: identification.warning.as_deref(),
        alternatives: identification.matches.iter().skip(1).map(alternative).collect(),
        method: first.map(|one| one.by.method()),
        size: row.size,
        modified: modified(row),
        hash: hash.and_then(|hash| Some(Checksum { kind: hash.name(), value: row.hash.as_deref()? })),
        software: details.software.as_deref(),
        compression: details.compression.as_deref(),
        byte_order: details.byte_order.as_deref(),
        encoding: details.encoding.as_deref(),
        error: identification.trouble.as_deref(),
    }
}

fn alternative<'a>(one: &'a Match<'_>) -> Alternative<'a> {
    Alternative {
        puid: &one.format.puid,
        mime: first_mime(one),
        name: &one.format.name,
        version: some(&one.format.version),
        basis: &one.basis,
    }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn first_mime<'a>(one: &'a Match<'_>) -> Option<&'a str> {
    some(one.format.mime.split(',').next().unwrap_or_default().trim())
}

/// The time of the last change as DROID writes it.
fn modified(row: &Row<'_>) -> Option<String> {
    row.modified.map(|time| time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// A text in XML; characters that XML cannot carry are shown as replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
