//! Where records come from, and what this catalogue speaks.

use axum::extract::State;
use maud::{Markup, html};
use zhulu_record::SetName;

use super::{Visit, shell};
use crate::SiteState;
use crate::failure::Failure;

pub(super) async fn sources(State(site): SiteState, visit: Visit) -> Result<Markup, Failure> {
    let words = visit.words;
    let store = site.catalogue().store();
    let sources = store.sources().await?;
    let sets = store.sets().await?;
    let jobs = store.job_stats().await?;
    let records = |name: &SetName| sets.iter().find(|set| set.name == *name).map_or(0, |set| set.records);
    // Sources that spoke without being registered: uploads, peers, an import.
    let named: Vec<SetName> = sources.iter().map(|row| SetName::of_source(&row.source)).collect();
    let others = sets.iter().filter(|set| set.name.name().starts_with("source-") && !named.contains(&set.name));
    let body = html! {
        h1 { (words.say("nav-sources")) }
        p { (words.say("sources-explained")) }
        div.scroll {
            table {
                thead { tr { th { (words.say("source-name")) } th { (words.say("source-kind")) } th { (words.say("source-address")) } th.right { (words.say("source-records")) } } }
                tbody {
                    @for row in &sources {
                        tr {
                            td { (row.source) }
                            td { (words.or_name("source-kind", &row.kind)) }
                            td { (row.address) }
                            td.right { (records(&SetName::of_source(&row.source))) }
                        }
                    }
                    @for set in others {
                        tr { td { (set.name.name().trim_start_matches("source-")) } td { "–" } td { "–" } td.right { (set.records) } }
                    }
                }
            }
        }
        h2 { (words.say("jobs")) }
        dl.figures {
            div { dt { (words.say("state-waiting")) } dd { (jobs.ready) } }
            div { dt { (words.say("state-working")) } dd { (jobs.leased) } }
            div { dt { (words.say("state-failed")) } dd { (jobs.dead) } }
        }
    };
    Ok(shell(&visit, &words.say("nav-sources"), &body))
}

pub(super) async fn page(State(site): SiteState, visit: Visit) -> Result<Markup, Failure> {
    let words = visit.words;
    let head = site.catalogue().store().head().await?;
    let base = &visit.base;
    let doors = [
        ("OAI-PMH 2.0", format!("{base}/oai"), "/oai?verb=Identify".to_owned(), words.say("door-oai")),
        ("RSS 2.0", format!("{base}/feed/rss2"), "/feed/rss2".to_owned(), words.say("door-rss")),
        ("REST", format!("{base}/api/v1"), "/api/v1/openapi.json".to_owned(), words.say("door-api")),
    ];
    let body = html! {
        section.narrow {
            h1 { (words.say("nav-about")) }
            p.lead { (words.say("about-lead")) }
            dl.figures {
                div { dt { (words.say("figure-records")) } dd { (head.records.saturating_sub(head.deleted)) } }
                div { dt { (words.say("figure-deleted")) } dd { (head.deleted) } }
                div { dt { (words.say("figure-log")) } dd { (head.seq) } }
            }
            h2 { (words.say("doors")) }
            dl.doors {
                @for (name, address, link, explained) in &doors {
                    div { dt { (name) } dd { a href=(link) { code { (address) } } p { (explained) } } }
                }
            }
            h2 { (words.say("search-help")) }
            dl.parts {
                @for (example, explained) in [
                    ("元数据 抽取", words.say("help-words")),
                    ("\"digital library\"", words.say("help-phrase")),
                    ("meta*", words.say("help-prefix")),
                    ("title:著录 creator:lin", words.say("help-field")),
                    ("date:2001..2009", words.say("help-date")),
                ] { div { dt { code { (example) } } dd { (explained) } } }
            }
        }
    };
    Ok(shell(&visit, &words.say("nav-about"), &body))
}
