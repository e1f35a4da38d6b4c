//! The commands, one file each.

pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod edit;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod extract;
pub(crate) mod harvest;
pub(crate) mod history;
pub(crate) mod identify;
pub(crate) mod import;
pub(crate) mod jobs;
pub(crate) mod man;
pub(crate) mod restore;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod token;
pub(crate) mod verify;
pub(crate) mod work;

use crate::arguments::Command;
use crate::context::Context;
use crate::exit::Completion;

/// Runs a command.
pub(crate) async fn run(command: Command, context: &Context) -> anyhow::Result<Completion> {
    match command {
        Command::Serve(command) => command.run(context).await,
        Command::Work(command) => command.run(context).await,
        Command::Add(command) => command.run(context).await,
        Command::Search(command) => command.run(context).await,
        Command::Show(command) => command.run(context).await,
        Command::Edit(command) => command.run(context).await,
        Command::History(command) => command.run(context).await,
        Command::Extract(command) => command.run(context).await,
        Command::Identify(command) => command.run(context).await,
        Command::Harvest(command) => command.run(context).await,
        Command::Export(command) => command.run(context).await,
        Command::Import(command) => command.run(context).await,
        Command::Backup(command) => command.run(context).await,
        Command::Restore(command) => command.run(context).await,
        Command::Verify(command) => command.run(context).await,
        Command::Erase(command) => command.run(context).await,
        Command::Compact(command) => command.run(context).await,
        Command::Token(command) => command.run(context).await,
        Command::Jobs(command) => command.run(context).await,
        Command::Config(command) => command.run(context),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}
