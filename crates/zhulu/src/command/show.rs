//! `zhulu show`: a record, with what is said of it, by whom and how surely.

use clap::{Args, ValueEnum};
use serde::Serialize;
use zhulu_catalogue::Stored;
use zhulu_record::{Datestamp, Element, Record, RecordId, Said};

use crate::context::Context;
use crate::exit::Completion;
use crate::find::find;
use crate::output::{Output, say};
use crate::table::Table;

/// Show records
///
/// A record is named by its identifier, by the first characters of it, by an OAI identifier (oai:…), by the address of
/// its page, or by a key as show prints it.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu show 7bq2
  zhulu show oai:example.org:123 --to dc
  zhulu show 7bq2 k3fa --to json")]
pub(crate) struct Show {
    /// Which records
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// How to print them
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
    Dc,
}

/// A record and its place in this catalogue, as one object.
#[derive(Serialize)]
struct Shown<'r> {
    datestamp: Datestamp,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_into: Option<RecordId>,
    #[serde(flatten)]
    record: &'r Record,
}

impl Show {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let mut output = Output::new();
        let mut failed = 0;
        for (position, text) in self.ids.iter().enumerate() {
            let found = match find(&catalogue, &context.config().namespace, text).await {
                Ok(id) => catalogue.record(id).await?,
                Err(error) if self.ids.len() == 1 || error.is::<zhulu_catalogue::Error>() => return Err(error),
                Err(error) => {
                    say(&error.to_string());
                    failed += 1;
                    continue;
                }
            };
            let Some(stored) = found else {
                say(&format!("there is no record {text}"));
                failed += 1;
                continue;
            };
            match self.to {
                To::Table => {
                    if position > 0 {
                        output.line("")?;
                    }
                    print(&mut output, &stored)?;
                }
                To::Json => {
                    let Stored { datestamp, seq, ref record, merged_into } = stored;
                    output.json(&Shown { datestamp, seq, merged_into, record })?;
                }
                To::Dc => {
                    let statements = stored.record.statements.iter().map(|said| &said.statement);
                    output.line(&zhulu_protocol::dublin_core::write(statements))?;
                }
            }
        }
        Ok(Completion::of(failed))
    }
}

fn print(output: &mut Output, stored: &Stored) -> std::io::Result<()> {
    let record = &stored.record;
    let mut facts = Table::new(&["record", ""]).wrapping(1);
    facts.row(["id", &record.id.to_string()]);
    let state = match (record.erased, record.deleted) {
        (true, _) => format!("{}, erased", record.kind),
        (_, true) => format!("{}, deleted", record.kind),
        _ => record.kind.to_string(),
    };
    facts.row(["kind", &state]);
    facts.row(["changed", &stored.datestamp.to_string()]);
    for key in &record.keys {
        facts.row(["key", &key.to_string()]);
    }
    for blob in &record.blobs {
        facts.row(["file", &format!("{} ({}, {} bytes)", blob.name, blob.media_type, blob.size)]);
    }
    for provenance in &record.provenance {
        facts.row([
            "harvested",
            &format!("{} from {}, {}", provenance.identifier, provenance.base_url, provenance.datestamp),
        ]);
    }
    let sets: Vec<String> = record.sets.iter().map(ToString::to_string).collect();
    facts.row(["sets", &sets.join(", ")]);
    for conflict in &record.conflicts {
        let about = conflict.element.as_ref().map_or("whether it exists".to_owned(), ToString::to_string);
        facts.row([
            "conflict",
            &format!("people disagree about {about}; `zhulu history` shows both, an edit settles it"),
        ]);
    }
    facts.print(output)?;
    if record.statements.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let mut table = Table::new(&["element", "value", "sure", "evidence"]).wrapping(1);
    for said in &record.statements {
        table.row([element(said), value(said), sure(said), evidence(said)]);
    }
    table.print(output)
}

fn element(said: &Said) -> String {
    match &said.statement.language {
        Some(language) => format!("{}@{language}", said.statement.element),
        None => said.statement.element.to_string(),
    }
}

fn value(said: &Said) -> String {
    let text = said.statement.value.to_string();
    // The whole text of a document would bury the rest; --to json has it.
    if said.statement.element == Element::TEXT { format!("({} characters)", text.chars().count()) } else { text }
}

fn sure(said: &Said) -> String {
    said.statement.evidence.confidence.map_or(String::new(), |confidence| format!("{:.2}", confidence.get()))
}

fn evidence(said: &Said) -> String {
    let by = said.statement.evidence.by.clone().unwrap_or_else(|| said.source.to_string());
    match &said.statement.evidence.at {
        Some(place) => format!("{by}, {place}"),
        None => by,
    }
}
