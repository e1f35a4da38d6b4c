//! Editing by people: a form with every element, and the buttons that delete a record or give it back to the machines.
//!
//! The form says which state of the record it was made from. If the record has changed since, nothing is saved: the form
//! comes back with what was typed, and a warning.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use zhulu_record::{Element, Evidence, Language, Record, Statement, Value};

use super::{Visit, shell, title_of};
use crate::failure::Failure;
use crate::session::Person;
use crate::{SiteState, address, api};

/// Shown first; the others are behind a fold unless they have a value.
const MAIN: [Element; 7] = [
    Element::TITLE,
    Element::CREATOR,
    Element::ABSTRACT,
    Element::SUBJECT,
    Element::ISSUED,
    Element::LANGUAGE,
    Element::IDENTIFIER,
];
/// Texts that run over several lines.
const LONG: [Element; 3] = [Element::ABSTRACT, Element::DESCRIPTION, Element::RIGHTS];

/// The elements a person can edit in a form: those whose values are texts.
fn editable(record: &Record) -> Vec<Element> {
    let not_text = [Element::TEXT, Element::PARAMETER, Element::BOUNDING_BOX];
    let structured: BTreeSet<&Element> = record
        .statements
        .iter()
        .filter(|said| said.statement.value.as_text().is_none())
        .map(|said| &said.statement.element)
        .collect();
    let own = record.statements.iter().map(|said| &said.statement.element);
    let mut elements: Vec<Element> = Element::KNOWN.iter().chain(own).cloned().collect();
    elements.sort_by_key(|element| (element.rank(), element.clone()));
    elements.dedup();
    elements.retain(|element| !not_text.contains(element) && !structured.contains(element));
    elements
}

type Rows = BTreeMap<Element, Vec<(String, String)>>;

/// What the record says now, as rows of value and language.
fn rows(record: &Record) -> Rows {
    let mut rows = Rows::new();
    for said in &record.statements {
        if let Some(text) = said.statement.value.as_text() {
            let language =
                said.statement.language.as_ref().map(|language| language.tag().to_owned()).unwrap_or_default();
            rows.entry(said.statement.element.clone()).or_default().push((text.to_owned(), language));
        }
    }
    rows
}

pub(super) async fn form(
    State(site): SiteState,
    visit: Visit,
    _: Person,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let stored = api::find(&site, &id).await?;
    if stored.record.deleted {
        return Ok(Redirect::to(&format!("/record/{}", stored.record.id)).into_response());
    }
    let rows = rows(&stored.record);
    Ok(page(&visit, &stored.record, &rows, false).into_response())
}

fn page(visit: &Visit, record: &Record, rows: &Rows, stale: bool) -> Markup {
    let words = visit.words;
    let (title, language) = title_of(words, record);
    let elements = editable(record);
    let (main, rest): (Vec<&Element>, Vec<&Element>) =
        elements.iter().partition(|element| MAIN.contains(element) || rows.contains_key(*element));
    let body = html! {
        section.editor {
            h1 { (words.say("edit")) }
            p lang=[language] { a href={ "/record/" (record.id) } { (title) } }
            @if stale { p.notice.bad role="alert" { (words.say("edit-stale")) } }
            p.quiet { (words.say("edit-explained")) }
            form method="post" action={ "/record/" (record.id) "/edit" } {
                @if let Some(stamp) = record.stamp { input type="hidden" name="seen" value=(stamp); }
                @for element in main { (field(visit, element, rows.get(element))) }
                details {
                    summary { (words.say("edit-more")) }
                    @for element in rest { (field(visit, element, rows.get(element))) }
                }
                p.actions {
                    button.primary { (words.say("save")) }
                    a.button href={ "/record/" (record.id) } { (words.say("cancel")) }
                }
            }
            hr;
            div.actions {
                form method="post" action={ "/record/" (record.id) "/release" } {
                    button title=(words.say("release-explained")) { (words.say("release-all")) }
                }
                form method="post" action={ "/record/" (record.id) "/delete" } data-confirm=(words.say("delete-confirm")) {
                    button.danger { (words.say("delete")) }
                }
            }
        }
    };
    shell(visit, &words.say("edit"), &body)
}

