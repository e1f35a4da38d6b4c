//! `zhulu history`: every change to a record, oldest first.

use clap::{Args, ValueEnum};
use serde_json::json;
use zhulu_catalogue::Logged;
use zhulu_record::{Change, Put};

use crate::context::Context;
use crate::exit::Completion;
use crate::find::find;
use crate::output::Output;
use crate::table::Table;

/// Show every change to a record, oldest first
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu history 7bq2
  zhulu history 7bq2 --to jsonl")]
pub(crate) struct History {
    /// Which record
    #[arg(value_name = "ID")]
    id: String,
    /// How to print it
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Jsonl,
}

impl History {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let id = find(&catalogue, &context.config().namespace, &self.id).await?;
        let history = catalogue.store().history(id).await?;
        if history.is_empty() {
            return Err(zhulu_catalogue::Error::NoRecord(id).into());
        }
        let mut output = Output::new();
        match self.to {
            To::Table => {
                let mut table = Table::new(&["seq", "when", "who", "what"]).wrapping(3);
                for logged in &history {
                    let (who, what) = told(logged);
                    table.row([&logged.seq.to_string(), &logged.datestamp.to_string(), &who, &what]);
                }
                table.print(&mut output)?;
            }
            To::Jsonl => {
                for Logged { seq, datestamp, entry } in &history {
                    output.json_line(&json!({ "seq": seq, "datestamp": datestamp, "entry": entry }))?;
                }
            }
        }
        Ok(Completion::Done)
    }
}

/// Who did what, in words.
fn told(logged: &Logged) -> (String, String) {
    let entry = &logged.entry;
    let who = entry.person().map_or_else(|| entry.source.to_string(), str::to_owned);
    let what = match &entry.change {
        Change::Put(put) => said(put, entry.source.is_people()),
        Change::Delete if entry.source.is_people() => "removed the record".to_owned(),
        Change::Delete => "no longer has it".to_owned(),
        Change::Release(elements) if elements.is_empty() => "gave the record back to the machines".to_owned(),
        Change::Release(elements) => {
            let names: Vec<&str> = elements.iter().map(|element| element.name()).collect();
            format!("gave {} back to the machines", names.join(", "))
        }
        Change::Erase => "erased everything said before".to_owned(),
        Change::Erased(_) => "(erased)".to_owned(),
    };
    (who, what)
}

fn said(put: &Put, person: bool) -> String {
    if !person {
        let title = put.statements.iter().find(|statement| statement.element == zhulu_record::Element::TITLE);
        let title = title.map_or(String::new(), |title| format!(": {}", title.value));
        return format!("says {} things{title}", put.statements.len());
    }
    let values = put.statements.iter().map(|statement| match &statement.language {
        Some(language) => format!("{}@{language} = {}", statement.element, statement.value),
        None => format!("{} = {}", statement.element, statement.value),
    });
    let cleared = put.clears.iter().map(|element| format!("{element} has no value"));
    values.chain(cleared).collect::<Vec<_>>().join("; ")
}
