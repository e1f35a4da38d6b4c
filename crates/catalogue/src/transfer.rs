//! Moving catalogues: export and import as JSON Lines, backup and restore as files, and compaction.
//!
//! An export is the same, byte for byte, from either store: its order is that of the stamps, and it holds no local number,
//! password or token. A backup also keeps what is local: seq, datestamps, tokens and jobs.

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::time::Duration;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use zhulu_record::{Digest, Entry};

use crate::address::BlobAddress;
use crate::blob::Blobs;
use crate::catalogue::Catalogue;
use crate::error::Error;
use crate::row::{Batch, Outcome, SourceRow};

/// The version of the export's form; a reader refuses a higher one.
const FORM: u32 = 1;

/// How many entries are read or appended at a time.
const STEP: usize = 1000;

/// How much text may wait to be appended: a few entries with whole books in them are as much as a thousand small ones.
const STEP_BYTES: usize = 8 << 20;

/// No line of an export is longer: more is not one of ours, or not whole.
const LONGEST_LINE: u64 = 1 << 30;

/// How old an unreferenced blob must be before it is removed: a younger one may belong to an entry on its way.
const BLOB_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Zhulu { form: u32 },
    Source(SourceRow),
    Entry(Entry),
    Blob { digest: Digest, data: String },
}

/// What an export wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Entries of the log.
    pub entries: u64,
    /// Sources.
    pub sources: u64,
    /// Files.
    pub blobs: u64,
}

/// What an import took in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Entries that were new.
    pub entries: u64,
    /// Entries the log had already.
    pub known: u64,
    /// Entries whose stamps are too far ahead.
    pub quarantined: u64,
    /// Sources that were new.
    pub sources: u64,
    /// Files.
    pub blobs: u64,
    /// Lines that could not be read, each with its number.
    pub warnings: Vec<String>,
}

/// What a backup or restore copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The last entry of the log in it.
    pub seq: u64,
    /// Records, deleted ones included.
    pub records: u64,
    /// Files.
    pub blobs: u64,
    /// Files that were not there to be copied.
    pub missing: Vec<Digest>,
}

/// What compaction removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Superseded entries of machine sources.
    pub entries: u64,
    /// Files nothing refers to.
    pub blobs: u64,
}

impl Catalogue {
    /// Writes everything as JSON Lines: sources, entries in the order of their stamps, and files if asked for.
    /// Everything committed before the call is in it.
    pub async fn export(&self, out: &mut (dyn Write + Send), blobs: bool) -> Result<ExportReport, Error> {
        let mut report = ExportReport::default();
        write_line(out, &Line::Zhulu { form: FORM })?;
        for source in self.store().sources().await? {
            write_line(out, &Line::Source(source))?;
            report.sources += 1;
        }
        // Entries in quarantine were received as well; their stamps put them in their place among the others.
        let mut waiting = self.store().quarantine().await?.into_iter().peekable();
        let mut after = None;
        loop {
            let entries = self.store().export(after, STEP).await?;
            let Some(last) = entries.last() else { break };
            after = Some(last.stamp);
            for entry in entries {
                while let Some(earlier) = waiting.next_if(|waiting| waiting.stamp < entry.stamp) {
                    write_line(out, &Line::Entry(earlier))?;
                    report.entries += 1;
                }
                write_line(out, &Line::Entry(entry))?;
                report.entries += 1;
            }
        }
        for entry in waiting {
            write_line(out, &Line::Entry(entry))?;
            report.entries += 1;
        }
        if blobs {
            let mut after = None;
            loop {
                let digests = self.store().blob_digests(after, STEP).await?;
                let Some(last) = digests.last() else { break };
                after = Some(*last);
                for digest in digests {
                    let bytes = self.blobs().get(digest).await?;
                    write_line(out, &Line::Blob { digest, data: BASE64.encode(&bytes) })?;
                    report.blobs += 1;
                }
            }
        }
        out.flush().map_err(output_failed)?;
        Ok(report)
    }

