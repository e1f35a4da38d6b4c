//! The portal: the catalogue for people. Plain HTML that works without scripts; one style sheet and one small script of our
//! own, and no request to anywhere else.
//!
//! Here are the parts that all pages share: who is visiting, the frame around every page, and failures shown as pages.

mod about;
mod add;
mod asset;
mod edit;
mod evidence;
mod file;
mod history;
mod home;
mod record;
mod search;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{DOCTYPE, Markup, html};
use zhulu_record::{Datestamp, Element, Record, Said, Value};

use crate::failure::Failure;
use crate::language::{Tongue, Words};
use crate::{Site, SiteState, address, session};

pub(crate) fn routes(site: &Site) -> Router<Arc<Site>> {
    let uploads = DefaultBodyLimit::max(site.config().upload_limit);
    Router::new()
        .route("/", get(home::page))
        .route("/search", get(search::page))
        .route("/record/{id}", get(record::page))
        .route("/record/{id}/page/{image}", get(file::page_image))
        .route("/record/{id}/file/{digest}", get(file::download))
        .route("/record/{id}/edit", get(edit::form).post(edit::save))
        .route("/record/{id}/delete", post(edit::delete))
        .route("/record/{id}/release", post(edit::release))
        .route("/add", get(add::page).post(add::submit).layer(uploads))
        .route("/add/samples", post(add::samples))
        .route("/add/progress", get(add::progress))
        .route("/sources", get(about::sources))
        .route("/about", get(about::page))
        .route("/assets/{name}", get(asset::get))
}

/// Who is looking, in which language, at what.
pub(crate) struct Visit {
    pub(crate) words: Words,
    /// Who is signed in.
    pub(crate) person: Option<String>,
    /// The service's own address.
    pub(crate) base: String,
    site_name: String,
    path: String,
    arguments: Vec<(String, String)>,
}

impl FromRequestParts<Arc<Site>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Infallible> {
        let words = Words::from_request_parts(parts, site).await?;
        // A page can still be shown when nobody can be recognised.
        let person = session::signed_in(site, &parts.headers).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the session could not be checked");
            None
        });
        Ok(Visit {
            words,
            person,
            base: address::base(site.config(), &parts.headers),
            site_name: site.config().name.clone(),
            path: parts.uri.path().to_owned(),
            arguments: address::arguments(parts.uri.query().unwrap_or_default().as_bytes()),
        })
    }
}

