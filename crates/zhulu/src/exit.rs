//! How the process ends: one table of exit codes, and the one function that picks from it.

use std::io;
use std::process::ExitCode;

use zhulu_catalogue::Error as CatalogueError;
use zhulu_gather::harvest::Error as HarvestError;

/// Done.
const DONE: u8 = 0;
/// Done, but some items failed.
const SOME_FAILED: u8 = 1;
/// Usage or configuration.
const USAGE: u8 = 2;
/// A source is unreachable.
const UNREACHABLE: u8 = 3;
/// The catalogue is unavailable.
const UNAVAILABLE: u8 = 4;
/// A bug in zhulu.
pub(crate) const BUG: u8 = 70;

/// How a command went when nothing stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// All of it is done.
    Done,
    /// Some items failed; what and why was said on standard error.
    SomeFailed,
}

impl Completion {
    /// All is done if nothing failed.
    pub(crate) fn of(failed: usize) -> Self {
        if failed == 0 { Completion::Done } else { Completion::SomeFailed }
    }
}

/// What a command was asked that it cannot do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Shorthand for a usage error.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// Tells the person what stopped the command, if anything did, and gives the exit code.
pub(crate) fn finish(result: anyhow::Result<Completion>) -> ExitCode {
    let code = match &result {
        Ok(Completion::Done) => DONE,
        Ok(Completion::SomeFailed) => SOME_FAILED,
        Err(error) => code(error),
    };
    if let Err(error) = result
        && !is_broken_pipe(&error)
    {
        eprintln!("zhulu: {}", sentence(&error));
    }
    ExitCode::from(code)
}

/// The exit code for an error: decided by the first cause whose type says what the caller can do about it.
fn code(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) {
        // Whoever read our output has read enough: nothing is wrong.
        return DONE;
    }
    for cause in error.chain() {
        if cause.is::<Usage>() || cause.is::<figment::Error>() {
            return USAGE;
        }
        if let Some(error) = cause.downcast_ref::<HarvestError>() {
            return match error {
                HarvestError::Outward(zhulu_gather::outward::Error::Address(_)) => USAGE,
                HarvestError::Catalogue(error) => catalogue_code(error),
                _ => UNREACHABLE,
            };
        }
        if let Some(error) = cause.downcast_ref::<CatalogueError>() {
            return catalogue_code(error);
        }
    }
    SOME_FAILED
}

fn catalogue_code(error: &CatalogueError) -> u8 {
    match error {
        CatalogueError::Address { .. } | CatalogueError::Query { .. } => USAGE,
        CatalogueError::NoRecord(_) | CatalogueError::Refused(_) | CatalogueError::File { .. } => SOME_FAILED,
        _ => UNAVAILABLE,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
}

/// The error and its causes in one line, without saying anything twice.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// From here on a panic says in plain words that it is a bug. It does not end the process: a reader that stumbles over one
/// file costs that file only, and what nobody catches ends `main` with [`BUG`].
pub(crate) fn explain_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no reason was given");
        eprintln!("zhulu: this is a bug in zhulu: {message}{place}; please report it with what you were doing");
    }));
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn every_error_has_the_code_of_the_table() {
        let unavailable = CatalogueError::Unavailable { catalogue: "postgres://h/d".into(), reason: "gone".into() };
        let refused = zhulu_gather::outward::Refused { host: "h".into(), address: "127.0.0.1".parse().unwrap() };
        for (error, expected) in [
            (usage("no"), USAGE),
            (anyhow::Error::from(unavailable).context("while adding"), UNAVAILABLE),
            (CatalogueError::Newer { catalogue: "c".into(), found: 9, known: 1 }.into(), UNAVAILABLE),
            (CatalogueError::Query { query: "\"".into(), reason: "it ends".into() }.into(), USAGE),
            (HarvestError::Outward(refused.into()).into(), UNREACHABLE),
            (io::Error::from(io::ErrorKind::BrokenPipe).into(), DONE),
            (anyhow::anyhow!("something else"), SOME_FAILED),
        ] {
            assert_eq!(code(&error), expected, "{error}");
        }
    }

    #[test]
    fn a_cause_is_said_once() {
        let inner: Result<(), _> = Err(usage("the key is unknown"));
        let error = inner.context("reading zhulu.toml").unwrap_err();
        assert_eq!(sentence(&error), "reading zhulu.toml: the key is unknown");
    }
}
