//! Standard output, which is data, and standard error, which is for people.
//!
//! A reader that closes the pipe early ends the command quietly, so nothing here panics on writing.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

/// Standard output.
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    /// The window's width, when it is a window.
    pub(crate) width: Option<usize>,
    /// Whether parts may be marked by colour.
    pub(crate) colour: bool,
}

impl Output {
    /// Standard output as it is.
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let width = stdout.is_terminal().then(|| {
            let size = terminal_size::terminal_size();
            size.map_or(80, |(width, _)| usize::from(width.0)).max(40)
        });
        let colour = width.is_some() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Output { stdout: BufWriter::new(stdout), width, colour }
    }

    /// One line, to be seen at once.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.stdout, "{text}")?;
        // People watch a terminal and programs read a pipe line by line; both would wait for a buffer to fill.
        self.stdout.flush()
    }

    /// A value as one line of JSON.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        self.line(&text)
    }

    /// A value as JSON to be read by people too.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.line(&text)
    }

    /// A marked piece of text, where marks can be seen.
    pub(crate) fn mark(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[1;33m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A faint piece of text, where that can be seen.
    pub(crate) fn faint(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// A line for people. Standard error may be closed, and that is no reason to stop.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "zhulu: {}", crate::table::plain(text));
}
