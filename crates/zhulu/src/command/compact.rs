//! `zhulu compact`: what machines said long ago and have since said anew goes from the log.

use std::time::Duration;

use clap::Args;

use crate::context::Context;
use crate::exit::Completion;
use crate::output::say;

/// Remove superseded machine entries from the log, and files nothing refers to
///
/// What people said stays for ever, and so does the newest word of every source.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu compact
  zhulu compact --keep 30")]
pub(crate) struct Compact {
    /// Keep what was superseded in the last so many days; default: retention_days of the configuration
    #[arg(long, value_name = "DAYS")]
    keep: Option<u32>,
}

impl Compact {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let days = self.keep.unwrap_or(context.config().retention_days);
        let catalogue = context.catalogue().await?;
        let report = catalogue.compact(Duration::from_secs(u64::from(days) * 24 * 60 * 60)).await?;
        if !context.quiet {
            say(&format!("{} entries and {} files removed", report.entries, report.blobs));
        }
        Ok(Completion::Done)
    }
}
