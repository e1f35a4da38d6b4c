//! The one way out to the network, and its rules: which addresses may be reached, how long to wait, how much to read.
//!
//! Private, loopback and link-local addresses are refused unless their host is allowed by name. The rule holds where it
//! cannot be tricked: on the addresses a name resolves to, which are the ones then connected to, and on every redirect.
//! Proxies of the environment are not used, because behind one nobody could say which address is reached.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{StatusCode, Url, redirect};

/// Redirects followed before giving up.
const REDIRECTS: usize = 10;

/// How far outward requests may go.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Hosts whose private addresses may be reached all the same.
    pub allowed: BTreeSet<String>,
    /// The longest response read, in bytes after decompression.
    pub response_limit: u64,
    /// How long a server may take to accept a connection.
    pub connect_timeout: Duration,
    /// How long a server may be silent.
    pub silence_timeout: Duration,
    /// How long a whole response may take.
    pub total_timeout: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            allowed: BTreeSet::new(),
            response_limit: 64 << 20,
            connect_timeout: Duration::from_secs(20),
            silence_timeout: Duration::from_secs(120),
            total_timeout: Duration::from_secs(15 * 60),
        }
    }
}

impl Rules {
    /// Allows hosts by name.
    pub fn allowing(hosts: impl IntoIterator<Item = String>) -> Self {
        let allowed = hosts.into_iter().map(|host| bare(&host).to_ascii_lowercase()).collect();
        Rules { allowed, ..Rules::default() }
    }

    fn allows(&self, host: &str) -> bool {
        self.allowed.contains(&bare(host).to_ascii_lowercase())
    }
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no address we could ask.
    #[error("{0:?} is no address that can be asked: it must start with http:// or https:// and name a host")]
    Address(String),
    /// The rules forbid it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nobody answered, or the answer broke off.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// Who was asked.
        url: String,
        /// In plain words.
        reason: String,
    },
    /// The answer goes on and on.
    #[error("{url} answered with more than {limit} bytes, and zhulu stopped reading")]
    TooLong {
        /// Who was asked.
        url: String,
        /// What it may be.
        limit: u64,
    },
}

/// A host that may not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{host} is at the private address {address}, which zhulu does not ask; if that is meant, allow it with --allow {host}"
)]
pub struct Refused {
    /// The host, as it was named.
    pub host: String,
    /// Where it is.
    pub address: IpAddr,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: StatusCode,
    /// How long the server asks us to wait.
    pub retry_after: Option<Duration>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Where it came from in the end.
    pub url: String,
}

/// A way out. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outward {
    client: reqwest::Client,
    rules: Arc<Rules>,
}

impl Outward {
    /// A way out under these rules.
    pub fn new(rules: Rules) -> Result<Self, Error> {
        let rules = Arc::new(rules);
        let on_redirect = rules.clone();
        let policy = redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > REDIRECTS {
                return attempt.error("it redirects in circles");
            }
            match check_literal(attempt.url(), &on_redirect) {
                Ok(()) => attempt.follow(),
                Err(refused) => attempt.error(refused),
            }
        });
        let client = reqwest::Client::builder()
            .user_agent(concat!("zhulu/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(rules.connect_timeout)
            .read_timeout(rules.silence_timeout)
            .timeout(rules.total_timeout)
            .redirect(policy)
            .no_proxy()
            .dns_resolver(Arc::new(CheckedNames { rules: rules.clone() }))
            .build()
            .map_err(|error| Error::Unreachable { url: "the network".to_owned(), reason: plain(&error) })?;
        Ok(Outward { client, rules })
    }

    /// Asks for `url` and reads the answer, up to the limit. Any status is an answer.
    pub async fn get(&self, url: &str) -> Result<Response, Error> {
        let parsed = address(url)?;
        check_literal(&parsed, &self.rules)?;
        let failed = |error: reqwest::Error| match refusal(&error) {
            Some(refused) => Error::Refused(refused),
            None => Error::Unreachable { url: url.to_owned(), reason: plain(&error) },
        };
        let mut response = self.client.get(parsed).send().await.map_err(failed)?;
        let limit = self.rules.response_limit;
        let too_long = || Error::TooLong { url: url.to_owned(), limit };
        if response.content_length().is_some_and(|length| length > limit) {
            return Err(too_long());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(too_long());
            }
            body.extend_from_slice(&chunk);
        }
        let retry_after = retry_after(response.headers(), Timestamp::now());
        Ok(Response { status: response.status(), retry_after, body, url: response.url().to_string() })
    }
}

