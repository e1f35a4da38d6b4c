//! `zhulu edit`: what a person says of a record outranks every machine, until they release it.

use clap::Args;
use zhulu_catalogue::{Catalogue, Outcome, Receipt};
use zhulu_record::{Element, RecordId, Statement};

use crate::context::Context;
use crate::exit::{Completion, usage};
use crate::find::find;
use crate::output::{Output, say};
use crate::place;

/// Correct a record
///
/// ELEMENT=VALUE replaces all values of the element; the same element several times gives several values, in that order;
/// ELEMENT= says that it has none; ELEMENT@LANGUAGE=VALUE names the value's language. What a person says stays, whatever
/// machines find later, until it is released.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  zhulu edit 7bq2 title='元数据自动抽取研究' creator=李华 creator=王明
  zhulu edit 7bq2 title@en='Automatic extraction' abstract=
  zhulu edit 7bq2 --release title
  zhulu edit 7bq2 --delete")]
pub(crate) struct Edit {
    /// Which record
    #[arg(value_name = "ID")]
    id: String,
    /// The new values
    #[arg(value_name = "ELEMENT=VALUE", value_parser = assignment)]
    values: Vec<Assignment>,
    /// Give this element back to the machines; may be given several times
    #[arg(long, value_name = "ELEMENT")]
    release: Vec<Element>,
    /// Give the whole record back to the machines
    #[arg(long, conflicts_with_all = ["release", "values", "delete"])]
    release_all: bool,
    /// Remove the record; its identifier and history stay
    #[arg(long, conflicts_with_all = ["release", "values"])]
    delete: bool,
    /// Who says so, for the history; default: the user's name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// One `ELEMENT=VALUE`.
#[derive(Debug, Clone)]
struct Assignment {
    element: Element,
    statement: Option<Statement>,
}

impl Edit {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Completion> {
        if self.values.is_empty() && self.release.is_empty() && !self.release_all && !self.delete {
            return Err(usage("nothing to change; write ELEMENT=VALUE, --release ELEMENT, --release-all or --delete"));
        }
        let edits = gathered(self.values)?;
        if let Some(both) = self.release.iter().find(|element| edits.iter().any(|(edited, _)| edited == *element)) {
            return Err(usage(format!("{both} cannot be both set and released")));
        }
        let catalogue = context.catalogue().await?;
        let id = find(&catalogue, &context.config().namespace, &self.id).await?;
        if catalogue.record(id).await?.is_none() {
            return Err(zhulu_catalogue::Error::NoRecord(id).into());
        }
        let person = self.by.unwrap_or_else(place::person);
        let mut receipts = Vec::new();
        if self.delete {
            receipts.push(catalogue.delete(id, &person).await?);
        }
        if self.release_all {
            receipts.push(catalogue.release(id, &person, Vec::new()).await?);
        }
        if !self.release.is_empty() {
            receipts.push(catalogue.release(id, &person, self.release).await?);
        }
        if !edits.is_empty() {
            receipts.push(catalogue.edit(id, &person, edits).await?);
        }
        context.index(&catalogue).await;
        tell(&catalogue, id, &receipts, context.quiet).await
    }
}

/// Prints the record's identifier and whether anything that is seen of it changed.
async fn tell(catalogue: &Catalogue, id: RecordId, receipts: &[Receipt], quiet: bool) -> anyhow::Result<Completion> {
    let outcomes = || receipts.iter().flat_map(|receipt| &receipt.outcomes).map(|(_, outcome)| *outcome);
    let changed = outcomes().any(|outcome| matches!(outcome, Outcome::Changed | Outcome::Created));
    let mut output = Output::new();
    output.line(&format!("{id}\t{}", if changed { "changed" } else { "unchanged" }))?;
    if let Some(stored) = catalogue.record(id).await?
        && !stored.record.conflicts.is_empty()
        && !quiet
    {
        say("somebody else changed the same at the same time; `zhulu history` shows both");
    }
    Ok(Completion::Done)
}

/// The values of each element, in the order they were given.
fn gathered(values: Vec<Assignment>) -> anyhow::Result<Vec<(Element, Vec<Statement>)>> {
    let mut edits: Vec<(Element, Vec<Statement>)> = Vec::new();
    let mut cleared: Vec<Element> = Vec::new();
    for Assignment { element, statement } in values {
        if statement.is_none() {
            cleared.push(element.clone());
        }
        let place = edits.iter().position(|(known, _)| *known == element);
        let place = place.unwrap_or_else(|| {
            edits.push((element, Vec::new()));
            edits.len() - 1
        });
        edits[place].1.extend(statement);
    }
    match edits.iter().find(|(element, values)| !values.is_empty() && cleared.contains(element)) {
        Some((element, _)) => Err(usage(format!("{element} cannot be both set and cleared"))),
        None => Ok(edits),
    }
}

fn assignment(text: &str) -> Result<Assignment, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("write ELEMENT=VALUE, as in title='A new title'".to_owned());
    };
    let (name, language) = match name.split_once('@') {
        Some((name, language)) => (name, Some(language)),
        None => (name, None),
    };
    let element: Element = name.parse().map_err(|error: zhulu_record::ParseError| error.to_string())?;
    if value.is_empty() {
        return Ok(Assignment { element, statement: None });
    }
    let statement = Statement::new(element.clone(), value);
    let statement = match language {
        Some(language) if !language.is_empty() => statement.lang(language),
        _ => statement,
    };
    Ok(Assignment { element, statement: Some(statement) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_read() {
        let values =
            ["creator=李华", "title@en=A=B", "creator=王明", "abstract="].map(|text| assignment(text).unwrap());
        let edits = gathered(values.to_vec()).unwrap();
        assert_eq!(edits.len(), 3);
        assert_eq!(edits[0].1.len(), 2);
        assert_eq!(edits[1].1[0], Statement::new(Element::TITLE, "A=B").lang("en"));
        assert_eq!(edits[2], (Element::ABSTRACT, Vec::new()));
        for wrong in ["title", "Title=x", "=x"] {
            assert!(assignment(wrong).is_err(), "{wrong}");
        }
        assert!(gathered(vec![assignment("title=a").unwrap(), assignment("title=").unwrap()]).is_err());
    }
}
