//! `zhulu token`: who may write over HTTP.

use clap::{Args, Subcommand, ValueEnum};
use data_encoding::BASE32_NOPAD;
use jiff::Timestamp;
use serde_json::json;
use zhulu_catalogue::{Catalogue, TokenRow};
use zhulu_record::{Datestamp, Digest};

use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::output::{Output, say};
use crate::table::Table;

/// Manage the tokens that allow writing over HTTP
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu token add lin
  zhulu token list
  zhulu token remove lin")]
pub(crate) struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a token and print it; it is shown this once
    Add {
        /// Who will hold it
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List who holds tokens
    List {
        /// How to print it
        #[arg(long, value_name = "FORM", default_value = "table")]
        to: To,
    },
    /// Make a token worthless
    Remove {
        /// Who holds it
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum To {
    Table,
    Json,
}

impl Token {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let mut output = Output::new();
        match self.action {
            Action::Add { name } => {
                let name = name.trim();
                if name.is_empty() || name.chars().any(char::is_control) {
                    return Err(usage("a token needs the name of its holder"));
                }
                if catalogue.store().tokens().await?.iter().any(|row| row.name == name) {
                    return Err(usage(format!(
                        "{name} holds a token already; remove it first, or choose another name"
                    )));
                }
                let token = make(&catalogue, name).await?;
                output.line(&token)?;
                if !context.quiet {
                    say("this is shown once; send it as Authorization: Bearer TOKEN");
                }
            }
            Action::List { to } => {
                let tokens = catalogue.store().tokens().await?;
                match to {
                    To::Table => {
                        let mut table = Table::new(&["name", "since"]);
                        for row in &tokens {
                            table.row([row.name.as_str(), &row.created.to_string()]);
                        }
                        table.print(&mut output)?;
                    }
                    To::Json => {
                        let rows = tokens.iter().map(|row| json!({ "name": row.name, "created": row.created }));
                        output.json(&rows.collect::<Vec<_>>())?;
                    }
                }
            }
            Action::Remove { name } => {
                if !catalogue.store().remove_token(&name).await? {
                    say(&format!("nobody called {name} holds a token"));
                    return Ok(Completion::SomeFailed);
                }
            }
        }
        Ok(Completion::Done)
    }
}

/// Makes a token: 160 random bits, of which the catalogue keeps only the hash.
pub(crate) async fn make(catalogue: &Catalogue, name: &str) -> anyhow::Result<String> {
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes)?;
    let token = format!("zhulu-{}", BASE32_NOPAD.encode(&bytes).to_ascii_lowercase());
    let created = Datestamp::from_timestamp(Timestamp::now());
    let row = TokenRow { name: name.to_owned(), digest: Digest::of(token.as_bytes()), created };
    catalogue.store().put_token(&row).await?;
    Ok(token)
}
