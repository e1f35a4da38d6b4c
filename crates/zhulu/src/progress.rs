//! Progress for people: a line on standard error that moves, when that is a terminal and nobody asked for quiet.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that shows how far a long task is.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line that says what is done; hidden where nobody would see it.
    pub(crate) fn new(what: &str, quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Progress { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg}: {pos} ({per_sec}, {elapsed})");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress { bar }
    }

    /// One more is done.
    pub(crate) fn advance(&self) {
        self.bar.inc(1);
    }

    /// Prints something without tearing the line apart.
    pub(crate) fn around<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A reader or writer of lines whose lines are counted as they pass.
pub(crate) struct Metered<T> {
    pub(crate) inner: T,
    bar: ProgressBar,
}

impl Progress {
    /// Counts the lines that pass through `inner`.
    pub(crate) fn meter<T>(&self, inner: T) -> Metered<T> {
        Metered { inner, bar: self.bar.clone() }
    }
}

impl<T> Metered<T> {
    fn count(&self, bytes: &[u8]) {
        self.bar.inc(bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
    }
}

impl<T: Write> Write for Metered<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: BufRead> Read for Metered<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.count(&bytes[..read]);
        Ok(read)
    }
}

impl<T: BufRead> BufRead for Metered<T> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Ok(bytes) = self.inner.fill_buf() {
            let lines = bytes[..amount.min(bytes.len())].iter().filter(|byte| **byte == b'\n').count();
            self.bar.inc(lines as u64);
        }
        self.inner.consume(amount);
    }
}
