//! Identifiers: of records, of nodes, of content, and the keys a record's identifier is derived from.
//!
//! Which keys a source may claim is that source's decision; how equal keys bring records together is `merge`'s and the
//! catalogue's.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use sha2::{Digest as _, Sha256};

/// A text that is not what it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct ParseError {
    /// What was read.
    pub text: String,
    /// What it should have been, with its article: "a record identifier (26 letters and digits)".
    pub expected: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, expected: &'static str) -> Self {
        // The text comes from outside; a megabyte of it in an error message helps nobody.
        ParseError { text: text.chars().take(120).collect(), expected }
    }
}

/// Gives a type with `Display` and `FromStr` the serde form of its text.
macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
pub(crate) use serde_as_text;

/// The identifier of a record: 128 bits, written as 26 lower-case letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// An identifier for a record that a person makes from nothing.
    pub fn random() -> Self {
        RecordId(random())
    }

    /// The identifier stored as these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        RecordId(bytes)
    }

    /// The bytes to store.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE32_NOPAD.encode(&self.0).to_ascii_lowercase())
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RecordId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = BASE32_NOPAD.decode(text.to_ascii_uppercase().as_bytes()).ok();
        match bytes.and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => Ok(RecordId(bytes)),
            None => Err(ParseError::new(text, "a record identifier (26 letters and digits)")),
        }
    }
}

/// The identifier of a node: one catalogue among peers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId([u8; 8]);

impl NodeId {
    /// A new node's identifier.
    pub fn random() -> Self {
        NodeId(random())
    }

    /// The identifier stored as these bytes.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        NodeId(bytes)
    }

    /// The bytes to store.
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NodeId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        match bytes.and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => Ok(NodeId(bytes)),
            None => Err(ParseError::new(text, "a node identifier (16 hexadecimal digits)")),
        }
    }
}

/// The SHA-256 of some bytes: the name of a blob.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest stored as these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// The bytes to store.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        match bytes.and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => Ok(Digest(bytes)),
            None => Err(ParseError::new(text, "a SHA-256 (64 hexadecimal digits)")),
        }
    }
}

/// What makes two descriptions one record. Equal keys meet as one record, whichever source or node brings them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// An OAI identifier, as its repository writes it.
    Oai(String),
    /// A canonical URL; make it with [`Key::url`].
    Url(String),
    /// The SHA-256 of a file.
    File(Digest),
    /// A record that a person made from nothing, or what is left of a key whose text was erased: only the identifier it gave.
    Opaque(RecordId),
}

impl Key {
    /// The key of a web page: scheme and host in lower case, no default port, no fragment. `None` if it is no URL.
    pub fn url(text: &str) -> Option<Key> {
        let mut url = url::Url::parse(text.trim()).ok()?;
        url.host()?;
        url.set_fragment(None);
        Some(Key::Url(url.into()))
    }

    /// The record identifier this key gives: the same on every node.
    pub fn record(&self) -> RecordId {
        if let Key::Opaque(id) = self {
            return *id;
        }
        let hash = Sha256::digest(self.to_string().as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        RecordId(bytes)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The scheme is spelled out even before `oai:…`, so that a key's kind never depends on its text.
            Key::Oai(text) => write!(f, "oai={text}"),
            Key::Url(text) => write!(f, "url={text}"),
            Key::File(digest) => write!(f, "sha256={digest}"),
            Key::Opaque(id) => write!(f, "id={id}"),
        }
    }
}

impl FromStr for Key {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text.split_once('=') {
            Some(("oai", rest)) => Ok(Key::Oai(rest.to_owned())),
            Some(("url", rest)) => Ok(Key::Url(rest.to_owned())),
            Some(("sha256", rest)) => rest.parse().map(Key::File),
            Some(("id", rest)) => rest.parse().map(Key::Opaque),
            _ => Err(ParseError::new(text, "a key (oai=…, url=…, sha256=… or id=…)")),
        }
    }
}

serde_as_text!(RecordId, NodeId, Digest, Key);

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without randomness identifiers could collide and overwrite each other's records: there is nothing safe to go on with.
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip() {
        let id = RecordId::random();
        assert_eq!(id.to_string().len(), 26);
        assert_eq!(id.to_string().parse(), Ok(id));
        let node = NodeId::random();
        assert_eq!(node.to_string().parse(), Ok(node));
        for key in [
            Key::Oai("oai:a.org:1=2".into()),
            Key::url("HTTP://例子.cn:80/a b#frag").unwrap(),
            Key::File(Digest::of(b"x")),
            Key::Opaque(id),
        ] {
            assert_eq!(key.to_string().parse(), Ok(key.clone()));
        }
    }

    #[test]
    fn equal_pages_have_equal_keys() {
        assert_eq!(Key::url("HTTPS://Example.org:443/a#b"), Key::url("https://example.org/a"));
        assert_ne!(Key::url("https://example.org/a?x=1"), Key::url("https://example.org/a"));
        assert_eq!(Key::url("not a url"), None);
        assert_eq!(Key::url("mailto:a@b.org"), None);
    }

    #[test]
    fn a_key_of_another_kind_is_another_record() {
        assert_ne!(Key::Oai("x".into()).record(), Key::Url("x".into()).record());
        let id = Key::Oai("x".into()).record();
        assert_eq!(Key::Opaque(id).record(), id, "an erased key still leads to its record");
    }
}
