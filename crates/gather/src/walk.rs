//! Which files a path stands for: the file itself, or everything in a folder, in the order of names.
//!
//! Nothing is opened here but folders; reading files is `intake`'s.

use std::fs;
use std::path::{Path, PathBuf};

/// What was met on a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A file to read.
    File(PathBuf),
    /// Something that is no file, and is left out: a socket, a device, a link to a folder.
    Skipped {
        /// Where it stands.
        path: PathBuf,
        /// Why it is left out.
        reason: String,
    },
    /// Something that should have been read and could not be.
    Failed {
        /// Where it stands.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The files `path` stands for. A link given by name is followed; inside a folder links to files are followed and links to
/// folders are not, so a walk always ends and never leaves the folder it was given. Hidden entries of a folder are left out.
pub fn read_path(path: &Path) -> impl Iterator<Item = Found> + Send + use<> {
    Walk { start: Some(path.to_owned()), waiting: Vec::new() }
}

/// A walk under way. It holds the names of one folder per level, never those of the whole tree.
struct Walk {
    start: Option<PathBuf>,
    /// What is still to be visited, last first.
    waiting: Vec<PathBuf>,
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        if let Some(path) = self.start.take() {
            match fs::metadata(&path) {
                Ok(kind) if kind.is_dir() => {
                    if let Some(failed) = self.enter(&path) {
                        return Some(failed);
                    }
                }
                Ok(kind) if kind.is_file() => return Some(Found::File(path)),
                Ok(_) => return Some(special(path)),
                Err(error) => return Some(Found::Failed { path, reason: reason(&error) }),
            }
        }
        loop {
            let path = self.waiting.pop()?;
            let kind = match fs::symlink_metadata(&path) {
                Ok(kind) => kind,
                Err(error) => return Some(Found::Failed { path, reason: reason(&error) }),
            };
            if kind.is_dir() {
                if let Some(failed) = self.enter(&path) {
                    return Some(failed);
                }
            } else if kind.is_symlink() {
                return Some(match fs::metadata(&path) {
                    Ok(target) if target.is_file() => Found::File(path),
                    Ok(target) if target.is_dir() => {
                        let reason = "it is a link to a folder; name that folder itself to add it".to_owned();
                        Found::Skipped { path, reason }
                    }
                    Ok(_) => special(path),
                    Err(_) => Found::Skipped { path, reason: "it is a link that leads nowhere".to_owned() },
                });
            } else if kind.is_file() {
                return Some(Found::File(path));
            } else {
                return Some(special(path));
            }
        }
    }
}

impl Walk {
    /// Queues what is in a folder; what went wrong, if it cannot be read.
    fn enter(&mut self, folder: &Path) -> Option<Found> {
        let names = fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<Vec<_>, _>>()
        });
        match names {
            Ok(mut names) => {
                names.retain(|name| !name.to_string_lossy().starts_with('.'));
                names.sort();
                self.waiting.extend(names.into_iter().rev().map(|name| folder.join(name)));
                None
            }
            Err(error) => Some(Found::Failed { path: folder.to_owned(), reason: reason(&error) }),
        }
    }
}

fn special(path: PathBuf) -> Found {
    Found::Skipped { path, reason: "it is neither a file nor a folder".to_owned() }
}

/// The commonest troubles in plain words, the rest in the operating system's.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it may not be read: permission denied".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        read_path(path)
            .map(|found| match found {
                Found::File(path) => name(path),
                Found::Skipped { path, .. } => format!("skipped {}", name(path)),
                Found::Failed { path, .. } => format!("failed {}", name(path)),
            })
            .collect()
    }

    #[test]
    fn a_folder_is_walked_in_order_and_hidden_entries_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("子文件夹/deep")).unwrap();
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        for name in ["b.pdf", "a.pdf", "子文件夹/论文.pdf", "子文件夹/deep/c.pdf", ".hidden", ".git/config"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(names(folder.path()), ["a.pdf", "b.pdf", "c.pdf", "论文.pdf"]);
        assert_eq!(names(&folder.path().join("a.pdf")), ["a.pdf"]);
        assert_eq!(names(&folder.path().join(".hidden")), [".hidden"], "what is named is taken");
        assert_eq!(names(&folder.path().join("none")), ["failed none"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_never_lead_in_circles() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a").unwrap();
        symlink(folder.path(), folder.path().join("loop")).unwrap();
        symlink(folder.path().join("a.txt"), folder.path().join("link.txt")).unwrap();
        symlink("nowhere", folder.path().join("z")).unwrap();
        assert_eq!(names(folder.path()), ["a.txt", "link.txt", "skipped loop", "skipped z"]);
        assert_eq!(names(&folder.path().join("loop")).len(), 4, "a link given by name is followed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_no_text_is_still_a_file() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        // 论文 in GBK, as an old archive leaves it.
        let name = std::ffi::OsStr::from_bytes(b"\xc2\xdb\xce\xc4.pdf");
        fs::write(folder.path().join(name), "x").unwrap();
        assert!(
            matches!(&read_path(folder.path()).collect::<Vec<_>>()[..], [Found::File(path)] if path.file_name() == Some(name))
        );
    }
}
