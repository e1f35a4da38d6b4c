//! Where a catalogue and its parts are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Error;

/// Where the log is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An SQLite file; blobs and index in folders beside it.
    Sqlite(PathBuf),
    /// A PostgreSQL database, as a connection URL.
    Postgres(String),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let error = |reason: &str| Error::Address { address: text.to_owned(), reason: reason.to_owned() };
        match text.split_once(':') {
            Some(("sqlite", "")) => Err(error("the path is missing")),
            Some(("sqlite", path)) => Ok(Address::Sqlite(PathBuf::from(path))),
            Some(("postgres" | "postgresql", _)) => match text.parse::<tokio_postgres::Config>() {
                Ok(_) => Ok(Address::Postgres(text.to_owned())),
                Err(reason) => Err(error(&reason.to_string())),
            },
            _ => Err(error("it starts with neither sqlite: nor postgres:")),
        }
    }
}

/// As it was given, but without the password: this goes into messages and logs.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Address::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let rest = match rest.split_once('@') {
                    Some((who, place)) => format!("{}@{place}", who.split(':').next().unwrap_or(who)),
                    None => rest.to_owned(),
                };
                // A password may also stand in the query part.
                let rest = match rest.split_once('?') {
                    Some((place, query)) if query.contains("password") => format!("{place}?…"),
                    _ => rest,
                };
                write!(f, "{scheme}://{rest}")
            }
        }
    }
}

/// Where blobs are kept.
#[derive(Clone, PartialEq, Eq)]
pub enum BlobAddress {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A bucket in an S3 store.
    S3 {
        /// The bucket.
        bucket: String,
        /// Put before every name in it.
        prefix: String,
        /// The store's address; `None` for Amazon's own.
        endpoint: Option<String>,
        /// The region.
        region: Option<String>,
        /// Access key and its secret; without them those of the environment or machine are used.
        credentials: Option<(String, String)>,
    },
}

/// Without the secret.
impl fmt::Debug for BlobAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlobAddress::Folder(path) => write!(f, "{}", path.display()),
            BlobAddress::S3 { bucket, prefix, endpoint, .. } => {
                write!(f, "s3://{bucket}/{prefix}")?;
                endpoint.iter().try_for_each(|endpoint| write!(f, " at {endpoint}"))
            }
        }
    }
}

/// All that is needed to open a catalogue.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The log.
    pub address: Address,
    /// The files.
    pub blobs: BlobAddress,
    /// The search index's folder, local to each serving machine.
    pub index: PathBuf,
}

impl Settings {
    /// An SQLite catalogue with everything in one folder: `catalogue.sqlite`, `blobs/` and `index/`.
    pub fn in_folder(folder: &Path) -> Self {
        Settings::for_sqlite(folder.join("catalogue.sqlite"))
    }

    /// An SQLite catalogue; blobs and index stand beside the file.
    pub fn for_sqlite(path: PathBuf) -> Self {
        let beside = |suffix: &str| {
            // The default file keeps the plain names; two catalogues in one folder must not share theirs.
            if path.file_name().is_some_and(|name| name == "catalogue.sqlite") {
                path.with_file_name(suffix)
            } else {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".");
                name.push(suffix);
                path.with_file_name(name)
            }
        };
        Settings { blobs: BlobAddress::Folder(beside("blobs")), index: beside("index"), address: Address::Sqlite(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        assert_eq!("sqlite:目录/a.db".parse::<Address>().unwrap(), Address::Sqlite("目录/a.db".into()));
        assert!("postgres://me@host/db".parse::<Address>().is_ok());
        for wrong in ["", "mysql://x", "sqlite:", "a.db", "postgres://host:notaport/db"] {
            assert!(matches!(wrong.parse::<Address>(), Err(Error::Address { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for address in ["postgres://me:s3cret@host/db", "postgres://host/db?user=me&password=s3cret"] {
            assert!(!address.parse::<Address>().unwrap().to_string().contains("s3cret"));
        }
    }
}
