//! Harvesting an OAI-PMH repository, page by page, into the catalogue or wherever the caller wants it.
//!
//! The words are `protocol`'s; here is the patience: following tokens, waiting when told to, asking again when an answer
//! breaks off, and remembering where to go on. A page and the cursor after it are appended together, so a harvest that is
//! interrupted goes on where it stopped, and nothing is counted twice or missed.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use zhulu_catalogue::{Batch, Catalogue, CursorUpdate, Outcome, SourceRow};
use zhulu_protocol::dublin_core;
use zhulu_protocol::oai::{self, Harvested, Identified, Page};
use zhulu_record::{
    Datestamp, Draft, Element, Evidence, Key, Kind, Provenance, Put, RecordId, SetName, Source, Warning,
};

use crate::outward::{self, Outward};

/// How often one page is asked for before the harvest is given up.
const ATTEMPTS: u32 = 6;

/// The wait after a failure that names none; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// Why a harvest did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The repository cannot be reached.
    #[error(transparent)]
    Outward(#[from] outward::Error),
    /// It answers, but not with OAI-PMH.
    #[error(
        "{url} is no OAI-PMH repository: it answered with {what}; give the base URL, to which ?verb=Identify is added"
    )]
    NotOai {
        /// What was asked.
        url: String,
        /// What came instead.
        what: String,
    },
    /// It answers with an HTTP error.
    #[error("{url} answered with status {status}, after {attempts} attempts; try again later")]
    Status {
        /// What was asked.
        url: String,
        /// The answer.
        status: StatusCode,
        /// How often it was asked.
        attempts: u32,
    },
    /// It refuses in OAI-PMH's own words.
    #[error("{url} refuses: {code}: {message}")]
    Refused {
        /// What was asked.
        url: String,
        /// The protocol's code.
        code: String,
        /// The server's words.
        message: String,
    },
    /// Its answer breaks off each time, and where the list goes on is lost with the rest.
    #[error(
        "the answer of {url} breaks off each time; what could be read of it was taken, and the rest of the list is missing"
    )]
    Cut {
        /// What was asked.
        url: String,
    },
    /// It gives a resumption token that it has given before.
    #[error("{url} leads in circles: it gave the same resumption token twice; the list is incomplete")]
    Circle {
        /// What was asked.
        url: String,
    },
    /// The catalogue does not take it.
    #[error(transparent)]
    Catalogue(#[from] zhulu_catalogue::Error),
}

/// Which records are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Changed at or after this, as OAI-PMH writes it.
    pub from: Option<String>,
    /// Changed at or before this.
    pub until: Option<String>,
    /// In this set.
    pub set: Option<String>,
}

/// A harvest under way. Ask for [`Harvest::page`] until there is none.
pub struct Harvest {
    outward: Outward,
    base_url: reqwest::Url,
    selection: Selection,
    next: Next,
    /// The server's time when the list began: where the next harvest goes on from.
    began: Option<Datestamp>,
    /// Tokens seen, by hash; enough to notice a circle.
    seen: BTreeSet<zhulu_record::Digest>,
}

/// What is asked next.
enum Next {
    First,
    Token(String),
    Nothing,
    Failure(Error),
}

impl Harvest {
    /// Asks the repository who it is, and gets ready to list its records.
    pub async fn start(outward: Outward, base_url: &str, selection: Selection) -> Result<(Harvest, Identified), Error> {
        let base_url = outward::address(base_url)?;
        let mut harvest =
            Harvest { outward, base_url, selection, next: Next::First, began: None, seen: BTreeSet::new() };
        let page = harvest.ask(&[("verb", "Identify")], 1).await?;
        let identified = page.identify.unwrap_or_default();
        // A server that keeps days only refuses a time of day.
        if identified.granularity.trim() == "YYYY-MM-DD" {
            for bound in [&mut harvest.selection.from, &mut harvest.selection.until].into_iter().flatten() {
                if bound.is_char_boundary(10) && bound.as_bytes().get(10) == Some(&b'T') {
                    bound.truncate(10);
                }
            }
        }
        Ok((harvest, identified))
    }

    /// Goes on in a list that was begun earlier.
    pub fn resume(&mut self, token: String, began: Option<Datestamp>) {
        self.next = Next::Token(token);
        self.began = began;
    }

    /// The server's time when the list began.
    pub fn began(&self) -> Option<Datestamp> {
        self.began
    }

    /// The token the next page will be asked with.
    pub fn token(&self) -> Option<&str> {
        match &self.next {
            Next::Token(token) => Some(token),
            _ => None,
        }
    }

