//! What every command is given: the configuration, the way to the catalogue, and how loud to be.

use anyhow::Context as _;
use zhulu_catalogue::Catalogue;
use zhulu_gather::intake;

use crate::config::{Config, Configured};

/// What every command is given.
pub(crate) struct Context {
    /// The configuration and where it came from.
    pub(crate) configured: Configured,
    /// Whether the person wants no progress and no remarks.
    pub(crate) quiet: bool,
}

impl Context {
    /// The configuration.
    pub(crate) fn config(&self) -> &Config {
        &self.configured.config
    }

    /// Opens the catalogue, making it if need be.
    pub(crate) async fn catalogue(&self) -> anyhow::Result<Catalogue> {
        Ok(Catalogue::open(self.config().settings()?).await?)
    }

    /// How files are taken in.
    pub(crate) fn intake(&self) -> intake::Settings {
        let &Config { file_limit, readers, .. } = self.config();
        intake::Settings { file_limit, readers, ..intake::Settings::default() }
    }

    /// Brings the search index up to date, unless a serving process does that. What was added is safe without it, so
    /// trouble with the index is told and stops nothing.
    pub(crate) async fn index(&self, catalogue: &Catalogue) {
        if let Err(error) = catalogue.catch_up().await.context("the search index is behind") {
            crate::output::say(&format!("{error:#}"));
        }
    }
}