/// One element: a row for each value and two empty ones.
fn field(visit: &Visit, element: &Element, rows: Option<&Vec<(String, String)>>) -> Markup {
    let words = visit.words;
    let none = Vec::new();
    let rows = rows.unwrap_or(&none);
    let spare = if LONG.contains(element) { 1 } else { 2 };
    let empty = ("".to_owned(), "".to_owned());
    html! {
        fieldset.rows {
            legend { (words.element(element)) }
            @for (place, (text, language)) in rows.iter().chain(std::iter::repeat_n(&empty, spare)).enumerate() {
                div.row {
                    @if LONG.contains(element) || text.contains('\n') {
                        textarea name={ (element) ".value" } rows="5" aria-label={ (words.element(element)) " " (place + 1) } lang=[Some(language).filter(|tag| !tag.is_empty())] { (text) }
                    } @else {
                        input type="text" name={ (element) ".value" } value=(text) aria-label={ (words.element(element)) " " (place + 1) } lang=[Some(language).filter(|tag| !tag.is_empty())];
                    }
                    input.lang type="text" name={ (element) ".lang" } value=(language) size="5" maxlength="20" placeholder="zh" aria-label={ (words.say("language")) " " (place + 1) };
                }
            }
        }
    }
}

/// The rows that a form sends: value and language alternate.
fn sent(arguments: &[(String, String)]) -> Rows {
    let mut rows = Rows::new();
    let mut value: Option<(Element, String)> = None;
    for (name, text) in arguments {
        match name.rsplit_once('.') {
            Some((element, "value")) => {
                value = element.parse().ok().map(|element| (element, text.replace("\r\n", "\n").trim().to_owned()))
            }
            Some((element, "lang")) => {
                if let Some((of, text_of)) = value.take().filter(|(of, _)| of.name() == element) {
                    let row = rows.entry(of).or_default();
                    if !text_of.is_empty() {
                        row.push((text_of, text.trim().to_owned()));
                    }
                }
            }
            _ => {}
        }
    }
    rows
}

pub(super) async fn save(
    State(site): SiteState,
    visit: Visit,
    Person(person): Person,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Failure> {
    let record = api::find(&site, &id).await?.record;
    let arguments = address::arguments(&body);
    let sent = sent(&arguments);
    let seen = arguments.iter().find(|(name, _)| name == "seen").map(|(_, stamp)| stamp.as_str());
    if seen != record.stamp.map(|stamp| stamp.to_string()).as_deref() {
        return Ok((StatusCode::CONFLICT, page(&visit, &record, &sent, true)).into_response());
    }
    let now = rows(&record);
    let editable = editable(&record);
    let changed = sent.into_iter().filter(|(element, rows)| {
        editable.contains(element) && now.get(element).map_or(&[][..], Vec::as_slice) != rows
    });
    let edits: Vec<(Element, Vec<Statement>)> = changed
        .map(|(element, rows)| {
            let statements = rows.into_iter().map(|(text, tag)| Statement {
                element: element.clone(),
                value: Value::Text(text),
                language: Some(tag).filter(|tag| !tag.is_empty()).map(Language::from),
                evidence: Evidence::default(),
            });
            let statements = statements.collect();
            (element, statements)
        })
        .collect();
    if !edits.is_empty() {
        site.catalogue().edit(record.id, &person, edits).await?;
    }
    Ok(Redirect::to(&format!("/record/{}", record.id)).into_response())
}

pub(super) async fn delete(
    State(site): SiteState,
    Person(person): Person,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = api::find(&site, &id).await?.record.id;
    site.catalogue().delete(id, &person).await?;
    Ok(Redirect::to(&format!("/record/{id}")).into_response())
}

/// Gives the named element, or the whole record, back to the machines.
pub(super) async fn release(
    State(site): SiteState,
    Person(person): Person,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Failure> {
    let id = api::find(&site, &id).await?.record.id;
    let arguments = address::arguments(&body);
    let named = arguments.iter().filter(|(name, _)| name == "element").map(|(_, element)| element.parse());
    let elements: Vec<Element> = named
        .collect::<Result<_, _>>()
        .map_err(|error: zhulu_record::ParseError| Failure::bad(error.to_string(), "use the form"))?;
    site.catalogue().release(id, &person, elements).await?;
    Ok(Redirect::to(&format!("/record/{id}")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_order_and_empty_ones_are_no_values() {
        let pairs = [
            ("title.value", " 题 "),
            ("title.lang", "zh"),
            ("title.value", "T"),
            ("title.lang", ""),
            ("creator.value", ""),
            ("creator.lang", ""),
        ];
        let rows = sent(&pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(rows[&Element::TITLE], [("题".to_owned(), "zh".to_owned()), ("T".to_owned(), String::new())]);
        assert!(rows[&Element::CREATOR].is_empty(), "an element left empty has no value");
    }
}
