//! Configuration: defaults, then `zhulu.toml`, then `ZHULU_*`, then flags. Every value knows where it came from.
//!
//! The keys are flat, so that a key, its variable (`ZHULU_` and the key in capitals) and its line in the file are one word.

use std::fs;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use serde::{Deserialize, Serialize};
use zhulu_catalogue::{Address, BlobAddress, Settings};
use zhulu_protocol::oai::response::{is_email, is_namespace};
use zhulu_record::Digest;

use crate::exit::usage;
use crate::place;

/// Everything that can be configured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Config {
    pub(crate) catalogue: String,
    pub(crate) blobs: Option<String>,
    pub(crate) s3_endpoint: Option<String>,
    pub(crate) s3_region: Option<String>,
    pub(crate) s3_access_key: Option<String>,
    pub(crate) s3_secret_key: Option<String>,
    pub(crate) index: Option<PathBuf>,
    pub(crate) listen: String,
    pub(crate) base_url: Option<String>,
    pub(crate) name: String,
    pub(crate) admin_email: String,
    pub(crate) namespace: String,
    pub(crate) page_size: usize,
    pub(crate) upload_limit: u64,
    pub(crate) file_limit: u64,
    pub(crate) readers: usize,
    pub(crate) samples: PathBuf,
    pub(crate) retention_days: u32,
    pub(crate) log: Option<String>,
    pub(crate) log_format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// What is known of a key.
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it means, in a line.
    pub(crate) meaning: &'static str,
    /// Whether its value is a number, which matters where values come as text.
    number: bool,
    /// Whether its value must not be shown.
    secret: bool,
}

const fn text(name: &'static str, meaning: &'static str) -> Key {
    Key { name, meaning, number: false, secret: false }
}

const fn number(name: &'static str, meaning: &'static str) -> Key {
    Key { name, meaning, number: true, secret: false }
}

const fn secret(name: &'static str, meaning: &'static str) -> Key {
    Key { name, meaning, number: false, secret: true }
}

/// All keys, in the order a person would set them. A test holds this list and [`Config`] together.
pub(crate) const KEYS: &[Key] = &[
    text("catalogue", "where the log is: sqlite:PATH or postgres://USER@HOST/DATABASE"),
    text("blobs", "where files are: a folder, or s3://BUCKET/PREFIX"),
    text("s3_endpoint", "the address of an S3 store that is not Amazon's"),
    text("s3_region", "the region of the S3 store"),
    text("s3_access_key", "the access key of the S3 store"),
    secret("s3_secret_key", "its secret"),
    text("index", "the folder of the search index, on this machine"),
    text("listen", "where serve listens: ADDRESS:PORT"),
    text("base_url", "the address readers see, when a proxy stands before serve"),
    text("name", "the name of the repository"),
    text("admin_email", "whom harvesters may write to"),
    text("namespace", "the middle of our OAI identifiers: oai:NAMESPACE:ID"),
    number("page_size", "records in one OAI-PMH page"),
    number("upload_limit", "the largest upload, in bytes"),
    number("file_limit", "the largest file add and work read, in bytes"),
    number("readers", "files read at once"),
    text("samples", "a folder of documents that an empty catalogue offers"),
    number("retention_days", "how long compact keeps superseded machine entries"),
    text("log", "what is logged: error, warn, info, debug, or a filter"),
    text("log_format", "how it is logged: text or json"),
];

/// Values from one place.
pub(crate) struct Layer {
    /// Where they come from, as `zhulu config` says it.
    origin: String,
    values: Dict,
}

