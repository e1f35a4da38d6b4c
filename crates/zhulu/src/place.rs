//! Where this platform keeps things, and who is using it. The one module that knows the folders of Linux, macOS and Windows.

use std::env;
use std::path::PathBuf;

/// The folder for the user's catalogue, and nothing else.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    };
    folder.map(|folder| folder.join("zhulu"))
}

/// The folder for the user's `zhulu.toml`.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let folder = if cfg!(windows) {
        variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))
    };
    folder.map(|folder| folder.join("zhulu"))
}

/// The name of the person at this terminal, for the history of what they change.
pub(crate) fn person() -> String {
    let names = ["USER", "USERNAME", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "somebody".to_owned())
}

fn home() -> Option<PathBuf> {
    variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}

/// A folder named by the environment; a relative one means nothing there and is ignored.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
