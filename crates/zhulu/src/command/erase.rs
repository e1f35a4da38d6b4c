//! `zhulu erase`: legal removal.

use std::io::{self, BufRead, IsTerminal};

use clap::Args;
use zhulu_record::Element;

use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::find::find;
use crate::output::{Output, say};
use crate::place;
use crate::table::plain;

/// Remove everything ever said about a record, for good
///
/// Values, history, files and index entries go, here and on every node this catalogue is shared with; a marker that
/// something was erased stays. To remove a record that may come back, use edit --delete.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu erase 7bq2
  zhulu erase 7bq2 --yes")]
pub(crate) struct Erase {
    /// Which record
    #[arg(value_name = "ID")]
    id: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Erase {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        let catalogue = context.catalogue().await?;
        let id = find(&catalogue, &context.config().namespace, &self.id).await?;
        let Some(stored) = catalogue.record(id).await? else {
            return Err(zhulu_catalogue::Error::NoRecord(id).into());
        };
        if !self.yes {
            if !io::stdin().is_terminal() {
                return Err(usage("erasing cannot be undone; say --yes, since nobody is there to ask"));
            }
            let title = stored.record.first(&Element::TITLE).unwrap_or("without a title");
            say(&format!("erase {} ({})? This cannot be undone. Type yes:", stored.record.id, plain(title)));
            let mut answer = String::new();
            io::stdin().lock().read_line(&mut answer)?;
            if answer.trim() != "yes" {
                say("nothing was erased");
                return Ok(Completion::SomeFailed);
            }
        }
        catalogue.erase(stored.record.id, &place::person()).await?;
        context.index(&catalogue).await;
        Output::new().line(&format!("{}\terased", stored.record.id))?;
        Ok(Completion::Done)
    }
}