    /// The next page, or `None` when the list is over.
    pub async fn page(&mut self) -> Result<Option<Page>, Error> {
        let next = std::mem::replace(&mut self.next, Next::Nothing);
        let page = match next {
            Next::Nothing => return Ok(None),
            Next::Failure(error) => return Err(error),
            Next::First => {
                let selection = self.selection.clone();
                let mut arguments = vec![("verb", "ListRecords"), ("metadataPrefix", dublin_core::PREFIX)];
                arguments.extend(selection.from.as_deref().map(|from| ("from", from)));
                arguments.extend(selection.until.as_deref().map(|until| ("until", until)));
                arguments.extend(selection.set.as_deref().map(|set| ("set", set)));
                let page = self.ask(&arguments, ATTEMPTS).await?;
                self.began = page.response_date;
                page
            }
            Next::Token(token) => self.ask(&[("verb", "ListRecords"), ("resumptionToken", &token)], ATTEMPTS).await?,
        };
        self.next = match (&page.token, page.complete) {
            (Some(token), _) if !self.seen.insert(zhulu_record::Digest::of(token.as_bytes())) => {
                Next::Failure(Error::Circle { url: self.base_url.to_string() })
            }
            (Some(token), _) => Next::Token(token.clone()),
            (None, true) => Next::Nothing,
            (None, false) => Next::Failure(Error::Cut { url: self.base_url.to_string() }),
        };
        Ok(Some(page))
    }

    /// One request, asked again as often as it makes sense. An empty list is a page without records.
    async fn ask(&self, arguments: &[(&str, &str)], attempts: u32) -> Result<Page, Error> {
        let mut url = self.base_url.clone();
        url.query_pairs_mut().extend_pairs(arguments);
        let url = url.to_string();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let last = attempt >= attempts;
            let wait = FIRST_WAIT.saturating_mul(1 << attempt.saturating_sub(1).min(8));
            let response = match self.outward.get(&url).await {
                Ok(response) => response,
                Err(error @ outward::Error::Unreachable { .. }) if !last => {
                    tracing::info!(%error, "asking again in {wait:?}");
                    tokio::time::sleep(wait).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let busy = response.status.is_server_error() || response.status == StatusCode::TOO_MANY_REQUESTS;
            if busy {
                // Even the first question is asked again when the server itself says when.
                if attempt >= ATTEMPTS || (last && response.retry_after.is_none()) {
                    return Err(Error::Status { url, status: response.status, attempts: attempt });
                }
                let wait = response.retry_after.unwrap_or(wait).min(LONGEST_WAIT);
                tracing::info!(%url, status = %response.status, "asked to wait {wait:?}");
                tokio::time::sleep(wait).await;
                continue;
            }
            let page = oai::read(&response.body);
            if !page.is_oai {
                if !response.status.is_success() {
                    return Err(Error::Status { url, status: response.status, attempts: attempt });
                }
                return Err(Error::NotOai { url, what: glimpse(&response.body) });
            }
            if let Some(refusal) = page.errors.first() {
                if refusal.code == "noRecordsMatch" {
                    return Ok(Page { complete: true, token: None, ..page });
                }
                return Err(Error::Refused { url, code: refusal.code.clone(), message: refusal.message.clone() });
            }
            if !page.complete && attempt < attempts.min(3) {
                tracing::info!(%url, "the answer broke off; asking again in {wait:?}");
                tokio::time::sleep(wait).await;
                continue;
            }
            return Ok(page);
        }
    }
}

/// What an answer that is no OAI-PMH looks like, for a message.
fn glimpse(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(2000)]);
    let lower = text.trim_start().to_lowercase();
    if body.is_empty() {
        "nothing".to_owned()
    } else if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        "a web page".to_owned()
    } else {
        format!("something else, beginning {:?}", text.trim().chars().take(40).collect::<String>())
    }
}

/// Where a source's next harvest goes on, as it is kept in the catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    /// What the list was, or will be, asked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The token of a list that was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// When the interrupted list began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    began: Option<Datestamp>,
}

/// What became of one harvested record.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its identifier in its repository.
    pub identifier: String,
    /// Its record here.
    pub id: RecordId,
    /// What that did to the record.
    pub outcome: Outcome,
    /// Its title.
    pub title: Option<String>,
    /// What is wrong with it.
    pub warnings: Vec<Warning>,
}

/// What a harvest came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The repository's own name.
    pub repository: String,
    /// Records, deleted ones included.
    pub records: u64,
    /// Deleted ones among them.
    pub deleted: u64,
    /// What was wrong with pages as a whole.
    pub warnings: Vec<Warning>,
}

