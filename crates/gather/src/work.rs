//! The worker: takes jobs from the catalogue, runs them, and says how they went.
//!
//! Each kind of job is a small JSON payload: `file` is an upload already in the blob store, `path` a file or folder on the
//! worker's machine. The rules of leases, retries and dead jobs are the catalogue's.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinSet;
use zhulu_catalogue::{Catalogue, Job, Lease};
use zhulu_record::Digest;

use crate::intake::{self, Report};

/// The kinds of job this worker can do.
pub const KINDS: [&str; 2] = ["file", "path"];

/// How many failures of a folder are told in the job's error; the log has the rest.
const FAILURES_TOLD: usize = 5;

/// How the worker works.
#[derive(Debug, Clone)]
pub struct WorkSettings {
    /// How many jobs at once.
    pub concurrency: usize,
    /// How long to wait before asking again when there was nothing to do.
    pub poll: Duration,
    /// How long a job may take before another worker gets it.
    pub lease: Duration,
    /// How long running jobs may go on when the worker is told to stop.
    pub grace: Duration,
    /// How files are taken in.
    pub intake: intake::Settings,
}

impl Default for WorkSettings {
    fn default() -> Self {
        WorkSettings {
            concurrency: 2,
            poll: Duration::from_millis(500),
            lease: Duration::from_secs(5 * 60),
            grace: Duration::from_secs(20),
            intake: intake::Settings::default(),
        }
    }
}

/// An upload: its bytes are in the blob store.
#[derive(Debug, Deserialize)]
struct FileJob {
    blob: Digest,
    name: String,
}

/// A file or folder where the worker runs.
#[derive(Debug, Deserialize)]
struct PathJob {
    path: PathBuf,
}

/// Works until `shutdown` resolves; then lets running jobs end within the grace, and gives back those that do not. A catalogue
/// that goes away is waited for.
pub async fn work(catalogue: Catalogue, settings: WorkSettings, shutdown: impl Future<Output = ()>) {
    let mut shutdown = std::pin::pin!(shutdown);
    let mut running: JoinSet<Job> = JoinSet::new();
    // Kept beside the tasks, because a task that is stopped cannot give its job back itself.
    let mut held: Vec<Job> = Vec::new();
    let mut troubles = 0u32;
    loop {
        let free = settings.concurrency.max(1).saturating_sub(running.len());
        let mut wait = settings.poll;
        if free > 0 {
            let lease = Lease {
                kinds: KINDS.iter().map(|kind| (*kind).to_owned()).collect(),
                limit: free,
                duration: settings.lease,
                per_host: settings.concurrency.max(1),
            };
            match catalogue.store().lease(&lease).await {
                Ok(jobs) => {
                    troubles = 0;
                    if jobs.len() == free {
                        wait = Duration::ZERO;
                    }
                    for job in jobs {
                        held.push(job.clone());
                        running.spawn(run_and_settle(catalogue.clone(), job, settings.intake));
                    }
                }
                Err(error) => {
                    troubles += 1;
                    wait = settings.poll.saturating_mul(1 << troubles.min(6));
                    tracing::warn!(%error, "no jobs can be taken; trying again in {wait:?}");
                }
            }
        }
        let full = running.len() >= settings.concurrency.max(1);
        tokio::select! {
            () = &mut shutdown => break,
            Some(done) = running.join_next() => settled(&mut held, done),
            () = tokio::time::sleep(wait), if !full => {}
        }
    }
    let ending = async {
        while let Some(done) = running.join_next().await {
            settled(&mut held, done);
        }
    };
    if tokio::time::timeout(settings.grace, ending).await.is_err() {
        running.shutdown().await;
    }
    if !held.is_empty()
        && let Err(error) = catalogue.store().give_back(&held).await
    {
        tracing::warn!(%error, jobs = held.len(), "jobs could not be given back; they are tried again when their lease ends");
    }
}

/// A task has ended: its job is no longer ours.
fn settled(held: &mut Vec<Job>, done: Result<Job, tokio::task::JoinError>) {
    match done {
        Ok(job) => held.retain(|other| other.id != job.id),
        Err(error) => {
            tracing::error!(%error, "a job broke off, which is a bug in zhulu; it is tried again when its lease ends")
        }
    }
}

/// Runs a job and tells the catalogue how it went.
async fn run_and_settle(catalogue: Catalogue, job: Job, settings: intake::Settings) -> Job {
    let outcome = run(&catalogue, &job, &settings).await;
    metrics::counter!("zhulu_jobs_total", "kind" => job.kind.clone(), "outcome" => if outcome.is_ok() { "done" } else { "failed" })
        .increment(1);
    let told = match &outcome {
        Ok(()) => catalogue.store().acknowledge(std::slice::from_ref(&job)).await.map(|_| ()),
        Err(reason) => {
            tracing::warn!(job = job.id.0, kind = %job.kind, %reason, "a job failed");
            catalogue.store().fail(&job, reason).await.map(|_| ())
        }
    };
    if let Err(error) = told {
        tracing::warn!(job = job.id.0, %error, "how a job went could not be told; it is done again when its lease ends");
    }
    job
}

async fn run(catalogue: &Catalogue, job: &Job, settings: &intake::Settings) -> Result<(), String> {
    let payload = |error: serde_json::Error| format!("the job's payload cannot be read: {error}");
    match job.kind.as_str() {
        "file" => {
            let FileJob { blob, name } = FileJob::deserialize(&job.payload).map_err(payload)?;
            let bytes = catalogue.blobs().get(blob).await.map_err(|error| error.to_string())?;
            let report =
                intake::take_bytes(catalogue, &name, bytes, settings).await.map_err(|error| error.to_string())?;
            match report {
                Report::Added { id, warnings, .. } => {
                    tracing::info!(job = job.id.0, %name, record = %id, warnings = warnings.len(), "a file was added");
                    Ok(())
                }
                Report::Skipped { reason, .. } | Report::Failed { reason, .. } => Err(format!("{name}: {reason}")),
            }
        }
        "path" => {
            let PathJob { path } = PathJob::deserialize(&job.payload).map_err(payload)?;
            let mut failures = Vec::new();
            let note = |report| match report {
                Report::Failed { path, reason } => failures.push(format!("{}: {reason}", path.display())),
                Report::Skipped { path, reason } => tracing::info!(path = %path.display(), %reason, "left out"),
                Report::Added { path, id, .. } => {
                    tracing::info!(path = %path.display(), record = %id, "a file was added")
                }
            };
            intake::take_in(catalogue, vec![path], settings, note).await.map_err(|error| error.to_string())?;
            if failures.is_empty() {
                return Ok(());
            }
            let more = failures.len().saturating_sub(FAILURES_TOLD);
            failures.truncate(FAILURES_TOLD);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            Err(format!("{}{more}", failures.join("; ")))
        }
        other => Err(format!("this zhulu does not know jobs of kind {other:?}; a newer one may")),
    }
}
