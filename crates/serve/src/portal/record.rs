//! One record: what is said of it and why, its files and pages, its history, and what people have to settle.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use zhulu_catalogue::{Error, Logged, Stored};
use zhulu_record::{Element, Record, RecordId, Said};

use super::{Visit, evidence, framed, history, language_of, shell, time, title_of, value};
use crate::failure::Failure;
use crate::language::Words;
use crate::{Site, SiteState, address, api};

/// How many like records are named.
const ALIKE: usize = 5;

pub(super) async fn page(State(site): SiteState, visit: Visit, Path(id): Path<String>) -> Result<Response, Failure> {
    let asked = api::record_id(&id)?;
    let stored = api::find(&site, &id).await?;
    if stored.record.id != asked {
        return Ok(Redirect::permanent(&format!("/record/{}", stored.record.id)).into_response());
    }
    let entries = site.catalogue().store().history(asked).await?;
    if stored.record.deleted {
        let title =
            if stored.record.erased { visit.words.say("erased-title") } else { visit.words.say("deleted-title") };
        return Ok(
            (StatusCode::GONE, shell(&visit, &title, &tombstone(&visit, &title, &stored, &entries))).into_response()
        );
    }
    let alike = alike(&site, asked).await?;
    let (title, _) = title_of(visit.words, &stored.record);
    let body = article(&site, &visit, &stored, &entries, &alike);
    Ok(framed(&visit, &title, &html! { link rel="canonical" href={ (visit.base) "/record/" (asked) }; }, &body)
        .into_response())
}

async fn alike(site: &Site, id: RecordId) -> Result<Vec<Stored>, Error> {
    let ids = site.catalogue().store().alike(id, ALIKE).await?;
    let found = site.catalogue().store().records(&ids).await?;
    Ok(found.into_iter().flatten().filter(|stored| !stored.record.deleted).collect())
}

fn article(site: &Site, visit: &Visit, stored: &Stored, entries: &[Logged], alike: &[Stored]) -> Markup {
    let words = visit.words;
    let record = &stored.record;
    let (title, language) = title_of(words, record);
    let pages = evidence::pages(words, record);
    let with_pages = !pages.0.is_empty();
    html! {
        article.record {
            header {
                p.byline { span.kind { (words.or_name("kind", record.kind.name())) } " " (words.say("record-changed")) " " (time(stored.datestamp)) " UTC" }
                h1 lang=[language.clone()] { (title) }
                @for said in record.all(&Element::TITLE).skip(1) { p.parallel lang=[language_of(said)] { (said.statement.value) } }
                p.creators { @for (place, said) in creators(record, language.as_deref()).into_iter().enumerate() {
                    @if place > 0 { "; " }
                    a href=(address::with_arguments("/search", [("facet", format!("creator:{}", said.statement.value).as_str())])) lang=[language_of(said)] rel="nofollow" { (said.statement.value) }
                } }
                @if visit.person.is_some() {
                    p.actions {
                        a.button href={ "/record/" (record.id) "/edit" } { (words.say("edit")) }
                    }
                }
            }
            (history::conflicts(words, record, entries))
            div.columns.wide[with_pages] {
                div {
                    (statements(visit, record))
                    (details(site, visit, record))
                    (siblings(words, alike))
                    (history::list(words, entries))
                }
                (pages)
            }
        }
    }
}

/// The creators as the title's language writes them; as they come, where none is written so.
fn creators<'r>(record: &'r Record, language: Option<&str>) -> Vec<&'r Said> {
    let all: Vec<&Said> = record.all(&Element::CREATOR).collect();
    let fits = |said: &&Said| said.statement.language.as_ref().is_some_and(|tag| Some(tag.tag()) == language);
    if all.iter().any(&fits) { all.into_iter().filter(fits).collect() } else { all }
}

/// Short values, several of them, stand side by side.
fn is_many(group: &[(usize, &Said)]) -> bool {
    group.len() > 2 && group.iter().all(|(_, said)| said.statement.value.to_string().chars().count() <= 40)
}

