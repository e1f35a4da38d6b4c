//! Logs: structured lines on standard error, as text or JSON.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};
use crate::exit;

/// How much is logged, before configuration has its say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loudness {
    /// Errors.
    Quiet,
    /// What a person at a terminal must know.
    Warnings,
    /// What a service writes down.
    Service,
    /// What zhulu does, step by step.
    Verbose,
    /// Everything, of the libraries too.
    Everything,
}

impl Loudness {
    fn filter(self) -> &'static str {
        match self {
            Loudness::Quiet => "error",
            Loudness::Warnings => "warn",
            Loudness::Service => "warn,zhulu=info",
            Loudness::Verbose => "info,zhulu=debug",
            Loudness::Everything => "debug,zhulu=trace",
        }
    }
}

/// Starts logging. What the `log` key says goes before what the command and its flags suggest.
pub(crate) fn start(config: &Config, loudness: Loudness) -> anyhow::Result<()> {
    let text = config.log.as_deref().unwrap_or(loudness.filter());
    let filter = EnvFilter::builder().parse(text).map_err(|error| {
        exit::usage(format!("log = {text:?} is no log filter: {error}; write for example \"info\""))
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging cannot be started: {error}"))
}
