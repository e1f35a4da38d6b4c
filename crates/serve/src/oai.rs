//! `/oai`: OAI-PMH over the catalogue. What requests and responses look like is `protocol`'s; here they meet the records.
//!
//! The horizon is asked for before anything is listed and is what `responseDate` says, so a harvester that comes back from
//! it misses nothing. Errors of the protocol are answers: they travel with status 200.

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use zhulu_catalogue::{Error, Filter, Listing, Position, Stored};
use zhulu_protocol::dublin_core;
use zhulu_protocol::oai::{
    self, Answer, Code, Envelope, Fault, Format, Identify, Item, List, Request, Resume, Selection, Set, Verb,
};
use zhulu_protocol::token::Resumption;
use zhulu_record::{Datestamp, Kind, RecordId, SetName};

use crate::failure::Failure;
use crate::{Site, SiteState, address};

pub(crate) async fn by_get(
    State(site): SiteState,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    respond(&site, &headers, query.unwrap_or_default().as_bytes()).await
}

pub(crate) async fn by_post(
    State(site): SiteState,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Result<Response, Failure> {
    // Arguments belong in the body, but some harvesters leave the verb in the address.
    let query = query.unwrap_or_default();
    let arguments =
        [query.as_bytes(), &body[..]].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&b'&');
    respond(&site, &headers, &arguments).await
}

