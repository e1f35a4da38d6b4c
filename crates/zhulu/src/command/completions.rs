//! `zhulu completions`: what a shell needs to complete our commands.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::exit::Completion;
use crate::output::Output;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu completions bash > ~/.local/share/bash-completion/completions/zhulu
  zhulu completions fish > ~/.config/fish/completions/zhulu.fish
  zhulu completions zsh > ~/.zfunc/_zhulu")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> anyhow::Result<Completion> {
        // Made in memory first: the generator does not survive a reader that closes the pipe.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "zhulu", &mut text);
        let mut output = Output::new();
        output.write_all(&text)?;
        output.flush()?;
        Ok(Completion::Done)
    }
}
