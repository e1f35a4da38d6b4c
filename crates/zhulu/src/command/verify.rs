//! `zhulu verify`: whether the log, the records, the index and the files agree.

use clap::Args;

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::table::plain;

/// Check that the log, the records, the index and the files agree
///
/// Prints one line for each place where they do not, and then ends with exit code 1.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu verify
  zhulu verify --quiet && echo sound")]
pub(crate) struct Verify {}

impl Verify {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        context.index(&catalogue).await;
        let disagreements = catalogue.verify().await?;
        let mut output = Output::new();
        for disagreement in &disagreements {
            output.line(&plain(disagreement))?;
        }
        if !context.quiet {
            match disagreements.len() {
                0 => say("log, records, index and files agree"),
                number => say(&format!("{number} disagreements")),
            }
        }
        Ok(Completion::of(disagreements.len()))
    }
}
