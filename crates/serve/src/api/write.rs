//! Writing through the API: records made and edited by people, and files taken in. Every answer names the seq of the write.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Multipart, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::json;
use zhulu_catalogue::Receipt;
use zhulu_record::{Element, Evidence, Kind, Language, Put, RecordId, Statement, Value};

use crate::failure::Failure;
use crate::session::Person;
use crate::{Site, SiteState, address, upload};

/// A body that is no JSON of the right shape is told so in our own form.
fn body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, Failure> {
    body.map(|Json(value)| value).map_err(|rejection| {
        let hint = "see /api/v1/openapi.json for the shape";
        Failure::new(rejection.status(), "bad-body", rejection.body_text(), hint)
    })
}

/// A value in a request: a text, a structure, or either with its language.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Given {
    Full { value: Value, lang: Option<Language> },
    Bare(Value),
}

/// The values of an element: one, several, or none.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Values {
    Several(Vec<Given>),
    One(Given),
    None,
}

pub(super) type Edits = BTreeMap<Element, Values>;

fn statements(edits: Edits) -> Result<Vec<(Element, Vec<Statement>)>, Failure> {
    let statement = |element: &Element, given: Given| {
        let (value, language) = match given {
            Given::Full { value, lang } => (value, lang),
            Given::Bare(value) => (value, None),
        };
        Statement { element: element.clone(), value, language, evidence: Evidence::default() }
    };
    let edits: Vec<_> = edits
        .into_iter()
        .map(|(element, values)| {
            let values = match values {
                Values::Several(values) => values,
                Values::One(value) => vec![value],
                Values::None => Vec::new(),
            };
            let statements: Vec<Statement> = values.into_iter().map(|given| statement(&element, given)).collect();
            (element, statements)
        })
        .collect();
    let empty = |statement: &Statement| statement.value.as_text().is_some_and(|text| text.trim().is_empty());
    if edits.iter().any(|(_, statements)| statements.iter().any(empty)) {
        return Err(Failure::bad("a value is empty", "leave it out, or give [] to say that the element has no value"));
    }
    Ok(edits)
}

fn receipt(id: RecordId, receipt: &Receipt) -> Json<serde_json::Value> {
    let outcomes: Vec<_> = receipt.outcomes.iter().map(|(_, outcome)| outcome).collect();
    Json(json!({ "id": id, "seq": receipt.seq, "outcomes": outcomes }))
}

#[derive(Deserialize)]
pub(super) struct New {
    #[serde(default)]
    kind: Kind,
    values: Edits,
}

pub(super) async fn create(
    State(site): SiteState,
    Person(person): Person,
    new: Result<Json<New>, JsonRejection>,
) -> Result<(StatusCode, [(header::HeaderName, String); 1], Json<serde_json::Value>), Failure> {
    let New { kind, values } = body(new)?;
    let statements: Vec<Statement> = statements(values)?.into_iter().flat_map(|(_, statements)| statements).collect();
    if statements.is_empty() {
        return Err(Failure::bad("the record says nothing", "give at least a title: {\"values\": {\"title\": \"…\"}}"));
    }
    let id = site.catalogue().create(&person, Put { kind, statements, ..Put::default() }).await?;
    // The log has moved at least as far as this write.
    let seq = site.catalogue().store().head().await?.seq;
    let location = [(header::LOCATION, format!("/api/v1/records/{id}"))];
    Ok((StatusCode::CREATED, location, Json(json!({ "id": id, "seq": seq }))))
}

pub(super) async fn edit(
    State(site): SiteState,
    Person(person): Person,
    Path(id): Path<String>,
    edits: Result<Json<Edits>, JsonRejection>,
) -> Result<Json<serde_json::Value>, Failure> {
    let id = existing(&site, &id).await?;
    let edits = statements(body(edits)?)?;
    if edits.is_empty() {
        return Err(Failure::bad("nothing is to be changed", "give {\"title\": [\"…\"]}"));
    }
    Ok(receipt(id, &site.catalogue().edit(id, &person, edits).await?))
}

pub(super) async fn delete(
    State(site): SiteState,
    Person(person): Person,
    Path(id): Path<String>,
) -> Result<Json<serde_json::Value>, Failure> {
    let id = existing(&site, &id).await?;
    Ok(receipt(id, &site.catalogue().delete(id, &person).await?))
}

#[derive(Deserialize)]
pub(super) struct Release {
    #[serde(default)]
    elements: Vec<Element>,
}

pub(super) async fn release(
    State(site): SiteState,
    Person(person): Person,
    Path(id): Path<String>,
    release: Result<Json<Release>, JsonRejection>,
) -> Result<Json<serde_json::Value>, Failure> {
    let id = existing(&site, &id).await?;
    let elements = body(release)?.elements;
    Ok(receipt(id, &site.catalogue().release(id, &person, elements).await?))
}

/// The record that the address leads to, which may be the one it was merged into.
async fn existing(site: &Site, text: &str) -> Result<RecordId, Failure> {
    super::find(site, text).await.map(|stored| stored.record.id)
}

/// Files as a form, or one file as the body with its name in the address.
pub(super) async fn file(
    State(site): SiteState,
    _: Person,
    headers: HeaderMap,
    RawQuery(raw): RawQuery,
    request: Request<Body>,
) -> Result<(StatusCode, Json<serde_json::Value>), Failure> {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("application/octet-stream");
    let queued = if media_type.starts_with("multipart/form-data") {
        let form = Multipart::from_request(request, &site).await;
        let form =
            form.map_err(|rejection| Failure::bad(rejection.body_text(), "send a boundary with multipart/form-data"))?;
        upload::take_all(&site, form).await?
    } else {
        let arguments = address::arguments(raw.unwrap_or_default().as_bytes());
        let name = arguments.iter().find(|(name, _)| name == "name").map(|(_, name)| upload::base_name(name));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(Failure::bad(
                "the file has no name",
                "send ?name=FILENAME with the file as the body, or a multipart form",
            ));
        };
        let bytes = Bytes::from_request(request, &site).await.map_err(|rejection| {
            let hint = "send a smaller file, or raise upload_limit in the configuration";
            Failure::new(rejection.status(), "too-large", rejection.body_text(), hint)
        })?;
        vec![upload::take(&site, &name, media_type, bytes).await?]
    };
    let seq = site.catalogue().store().head().await?.seq;
    let files: Vec<_> =
        queued.iter().map(|queued| json!({ "job": queued.job, "blob": queued.blob, "name": queued.name })).collect();
    Ok((StatusCode::ACCEPTED, Json(json!({ "files": files, "seq": seq }))))
}
