//! What comes out of reading a document or page. Never a `Result`: bad bytes give fewer statements and more warnings.

use serde::{Deserialize, Serialize};

use crate::evidence::Place;
use crate::statement::Statement;

/// What was read from some bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// What could be said.
    pub statements: Vec<Statement>,
    /// Where it points.
    pub links: Vec<Link>,
    /// What went wrong on the way.
    pub warnings: Vec<Warning>,
}

/// A reference to something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// An absolute URL.
    pub url: String,
    /// The text it stands on.
    pub text: String,
}

/// Something a person should know about a reading. It never stops the reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// A short name for the kind of trouble, stable across versions: `no-text`, `encrypted`, `truncated`.
    pub code: String,
    /// What happened, as a sentence, with what to do about it where something can be done.
    pub message: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
}

impl Warning {
    /// A warning about the whole.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Warning { code: code.to_owned(), message: message.into(), at: None }
    }
}