/// The address as a URL that can be asked.
pub fn address(text: &str) -> Result<Url, Error> {
    match Url::parse(text.trim()) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(Error::Address(text.to_owned())),
    }
}

/// Names that resolve to allowed addresses only.
struct CheckedNames {
    rules: Arc<Rules>,
}

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let rules = self.rules.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> =
                found.iter().copied().filter(|found| rules.allows(&host) || !is_private(found.ip())).collect();
            match (public.is_empty(), found.first()) {
                (true, Some(private)) => Err(Refused { host, address: private.ip() }.into()),
                _ => Ok(Box::new(public.into_iter()) as Addrs),
            }
        })
    }
}

/// A host written as a number is never resolved, so it is looked at here.
fn check_literal(url: &Url, rules: &Rules) -> Result<(), Refused> {
    let host = url.host_str().unwrap_or_default();
    match bare(host).parse::<IpAddr>() {
        Ok(address) if is_private(address) && !rules.allows(host) => Err(Refused { host: host.to_owned(), address }),
        _ => Ok(()),
    }
}

/// An IPv6 address without the brackets it has in a URL.
fn bare(host: &str) -> &str {
    host.trim().trim_start_matches('[').trim_end_matches(']')
}

/// Whether an address leads to this machine, this network or nowhere.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b)) // shared by the customers of a provider
        || (a == 198 && (18..20).contains(&b)) // benchmarking
        || (a, b, c) == (192, 0, 0)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Addresses that carry an IPv4 address inside are judged by that: mapped, compatible, NAT64 and 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => true, // Teredo, documentation
        [first, ..] => (first & 0xfe00) == 0xfc00 || (first & 0xffc0) == 0xfe80 || (first & 0xff00) == 0xff00,
    }
}

/// Our own refusal, found in the causes of an error that reqwest wrapped around it.
fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<Refused> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Some(refused.clone());
        }
        cause = error.source();
    }
    None
}

/// The innermost cause, which is the one that says something.
fn plain(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// The wait a server asks for: a number of seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    // A date that has passed means at once.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_disguise() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1", "::ffff:8.8.8.8", "2002:808:808::"] {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_server_may_ask_to_wait_in_two_ways() {
        let now: Timestamp = "2026-11-15T08:49:37Z".parse().unwrap();
        let wait = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, reqwest::header::HeaderValue::from_static(text))]);
            retry_after(&headers, now).map(|wait| wait.as_secs())
        };
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Sun, 15 Nov 2026 08:50:07 GMT"), Some(30));
        assert_eq!(wait("Sun, 15 Nov 2026 08:40:00 GMT"), Some(0));
        assert_eq!(wait("soon"), None);
    }

    #[tokio::test]
    async fn a_private_host_is_refused_by_number_and_by_name() {
        let outward = Outward::new(Rules::default()).unwrap();
        for url in ["http://127.0.0.1:9/", "http://[::1]:9/", "http://0x7f.1:9/", "http://localhost:9/"] {
            assert!(matches!(outward.get(url).await, Err(Error::Refused(_))), "{url}");
        }
        for url in ["ftp://example.org/", "file:///etc/passwd", "example.org", ""] {
            assert!(matches!(outward.get(url).await, Err(Error::Address(_))), "{url}");
        }
    }
}
