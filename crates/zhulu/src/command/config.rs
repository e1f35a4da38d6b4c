//! `zhulu config`: every value of the configuration and where it came from.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::config::{Configured, KEYS, Key};
use crate::context::Context;
use crate::exit::Completion;
use crate::output::Output;
use crate::table::Table;

/// Show the configuration, and where each value comes from
///
/// Defaults, then zhulu.toml (the file given by --config, or ./zhulu.toml, or the one in the user's configuration
/// folder), then variables ZHULU_…, then flags. Secrets are not shown.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu config
  zhulu config --to toml > zhulu.toml     a file to start from
  ZHULU_LISTEN=0.0.0.0:80 zhulu config --to json")]
pub(crate) struct Config {
    /// How to print it
    #[arg(long, value_name = "FORM", default_value = "table")]
    to: To,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
    Toml,
}

impl Config {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Completion> {
        let mut output = Output::new();
        let configured = &context.configured;
        match self.to {
            To::Table => {
                let mut table = Table::new(&["key", "value", "from"]);
                for key in KEYS {
                    let value = configured.shown(key).or_else(|| configured.derived(key));
                    let value = value.unwrap_or_else(|| "–".to_owned());
                    table.row([key.name, &value, &configured.origin(key)]);
                }
                table.print(&mut output)?;
            }
            To::Json => {
                let of = |key: &Key| json!({ "value": effective(configured, key), "from": configured.origin(key), "meaning": key.meaning });
                let all: Map<String, Value> = KEYS.iter().map(|key| (key.name.to_owned(), of(key))).collect();
                output.json(&all)?;
            }
            To::Toml => {
                for key in KEYS {
                    writeln!(output, "# {} ({})", key.meaning, configured.origin(key))?;
                    match typed(configured, key) {
                        Value::Null => writeln!(output, "# {} =\n", key.name)?,
                        // A JSON string is also a TOML string.
                        value => writeln!(output, "{} = {value}\n", key.name)?,
                    }
                }
                output.flush()?;
            }
        }
        Ok(Completion::Done)
    }
}

/// A value as JSON, with what follows from other values.
fn effective(configured: &Configured, key: &Key) -> Value {
    match typed(configured, key) {
        Value::Null => configured.derived(key).map_or(Value::Null, Value::String),
        value => value,
    }
}

/// A value as JSON: a number where the key wants one.
fn typed(configured: &Configured, key: &Key) -> Value {
    match configured.shown(key) {
        None => Value::Null,
        Some(text) if configured.is_number(key) => text.parse::<u64>().map_or(Value::String(text), Value::from),
        Some(text) => Value::String(text),
    }
}
