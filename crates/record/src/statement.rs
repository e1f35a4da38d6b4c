//! Statements: one value of one element each. A record is a list of these, never a struct of optional strings.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::element::Element;
use crate::evidence::Evidence;

/// A language tag: `zh`, `en`, `zh-Hant`. Kept as it came, but for letter case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Language(String);

impl Language {
    /// The tag with its parts in their usual case: language small, Script capitalised, REGION in capitals.
    pub fn new(tag: &str) -> Self {
        let parts = tag.trim().split(['-', '_']).enumerate().map(|(position, part)| match (position, part.len()) {
            (0, _) => part.to_ascii_lowercase(),
            (_, 2) => part.to_ascii_uppercase(),
            (_, 4) if part.is_ascii() => part[..1].to_ascii_uppercase() + &part[1..].to_ascii_lowercase(),
            _ => part.to_ascii_lowercase(),
        });
        Language(parts.collect::<Vec<_>>().join("-"))
    }

    /// The tag.
    pub fn tag(&self) -> &str {
        &self.0
    }

    /// The language alone: `zh` of `zh-Hant`.
    pub fn primary(&self) -> &str {
        self.0.split('-').next().unwrap_or(&self.0)
    }
}

impl From<String> for Language {
    fn from(tag: String) -> Self {
        Language::new(&tag)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is said: a text, or a small structure such as a parameter with its name and type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A text.
    Text(String),
    /// Named parts, in the order of their names.
    Structure(BTreeMap<String, Value>),
}

impl Value {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Structure(_) => None,
        }
    }

    /// A part of a structure.
    pub fn part(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Text(_) => None,
            Value::Structure(parts) => parts.get(name),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

/// A structure prints as `name=value; name=value`: for people and for Dublin Core, which know only text.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Structure(parts) => {
                for (index, (name, value)) in parts.iter().enumerate() {
                    write!(f, "{}{name}={value}", if index > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// One value of one element. Parallel titles are two statements of one element in two languages.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Statement {
    /// Of what.
    pub element: Element,
    /// What is said.
    pub value: Value,
    /// In which language it is said.
    #[serde(default, rename = "lang", skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Why it is believed, where that differs from the change's own evidence.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

impl Statement {
    /// A statement with no language and no evidence of its own.
    pub fn new(element: Element, value: impl Into<Value>) -> Self {
        Statement { element, value: value.into(), language: None, evidence: Evidence::default() }
    }

    /// The same, in a language.
    pub fn lang(mut self, tag: &str) -> Self {
        self.language = Some(Language::new(tag));
        self
    }

    /// The same, with evidence.
    pub fn because(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_written_one_way() {
        assert_eq!(Language::new("ZH_hant").tag(), "zh-Hant");
        assert_eq!(Language::new("zh-cn").tag(), "zh-CN");
        assert_eq!(Language::new("中文").tag(), "中文", "what is no tag stays as it came");
        assert_eq!(Language::new("a-中x").tag(), "a-中x", "four bytes that are not four letters");
    }
}
