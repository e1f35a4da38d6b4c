//! The process: command line, configuration, logs, signals and exit codes. What is done is the other crates' work.

mod arguments;
mod command;
mod config;
mod context;
mod exit;
mod find;
mod logging;
mod output;
mod place;
mod progress;
mod signal;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::config::Configured;
use crate::context::Context;
use crate::exit::Completion;

fn main() -> ExitCode {
    exit::explain_panics();
    // Usage errors, help and version end here: clap prints them and exits with 2 or 0, as our table says.
    let arguments = Arguments::parse();
    match std::panic::catch_unwind(|| exit::finish(run(arguments))) {
        Ok(code) => code,
        Err(_) => ExitCode::from(exit::BUG),
    }
}

fn run(arguments: Arguments) -> anyhow::Result<Completion> {
    // These two describe the command line itself and must work whatever the configuration says.
    match &arguments.command {
        Command::Completions(completions) => return completions.run(),
        Command::Man(man) => return man.run(),
        _ => {}
    }
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let configured = Configured::load(arguments.global.config.as_deref(), variables, arguments.layers())?;
    logging::start(&configured.config, arguments.loudness())?;
    let context = Context { configured, quiet: arguments.global.quiet };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(command::run(arguments.command, &context));
    // A large file may still be being read when Ctrl-C came; nothing waits for what it says.
    runtime.shutdown_background();
    result
}
