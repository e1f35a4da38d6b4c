//! The program as people run it: the real binary, in temporary folders, judged by its exit code and what it prints.

#![allow(clippy::unwrap_used)]

mod command_line;
mod round_trip;
#[cfg(unix)]
mod serving;
mod wrong_input;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A place of its own for each test: a home, a working folder and a catalogue.
struct Place {
    folder: tempfile::TempDir,
}

/// What a run left behind.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("zhulu-测试-").tempdir().unwrap();
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The binary, with nothing of the machine's own configuration in sight.
    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zhulu"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ZHULU_") || name.to_string_lossy().starts_with("XDG_") {
                command.env_remove(name);
            }
        }
        let home = self.path("home");
        std::fs::create_dir_all(&home).unwrap();
        command.env("HOME", &home).env("USERPROFILE", &home).env("APPDATA", &home).env("USER", "lin");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        finished(self.command().args(arguments).output().unwrap())
    }

    /// The same, and it must succeed: its standard output.
    fn ok<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run.stdout
    }
}

fn finished(output: Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The first field of the first line.
fn first_id(stdout: &str) -> &str {
    stdout.split(['\t', '\n']).next().unwrap()
}

/// The files in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
