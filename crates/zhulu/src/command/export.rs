//! `zhulu export`: the whole catalogue as JSON Lines.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use zhulu_catalogue::ExportReport;

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::signal;

/// Write the whole catalogue as JSON Lines: records, history, sources
///
/// Two catalogues that hold the same export the same bytes, whatever they are kept in. Tokens and passwords are left out.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu export --out catalogue.jsonl
  zhulu export --blobs | zstd > everything.jsonl.zst
  zhulu --catalogue sqlite:old.sqlite export | \\
    zhulu --catalogue postgres://zhulu@db/zhulu import -")]
pub(crate) struct Export {
    /// Write to this file, which appears only when it is complete
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// With the files themselves
    #[arg(long)]
    blobs: bool,
}

impl Export {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let progress = Progress::new("exporting lines", context.quiet);
        let Some(path) = &self.out else {
            let mut output = progress.meter(Output::new());
            let report = catalogue.export(&mut output, self.blobs).await?;
            output.flush()?;
            drop(progress);
            return told(context, &report);
        };
        let mut aside = path.clone().into_os_string();
        aside.push(".part");
        let aside = PathBuf::from(aside);
        let failed = || format!("{} cannot be written", path.display());
        let mut file = progress.meter(BufWriter::new(File::create(&aside).with_context(failed)?));
        let result = tokio::select! {
            result = catalogue.export(&mut file, self.blobs) => result.map_err(anyhow::Error::from),
            () = signal::stop() => Err(anyhow::anyhow!("stopped; nothing was exported")),
        };
        let written = result.and_then(|report| {
            file.flush().with_context(failed)?;
            file.inner.get_ref().sync_all().with_context(failed)?;
            fs::rename(&aside, path).with_context(failed)?;
            Ok(report)
        });
        if written.is_err() {
            // What is half-written helps nobody; that it may not go away either changes nothing about the error.
            let _ = fs::remove_file(&aside);
        }
        let report = written?;
        drop(progress);
        told(context, &report)
    }
}

fn told(context: &Context, report: &ExportReport) -> anyhow::Result<Completion> {
    if !context.quiet {
        let ExportReport { entries, sources, blobs, .. } = report;
        say(&format!("{entries} entries, {sources} sources and {blobs} files exported"));
    }
    Ok(Completion::Done)
}