impl Layer {
    /// One value given by a flag of the command line.
    pub(crate) fn flag(flag: &str, key: &'static str, value: &str) -> Self {
        Layer { origin: format!("flag {flag}"), values: Dict::from([(key.to_owned(), Value::from(value))]) }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// The configuration and where each of its values came from.
pub(crate) struct Configured {
    pub(crate) config: Config,
    figment: Figment,
}

impl Configured {
    /// Reads everything: the file given, or the first found of `./zhulu.toml` and the user's; then `variables`; then flags.
    pub(crate) fn load(
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
        flags: Vec<Layer>,
    ) -> anyhow::Result<Self> {
        let mut figment = Figment::from(defaults()?);
        if let Some(layer) = file_layer(file)? {
            figment = figment.merge(layer);
        }
        for layer in variables.filter_map(variable_layer).chain(flags) {
            figment = figment.merge(layer);
        }
        let config: Config =
            figment.extract().map_err(|error| usage(format!("the configuration is wrong: {error}")))?;
        config.check()?;
        Ok(Configured { config, figment })
    }

    /// Where a key's value came from.
    pub(crate) fn origin(&self, key: &Key) -> String {
        match self.figment.find_metadata(key.name) {
            Some(metadata) => metadata.name.to_string(),
            None if self.derived(key).is_some() => "goes with the catalogue".to_owned(),
            None => "not set".to_owned(),
        }
    }

    /// The value of a key that nobody set and that follows from where the catalogue is.
    pub(crate) fn derived(&self, key: &Key) -> Option<String> {
        let settings = self.config.settings().ok()?;
        match key.name {
            "blobs" if self.config.blobs.is_none() => Some(format!("{:?}", settings.blobs)),
            "index" if self.config.index.is_none() => Some(settings.index.display().to_string()),
            _ => None,
        }
    }

    /// A key's value as it may be shown: without secrets.
    pub(crate) fn shown(&self, key: &Key) -> Option<String> {
        let value = self.figment.find_value(key.name).ok()?;
        if key.secret {
            return Some("(set, and not shown)".to_owned());
        }
        let text = match &value {
            Value::String(_, text) => text.clone(),
            other => {
                let number = other.to_u128().map(|number| number.to_string());
                number.or_else(|| other.to_i128().map(|number| number.to_string()))?
            }
        };
        // The address drops its password when it prints itself.
        let address = (key.name == "catalogue").then(|| text.parse::<Address>().ok()).flatten();
        Some(address.map_or(text, |address| address.to_string()))
    }

    /// Whether a key's value is a number.
    pub(crate) fn is_number(&self, key: &Key) -> bool {
        key.number
    }
}

impl Config {
    /// What `zhulu-catalogue` needs to open the catalogue.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let address: Address = self.catalogue.parse()?;
        let mut settings = match &address {
            Address::Sqlite(path) => Settings::for_sqlite(path.clone()),
            Address::Postgres(_) => {
                let beside = data_folder().join(folder_name(&address));
                Settings { address, blobs: BlobAddress::Folder(beside.join("blobs")), index: beside.join("index") }
            }
        };
        if let Some(index) = &self.index {
            settings.index = index.clone();
        }
        match self.blobs.as_deref().map(|blobs| (blobs, blobs.strip_prefix("s3://"))) {
            None => {}
            Some((_, Some(place))) => {
                let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
                if bucket.is_empty() {
                    return Err(usage("blobs = \"s3://\" names no bucket; write s3://BUCKET/PREFIX"));
                }
                settings.blobs = BlobAddress::S3 {
                    bucket: bucket.to_owned(),
                    prefix: prefix.trim_matches('/').to_owned(),
                    endpoint: self.s3_endpoint.clone(),
                    region: self.s3_region.clone(),
                    credentials: self.s3_access_key.clone().zip(self.s3_secret_key.clone()),
                };
            }
            Some((folder, None)) => settings.blobs = BlobAddress::Folder(PathBuf::from(folder)),
        }
        Ok(settings)
    }

    /// What no single type says.
    fn check(&self) -> anyhow::Result<()> {
        self.catalogue.parse::<Address>()?;
        if self.page_size == 0 || self.page_size > 10_000 {
            return Err(usage(format!("page_size = {} does not make sense; write 1 to 10000", self.page_size)));
        }
        if self.readers == 0 {
            return Err(usage("readers = 0 would read nothing; write 1 or more"));
        }
        if !is_namespace(&self.namespace) {
            let namespace = &self.namespace;
            return Err(usage(format!("namespace = {namespace:?} is no domain name, which OAI identifiers need")));
        }
        if !is_email(&self.admin_email) {
            return Err(usage(format!("admin_email = {:?} is no e-mail address", self.admin_email)));
        }
        if let Some(url) = &self.base_url
            && zhulu_gather::outward::address(url).is_err()
        {
            return Err(usage(format!("base_url = {url:?} is no address; write https://HOST/PATH")));
        }
        if self.s3_access_key.is_some() != self.s3_secret_key.is_some() {
            return Err(usage("s3_access_key and s3_secret_key belong together; set both or neither"));
        }
        Ok(())
    }
}

/// The user's data folder, or one here for a user who has none.
fn data_folder() -> PathBuf {
    place::data_folder().unwrap_or_else(|| PathBuf::from("zhulu-data"))
}

/// The folder of what this machine keeps for a catalogue that is elsewhere: each catalogue has its own, since an index of one
/// must never be taken for that of another. The name can be read; the digest in it keeps like names apart.
fn folder_name(address: &Address) -> String {
    let text = address.to_string();
    let digest = Digest::of(text.as_bytes()).to_string();
    let readable: String = text.replace("://", "-").replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    format!("{}-{}", readable.chars().take(60).collect::<String>(), &digest[..8])
}

fn defaults() -> anyhow::Result<Layer> {
    let folder = data_folder();
    let config = Config {
        catalogue: Address::Sqlite(folder.join("catalogue.sqlite")).to_string(),
        blobs: None,
        s3_endpoint: None,
        s3_region: None,
        s3_access_key: None,
        s3_secret_key: None,
        index: None,
        listen: "127.0.0.1:8080".to_owned(),
        base_url: None,
        name: "zhulu 著录".to_owned(),
        admin_email: "admin@zhulu.invalid".to_owned(),
        namespace: "zhulu.invalid".to_owned(),
        page_size: 100,
        upload_limit: 256 << 20,
        file_limit: 512 << 20,
        readers: 2,
        samples: PathBuf::from("samples"),
        retention_days: 90,
        log: None,
        log_format: LogFormat::Text,
    };
    let mut values = match Value::serialize(config)? {
        Value::Dict(_, values) => values,
        _ => Dict::new(),
    };
    // A key without a default is absent, so that it can be told from one that was set.
    values.retain(|_, value| !matches!(value, Value::Empty(..)));
    Ok(Layer { origin: "default".to_owned(), values })
}

fn file_layer(given: Option<&Path>) -> anyhow::Result<Option<Layer>> {
    let found = match given {
        Some(path) => Some(path.to_owned()),
        None => [Some(PathBuf::from("zhulu.toml")), place::config_folder().map(|folder| folder.join("zhulu.toml"))]
            .into_iter()
            .flatten()
            .find(|path| path.is_file()),
    };
    let Some(path) = found else { return Ok(None) };
    let shown = path.display();
    let text = fs::read_to_string(&path)
        .map_err(|error| usage(format!("the configuration file {shown} cannot be read: {error}")))?;
    let table: toml::Table =
        text.parse().map_err(|error| usage(format!("the configuration file {shown} is not TOML: {error}")))?;
    for key in table.keys() {
        if !KEYS.iter().any(|known| known.name == key) {
            let hint = nearest(key).map(|known| format!("; did you mean {known:?}?"));
            let hint = hint.unwrap_or_else(|| "; `zhulu config` lists the keys there are".to_owned());
            return Err(usage(format!("the configuration file {shown} has the unknown key {key:?}{hint}")));
        }
    }
    let values = match Value::serialize(table)? {
        Value::Dict(_, values) => values,
        _ => Dict::new(),
    };
    Ok(Some(Layer { origin: format!("file {shown}"), values }))
}

/// The value of a `ZHULU_` variable; a variable of another name is not ours, and an empty one counts as not set.
fn variable_layer((name, value): (String, String)) -> Option<Layer> {
    let key = name.strip_prefix("ZHULU_")?.to_ascii_lowercase();
    let key = KEYS.iter().find(|known| known.name == key)?;
    if value.is_empty() {
        return None;
    }
    let value = match value.trim().parse::<u64>() {
        Ok(number) if key.number => Value::from(number),
        _ => Value::from(value),
    };
    Some(Layer { origin: format!("variable {name}"), values: Dict::from([(key.name.to_owned(), value)]) })
}

/// The key that was probably meant.
fn nearest(key: &str) -> Option<&'static str> {
    let alike = |known: &'static Key| (strsim::jaro_winkler(key, known.name), known.name);
    let best = KEYS.iter().map(alike).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, variables: &[(&str, &str)], flags: Vec<Layer>) -> anyhow::Result<Configured> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("配置.toml");
        fs::write(&path, file).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Configured::load(Some(&path), variables.collect::<Vec<_>>().into_iter(), flags)
    }

    fn key(name: &str) -> &'static Key {
        KEYS.iter().find(|key| key.name == name).unwrap()
    }

    #[test]
    fn the_list_of_keys_is_the_configuration() {
        let Value::Dict(_, values) = Value::serialize(load("", &[], Vec::new()).unwrap().config).unwrap() else {
            panic!()
        };
        let mut listed: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        listed.sort_unstable();
        assert_eq!(values.keys().map(String::as_str).collect::<Vec<_>>(), listed);
    }

    #[test]
    fn later_places_outrank_earlier_ones() {
        let file = "listen = \"127.0.0.1:1\"\nname = \"文件\"\npage_size = 7\n";
        let variables = [("ZHULU_LISTEN", "127.0.0.1:2"), ("ZHULU_PAGE_SIZE", "8"), ("ZHULU_NAME", "")];
        let flags = vec![Layer::flag("--listen", "listen", "127.0.0.1:3")];
        let configured = load(file, &variables, flags).unwrap();
        assert_eq!(configured.config.listen, "127.0.0.1:3");
        assert_eq!(configured.config.page_size, 8);
        assert_eq!(configured.config.name, "文件", "an empty variable is not set");
        assert_eq!(configured.origin(key("listen")), "flag --listen");
        assert_eq!(configured.origin(key("page_size")), "variable ZHULU_PAGE_SIZE");
        assert!(configured.origin(key("name")).starts_with("file "));
        assert_eq!(configured.origin(key("readers")), "default");
        assert_eq!(configured.origin(key("index")), "goes with the catalogue");
        assert_eq!(configured.origin(key("base_url")), "not set");
    }

    #[test]
    fn a_number_may_be_a_name() {
        assert_eq!(load("", &[("ZHULU_NAME", "2009")], Vec::new()).unwrap().config.name, "2009");
    }

    #[test]
    fn an_unknown_key_is_an_error_that_helps() {
        let error = load("lisen = \"127.0.0.1:1\"", &[], Vec::new()).err().unwrap().to_string();
        assert!(error.contains("\"lisen\"") && error.contains("\"listen\""), "{error}");
        for wrong in [
            "page_size = \"many\"",
            "page_size = 0",
            "catalogue = \"mysql://x\"",
            "log_format = \"xml\"",
            "a b",
            "namespace = \"a b\"",
        ] {
            assert!(load(wrong, &[], Vec::new()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let file = "catalogue = \"postgres://me:s3cret@host/db\"\ns3_access_key = \"a\"\ns3_secret_key = \"s3cret\"\n";
        let configured = load(file, &[], Vec::new()).unwrap();
        for key in KEYS {
            assert!(!configured.shown(key).unwrap_or_default().contains("s3cret"), "{}", key.name);
        }
    }

    #[test]
    fn two_catalogues_never_share_an_index() {
        let index = |catalogue: &str| {
            let settings =
                load(&format!("catalogue = {catalogue:?}"), &[], Vec::new()).unwrap().config.settings().unwrap();
            assert!(!settings.index.to_string_lossy().contains("s3cret"));
            settings.index
        };
        let one = index("postgres://me:s3cret@host/one");
        assert_ne!(one, index("postgres://me:s3cret@host/two"));
        assert_eq!(one, index("postgres://me:other@host/one"), "a new password is no new catalogue");
        let sqlite = load("", &[], Vec::new()).unwrap().config.settings().unwrap();
        assert_ne!(one, sqlite.index);
    }

    #[test]
    fn blobs_may_be_in_a_bucket() {
        let file = "blobs = \"s3://papers/zhulu/\"\ns3_endpoint = \"http://s3:8333\"\n";
        let settings = load(file, &[], Vec::new()).unwrap().config.settings().unwrap();
        assert_eq!(format!("{:?}", settings.blobs), "s3://papers/zhulu at http://s3:8333");
    }
}
