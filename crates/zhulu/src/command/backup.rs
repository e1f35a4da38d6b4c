//! `zhulu backup`: a copy of the catalogue while it is in use.

use std::path::PathBuf;

use clap::Args;

use crate::context::Context;
use crate::exit::Completion;
use crate::output::say;

/// Copy the catalogue to a folder, while it is in use
///
/// The copy is itself a catalogue: sqlite:DIR/catalogue.sqlite, with its files beside it.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu backup /backup/zhulu-monday
  zhulu --catalogue sqlite:/backup/zhulu-monday/catalogue.sqlite verify")]
pub(crate) struct Backup {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let report = catalogue.backup(&self.folder).await?;
        for digest in &report.missing {
            say(&format!("the file with SHA-256 {digest} is missing from the catalogue, and so from the backup"));
        }
        if !context.quiet {
            let folder = self.folder.display();
            say(&format!("{} records and {} files copied to {folder}", report.records, report.blobs));
        }
        Ok(Completion::of(report.missing.len()))
    }
}
