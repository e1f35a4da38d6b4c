//! `/feed/rss2`: the latest records, with conditional GET.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use zhulu_catalogue::{Error, Filter, Listing, Position, Stored};
use zhulu_protocol::feed::{self, Channel, Item};
use zhulu_record::{Datestamp, Digest};

use crate::failure::Failure;
use crate::language::Words;
use crate::{Site, SiteState, address};

/// How many records a feed shows.
const LENGTH: usize = 50;

pub(crate) async fn rss2(State(site): SiteState, words: Words, headers: HeaderMap) -> Result<Response, Failure> {
    let base = address::base(site.config(), &headers);
    let items = latest(&site, LENGTH).await?;
    let items = items.into_iter().map(|stored| Item {
        identifier: address::oai_identifier(site.config(), stored.record.id),
        link: format!("{base}/record/{}", stored.record.id),
        datestamp: stored.datestamp,
        statements: stored.record.statements.into_iter().map(|said| said.statement).collect(),
    });
    let channel = Channel {
        title: site.config().name.clone(),
        link: format!("{base}/"),
        description: words.say("feed-description"),
        address: format!("{base}/feed/rss2"),
        items: items.collect(),
    };
    let updated = channel.updated();
    let xml = feed::write_rss2(&channel);
    let tag = format!("\"{}\"", &Digest::of(xml.as_bytes()).to_string()[..32]);
    let mut response = if is_fresh(&headers, &tag, updated) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/rss+xml; charset=utf-8")], xml).into_response()
    };
    let mut insert =
        |name, value: &str| HeaderValue::from_str(value).map(|value| response.headers_mut().insert(name, value)).ok();
    insert(header::ETAG, &tag);
    insert(header::CACHE_CONTROL, "no-cache");
    insert(header::VARY, "accept-language, cookie");
    if let Some(updated) = updated {
        insert(header::LAST_MODIFIED, &feed::rfc822(updated));
    }
    Ok(response)
}

/// The newest records that are not deleted.
pub(crate) async fn latest(site: &Site, number: usize) -> Result<Vec<Stored>, Error> {
    let mut found = Vec::new();
    let mut after = None;
    // A catalogue that has just lost a thousand records has no latest ones worth a longer search.
    for _ in 0..20 {
        let listing = Listing { filter: Filter::default(), after, limit: number, newest_first: true };
        let page = site.catalogue().store().list(&listing).await?;
        let last = page.last().map(|stored| Position { datestamp: stored.datestamp, record: stored.record.id });
        let is_last = page.len() < number;
        found.extend(page.into_iter().filter(|stored| !stored.record.deleted && stored.merged_into.is_none()));
        if found.len() >= number || is_last {
            break;
        }
        after = last;
    }
    found.truncate(number);
    Ok(found)
}

/// Whether the reader has this already. By the book a tag, where given, decides alone.
fn is_fresh(headers: &HeaderMap, tag: &str, updated: Option<Datestamp>) -> bool {
    if let Some(known) = headers.get(header::IF_NONE_MATCH) {
        let known = known.to_str().unwrap_or_default();
        return known
            .split(',')
            .map(|known| known.trim().trim_start_matches("W/"))
            .any(|known| known == tag || known == "*");
    }
    let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|since| since.to_str().ok());
    let since = since.and_then(|since| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(since).ok());
    matches!((since, updated), (Some(since), Some(updated)) if Datestamp::from_timestamp(since) >= updated)
}
