//! `zhulu identify`: what format files are in, without a catalogue.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use zhulu_gather::{Found, read_path};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::{Output, say};
use crate::table::Table;

/// How much of a file's beginning is looked at.
const HEAD: u64 = 64 << 10;

/// Say what format files are in
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu identify paper.pdf
  zhulu identify folder/ --to json")]
pub(crate) struct Identify {
    /// Files and folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// How to print the results
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
}

impl Identify {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let mut output = Output::new();
        let mut table = Table::new(&["file", "puid", "media type", "format", "basis"]);
        let mut all: Vec<Value> = Vec::new();
        let mut failed = 0;
        for found in self.paths.iter().flat_map(|path| read_path(path)) {
            let (path, head) = match found {
                Found::File(path) => {
                    let head = head(&path);
                    (path, head)
                }
                Found::Skipped { path, reason } => {
                    if !context.quiet {
                        say(&format!("{}: left out: {reason}", path.display()));
                    }
                    continue;
                }
                Found::Failed { path, reason } => (path, Err(reason)),
            };
            let name = path.to_string_lossy();
            let head = match head {
                Ok(head) => head,
                Err(reason) => {
                    say(&format!("{name}: {reason}"));
                    all.push(json!({ "file": name, "error": reason }));
                    failed += 1;
                    continue;
                }
            };
            let format = zhulu_document::identify(&name, &head);
            let version = format.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
            let shown = format!("{}{version}", format.name);
            table.row([&*name, format.puid.as_deref().unwrap_or("–"), &format.mime, &shown, &format.basis]);
            let mut value = json!({ "file": name, "warning": null, "alternatives": [] });
            if let (Value::Object(object), Ok(Value::Object(fields))) = (&mut value, serde_json::to_value(&format)) {
                object.extend(fields);
            }
            all.push(value);
        }
        match self.to {
            To::Table => table.print(&mut output)?,
            To::Json => output.json(&all)?,
        }
        Ok(Completion::of(failed))
    }
}

fn head(path: &Path) -> Result<Vec<u8>, String> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map(|_| head).map_err(|error| format!("it cannot be read: {error}"))
}
