//! Searching: results with their matches marked, and facets that narrow them.

use axum::extract::{RawQuery, State};
use maud::{Markup, html};
use zhulu_catalogue::Stored;
use zhulu_catalogue::search::{Facet, Query, Snippet, snippet};
use zhulu_record::{Element, RecordId};

use super::{Visit, byline, search_box, shell, time, title_of};
use crate::failure::Failure;
use crate::language::Words;
use crate::{SiteState, address, api};

const PAGE: usize = 20;
/// How many values of a facet are shown.
const VALUES: usize = 8;
/// How many characters of a text are shown.
const SNIPPET: usize = 220;

pub(super) async fn page(State(site): SiteState, visit: Visit, RawQuery(raw): RawQuery) -> Result<Markup, Failure> {
    let words = visit.words;
    let arguments = address::arguments(raw.unwrap_or_default().as_bytes());
    let query = api::query(&arguments, PAGE)?;
    let query = Query { limit: PAGE, ..query };
    let results = match site.catalogue().search(query.clone(), None).await {
        Ok(results) => results,
        // A query that cannot be read is for the person to mend, in the box where it stands.
        Err(zhulu_catalogue::Error::Query { reason, .. }) => {
            let body = html! {
                h1.hidden { (words.say("nav-search")) }
                (search_box(words, &query.text, &[]))
                p.notice.bad role="alert" { (words.say("search-unreadable")) " " span lang="en" { (reason) } }
            };
            return Ok(shell(&visit, &words.say("nav-search"), &body));
        }
        Err(error) => return Err(error.into()),
    };
    let ids: Vec<RecordId> = results.hits.iter().map(|hit| hit.id).collect();
    let found: Vec<Stored> = site.catalogue().store().records(&ids).await?.into_iter().flatten().collect();
    let kept: Vec<(String, String)> =
        query.facets.iter().map(|(name, value)| ("facet".to_owned(), format!("{name}:{value}"))).collect();
    let last = query.offset + found.len();
    let total = results.total;
    let body = html! {
        h1.hidden { (words.say("nav-search")) }
        (search_box(words, &query.text, &kept))
        @if !query.facets.is_empty() {
            ul.chosen aria-label=(words.say("chosen")) {
                @for (place, (name, value)) in query.facets.iter().enumerate() {
                    li {
                        a href=(without(&query, place)) {
                            span.quiet { (words.or_name("facet", name)) } " " (facet_value(words, name, value))
                            span.hidden { " – " (words.say("remove")) } span aria-hidden="true" { " ×" }
                        }
                    }
                }
            }
        }
        p.quiet.count role="status" {
            @if found.is_empty() { (words.say("search-none")) }
            @else { (words.with("search-count", &[("from", (query.offset + 1).into()), ("to", last.into()), ("n", total.into())])) }
        }
        div.columns {
            section aria-label=(words.say("results")) {
                @if found.is_empty() { p { (words.say("search-none-hint")) } }
                ol.results start=(query.offset + 1) {
                    @for stored in &found { (result(words, stored, Some(&query))) }
                }
                (pager(words, &query, total))
            }
            aside.facets aria-label=(words.say("narrow")) {
                details open {
                    summary { (words.say("narrow")) }
                    (facet_links(words, &query, &results.facets))
                }
            }
        }
    };
    let title = if query.text.is_empty() { words.say("nav-search") } else { query.text.clone() };
    Ok(shell(&visit, &title, &body))
}

/// One record in a list.
pub(super) fn result(words: Words, stored: &Stored, query: Option<&Query>) -> Markup {
    let record = &stored.record;
    let (title, language) = title_of(words, record);
    let marked = |text: &str, length: usize| match query {
        Some(query) => marks(&snippet(text, query, length)),
        None => html! { (shorten(text, length)) },
    };
    html! {
        li.result {
            h3 { a href={ "/record/" (record.id) } lang=[language] { (marked(&title, 300)) } }
            p.byline { span.kind { (words.or_name("kind", record.kind.name())) } " " (byline(record)) }
            @if let Some((text, language)) = extract(stored, query) { p.extract lang=[language] { (marked(&text, SNIPPET)) } }
            @if query.is_none() { p.quiet { (time(stored.datestamp)) } }
        }
    }
}

