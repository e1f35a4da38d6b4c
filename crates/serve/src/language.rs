//! The portal's two languages: Fluent files, and which of them a visitor gets.
//!
//! The choice in the address (`?lang=zh`) is kept in a cookie; without either the browser's preference decides.

use std::convert::Infallible;
use std::sync::LazyLock;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use unic_langid::LanguageIdentifier;
use zhulu_record::Element;

use crate::{address, session};

/// The cookie that keeps the choice.
const COOKIE: &str = "lang";

/// A language of the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tongue {
    English,
    Chinese,
}

impl Tongue {
    pub(crate) const ALL: [Tongue; 2] = [Tongue::English, Tongue::Chinese];

    /// Its tag in the address, the cookie and the `lang` attribute.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Tongue::English => "en",
            Tongue::Chinese => "zh",
        }
    }

    /// Its name in itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tongue::English => "English",
            Tongue::Chinese => "中文",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Tongue::English => include_str!("../locales/en/portal.ftl"),
            Tongue::Chinese => include_str!("../locales/zh/portal.ftl"),
        }
    }

    fn from_tag(tag: &str) -> Option<Tongue> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().trim();
        Tongue::ALL.into_iter().find(|tongue| primary.eq_ignore_ascii_case(tongue.tag()))
    }
}

static BUNDLES: LazyLock<[FluentBundle<FluentResource>; 2]> = LazyLock::new(|| Tongue::ALL.map(bundle));

fn bundle(tongue: Tongue) -> FluentBundle<FluentResource> {
    let language: LanguageIdentifier = tongue.tag().parse().expect("our own tags are tags");
    let mut bundle = FluentBundle::new_concurrent(vec![language]);
    // Direction marks around every number would be copied along with the text; both languages run one way.
    bundle.set_use_isolating(false);
    // A test reads the files; what Fluent could not read of them is only missing.
    let resource = FluentResource::try_new(tongue.file().to_owned()).unwrap_or_else(|(resource, _)| resource);
    bundle.add_resource_overriding(resource);
    bundle
}

/// The portal's words in the visitor's language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words(pub(crate) Tongue);

impl Words {
    /// The text of a key.
    pub(crate) fn say(self, key: &str) -> String {
        self.with(key, &[])
    }

    /// The text of a key with its variables filled in.
    pub(crate) fn with(self, key: &str, values: &[(&'static str, FluentValue<'_>)]) -> String {
        let bundle = &BUNDLES[self.0 as usize];
        let Some(pattern) = bundle.get_message(key).and_then(|message| message.value()) else { return key.to_owned() };
        let arguments: FluentArgs = values.iter().map(|(name, value)| (*name, value.clone())).collect();
        bundle.format_pattern(pattern, Some(&arguments), &mut Vec::new()).into_owned()
    }

    /// Whether there is such a key.
    pub(crate) fn has(self, key: &str) -> bool {
        BUNDLES[self.0 as usize].has_message(key)
    }

    /// What an element is called; one we do not know keeps its own name.
    pub(crate) fn element(self, element: &Element) -> String {
        self.or_name("element", element.name())
    }

    /// The text of `group-name`, or the name itself.
    pub(crate) fn or_name(self, group: &str, name: &str) -> String {
        let key = format!("{group}-{name}");
        if self.has(&key) { self.say(&key) } else { name.to_owned() }
    }
}

/// The language for a request: address, then cookie, then the browser's preference, then English.
fn negotiate(uri: &Uri, headers: &HeaderMap) -> Tongue {
    let chosen = chosen(uri).or_else(|| session::cookie(headers, COOKIE).and_then(|tag| Tongue::from_tag(&tag)));
    chosen.or_else(|| preferred(headers)).unwrap_or(Tongue::English)
}

fn chosen(uri: &Uri) -> Option<Tongue> {
    let arguments = address::arguments(uri.query()?.as_bytes());
    arguments.iter().find(|(name, _)| name == "lang").and_then(|(_, tag)| Tongue::from_tag(tag))
}

fn preferred(headers: &HeaderMap) -> Option<Tongue> {
    let text = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    let weighed = text.split(',').filter_map(|range| {
        let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
        let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
        Some((Tongue::from_tag(tag)?, weight)).filter(|(_, weight)| *weight > 0.0)
    });
    // The first of equals: browsers list the preferred one first.
    weighed.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(tongue, _)| tongue)
}

impl<S: Send + Sync> FromRequestParts<S> for Words {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Words(negotiate(&parts.uri, &parts.headers)))
    }
}

/// Keeps a choice made in the address.
pub(crate) async fn remember(request: Request, next: Next) -> Response {
    let chosen = chosen(request.uri());
    let mut response = next.run(request).await;
    if let Some(tongue) = chosen {
        let cookie = format!("{COOKIE}={}; Path=/; Max-Age=31536000; SameSite=Lax", tongue.tag());
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use zhulu_record::Kind;

    use super::*;

    fn keys(tongue: Tongue) -> BTreeSet<String> {
        FluentResource::try_new(tongue.file().to_owned())
            .map_err(|(_, errors)| errors)
            .expect("the file is good Fluent");
        let lines = tongue.file().lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        lines.filter_map(|line| line.split_once(" =")).map(|(key, _)| key.to_owned()).collect()
    }

    #[test]
    fn both_languages_have_the_same_keys() {
        assert_eq!(keys(Tongue::English), keys(Tongue::Chinese));
    }

    /// Every key that the code names is in the files, and every key in the files is named somewhere.
    #[test]
    fn keys_are_used_and_used_keys_exist() {
        let mut used = BTreeSet::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).unwrap();
                for call in [".say(\"", ".with(\""] {
                    used.extend(
                        source.split(call).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned),
                    );
                }
            }
        }
        let known = keys(Tongue::English);
        let missing: Vec<_> = used.difference(&known).collect();
        assert!(missing.is_empty(), "named in the code and in no file: {missing:?}");
        // These groups are named by what they stand for.
        let groups = ["element-", "kind-", "facet-", "status-", "source-kind-", "state-", "language-"];
        let idle: Vec<_> =
            known.difference(&used).filter(|key| !groups.iter().any(|group| key.starts_with(group))).collect();
        assert!(idle.is_empty(), "in the files and named nowhere: {idle:?}");
        let elements = Element::KNOWN.iter().filter(|element| **element != Element::TEXT);
        let elements = elements.map(|element| format!("element-{element}"));
        let named = elements.chain(Kind::ALL.iter().map(|kind| format!("kind-{kind}")));
        let missing: Vec<_> = named.filter(|key| !known.contains(key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_address_outranks_the_cookie_outranks_the_browser() {
        let tongue = |uri: &str, cookie: &str, accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().unwrap());
            headers.insert(header::ACCEPT_LANGUAGE, accept.parse().unwrap());
            negotiate(&uri.parse().unwrap(), &headers)
        };
        assert_eq!(tongue("/?lang=zh", "lang=en", "en"), Tongue::Chinese);
        assert_eq!(tongue("/", "a=b; lang=zh", "en"), Tongue::Chinese);
        assert_eq!(tongue("/", "", "fr, en;q=0.5, zh-CN;q=0.8"), Tongue::Chinese);
        assert_eq!(tongue("/?lang=fr", "lang=xx", "de, zh;q=0"), Tongue::English);
    }
}
