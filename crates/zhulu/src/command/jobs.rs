//! `zhulu jobs`: what waits, what runs, and what was given up.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use zhulu_catalogue::{JobId, JobState, Store};

use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::output::{Output, say};
use crate::table::Table;

/// How many dead jobs are revived at a time.
const PAGE: usize = 1000;

/// See and retry queued work
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu jobs list
  zhulu jobs list --state dead --to jsonl
  zhulu jobs retry 42
  zhulu jobs retry --all")]
pub(crate) struct Jobs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List jobs
    List {
        /// Only jobs in this state
        #[arg(long, value_name = "STATE")]
        state: Option<State>,
        /// At most so many of each state
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
        /// How to print them
        #[arg(long, value_name = "FORM", default_value = "table")]
        to: To,
    },
    /// Try dead jobs again
    Retry {
        /// Which, by number
        #[arg(value_name = "JOB")]
        jobs: Vec<i64>,
        /// All of them
        #[arg(long, conflicts_with = "jobs")]
        all: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum State {
    Ready,
    Leased,
    Dead,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Jsonl,
}

impl State {
    const ALL: [State; 3] = [State::Leased, State::Ready, State::Dead];

    fn of_catalogue(self) -> JobState {
        match self {
            State::Ready => JobState::Ready,
            State::Leased => JobState::Leased,
            State::Dead => JobState::Dead,
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Leased => "leased",
            State::Dead => "dead",
        }
    }
}

impl Jobs {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let store = catalogue.store();
        let mut output = Output::new();
        match self.action {
            Action::List { state, limit, to } => {
                let states = state.map_or(State::ALL.to_vec(), |state| vec![state]);
                let mut table = Table::new(&["job", "state", "kind", "tries", "due", "trouble"]);
                for state in states {
                    for job in store.jobs(state.of_catalogue(), limit).await? {
                        let trouble = job.error.clone().unwrap_or_default();
                        match to {
                            To::Table => {
                                let due = job.due.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                                let (id, tries) = (job.id.0.to_string(), job.attempts.to_string());
                                table.row([id.as_str(), state.name(), &job.kind, &tries, &due, &trouble]);
                            }
                            To::Jsonl => output.json_line(&json!({
                                "job": job.id, "state": state.name(), "kind": job.kind, "host": job.host,
                                "payload": job.payload, "attempts": job.attempts, "due": job.due, "error": job.error,
                            }))?,
                        }
                    }
                }
                if matches!(to, To::Table) {
                    table.print(&mut output)?;
                }
                Ok(Completion::Done)
            }
            Action::Retry { jobs, all } => {
                if jobs.is_empty() && !all {
                    return Err(usage("which? give the numbers of dead jobs, or --all"));
                }
                let mut failed = 0;
                for job in jobs {
                    if !store.revive(JobId(job)).await? {
                        say(&format!("there is no dead job {job}"));
                        failed += 1;
                    }
                }
                if all {
                    // Each round takes a page, since reviving empties the list from the front.
                    while revive_page(store).await? > 0 {}
                }
                Ok(Completion::of(failed))
            }
        }
    }
}

/// Revives the first page of dead jobs; how many there were.
async fn revive_page(store: &dyn Store) -> anyhow::Result<usize> {
    let mut revived = 0;
    for job in store.jobs(JobState::Dead, PAGE).await? {
        revived += usize::from(store.revive(job.id).await?);
    }
    Ok(revived)
}