/// Everything said, by element, each value with its evidence.
fn statements(visit: &Visit, record: &Record) -> Markup {
    let words = visit.words;
    let shown: Vec<(usize, &Said)> =
        record.statements.iter().enumerate().filter(|(_, said)| said.statement.element != Element::TEXT).collect();
    let several = record.voices.iter().filter(|voice| voice.live && !voice.source.is_people()).count() > 1;
    let groups = shown.chunk_by(|(_, a), (_, b)| a.statement.element == b.statement.element);
    html! {
        section aria-labelledby="statements" {
            h2 #statements .hidden { (words.say("statements")) }
            dl.statements {
                @for group in groups {
                    @let element = &group[0].1.statement.element;
                    div.element.many[is_many(group)] {
                        dt title=(element) { (words.element(element)) }
                        @for (number, said) in group {
                            dd id={ "statement-" (number) } data-statement=(number) tabindex=[evidence::has_boxes(said).then_some("0")] {
                                div.value lang=[language_of(said)] { (value(&said.statement.value)) @if let Some(tag) = language_of(said) { " " span.tag lang="en" { (tag) } } }
                                (evidence::line(words, said, *number, several))
                            }
                        }
                        @if visit.person.is_some() && group.iter().any(|(_, said)| said.source.is_people()) {
                            dd.release {
                                form method="post" action={ "/record/" (record.id) "/release" } {
                                    input type="hidden" name="element" value=(element);
                                    button.plain title=(words.say("release-explained")) { (words.say("release")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Files, sets, sources and identifiers.
fn details(site: &Site, visit: &Visit, record: &Record) -> Markup {
    let words = visit.words;
    let oai = address::oai_identifier(site.config(), record.id);
    let get_record = address::with_arguments(
        "/oai",
        [("verb", "GetRecord"), ("metadataPrefix", "oai_dc"), ("identifier", oai.as_str())],
    );
    html! {
        @if !record.blobs.is_empty() {
            section aria-labelledby="files" {
                h2 #files { (words.say("files")) }
                ul.files {
                    @for blob in &record.blobs {
                        li {
                            a href={ "/record/" (record.id) "/file/" (blob.digest) } { (blob.name) }
                            " " span.quiet { (blob.media_type) " · " (size(blob.size)) }
                        }
                    }
                }
            }
        }
        section aria-labelledby="about-record" {
            h2 #about-record { (words.say("about-record")) }
            dl.parts {
                div { dt { (words.say("identifier")) } dd { code { (oai) } } }
                div { dt { (words.say("formats")) } dd { a href=(get_record) { "oai_dc" } " · " a href={ "/api/v1/records/" (record.id) } { "JSON" } } }
                div { dt { (words.say("sources")) } dd { @for voice in &record.voices { span.tag.off[!voice.live] { (voice.source) } " " } } }
                div { dt { (words.say("sets")) } dd { @for set in &record.sets { span.tag { (set) } " " } } }
                @for provenance in &record.provenance {
                    div { dt { (words.say("harvested-from")) } dd { (provenance.base_url) " · " code { (provenance.identifier) } " · " (provenance.datestamp) } }
                }
            }
        }
    }
}

/// Records that may be the same thing: a person has to judge.
fn siblings(words: Words, alike: &[Stored]) -> Markup {
    html! {
        @if !alike.is_empty() {
            section aria-labelledby="alike" {
                h2 #alike { (words.say("alike")) }
                ul.plain { @for stored in alike {
                    @let (title, language) = title_of(words, &stored.record);
                    li { a href={ "/record/" (stored.record.id) } lang=[language] { (title) } " " span.quiet { (super::byline(&stored.record)) } }
                } }
            }
        }
    }
}

/// What is left of a record that is gone.
fn tombstone(visit: &Visit, title: &str, stored: &Stored, entries: &[Logged]) -> Markup {
    let words = visit.words;
    let record = &stored.record;
    let erased = record.erased;
    html! {
        section.narrow {
            p.quiet { "410" }
            h1 { (title) }
            p { @if erased { (words.say("erased-explained")) } @else { (words.say("deleted-explained")) } }
            p.quiet { (words.say("identifier")) " " code { (record.id) } " · " (time(stored.datestamp)) " UTC" }
            @if visit.person.is_some() && !erased {
                form method="post" action={ "/record/" (record.id) "/release" } { button { (words.say("bring-back")) } }
            }
            // What a removed record said is no longer for everyone to read.
            @if !erased && visit.person.is_some() { (history::list(words, entries)) }
            p { a href="/" { (words.say("back-home")) } }
        }
    }
}

/// A size for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
