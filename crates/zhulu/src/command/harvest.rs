//! `zhulu harvest`: an OAI-PMH repository to standard output, without a catalogue.

use clap::{Args, ValueEnum};
use serde_json::json;
use zhulu_gather::harvest::{Error, Harvest as Harvesting, Selection};
use zhulu_gather::outward::{Outward, Rules};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::progress::Progress;

/// Harvest an OAI-PMH repository to standard output
///
/// One line for each record, deleted ones included. The last line on standard error says whether the harvest is complete,
/// partial or failed. To keep what is harvested, use add.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu harvest https://repository.example.org/oai > records.jsonl
  zhulu harvest https://repository.example.org/oai --from 2026-01-01
  zhulu harvest http://localhost:8080/oai --allow localhost")]
pub(crate) struct Harvest {
    /// The repository's base URL
    #[arg(value_name = "URL")]
    url: String,
    /// Only records changed at or after this: 2026-01-31 or 2026-01-31T12:00:00Z
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Only records changed at or before this
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Only records of this set
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Ask this host even though its address is private
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,
    /// How to print the records
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Jsonl,
}

impl Harvest {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let To::Jsonl = self.to;
        let mut output = Output::new();
        let progress = Progress::new("records", context.quiet);
        let outward = Outward::new(Rules::allowing(self.allow)).map_err(Error::from)?;
        let selection = Selection { from: self.from, until: self.until, set: self.set };
        let (mut harvest, _) = Harvesting::start(outward, &self.url, selection).await?;
        let mut records = 0u64;
        loop {
            let page = match harvest.page().await {
                Ok(Some(page)) => page,
                Ok(None) => break,
                Err(error) if records == 0 => return Err(error.into()),
                Err(error) => {
                    drop(progress);
                    say(&error.to_string());
                    say(&format!("partial: {records} records"));
                    return Ok(Completion::SomeFailed);
                }
            };
            for warning in &page.warnings {
                progress.around(|| say(&warning.message));
            }
            for record in &page.records {
                let line = json!({
                    "identifier": record.identifier,
                    "datestamp": record.datestamp,
                    "deleted": record.deleted,
                    "sets": record.sets,
                    "metadata": record.metadata,
                    "warnings": record.warnings,
                });
                progress.around(|| output.json_line(&line))?;
                progress.advance();
                records += 1;
            }
        }
        drop(progress);
        if !context.quiet {
            say(&format!("complete: {records} records"));
        }
        Ok(Completion::Done)
    }
}
