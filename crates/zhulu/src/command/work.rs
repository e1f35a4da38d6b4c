//! `zhulu work`: a worker beside others, on one catalogue.

use clap::Args;
use zhulu_gather::work::{WorkSettings, work};

use crate::context::Context;
use crate::exit::Completion;
use crate::output::say;
use crate::signal;

/// Run queued work, beside any number of other workers
///
/// Plain `zhulu serve` works too; this is for more machines on one PostgreSQL catalogue. Ctrl-C lets running jobs end
/// and gives back the others.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu work
  zhulu --catalogue postgres://zhulu@db/zhulu work --jobs 4")]
pub(crate) struct Work {
    /// How many jobs at once
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
}

impl Work {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        if !context.quiet {
            say(&format!("working for {}; Ctrl-C stops", catalogue.settings().address));
        }
        let settings =
            WorkSettings { concurrency: self.jobs.into(), intake: context.intake(), ..WorkSettings::default() };
        work(catalogue, settings, signal::stop()).await;
        Ok(Completion::Done)
    }
}
