//! Jobs: work that outlives a request. Leased, acknowledged, retried with back-off, and left as dead when hopeless.
//!
//! The rules are here; the stores only keep the rows.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A job's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

/// How often a job is tried before it is left as dead.
pub(crate) const ATTEMPTS: u32 = 10;

/// The wait after the first failure; it doubles with each, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 60 * 60);

/// A job to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What is to be done: `file`, `harvest`, `fetch`.
    pub kind: String,
    /// The host it will bother, for per-host limits; empty for none.
    pub host: String,
    /// All the worker needs, in the kind's own words.
    pub payload: serde_json::Value,
    /// Not before this; `None` for at once.
    pub run_at: Option<Timestamp>,
    /// A job with the name of one still waiting or running is not queued again.
    pub unique: Option<String>,
}

impl NewJob {
    /// A job for now, on no host.
    pub fn new(kind: &str, payload: serde_json::Value) -> Self {
        NewJob { kind: kind.to_owned(), host: String::new(), payload, run_at: None, unique: None }
    }
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Waiting for its time or for a worker.
    Ready,
    /// A worker has it.
    Leased,
    /// It failed too often, and waits for a person.
    Dead,
}

impl JobState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            JobState::Ready => "ready",
            JobState::Leased => "leased",
            JobState::Dead => "dead",
        }
    }

    /// The state stored under a name; one that nobody knows is left alone, as a dead job is.
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "ready" => JobState::Ready,
            "leased" => JobState::Leased,
            _ => JobState::Dead,
        }
    }
}

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What is to be done.
    pub kind: String,
    /// Whom it bothers.
    pub host: String,
    /// What the worker needs.
    pub payload: serde_json::Value,
    /// How it stands.
    pub state: JobState,
    /// How often it has been tried.
    pub attempts: u32,
    /// When it is due; for a leased job, when its lease ends.
    pub due: Timestamp,
    /// What went wrong last.
    pub error: Option<String>,
    /// Changes with every lease: an acknowledgement that comes after the lease ran out no longer fits.
    pub lease: i64,
}

/// What a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Only these kinds; empty for all.
    pub kinds: Vec<String>,
    /// At most so many.
    pub limit: usize,
    /// For so long; a job not acknowledged by then is given to another worker.
    pub duration: Duration,
    /// At most so many leased at once for one host.
    pub per_host: usize,
}

/// How many jobs there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Waiting.
    pub ready: u64,
    /// With a worker.
    pub leased: u64,
    /// Given up.
    pub dead: u64,
}

impl JobStats {
    pub(crate) fn add(&mut self, state: &str, number: u64) {
        match JobState::from_name(state) {
            JobState::Ready => self.ready += number,
            JobState::Leased => self.leased += number,
            JobState::Dead => self.dead += number,
        }
    }
}

/// When a job that has failed `attempts` times is tried again; `None` when it is dead.
pub(crate) fn retry_at(attempts: u32, now: Timestamp) -> Option<Timestamp> {
    if attempts >= ATTEMPTS {
        return None;
    }
    let wait = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(20)).min(LONGEST_WAIT);
    now.checked_add(wait).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        let now = Timestamp::UNIX_EPOCH;
        let waits: Vec<_> = (1..=ATTEMPTS).map(|n| retry_at(n, now).map(Timestamp::as_second)).collect();
        assert_eq!(&waits[..4], &[Some(5), Some(10), Some(20), Some(40)]);
        assert_eq!(waits.last(), Some(&None), "the last failure is the last");
        assert!(waits.iter().flatten().all(|wait| *wait <= 6 * 3600));
    }
}
