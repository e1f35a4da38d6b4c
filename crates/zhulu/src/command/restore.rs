//! `zhulu restore`: a backup into an empty catalogue, of either kind.

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::exit::Completion;
use crate::output::say;

/// Fill an empty catalogue from a backup
///
/// History, datestamps, tokens and jobs come back as they were. A backup made from one kind of catalogue may be restored
/// into the other.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu --catalogue postgres://zhulu@db/zhulu restore /backup/zhulu-monday")]
pub(crate) struct Restore {
    /// The folder a backup was made in
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Restore {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let report = catalogue.restore(&self.folder).await?;
        context.index(&catalogue).await;
        for digest in &report.missing {
            say(&format!("the file with SHA-256 {digest} is missing from the backup"));
        }
        if !context.quiet {
            say(&format!("{} records and {} files restored", report.records, report.blobs));
        }
        Ok(Completion::of(report.missing.len()))
    }
}
