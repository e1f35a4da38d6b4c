//! Which record a person means: an identifier, the start of one, an OAI identifier, a key, or a page's address.

use zhulu_catalogue::{Catalogue, Filter, Listing, Position};
use zhulu_record::{Key, RecordId};

use crate::exit::usage;

/// The fewest characters that count as the start of an identifier.
const SHORTEST: usize = 4;

/// How many records are looked through for the start of an identifier; beyond that the whole is asked for.
const LOOKED_THROUGH: usize = 20_000;

/// The identifier of the record `text` means. That there is such a record is only certain when it was looked up.
pub(crate) async fn find(catalogue: &Catalogue, namespace: &str, text: &str) -> anyhow::Result<RecordId> {
    let text = text.trim();
    if let Ok(id) = text.parse::<RecordId>() {
        return Ok(id);
    }
    if let Some(id) =
        text.strip_prefix("oai:").and_then(|rest| rest.strip_prefix(namespace)).and_then(|rest| rest.strip_prefix(':'))
        && let Ok(id) = id.parse::<RecordId>()
    {
        return Ok(id);
    }
    let key = match text.parse::<Key>() {
        Ok(key) => Some(key),
        Err(_) if text.starts_with("oai:") => Some(Key::Oai(text.to_owned())),
        Err(_) => Key::url(text),
    };
    if let Some(key) = key {
        let found = catalogue.store().by_key(&key).await?;
        return found.ok_or_else(|| anyhow::anyhow!("there is no record with the key {key}"));
    }
    by_start(catalogue, text).await
}

/// The one record whose identifier starts so.
async fn by_start(catalogue: &Catalogue, start: &str) -> anyhow::Result<RecordId> {
    let start = start.to_ascii_lowercase();
    let fits = |c: char| matches!(c, 'a'..='z' | '2'..='7');
    if start.len() < SHORTEST || !start.chars().all(fits) {
        return Err(usage(format!(
            "{start:?} names no record; give its identifier, at least {SHORTEST} characters of it, or a key \
             (oai:…, https://…, sha256=…)"
        )));
    }
    let mut found = Vec::new();
    let mut after = None;
    let mut looked = 0;
    loop {
        let listing = Listing { filter: Filter::default(), after, limit: 1000, newest_first: false };
        let page = catalogue.store().list(&listing).await?;
        let Some(last) = page.last() else { break };
        after = Some(Position { datestamp: last.datestamp, record: last.record.id });
        looked += page.len();
        found.extend(page.iter().map(|stored| stored.record.id).filter(|id| id.to_string().starts_with(&start)));
        if looked >= LOOKED_THROUGH {
            return Err(usage(format!("the catalogue is too large to find {start:?} in; give the whole identifier")));
        }
    }
    match found[..] {
        [id] => Ok(id),
        [] => Err(anyhow::anyhow!("there is no record whose identifier starts with {start:?}")),
        _ => Err(usage(format!("{} records start with {start:?}; give more of the identifier", found.len()))),
    }
}
