//! `/api/v1`: the catalogue for programs, in JSON. Reading is open; writing needs a token. `openapi.json` describes it.

mod write;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use zhulu_catalogue::search::Query;
use zhulu_catalogue::{Error, JobId, JobState, Logged, Stored};
use zhulu_record::{Change, Element, RecordId, Statement};

use crate::failure::Failure;
use crate::session::Person;
use crate::{Site, SiteState, address};

/// A search never gives more than this at once.
const LARGEST_PAGE: usize = 200;

pub(crate) fn routes(site: &Site) -> Router<Arc<Site>> {
    let uploads = DefaultBodyLimit::max(site.config().upload_limit);
    Router::new()
        .route("/records", get(search).post(write::create))
        .route("/records/{id}", get(show).patch(write::edit).delete(write::delete))
        .route("/records/{id}/history", get(history))
        .route("/records/{id}/release", post(write::release))
        .route("/files", post(write::file).layer(uploads))
        .route("/jobs", get(jobs))
        .route("/jobs/{id}", get(job))
        .route("/openapi.json", get(openapi))
        .fallback(crate::failure::no_such_page)
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

/// What a search asks, from its arguments.
pub(crate) fn query(arguments: &[(String, String)], default_limit: usize) -> Result<Query, Failure> {
    let mut query = Query { limit: default_limit, count_facets: true, ..Query::default() };
    for (name, value) in arguments {
        let number = || {
            value.parse::<usize>().map_err(|_| Failure::bad(format!("{name}={value:?} is no number"), "write digits"))
        };
        match name.as_str() {
            "q" => query.text = value.trim().to_owned(),
            "kind" if value.is_empty() => {}
            "kind" => {
                query.kind =
                    Some(value.parse().map_err(|error| Failure::bad(format!("{error}"), "leave kind out for all"))?)
            }
            "facet" => {
                let facet = value
                    .split_once(':')
                    .ok_or_else(|| Failure::bad(format!("facet={value:?} names no value"), "write facet=name:value"))?;
                query.facets.push((facet.0.to_owned(), facet.1.to_owned()));
            }
            "offset" => query.offset = number()?,
            "limit" => query.limit = number()?.clamp(1, LARGEST_PAGE),
            _ => {}
        }
    }
    Ok(query)
}

async fn search(State(site): SiteState, RawQuery(raw): RawQuery) -> Result<Json<Value>, Failure> {
    let arguments = address::arguments(raw.unwrap_or_default().as_bytes());
    let query = query(&arguments, 20)?;
    let after = arguments.iter().find(|(name, _)| name == "after").map(|(_, seq)| seq.parse::<u64>());
    let after =
        after.transpose().map_err(|_| Failure::bad("after is no number", "give the seq that a write returned"))?;
    let offset = query.offset;
    let results = site.catalogue().search(query, after).await?;
    let ids: Vec<RecordId> = results.hits.iter().map(|hit| hit.id).collect();
    let records = site.catalogue().store().records(&ids).await?;
    // A record that went between the two questions is left out.
    let hits = results.hits.iter().zip(&records).filter_map(|(hit, stored)| {
        let mut value = record(&site, stored.as_ref()?);
        value["score"] = json!(hit.score);
        Some(value)
    });
    let facets: serde_json::Map<String, Value> = results
        .facets
        .iter()
        .map(|facet| {
            let counts = facet.counts.iter().map(|(value, count)| json!({ "value": value, "count": count }));
            (facet.name.clone(), counts.collect())
        })
        .collect();
    let hits: Vec<Value> = hits.collect();
    Ok(Json(json!({ "total": results.total, "offset": offset, "seq": results.seq, "records": hits, "facets": facets })))
}

/// The identifier in an address.
pub(crate) fn record_id(text: &str) -> Result<RecordId, Failure> {
    text.parse().map_err(|error: zhulu_record::ParseError| Failure::missing(error.to_string()))
}

/// A record; one merged into another leads to that one.
pub(crate) async fn find(site: &Site, text: &str) -> Result<Stored, Failure> {
    let id = record_id(text)?;
    Ok(site.catalogue().record(id).await?.ok_or(Error::NoRecord(id))?)
}

async fn show(State(site): SiteState, Path(id): Path<String>) -> Result<Response, Failure> {
    let stored = find(&site, &id).await?;
    let status = if stored.record.deleted { axum::http::StatusCode::GONE } else { axum::http::StatusCode::OK };
    Ok((status, Json(record(&site, &stored))).into_response())
}

/// A record as JSON. The text of the document is for searching and is never given out.
fn record(site: &Site, stored: &Stored) -> Value {
    let Stored { datestamp, seq, record, merged_into } = stored;
    let statements = record.statements.iter().filter(|said| said.statement.element != Element::TEXT);
    json!({
        "id": record.id,
        "oai": address::oai_identifier(site.config(), record.id),
        "kind": record.kind,
        "deleted": record.deleted,
        "erased": record.erased,
        "datestamp": datestamp,
        "seq": seq,
        "stamp": record.stamp,
        "merged_into": merged_into,
        "keys": record.keys,
        "sets": record.sets,
        "statements": statements.collect::<Vec<_>>(),
        "files": record.blobs,
        "provenance": record.provenance,
        "sources": record.voices,
        "conflicts": record.conflicts,
    })
}

async fn history(
    State(site): SiteState,
    person: Result<Person, Failure>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Failure> {
    let id = record_id(&id)?;
    let history = site.catalogue().store().history(id).await?;
    let stored = site.catalogue().store().records(&[id]).await?.pop().flatten().ok_or(Error::NoRecord(id))?;
    // What a removed record said is no longer for everyone to read.
    let hidden = stored.record.deleted && stored.merged_into.is_none() && person.is_err();
    let entries: Vec<Value> = history.iter().map(|logged| entry(logged, hidden)).collect();
    Ok(Json(json!({ "id": id, "entries": entries })))
}

fn entry(logged: &Logged, hidden: bool) -> Value {
    let Logged { seq, datestamp, entry } = logged;
    let mut entry = entry.clone();
    if let Change::Put(put) = &mut entry.change {
        put.statements.retain(|statement: &Statement| !hidden && statement.element != Element::TEXT);
        put.blobs.retain(|_| !hidden);
    }
    json!({ "seq": seq, "datestamp": datestamp, "entry": entry })
}

async fn jobs(State(site): SiteState) -> Result<Json<Value>, Failure> {
    let stats = site.catalogue().store().job_stats().await?;
    Ok(Json(json!({ "ready": stats.ready, "leased": stats.leased, "dead": stats.dead })))
}

async fn job(State(site): SiteState, Path(id): Path<i64>) -> Result<Json<Value>, Failure> {
    let job = site.catalogue().store().job(JobId(id)).await?;
    Ok(Json(match job {
        None => json!({ "job": id, "state": "done" }),
        Some(job) => {
            // What went wrong may name paths of the server; only that it went wrong is told.
            let failed = job.state == JobState::Dead;
            json!({ "job": id, "kind": job.kind, "state": job.state, "attempts": job.attempts, "failed": failed })
        }
    }))
}