impl Visit {
    /// The address of this page, to come back to after signing in. A token in it is not repeated.
    fn here(&self) -> String {
        let arguments = self.arguments.iter().filter(|(name, _)| name != "lang" && name != "token");
        address::with_arguments(&self.path, arguments.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    fn in_language(&self, tongue: Tongue) -> String {
        let kept = self.arguments.iter().filter(|(name, _)| name != "lang" && name != "token");
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        address::with_arguments(&self.path, kept.chain([("lang", tongue.tag())]))
    }
}

/// The frame around every page.
pub(crate) fn shell(visit: &Visit, title: &str, body: &Markup) -> Markup {
    framed(visit, title, &html! {}, body)
}

/// The frame, with more in its head.
fn framed(visit: &Visit, title: &str, head: &Markup, body: &Markup) -> Markup {
    let words = visit.words;
    let links = [
        ("/search", words.say("nav-search")),
        ("/add", words.say("nav-add")),
        ("/sources", words.say("nav-sources")),
        ("/about", words.say("nav-about")),
    ];
    html! {
        (DOCTYPE)
        html lang=(words.0.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { @if title.is_empty() { (visit.site_name) } @else { (title) " · " (visit.site_name) } }
                link rel="stylesheet" href=(asset::STYLE.address());
                link rel="icon" href=(asset::ICON.address()) type="image/svg+xml";
                link rel="alternate" type="application/rss+xml" href="/feed/rss2" title=(visit.site_name);
                script src=(asset::SCRIPT.address()) defer {}
                (head)
            }
            body {
                a.skip href="#main" { (words.say("skip")) }
                header.top {
                    a.brand href="/" { span.seal aria-hidden="true" lang="zh" { "著" br; "录" } span { (visit.site_name) } }
                    nav aria-label=(words.say("nav")) {
                        @for (link, name) in &links {
                            a href=(link) aria-current=[(visit.path == *link).then_some("page")] { (name) }
                        }
                    }
                    div.tools {
                        @for tongue in Tongue::ALL.into_iter().filter(|tongue| *tongue != words.0) {
                            a href=(visit.in_language(tongue)) lang=(tongue.tag()) hreflang=(tongue.tag()) rel="nofollow" { (tongue.name()) }
                        }
                        @match &visit.person {
                            Some(person) => form method="post" action="/sign-out" {
                                span.who title=(words.say("signed-in-as")) { (person) }
                                button.plain { (words.say("sign-out")) }
                            },
                            None => a href=(address::with_arguments("/sign-in", [("next", visit.here().as_str())])) rel="nofollow" { (words.say("sign-in")) },
                        }
                    }
                }
                main #main tabindex="-1" { (body) }
                footer {
                    p { "zhulu " (env!("CARGO_PKG_VERSION")) " · " (words.say("footer-tagline")) }
                    p { a href="/oai?verb=Identify" { "OAI-PMH" } " · " a href="/feed/rss2" { "RSS" } " · " a href="/api/v1/openapi.json" { "API" } }
                }
            }
        }
    }
}

/// The search box.
fn search_box(words: Words, text: &str, kept: &[(String, String)]) -> Markup {
    html! {
        form.search role="search" action="/search" {
            label.hidden for="q" { (words.say("search-label")) }
            input #q type="search" name="q" value=(text) placeholder=(words.say("search-placeholder")) autocomplete="off";
            @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
            button.primary { (words.say("search-button")) }
        }
    }
}

/// Shows failures as pages; programs never come through here.
pub(crate) async fn show_failures(State(site): SiteState, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let headers: HeaderMap = parts.headers.clone();
    let is_read = parts.method == axum::http::Method::GET;
    let Ok(visit) = Visit::from_request_parts(&mut parts, &site).await;
    let response = next.run(Request::from_parts(parts, body)).await;
    let Some(failure) = response.extensions().get::<Failure>().cloned() else { return response };
    let is_page = headers
        .get("accept")
        .and_then(|accept| accept.to_str().ok())
        .is_none_or(|accept| !accept.starts_with("image/"));
    if !is_page {
        return response;
    }
    let words = visit.words;
    // A form cannot be sent again by following a link; after signing in one begins at the first page.
    let next = if is_read { visit.here() } else { "/".to_owned() };
    let title = words.or_name("status", failure.status.as_str());
    let title = if title == failure.status.as_str() { words.say("status-other") } else { title };
    let body = html! {
        section.narrow {
            p.quiet { (failure.status.as_u16()) }
            h1 { (title) }
            p lang="en" { (failure.message) "." }
            p.quiet lang="en" { (failure.hint) "." }
            @if failure.status == axum::http::StatusCode::UNAUTHORIZED {
                p { a.button href=(address::with_arguments("/sign-in", [("next", next.as_str())])) { (words.say("sign-in")) } }
            } @else {
                p { a href="/" { (words.say("back-home")) } }
            }
        }
    };
    let mut page = (failure.status, shell(&visit, &title, &body)).into_response();
    for name in ["www-authenticate", "retry-after"] {
        if let Some(value) = response.headers().get(name) {
            page.headers_mut().insert(axum::http::HeaderName::from_static(name), value.clone());
        }
    }
    page
}

/// A point in time, for people and for machines.
fn time(datestamp: Datestamp) -> Markup {
    let shown = datestamp.timestamp().strftime("%Y-%m-%d %H:%M").to_string();
    html! { time datetime=(datestamp) title=(datestamp) { (shown) } }
}

/// What a record is called: its title, else whatever else names it.
fn title_of(words: Words, record: &Record) -> (String, Option<String>) {
    let said = record.all(&Element::TITLE).next().or_else(|| record.all(&Element::ALTERNATIVE).next());
    match said {
        Some(said) => (said.statement.value.to_string(), language_of(said)),
        None => (record.blobs.first().map_or_else(|| words.say("untitled"), |blob| blob.name.clone()), None),
    }
}

fn language_of(said: &Said) -> Option<String> {
    said.statement.language.as_ref().map(|language| language.tag().to_owned())
}

/// A value; an address becomes a link.
fn value(value: &Value) -> Markup {
    match value {
        Value::Structure(parts) => html! {
            dl.parts { @for (name, part) in parts { div { dt { (name) } dd { (self::value(part)) } } } }
        },
        Value::Text(text) => {
            let doi = text.strip_prefix("doi:").unwrap_or(text).trim();
            let link = if text.starts_with("https://") || text.starts_with("http://") {
                Some(text.clone())
            } else if doi.starts_with("10.") && doi.contains('/') && !doi.contains(char::is_whitespace) {
                Some(format!("https://doi.org/{doi}"))
            } else {
                None
            };
            html! {
                @match link {
                    Some(link) => a href=(link) rel="nofollow noopener noreferrer" { (text) },
                    None => (text),
                }
            }
        }
    }
}

/// Creators and year in one line.
fn byline(record: &Record) -> Markup {
    let creators: Vec<&Said> = record.all(&Element::CREATOR).collect();
    let date = [Element::ISSUED, Element::DATE, Element::CREATED].iter().find_map(|element| record.first(element));
    // The time of day a file was made says nothing to a reader.
    let date = date.map(|date| date.split_once('T').map_or(date, |(day, _)| day));
    html! {
        @for (place, said) in creators.iter().take(6).enumerate() {
            @if place > 0 { "; " }
            span lang=[language_of(said)] { (said.statement.value) }
        }
        @if creators.len() > 6 { " …" }
        @if let Some(date) = date { @if !creators.is_empty() { " · " } (date) }
    }
}
