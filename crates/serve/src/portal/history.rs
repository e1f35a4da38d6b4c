//! Who changed what when, and where people disagree.

use maud::{Markup, html};
use zhulu_catalogue::Logged;
use zhulu_record::{Change, Element, Entry, Record, Stamp};

use super::{time, value};
use crate::language::Words;

/// All changes, newest first.
pub(super) fn list(words: Words, entries: &[Logged]) -> Markup {
    html! {
        section aria-labelledby="history" {
            details {
                summary { h2 #history { (words.say("history")) } " " span.number { (entries.len()) } }
                ol.history reversed {
                    @for logged in entries.iter().rev() {
                        li {
                            p { (time(logged.datestamp)) " · " strong { (who(&logged.entry)) } " " (what(words, &logged.entry)) }
                            (values(words, &logged.entry, None))
                        }
                    }
                }
            }
        }
    }
}

/// The source, and the person where one is named.
fn who(entry: &Entry) -> String {
    entry.person().map_or_else(|| entry.source.to_string(), str::to_owned)
}

fn what(words: Words, entry: &Entry) -> Markup {
    html! {
        @match &entry.change {
            Change::Put(put) => {
                (words.say("did-put")) " "
                @for (place, element) in put.elements().into_iter().filter(|element| **element != Element::TEXT).enumerate() {
                    @if place > 0 { ", " } (words.element(element))
                }
            },
            Change::Delete => (words.say("did-delete")),
            Change::Release(elements) if elements.is_empty() => (words.say("did-release-all")),
            Change::Release(elements) => {
                (words.say("did-release")) " "
                @for (place, element) in elements.iter().enumerate() { @if place > 0 { ", " } (words.element(element)) }
            },
            Change::Erase => (words.say("did-erase")),
            Change::Erased(_) => (words.say("was-erased")),
        }
    }
}

/// What a change said: of one element, or of all.
fn values(words: Words, entry: &Entry, only: Option<&Element>) -> Markup {
    let Change::Put(put) = &entry.change else { return html! {} };
    let shown: Vec<_> = put
        .statements
        .iter()
        .filter(|statement| statement.element != Element::TEXT && only.is_none_or(|only| statement.element == *only))
        .collect();
    html! {
        @if !shown.is_empty() {
            dl.parts {
                @for statement in shown {
                    @let language = statement.language.as_ref().map(|language| language.tag().to_owned());
                    div { dt { (words.element(&statement.element)) } dd lang=[language] { (value(&statement.value)) } }
                }
            }
        }
    }
}

/// What people said without having seen each other. The newest stands; editing the element settles it.
pub(super) fn conflicts(words: Words, record: &Record, entries: &[Logged]) -> Markup {
    let find = |stamp: &Stamp| entries.iter().find(|logged| logged.entry.stamp == *stamp);
    html! {
        @for conflict in &record.conflicts {
            section.notice role="note" {
                h2 {
                    (words.say("conflict")) " "
                    @match &conflict.element { Some(element) => (words.element(element)), None => (words.say("conflict-existence")) }
                }
                p { (words.say("conflict-explained")) }
                ol {
                    @for logged in conflict.stamps.iter().filter_map(find) {
                        li {
                            p { strong { (who(&logged.entry)) } " · " (time(logged.datestamp)) " " @if conflict.element.is_none() { (what(words, &logged.entry)) } }
                            (values(words, &logged.entry, conflict.element.as_ref()))
                        }
                    }
                }
            }
        }
    }
}
