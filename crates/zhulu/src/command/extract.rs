//! `zhulu extract`: what documents say of themselves, without a catalogue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use futures::StreamExt;
use serde::Serialize;
use zhulu_document::{Document, Format, Method};
use zhulu_gather::intake::{self, Report};
use zhulu_record::{Element, Language, Statement, Warning};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::table::Table;

/// Print the metadata of documents, without a catalogue
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu extract paper.pdf
  zhulu extract papers/ --to jsonl > papers.jsonl
  zhulu extract paper.pdf --to dc --method rules")]
pub(crate) struct Extract {
    /// Files and folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// all: content weighed with embedded properties; content: properties
    /// ignored; rules: the plain rules alone
    #[arg(long, value_name = "METHOD", default_value = "all")]
    method: How,
    /// How to print the results
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    All,
    Content,
    Rules,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
    Jsonl,
    Dc,
}

/// One result, with the names that programs rely on.
#[derive(Serialize)]
struct Extracted {
    file: String,
    format: Format,
    lang: Option<Language>,
    title: Option<String>,
    authors: Vec<String>,
    #[serde(rename = "abstract")]
    summary: Option<String>,
    keywords: Vec<String>,
    properties: BTreeMap<String, String>,
    statements: Vec<Statement>,
    warnings: Vec<Warning>,
}

impl Extract {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let method = match self.method {
            How::All => Method::All,
            How::Content => Method::Content,
            How::Rules => Method::Rules,
        };
        let settings = intake::Settings { method, ..context.intake() };
        let mut results = std::pin::pin!(intake::extract(self.paths, &settings));
        let mut output = Output::new();
        let mut whole = Vec::new();
        let mut printed = 0;
        let mut failed = 0;
        while let Some((path, result)) = results.next().await {
            let document = match result {
                Ok(document) => document,
                Err(Report::Skipped { reason, .. }) => {
                    if !context.quiet {
                        say(&format!("{}: left out: {reason}", path.display()));
                    }
                    continue;
                }
                Err(Report::Failed { reason, .. }) => {
                    say(&format!("{}: {reason}", path.display()));
                    failed += 1;
                    continue;
                }
                // Nothing is added without a catalogue.
                Err(Report::Added { .. }) => continue,
            };
            let extracted = Extracted::new(&path, document);
            match self.to {
                To::Table => {
                    if printed > 0 {
                        output.line("")?;
                    }
                    extracted.print(&mut output)?;
                    extracted.warn(context.quiet);
                }
                To::Jsonl => output.json_line(&extracted)?,
                To::Json => whole.push(extracted),
                To::Dc => {
                    output.line(&zhulu_protocol::dublin_core::write(&extracted.statements))?;
                    extracted.warn(context.quiet);
                }
            }
            printed += 1;
        }
        if let To::Json = self.to {
            output.json(&whole)?;
        }
        Ok(Completion::of(failed))
    }
}

impl Extracted {
    fn new(path: &Path, document: Document) -> Self {
        let Document { format, extraction, language, properties, .. } = document;
        // The text is for searching: a reader of metadata has the file itself.
        let statements = extraction.statements.into_iter().filter(|statement| statement.element != Element::TEXT);
        let mut extracted = Extracted {
            file: path.to_string_lossy().into_owned(),
            format,
            lang: language,
            title: None,
            authors: Vec::new(),
            summary: None,
            keywords: Vec::new(),
            properties: properties.into_iter().collect(),
            statements: statements.collect(),
            warnings: extraction.warnings,
        };
        extracted.title = extracted.values(&Element::TITLE).into_iter().next();
        extracted.authors = extracted.values(&Element::CREATOR);
        extracted.summary = extracted.values(&Element::ABSTRACT).into_iter().next();
        extracted.keywords = extracted.values(&Element::SUBJECT);
        extracted
    }

    /// The values of an element in the document's main language, or in the first language it has them in.
    fn values(&self, element: &Element) -> Vec<String> {
        let all = || self.statements.iter().filter(|statement| statement.element == *element);
        let primary = |statement: &Statement| statement.language.as_ref().map(|language| language.primary().to_owned());
        let main = self.lang.as_ref().map(|language| language.primary().to_owned());
        let in_main = |statement: &&Statement| primary(statement).is_none() || primary(statement) == main;
        let chosen: Vec<String> = all().filter(in_main).map(|statement| statement.value.to_string()).collect();
        if !chosen.is_empty() {
            return chosen;
        }
        let first = all().next().map(primary);
        all()
            .filter(|statement| Some(primary(statement)) == first)
            .map(|statement| statement.value.to_string())
            .collect()
    }

    fn print(&self, output: &mut Output) -> std::io::Result<()> {
        let mut table = Table::new(&["element", "value", "sure", "evidence"]).wrapping(1);
        let version = self.format.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        table.row(["file", &self.file, "", ""]);
        table.row(["format", &format!("{}{version} ({})", self.format.name, self.format.mime), "", &self.format.basis]);
        for statement in &self.statements {
            let evidence = &statement.evidence;
            let sure = evidence.confidence.map_or(String::new(), |confidence| format!("{:.2}", confidence.get()));
            let why = [evidence.by.clone(), evidence.at.as_ref().map(ToString::to_string)];
            let why = why.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let element = match &statement.language {
                Some(language) => format!("{}@{language}", statement.element),
                None => statement.element.to_string(),
            };
            table.row([&element, &statement.value.to_string(), &sure, &why]);
        }
        table.print(output)
    }

    fn warn(&self, quiet: bool) {
        for warning in self.warnings.iter().filter(|_| !quiet) {
            say(&format!("{}: {}", self.file, warning.message));
        }
    }
}