    /// Takes an export in. What is there already is known by its stamp and skipped, so a broken-off import is simply run
    /// again. A line that cannot be read is a warning; the rest goes on.
    pub async fn import(&self, input: &mut (dyn BufRead + Send)) -> Result<ImportReport, Error> {
        let mut report = ImportReport::default();
        let mut have: Vec<_> = self.store().sources().await?.into_iter().map(|row| row.source).collect();
        let (mut batch, mut size, mut number) = (Batch::default(), 0, 0u64);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.take(LONGEST_LINE).read_until(b'\n', &mut line);
            let length = read.map_err(|reason| Error::Refused(format!("line {}: {reason}", number + 1)))?;
            if length == 0 {
                break;
            }
            number += 1;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice::<Line>(&line) {
                Ok(Line::Zhulu { form }) if form > FORM => {
                    return Err(Error::Refused(format!(
                        "this export has form {form}, and this zhulu reads forms up to {FORM}; use a newer zhulu"
                    )));
                }
                Ok(Line::Zhulu { .. }) => {}
                Ok(Line::Source(row)) => {
                    // A source at work here knows better than an export where it stands.
                    if !have.contains(&row.source) {
                        self.store().put_source(&row).await?;
                        have.push(row.source);
                        report.sources += 1;
                    }
                }
                Ok(Line::Entry(entry)) => {
                    batch.entries.push(entry);
                    size += length;
                    if batch.entries.len() >= STEP || size >= STEP_BYTES {
                        self.take_in(std::mem::take(&mut batch), &mut report).await?;
                        size = 0;
                    }
                }
                Ok(Line::Blob { digest, data }) => match BASE64.decode(data.as_bytes()) {
                    Ok(bytes) if Digest::of(&bytes) == digest => {
                        self.blobs().put(bytes.into()).await?;
                        report.blobs += 1;
                    }
                    _ => report
                        .warnings
                        .push(format!("line {number}: the content is not that of {digest}; it was left out")),
                },
                Err(reason) => report.warnings.push(format!("line {number} is no line of an export: {reason}")),
            }
        }
        if !batch.entries.is_empty() {
            self.take_in(batch, &mut report).await?;
        }
        Ok(report)
    }

    async fn take_in(&self, batch: Batch, report: &mut ImportReport) -> Result<(), Error> {
        for (_, outcome) in self.append(batch).await?.outcomes {
            match outcome {
                Outcome::Known => report.known += 1,
                Outcome::Quarantined => report.quarantined += 1,
                _ => report.entries += 1,
            }
        }
        Ok(())
    }

    /// A copy of everything, as an SQLite catalogue with its blobs in `folder`, while others go on writing. From either
    /// store; opened by `--catalogue sqlite:FOLDER/catalogue.sqlite`, or restored into an empty catalogue of any kind.
    pub async fn backup(&self, folder: &Path) -> Result<BackupReport, Error> {
        let file_error = |source| Error::File { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(file_error)?;
        if std::fs::read_dir(folder).map_err(file_error)?.next().is_some() {
            return Err(Error::Refused(format!("{} is not empty; name a new folder for the backup", folder.display())));
        }
        // Under another name until it is whole: a broken-off backup must not look like one.
        let aside = folder.join("catalogue.sqlite.part");
        self.store().backup(&aside).await?;
        let copy = Blobs::open(&BlobAddress::Folder(folder.join("blobs")))?;
        let mut report = BackupReport::default();
        self.copy_blobs(self.blobs(), &copy, &mut report).await?;
        std::fs::rename(&aside, folder.join("catalogue.sqlite")).map_err(file_error)?;
        let head = self.store().head().await?;
        (report.seq, report.records) = (head.seq, head.records);
        Ok(report)
    }

    /// Fills this catalogue, which must be empty, from a backup.
    pub async fn restore(&self, folder: &Path) -> Result<BackupReport, Error> {
        let path = folder.join("catalogue.sqlite");
        if !path.exists() {
            return Err(Error::Refused(format!("{} holds no finished backup (no catalogue.sqlite)", folder.display())));
        }
        self.store().restore(&path).await?;
        let mut report = BackupReport::default();
        self.copy_blobs(&Blobs::open(&BlobAddress::Folder(folder.join("blobs")))?, self.blobs(), &mut report).await?;
        let head = self.store().head().await?;
        (report.seq, report.records) = (head.seq, head.records);
        Ok(report)
    }

    async fn copy_blobs(&self, from: &Blobs, to: &Blobs, report: &mut BackupReport) -> Result<(), Error> {
        let mut after = None;
        loop {
            let digests = self.store().blob_digests(after, STEP).await?;
            let Some(last) = digests.last() else { return Ok(()) };
            after = Some(*last);
            for digest in digests {
                match from.get(digest).await {
                    Ok(bytes) => {
                        to.put(bytes).await?;
                        report.blobs += 1;
                    }
                    // Erased since the rows were copied, or lost before: what could be had is had.
                    Err(Error::NoBlob(_)) => report.missing.push(digest),
                    Err(reason) => return Err(reason),
                }
            }
        }
    }

    /// Removes what nothing needs any more: machine snapshots superseded longer than `keep` ago, and files no entry names.
    pub async fn compact(&self, keep: Duration) -> Result<CompactReport, Error> {
        let before = self.now().checked_sub(keep).unwrap_or(jiff::Timestamp::MIN);
        let entries = self.store().compact(before).await?;
        let mut kept = std::collections::HashSet::new();
        let mut after = None;
        // The blobs first, then who is named: one written in between is too young to go.
        let all = self.blobs().all().await?;
        loop {
            let digests = self.store().blob_digests(after, STEP).await?;
            let Some(last) = digests.last() else { break };
            after = Some(*last);
            kept.extend(digests);
        }
        let mut report = CompactReport { entries, blobs: 0 };
        for (digest, age) in all {
            if age > BLOB_GRACE && !kept.contains(&digest) && self.blobs().remove(digest).await? {
                report.blobs += 1;
            }
        }
        Ok(report)
    }
}

fn write_line(out: &mut (dyn Write + Send), line: &Line) -> Result<(), Error> {
    let mut text = serde_json::to_vec(line).expect("a line has a JSON form");
    text.push(b'\n');
    out.write_all(&text).map_err(output_failed)
}

fn output_failed(source: std::io::Error) -> Error {
    Error::File { path: "the output".into(), source }
}