/// The text worth showing below a title: an account of the content, or for a search whichever text the words are in.
fn extract(stored: &Stored, query: Option<&Query>) -> Option<(String, Option<String>)> {
    let texts = |element: &Element| {
        let texts = stored.record.all(element);
        texts.map(|said| (said.statement.value.to_string(), super::language_of(said))).collect::<Vec<_>>()
    };
    let accounts: Vec<_> = [Element::ABSTRACT, Element::DESCRIPTION].iter().flat_map(texts).collect();
    if let Some(query) = query.filter(|query| !query.text.is_empty()) {
        let fits = |(text, _): &&(String, _)| snippet(text, query, SNIPPET).pieces.iter().any(|(_, fits)| *fits);
        let full = texts(&Element::TEXT);
        if let Some(found) = accounts.iter().chain(&full).find(fits) {
            return Some(found.clone());
        }
    }
    accounts.into_iter().next()
}

fn shorten(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

fn marks(snippet: &Snippet) -> Markup {
    html! { @for (text, fits) in &snippet.pieces { @if *fits { mark { (text) } } @else { (text) } } }
}

/// The values of each facet, as links that narrow the search to them.
pub(super) fn facet_links(words: Words, query: &Query, facets: &[Facet]) -> Markup {
    html! {
        @for facet in facets.iter().filter(|facet| !facet.counts.is_empty()) {
            section.facet {
                h3 { (words.or_name("facet", &facet.name)) }
                ul {
                    @for (value, count) in facet.counts.iter().take(VALUES) {
                        @let chosen = query.facets.iter().any(|(name, chosen)| *name == facet.name && chosen == value);
                        li {
                            @if chosen { strong { (facet_value(words, &facet.name, value)) } }
                            @else { a href=(narrowed(query, &facet.name, value)) rel="nofollow" { (facet_value(words, &facet.name, value)) } }
                            " " span.number { (count) }
                        }
                    }
                }
            }
        }
    }
}

fn facet_value(words: Words, name: &str, value: &str) -> String {
    match name {
        "kind" => words.or_name("kind", value),
        "language" => words.or_name("language", value),
        _ => value.to_owned(),
    }
}

/// The address of a search.
fn to_address(text: &str, facets: &[(String, String)], offset: usize) -> String {
    let facets: Vec<String> = facets.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    let offset = offset.to_string();
    let text = Some(("q", text)).filter(|(_, text)| !text.is_empty());
    let offset = Some(("offset", offset.as_str())).filter(|(_, offset)| *offset != "0");
    let facets = facets.iter().map(|facet| ("facet", facet.as_str()));
    address::with_arguments("/search", text.into_iter().chain(facets).chain(offset))
}

fn narrowed(query: &Query, name: &str, value: &str) -> String {
    let mut facets = query.facets.clone();
    facets.push((name.to_owned(), value.to_owned()));
    to_address(&query.text, &facets, 0)
}

fn without(query: &Query, place: usize) -> String {
    let mut facets = query.facets.clone();
    facets.remove(place);
    to_address(&query.text, &facets, 0)
}

fn pager(words: Words, query: &Query, total: u64) -> Markup {
    let next = query.offset + PAGE;
    let previous = (query.offset > 0).then(|| query.offset.saturating_sub(PAGE));
    let next = ((next as u64) < total).then_some(next);
    html! {
        @if previous.is_some() || next.is_some() {
            nav.pager aria-label=(words.say("pages")) {
                @if let Some(offset) = previous { a rel="prev" href=(to_address(&query.text, &query.facets, offset)) { "← " (words.say("previous")) } }
                @if let Some(offset) = next { a rel="next" href=(to_address(&query.text, &query.facets, offset)) { (words.say("next")) " →" } }
            }
        }
    }
}
