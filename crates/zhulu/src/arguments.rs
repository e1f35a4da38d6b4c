//! The command line: its flags and commands. What each command does is in `command/`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::command;
use crate::config::Layer;
use crate::logging::Loudness;

const EXAMPLES: &str = "\
EXAMPLES
  zhulu serve                     the portal, OAI-PMH and feeds on port 8080
  zhulu add papers/               every document in a folder
  zhulu search 元数据 title:extraction
  zhulu show 7bq2                 a record, by the start of its identifier
  zhulu extract paper.pdf --to jsonl

EXIT CODES
  0   done
  1   done, but some items failed
  2   wrong usage or configuration
  3   a source is unreachable
  4   the catalogue is unavailable
  70  a bug in zhulu";

/// Gathers metadata, keeps it in a catalogue, and publishes it.
///
/// Documents and OAI-PMH repositories go in; a portal, OAI-PMH, feeds and search come out.
/// Standard output is data, standard error is for people.
#[derive(Debug, Parser)]
#[command(name = "zhulu", version, after_help = EXAMPLES, max_term_width = 80)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that stand before or after any command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The catalogue: sqlite:PATH or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "ADDRESS", global = true, help_heading = "Everywhere")]
    pub(crate) catalogue: Option<String>,
    /// The configuration file, instead of ./zhulu.toml or the user's own
    #[arg(long, value_name = "FILE", global = true, help_heading = "Everywhere")]
    pub(crate) config: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = "Everywhere")]
    pub(crate) quiet: bool,
    /// Say what is being done; twice, say everything
    #[arg(long, short, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(command::serve::Serve),
    Work(command::work::Work),
    Add(command::add::Add),
    Search(command::search::Search),
    Show(command::show::Show),
    Edit(command::edit::Edit),
    History(command::history::History),
    Extract(command::extract::Extract),
    Identify(command::identify::Identify),
    Harvest(command::harvest::Harvest),
    Export(command::export::Export),
    Import(command::import::Import),
    Backup(command::backup::Backup),
    Restore(command::restore::Restore),
    Verify(command::verify::Verify),
    Erase(command::erase::Erase),
    Compact(command::compact::Compact),
    Token(command::token::Token),
    Jobs(command::jobs::Jobs),
    Config(command::config::Config),
    Completions(command::completions::Completions),
    Man(command::man::Man),
}

impl Arguments {
    /// What the flags say about the configuration.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let mut layers = Vec::new();
        layers.extend(self.global.catalogue.as_deref().map(|value| Layer::flag("--catalogue", "catalogue", value)));
        if let Command::Serve(serve) = &self.command {
            layers.extend(serve.listen.as_deref().map(|value| Layer::flag("--listen", "listen", value)));
        }
        layers
    }

    /// How much is logged.
    pub(crate) fn loudness(&self) -> Loudness {
        match (self.global.quiet, self.global.verbose) {
            (true, _) => Loudness::Quiet,
            (_, 1) => Loudness::Verbose,
            (_, 2..) => Loudness::Everything,
            _ if matches!(self.command, Command::Serve(_) | Command::Work(_)) => Loudness::Service,
            _ => Loudness::Warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples_and_fits_a_terminal() {
        for command in Arguments::command().get_subcommands_mut() {
            let name = command.get_name().to_owned();
            if name == "help" {
                continue;
            }
            let nested = command.has_subcommands();
            let help = command.render_long_help().to_string();
            assert!(nested || help.contains("EXAMPLES"), "{name} has no examples");
            let examples = help.split_once("EXAMPLES").map_or("", |(_, examples)| examples);
            for line in examples.lines() {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{name}: {line}");
            }
        }
    }
}
