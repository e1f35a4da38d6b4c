//! `zhulu add`: files, folders and OAI-PMH repositories into the catalogue.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use zhulu_catalogue::{Catalogue, Outcome};
use zhulu_gather::outward::{Outward, Rules};
use zhulu_gather::{harvest, intake};
use zhulu_record::{RecordId, Warning};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::signal;
use crate::table::{fit, plain};

/// Add files, folders or OAI-PMH repositories to the catalogue
///
/// A folder stands for every file in it, at any depth, hidden ones left out. A repository is named by its base URL, and
/// adding it again takes only what has changed since. One input that fails does not stop the others.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu add paper.pdf 论文.pdf
  zhulu add papers/ --to jsonl
  zhulu add https://repository.example.org/oai
  zhulu add http://localhost:8080/oai --allow localhost")]
pub(crate) struct Add {
    /// What to add
    #[arg(value_name = "PATH|URL", required = true)]
    inputs: Vec<PathBuf>,
    /// Harvest only this set of a repository
    #[arg(long, value_name = "SET")]
    set: Option<String>,
    /// Ask this host even though its address is private
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,
    /// How to print the results
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Jsonl,
}

/// What is printed of each result, and what is counted.
struct Results {
    to: To,
    output: Output,
    progress: Progress,
    quiet: bool,
    added: u64,
    failed: usize,
    /// The first trouble with standard output; what is added matters more than that it is seen, so it waits for the end.
    broken: Option<io::Error>,
}

impl Add {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let mut results = Results {
            to: self.to,
            output: Output::new(),
            progress: Progress::new("adding", context.quiet),
            quiet: context.quiet,
            added: 0,
            failed: 0,
            broken: None,
        };
        let interrupted = tokio::select! {
            result = self.all(context, &catalogue, &mut results) => { result?; false }
            () = signal::stop() => true,
        };
        results.progress.finish();
        if interrupted {
            // Dropping the work above leaves the log whole. The index follows with the next command.
            say(&format!("stopped; {} added so far are safe, run the same again for the rest", results.added));
            return Ok(Completion::SomeFailed);
        }
        context.index(&catalogue).await;
        if let Some(error) = results.broken {
            return Err(error.into());
        }
        if results.failed > 0 && !results.quiet {
            say(&format!("{} added, {} failed", results.added, results.failed));
        }
        Ok(Completion::of(results.failed))
    }

    /// All inputs in order; neighbouring paths go through one pipeline.
    async fn all(&self, context: &Context, catalogue: &Catalogue, results: &mut Results) -> anyhow::Result<()> {
        let mut paths = Vec::new();
        for input in &self.inputs {
            let Some(url) = url(input) else {
                paths.push(input.clone());
                continue;
            };
            self.files(context, catalogue, std::mem::take(&mut paths), results).await?;
            match self.repository(catalogue, url, results).await {
                Ok(()) => {}
                // Trouble with the only input is trouble with all: it decides the exit code.
                Err(error) if self.inputs.len() == 1 => return Err(error),
                Err(error) => match error.downcast_ref::<harvest::Error>() {
                    Some(harvest::Error::Catalogue(_)) | None => return Err(error),
                    Some(_) => results.failed(input, &error.to_string()),
                },
            }
        }
        self.files(context, catalogue, paths, results).await
    }

    async fn files(
        &self,
        context: &Context,
        catalogue: &Catalogue,
        paths: Vec<PathBuf>,
        results: &mut Results,
    ) -> anyhow::Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let tell = |report| match report {
            intake::Report::Added { path, id, outcome, title, warnings } => {
                results.added(&path.to_string_lossy(), id, outcome, title.as_deref(), &warnings);
            }
            intake::Report::Skipped { path, reason } => {
                results.warn(&format!("{}: left out: {reason}", path.display()))
            }
            intake::Report::Failed { path, reason } => results.failed(&path, &reason),
        };
        Ok(intake::take_in(catalogue, paths, &context.intake(), tell).await?)
    }

    async fn repository(&self, catalogue: &Catalogue, url: &str, results: &mut Results) -> anyhow::Result<()> {
        let outward = Outward::new(Rules::allowing(self.allow.iter().cloned())).map_err(harvest::Error::from)?;
        let tell = |report: harvest::Report| {
            let harvest::Report { identifier, id, outcome, title, warnings } = report;
            results.added(&identifier, id, outcome, title.as_deref(), &warnings);
        };
        let summary = harvest::into_catalogue(catalogue, outward, url, self.set.clone(), tell).await?;
        for warning in &summary.warnings {
            results.warn(&format!("{url}: {}", warning.message));
        }
        Ok(())
    }
}

impl Results {
    fn added(&mut self, input: &str, id: RecordId, outcome: Outcome, title: Option<&str>, warnings: &[Warning]) {
        self.added += 1;
        self.progress.advance();
        let outcome = outcome_name(outcome);
        let line = match (self.to, self.output.width) {
            (To::Jsonl, _) => {
                let value =
                    json!({ "file": input, "id": id, "outcome": outcome, "title": title, "warnings": warnings });
                value.to_string()
            }
            (To::Table, Some(width)) => fit(&format!("{id}  {outcome:<11} {}", plain(title.unwrap_or(input))), width),
            (To::Table, None) => format!("{id}\t{outcome}\t{}", plain(title.unwrap_or(input))),
        };
        self.print(&line);
        for warning in warnings {
            self.warn(&format!("{input}: {}", warning.message));
        }
    }

    fn failed(&mut self, path: &Path, reason: &str) {
        self.failed += 1;
        self.progress.around(|| say(&format!("{}: {reason}", path.display())));
        if matches!(self.to, To::Jsonl) {
            self.print(&json!({ "file": path.to_string_lossy(), "error": reason }).to_string());
        }
    }

    fn warn(&self, text: &str) {
        if !self.quiet {
            self.progress.around(|| say(text));
        }
    }

    fn print(&mut self, line: &str) {
        if self.broken.is_none() {
            let Results { output, progress, .. } = self;
            self.broken = progress.around(|| output.line(line)).err();
        }
    }
}

/// The outcome as it is printed.
fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Created => "created",
        Outcome::Changed => "changed",
        Outcome::Unchanged => "unchanged",
        Outcome::Known => "known",
        Outcome::Quarantined => "quarantined",
        Outcome::Erased => "erased",
    }
}

/// The input, if it is an address and no path.
fn url(input: &Path) -> Option<&str> {
    let text = input.to_str()?;
    let lower = text.to_ascii_lowercase();
    (lower.starts_with("http://") || lower.starts_with("https://")).then_some(text)
}
