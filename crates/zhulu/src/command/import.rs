//! `zhulu import`: an export into the catalogue.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::output::say;
use crate::progress::Progress;

/// Read an export into the catalogue
///
/// What the catalogue has already is not added again, so an interrupted import is simply run once more.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu import catalogue.jsonl
  zstd -dc everything.jsonl.zst | zhulu import -")]
pub(crate) struct Import {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Import {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let input: Box<dyn BufRead + Send> = if self.file.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let file = File::open(&self.file);
            let file = file.map_err(|error| usage(format!("{} cannot be read: {error}", self.file.display())))?;
            Box::new(BufReader::new(file))
        };
        let catalogue = context.catalogue().await?;
        let progress = Progress::new("importing lines", context.quiet);
        let report = catalogue.import(&mut progress.meter(input)).await?;
        drop(progress);
        context.index(&catalogue).await;
        for warning in &report.warnings {
            say(warning);
        }
        if !context.quiet {
            say(&format!(
                "{} entries imported, {} were known, {} wait in quarantine",
                report.entries, report.known, report.quarantined
            ));
        }
        Ok(Completion::of(report.warnings.len()))
    }
}
