//! `zhulu identify`: what format files are in, without a catalogue. What is printed, and how, is `identify/print.rs`'s; which signatures are used,
//! `identify/release.rs`'s.

mod print;
mod release;

use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use zhulu_document::pronom::Scan;
use zhulu_gather::identify::{Hash, Input, Report, Settings, run};

use self::print::Printer;
use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::signal;

/// The most bytes taken from standard input.
const MOST_INPUT: u64 = 1 << 30;

/// Say what format files are in
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu identify paper.pdf
  zhulu identify folder/ --to csv --hash sha256 > formats.csv
  zhulu identify deposit.zip --archives --to json
  find . -newer last-run | zhulu identify --files-from -
  curl -s https://example.org/x | zhulu identify - --name x.doc
  zhulu identify --update DROID_SignatureFile_V120.xml
  zhulu identify --signatures-info")]
pub(crate) struct Identify {
    /// Files and folders; - reads the bytes of one file from standard input
    #[arg(value_name = "PATH", required_unless_present_any = ["files_from", "update", "signatures_info"])]
    paths: Vec<PathBuf>,
    /// How to print the results; csv has the columns of DROID
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
    /// Take the names of files and folders from a file, one a line; - is
    /// standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Look inside ZIP, TAR and GZ files
    #[arg(long)]
    archives: bool,
    /// Add a checksum of every file
    #[arg(long, value_name = "KIND")]
    hash: Option<Checksum>,
    /// How many bytes from either end are searched for signatures that may
    /// lie anywhere: a number, or all
    #[arg(long, value_name = "BYTES", default_value = "65536")]
    scan: String,
    /// The name of what comes from standard input
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The media type the files were declared to have; it counts where
    /// neither bytes nor names tell anything
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// Use this DROID signature file
    #[arg(long, value_name = "FILE")]
    signatures: Option<PathBuf>,
    /// Use this DROID container signature file
    #[arg(long, value_name = "FILE")]
    containers: Option<PathBuf>,
    /// Keep this DROID signature file or container signature file, and use
    /// it from now on
    #[arg(long, value_name = "FILE", conflicts_with_all = ["signatures", "containers"])]
    update: Vec<PathBuf>,
    /// Say which signatures are in use
    #[arg(long)]
    signatures_info: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum To {
    Table,
    Csv,
    Json,
    Xml,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Checksum {
    Md5,
    Sha1,
    Sha256,
    Blake3,
}

impl Identify {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        if !self.update.is_empty() {
            release::install(&self.update)?;
        }
        if self.signatures_info || !self.update.is_empty() {
            let ready = release::choose(self.signatures.as_deref(), self.containers.as_deref())?;
            release::show(&ready, &mut Output::new())?;
            return Ok(Completion::Done);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&stop);
        let listening = tokio::spawn(async move {
            signal::stop().await;
            heard.store(true, Ordering::Relaxed);
            // Asked twice, it ends at once.
            signal::stop().await;
            std::process::exit(130);
        });
        let (quiet, threads) = (context.quiet, context.config().readers);
        let result = tokio::task::spawn_blocking(move || self.all(quiet, threads, &stop)).await?;
        listening.abort();
        result
    }

    fn all(&self, quiet: bool, threads: usize, stop: &AtomicBool) -> anyhow::Result<Completion> {
        let ready = release::choose(self.signatures.as_deref(), self.containers.as_deref())?;
        let settings = self.settings(threads)?;
        let inputs = self.inputs()?;
        let progress = Progress::new("identifying", quiet);
        let mut printer = Printer::new(self.to, ready.release(), settings.hash);
        let mut failed = 0;
        printer.begin()?;
        let tell = |report: Report<'_>| -> io::Result<()> {
            progress.advance();
            match report {
                Report::Rows(rows) => {
                    for row in &rows {
                        if let Some(trouble) = &row.identification.trouble {
                            failed += 1;
                            progress.around(|| say(&format!("{}: {trouble}", row.path)));
                        }
                    }
                    progress.around(|| printer.rows(&rows))
                }
                Report::Skipped { path, reason } => {
                    if !quiet {
                        progress.around(|| say(&format!("{}: left out: {reason}", path.display())));
                    }
                    Ok(())
                }
                Report::Failed { path, reason } => {
                    failed += 1;
                    progress.around(|| say(&format!("{}: {reason}", path.display())));
                    progress.around(|| printer.failed(&path.to_string_lossy(), &reason))
                }
            }
        };
        let told = run(&ready, inputs, &settings, stop, tell);
        progress.finish();
        told?;
        // What was begun is closed, so that what was printed can be read, however early the end came.
        printer.end()?;
        if stop.load(Ordering::Relaxed) {
            say("stopped; what was printed is whole");
            return Ok(Completion::SomeFailed);
        }
        Ok(Completion::of(failed))
    }

    fn settings(&self, threads: usize) -> anyhow::Result<Settings> {
        let scan = match self.scan.as_str() {
            "all" => Scan::Whole,
            number => Scan::Bytes(
                number
                    .parse()
                    .map_err(|_| usage(format!("--scan takes a number of bytes or all, and {number:?} is neither")))?,
            ),
        };
        let hash = self.hash.map(|hash| match hash {
            Checksum::Md5 => Hash::Md5,
            Checksum::Sha1 => Hash::Sha1,
            Checksum::Sha256 => Hash::Sha256,
            Checksum::Blake3 => Hash::Blake3,
        });
        let details = matches!(self.to, To::Json | To::Xml);
        Ok(Settings { archives: self.archives, hash, scan, details, mime: self.mime.clone(), threads })
    }

    /// What is named on the command line, then what the list names.
    fn inputs(&self) -> anyhow::Result<impl Iterator<Item = Input> + Send + use<>> {
        let mut inputs = Vec::new();
        let from_input = self.files_from.as_deref().is_some_and(|path| path.as_os_str() == "-");
        for path in &self.paths {
            if path.as_os_str() != "-" {
                inputs.push(Input::Path(path.clone()));
                continue;
            }
            if from_input {
                return Err(usage("standard input cannot be both a file (-) and a list (--files-from -)"));
            }
            let mut bytes = Vec::new();
            io::stdin().lock().take(MOST_INPUT + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > MOST_INPUT {
                return Err(usage(format!(
                    "standard input has more than {} MB; save it to a file and name that",
                    MOST_INPUT >> 20
                )));
            }
            inputs.push(Input::Bytes { name: self.name.clone().unwrap_or_else(|| "-".to_owned()), bytes });
        }
        let list: Option<Box<dyn BufRead + Send>> = match &self.files_from {
            None => None,
            Some(_) if from_input => Some(Box::new(io::BufReader::new(io::stdin()))),
            Some(path) => {
                let file = std::fs::File::open(path)
                    .map_err(|error| usage(format!("the list {} cannot be read: {error}", path.display())))?;
                Some(Box::new(io::BufReader::new(file)))
            }
        };
        let named = list.into_iter().flat_map(|list| {
            // Names are bytes: one that is no UTF-8 still names a file.
            list.split(b'\n').map_while(Result::ok).filter_map(|mut line| {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                (!line.is_empty()).then(|| Input::Path(path_of(line)))
            })
        });
        Ok(inputs.into_iter().chain(named))
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}
