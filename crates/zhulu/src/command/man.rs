//! `zhulu man`: the manual pages, made from the same definition as the help.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory};

use crate::arguments::Arguments;
use crate::exit::Completion;
use crate::output::Output;

/// Print the manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu man | man -l -
  zhulu man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// A folder for the pages: zhulu.1, zhulu-add.1 and so on
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> anyhow::Result<Completion> {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let Some(folder) = &self.folder else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            let mut output = Output::new();
            output.write_all(&page)?;
            output.flush()?;
            return Ok(Completion::Done);
        };
        let failed = || format!("the manual pages cannot be written to {}", folder.display());
        fs::create_dir_all(folder).with_context(failed)?;
        clap_mangen::generate_to(command, folder).with_context(failed)?;
        Ok(Completion::Done)
    }
}