/// Harvests what is new in a repository since the last time into the catalogue, and reports each record.
pub async fn into_catalogue(
    catalogue: &Catalogue,
    outward: Outward,
    base_url: &str,
    set: Option<String>,
    mut report: impl FnMut(Report),
) -> Result<Summary, Error> {
    let address = outward::address(base_url)?.to_string();
    let name = set.as_ref().map_or_else(|| address.clone(), |set| format!("{address}?set={set}"));
    let source = Source::machine(name);
    let known = catalogue.store().sources().await?.into_iter().find(|row| row.source == source);
    let mut cursor: Cursor = known
        .as_ref()
        .and_then(|row| row.cursor.as_deref())
        .and_then(|cursor| serde_json::from_str(cursor).ok())
        .unwrap_or_default();
    let selection = Selection { from: cursor.from.clone(), until: None, set };
    let (mut harvest, identified) = Harvest::start(outward.clone(), base_url, selection.clone()).await?;
    if known.is_none() {
        let settings = serde_json::json!({ "name": identified.name, "granularity": identified.granularity });
        let row = SourceRow {
            source: source.clone(),
            kind: "oai".to_owned(),
            address: address.clone(),
            cursor: None,
            settings,
        };
        catalogue.store().put_source(&row).await?;
    }
    let mut resumed = false;
    if let Some(token) = cursor.token.take() {
        harvest.resume(token, cursor.began);
        resumed = true;
    }
    let mut summary = Summary { repository: identified.name, ..Summary::default() };
    loop {
        let page = match harvest.page().await {
            Ok(Some(page)) => page,
            Ok(None) => break,
            Err(Error::Refused { code, .. }) if resumed && code == "badResumptionToken" => {
                // The server has forgotten the interrupted list: it is asked for anew, and what is known already stays.
                (harvest, _) = Harvest::start(outward.clone(), base_url, selection.clone()).await?;
                resumed = false;
                continue;
            }
            Err(error) => return Err(error),
        };
        resumed = false;
        let after = match harvest.token() {
            Some(token) => {
                Cursor { from: selection.from.clone(), token: Some(token.to_owned()), began: harvest.began() }
            }
            // Over, or broken off: only a list that came to its end moves the date to go on from.
            None if page.complete => {
                let began = harvest.began().map(|began| began.to_string());
                Cursor { from: began.or_else(|| selection.from.clone()), ..Cursor::default() }
            }
            None => Cursor { from: selection.from.clone(), ..Cursor::default() },
        };
        take_page(catalogue, &source, &address, page, &after, &mut summary, &mut report).await?;
    }
    Ok(summary)
}

/// Appends one page and the cursor after it, together.
async fn take_page(
    catalogue: &Catalogue,
    source: &Source,
    address: &str,
    page: Page,
    after: &Cursor,
    summary: &mut Summary,
    report: &mut impl FnMut(Report),
) -> Result<(), Error> {
    summary.warnings.extend(page.warnings);
    let mut drafts = Vec::with_capacity(page.records.len());
    let mut told = Vec::with_capacity(page.records.len());
    for harvested in page.records {
        summary.records += 1;
        summary.deleted += u64::from(harvested.deleted);
        let title = harvested.statements.iter().find(|statement| statement.element == Element::TITLE);
        let title = title.map(|statement| statement.value.to_string());
        let mut warnings = harvested.warnings.clone();
        let identifier = harvested.identifier.clone();
        drafts.push(draft(source, address, harvested, &mut warnings));
        told.push((identifier, title, warnings));
    }
    let cursor = serde_json::to_string(after).expect("plain values have a JSON form");
    let cursor = Some(CursorUpdate { source: source.clone(), cursor });
    let receipt = catalogue.append(Batch { drafts, cursor, ..Batch::default() }).await?;
    metrics::counter!("zhulu_records_harvested_total").increment(told.len() as u64);
    for ((identifier, title, warnings), (id, outcome)) in told.into_iter().zip(receipt.outcomes) {
        report(Report { identifier, id, outcome, title, warnings });
    }
    Ok(())
}

/// What a harvested record says, as a change.
fn draft(source: &Source, address: &str, harvested: Harvested, warnings: &mut Vec<Warning>) -> Draft {
    let key = Key::Oai(harvested.identifier.clone());
    if harvested.deleted {
        return Draft::delete(source.clone(), key.record());
    }
    let mut sets = BTreeSet::new();
    for set in &harvested.sets {
        match set.parse::<SetName>() {
            Ok(set) => {
                sets.insert(set);
            }
            Err(error) => warnings.push(Warning::new("set-name", format!("a set is left out: {error}"))),
        }
    }
    let put = Put {
        kind: Kind::Document,
        keys: vec![key],
        statements: harvested.statements,
        evidence: Evidence::by(format!("harvest:{address}")),
        sets,
        provenance: Some(Provenance {
            base_url: address.to_owned(),
            identifier: harvested.identifier,
            datestamp: harvested.datestamp,
            namespace: dublin_core::NAMESPACE.to_owned(),
        }),
        ..Put::default()
    };
    Draft::put(source.clone(), put).expect("an OAI identifier is a key")
}
