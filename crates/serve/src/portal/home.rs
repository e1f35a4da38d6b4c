//! The first page: a search box, what is new, and what there is. An empty catalogue says how to fill it.

use axum::extract::State;
use maud::{Markup, html};
use zhulu_catalogue::search::Query;

use super::search::{facet_links, result};
use super::{Visit, search_box, shell, time};
use crate::failure::Failure;
use crate::{SiteState, feed};

const LATEST: usize = 10;

pub(super) async fn page(State(site): SiteState, visit: Visit) -> Result<Markup, Failure> {
    let words = visit.words;
    let head = site.catalogue().store().head().await?;
    let live = head.records.saturating_sub(head.deleted);
    if live == 0 {
        let samples = site.config().samples.as_deref().filter(|folder| folder.is_dir()).is_some();
        return Ok(shell(&visit, "", &empty(&visit, samples)));
    }
    let latest = feed::latest(&site, LATEST).await?;
    let everything = Query { limit: 1, count_facets: true, ..Query::default() };
    let results = site.catalogue().search(everything.clone(), None).await?;
    let body = html! {
        section.hero {
            h1 { (site.config().name) }
            p.lead { (words.say("home-lead")) }
            (search_box(words, "", &[]))
            p.quiet {
                (words.with("home-count", &[("n", live.into())]))
                @if let Some(datestamp) = head.datestamp { " · " (words.say("home-updated")) " " (time(datestamp)) " UTC" }
            }
        }
        div.columns {
            section aria-labelledby="latest" {
                h2 #latest { (words.say("home-latest")) }
                ol.results { @for stored in &latest { (result(words, stored, None)) } }
            }
            aside.facets aria-label=(words.say("browse")) {
                h2 { (words.say("browse")) }
                (facet_links(words, &everything, &results.facets))
            }
        }
    };
    Ok(shell(&visit, "", &body))
}

fn empty(visit: &Visit, samples: bool) -> Markup {
    let words = visit.words;
    html! {
        section.hero {
            h1 { (words.say("empty-title")) }
            p.lead { (words.say("empty-lead")) }
        }
        div.cards {
            @if samples {
                section.card {
                    h2 { (words.say("empty-samples")) }
                    p { (words.say("empty-samples-explained")) }
                    @if visit.person.is_some() {
                        form method="post" action="/add/samples" { button.primary { (words.say("add-samples")) } }
                    } @else {
                        p { a.button.primary href="/sign-in" { (words.say("sign-in-for-samples")) } }
                        p.quiet { (words.say("sign-in-printed")) }
                    }
                }
            }
            section.card {
                h2 { (words.say("empty-own")) }
                p { (words.say("empty-own-explained")) }
                p { a.button href="/add" { (words.say("nav-add")) } }
            }
            section.card {
                h2 { (words.say("empty-command")) }
                p { (words.say("empty-command-explained")) }
                pre { code { "zhulu add report.pdf\nzhulu add documents/\nzhulu add https://example.org/oai" } }
            }
        }
    }
}
