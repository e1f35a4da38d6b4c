//! Addresses: under which name the service was reached, and how query strings are put together.

use axum::http::HeaderMap;
use axum::http::header::HOST;
use zhulu_record::RecordId;

use crate::SiteConfig;

/// The service's own address, without a slash at the end: as configured, else as the request names it.
pub(crate) fn base(config: &SiteConfig, headers: &HeaderMap) -> String {
    match &config.base_url {
        Some(base) => base.trim_end_matches('/').to_owned(),
        None => format!("http://{}", host(headers).unwrap_or("localhost")),
    }
}

/// The host the request names. What does not look like one is not repeated anywhere.
pub(crate) fn host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(HOST)?.to_str().ok()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '[' | ']' | '_');
    (!host.is_empty() && host.len() < 256 && host.chars().all(fits)).then_some(host)
}

/// A query string's arguments, decoded, in their order, repeated ones kept.
pub(crate) fn arguments(query: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(query).into_owned().collect()
}

/// A path with arguments.
pub(crate) fn with_arguments<'a>(path: &str, arguments: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    arguments.into_iter().for_each(|(name, value)| {
        query.append_pair(name, value);
    });
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// A text in percent-encoding, fit for any part of a URL.
pub(crate) fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// A record's identifier as harvesters know it.
pub(crate) fn oai_identifier(config: &SiteConfig, id: RecordId) -> String {
    format!("oai:{}:{id}", config.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_none_is_not_repeated() {
        let headers = |host: &str| HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        assert_eq!(host(&headers("[::1]:8080")), Some("[::1]:8080"));
        assert_eq!(host(&headers("a.org/<script>")), None);
        assert_eq!(base(&SiteConfig::default(), &headers("a b")), "http://localhost");
    }

    #[test]
    fn texts_are_encoded() {
        assert_eq!(encode("报告 1.pdf"), "%E6%8A%A5%E5%91%8A%201.pdf");
        assert_eq!(with_arguments("/search", [("q", "a&b"), ("q", "录")]), "/search?q=a%26b&q=%E5%BD%95");
    }
}