async fn respond(site: &Site, headers: &HeaderMap, arguments: &[u8]) -> Result<Response, Failure> {
    let pairs = address::arguments(arguments);
    let asked = oai::request::parse(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let horizon = site.catalogue().store().horizon().await?;
    let base = address::base(site.config(), headers);
    let mut envelope = Envelope { response_date: horizon, base_url: format!("{base}/oai"), echo: asked.echo };
    let answer = match asked.request {
        Err(faults) => Answer::Errors(faults),
        Ok(request) => match answer(site, request, &mut envelope).await? {
            Ok(answer) => answer,
            Err(fault) => {
                // By the book the arguments of a request with a bad argument are not repeated.
                if fault.code == Code::BadArgument {
                    envelope.echo.clear();
                }
                Answer::Errors(vec![fault])
            }
        },
    };
    let xml = oai::response::write(&envelope, &answer);
    Ok(([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], xml).into_response())
}

async fn answer(site: &Site, request: Request, envelope: &mut Envelope) -> Result<Result<Answer, Fault>, Error> {
    match request {
        Request::Identify => identify(site, envelope.response_date).await.map(Ok),
        Request::ListMetadataFormats { identifier } => {
            if let Some(identifier) = identifier
                && let Err(fault) = find(site, &identifier).await?
            {
                return Ok(Err(fault));
            }
            Ok(Ok(Answer::ListMetadataFormats(formats())))
        }
        Request::ListSets => Ok(Ok(Answer::ListSets(sets(site).await?))),
        Request::GetRecord { identifier, prefix } => {
            let stored = match find(site, &identifier).await? {
                Ok(stored) => stored,
                Err(fault) => return Ok(Err(fault)),
            };
            Ok(check_format(&prefix).map(|()| Answer::GetRecord(item(site, &stored))))
        }
        Request::List { verb, selection } => match check_format(&selection.prefix) {
            Ok(()) => begin(site, verb, selection, envelope.response_date).await,
            Err(fault) => Ok(Err(fault)),
        },
        Request::Resume { verb, token } => match site.tokens.open(&token) {
            Some(resumption) if resumption.verb == verb => {
                envelope.response_date = resumption.response_date;
                resume(site, resumption).await
            }
            _ => Ok(Err(Fault::new(
                Code::BadResumptionToken,
                "the token is not one of this repository's for this verb; begin the list again",
            ))),
        },
    }
}

async fn identify(site: &Site, horizon: Datestamp) -> Result<Answer, Error> {
    let head = site.catalogue().store().head().await?;
    let config = site.config();
    Ok(Answer::Identify(Identify {
        name: config.name.clone(),
        admin_email: config.admin_email.clone(),
        earliest: head.earliest.unwrap_or(horizon),
        namespace: Some(config.namespace.clone()).filter(|namespace| oai::response::is_namespace(namespace)),
        sample: address::oai_identifier(config, RecordId::from_bytes([0; 16])),
        descriptions: Vec::new(),
    }))
}

/// Every record can be had in these.
fn formats() -> Vec<Format> {
    vec![Format {
        prefix: dublin_core::PREFIX.to_owned(),
        schema: dublin_core::SCHEMA.to_owned(),
        namespace: dublin_core::NAMESPACE.to_owned(),
    }]
}

fn check_format(prefix: &str) -> Result<(), Fault> {
    if formats().iter().any(|format| format.prefix == prefix) {
        return Ok(());
    }
    let message = format!("records are not to be had as {prefix}; ListMetadataFormats tells the formats");
    Err(Fault::new(Code::CannotDisseminateFormat, message))
}

/// The sets that records are in. Those of the kinds are always there, so that an empty catalogue has sets too.
async fn sets(site: &Site) -> Result<Vec<Set>, Error> {
    let kinds = Kind::ALL.map(SetName::of_kind);
    let stored = site.catalogue().store().sets().await?;
    let mut names: Vec<SetName> = kinds.into_iter().chain(stored.into_iter().map(|set| set.name)).collect();
    names.sort();
    names.dedup();
    Ok(names.into_iter().map(|spec| Set { name: spec.name().to_owned(), spec }).collect())
}

async fn find(site: &Site, identifier: &str) -> Result<Result<Stored, Fault>, Error> {
    let prefix = format!("oai:{}:", site.config().namespace);
    let id = identifier.strip_prefix(&prefix).and_then(|id| id.parse::<RecordId>().ok());
    let stored = match id {
        Some(id) => site.catalogue().store().records(&[id]).await?.pop().flatten(),
        None => None,
    };
    Ok(stored.ok_or_else(|| {
        Fault::new(
            Code::IdDoesNotExist,
            format!("there is no record here with an identifier like that; ours begin with {prefix}"),
        )
    }))
}

/// A record as harvesters see it. One that was merged into another is gone under its own identifier.
fn item(site: &Site, stored: &Stored) -> Item {
    let Stored { datestamp, record, merged_into, .. } = stored;
    let gone = record.deleted || merged_into.is_some();
    Item {
        identifier: address::oai_identifier(site.config(), record.id),
        datestamp: *datestamp,
        sets: record.sets.iter().cloned().collect(),
        metadata: (!gone).then(|| dublin_core::write(record.statements.iter().map(|said| &said.statement))),
    }
}

fn none_match() -> Fault {
    Fault::new(Code::NoRecordsMatch, "no record matches from, until, set and metadataPrefix together")
}

async fn begin(
    site: &Site,
    verb: Verb,
    selection: Selection,
    horizon: Datestamp,
) -> Result<Result<Answer, Fault>, Error> {
    let Selection { prefix, from, until, set } = selection;
    // Beyond the horizon records may still appear, so no list goes there.
    let until = until.map_or(horizon, |until| until.min(horizon));
    if from.is_some_and(|from| from > until) {
        return Ok(Err(none_match()));
    }
    let filter = Filter { from, until: Some(until), set: set.clone() };
    let size = site.catalogue().store().count(&filter).await?;
    let page = page(site, filter, None).await?;
    let Some(last) = page.kept.last() else { return Ok(Err(none_match())) };
    let resume = page.more.then(|| {
        let resumption = Resumption {
            verb,
            prefix,
            from,
            until,
            set,
            datestamp: last.datestamp,
            record: last.record.id,
            cursor: page.kept.len() as u64,
            complete_list_size: size,
            response_date: horizon,
        };
        Resume { token: Some(site.tokens.seal(&resumption)), complete_list_size: size, cursor: 0 }
    });
    Ok(Ok(list(site, verb, &page.kept, resume)))
}

async fn resume(site: &Site, resumption: Resumption) -> Result<Result<Answer, Fault>, Error> {
    let after = Position { datestamp: resumption.datestamp, record: resumption.record };
    let mut filter = Filter { from: resumption.from, until: Some(resumption.until), set: resumption.set.clone() };
    let mut page = page(site, filter.clone(), Some(after)).await?;
    if page.kept.is_empty() && resumption.until == resumption.response_date {
        // All that was left has changed since, and moved past the end of the list. A list may not be empty, so the last
        // part gives those records as they are now; the harvester will see them again next time.
        filter.until = None;
        page = self::page(site, filter, Some(after)).await?;
        page.more = false;
    }
    let Some(last) = page.kept.last() else { return Ok(Err(none_match())) };
    let cursor = resumption.cursor;
    let sent = cursor + page.kept.len() as u64;
    let next = Resumption { datestamp: last.datestamp, record: last.record.id, cursor: sent, ..resumption };
    let complete_list_size = next.complete_list_size.max(sent);
    let token = page.more.then(|| site.tokens.seal(&next));
    let resume = Some(Resume { token, complete_list_size, cursor });
    Ok(Ok(list(site, next.verb, &page.kept, resume)))
}

struct Part {
    kept: Vec<Stored>,
    more: bool,
}

async fn page(site: &Site, filter: Filter, after: Option<Position>) -> Result<Part, Error> {
    let size = site.config().page_size.max(1);
    // One more than is sent tells whether there is more.
    let listing = Listing { filter, after, limit: size + 1, newest_first: false };
    let mut kept = site.catalogue().store().list(&listing).await?;
    let more = kept.len() > size;
    kept.truncate(size);
    Ok(Part { kept, more })
}

fn list(site: &Site, verb: Verb, stored: &[Stored], resume: Option<Resume>) -> Answer {
    let items = stored.iter().map(|stored| item(site, stored)).collect();
    let list = List { items, resume };
    if verb == Verb::ListIdentifiers { Answer::ListIdentifiers(list) } else { Answer::ListRecords(list) }
}
