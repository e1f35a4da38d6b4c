//! Harvesting from a server made for the occasion, on the loopback address: tokens, waits, broken answers, and the cursor.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use zhulu_catalogue::{Catalogue, Filter, Listing, Settings};
use zhulu_gather::harvest::{self, Error, Harvest, Selection};
use zhulu_gather::outward::{self, Outward, Rules};

/// What the server was asked, in order: the query parts.
type Asked = Arc<Mutex<Vec<String>>>;

/// Serves whatever `answer` says for a query, as a whole HTTP response. The base URL and what was asked.
async fn serve(answer: impl Fn(&str, usize) -> String + Send + 'static) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/oai", listener.local_addr().unwrap());
    let asked = Asked::default();
    let log = asked.clone();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read_exact(&mut byte).await.is_err() {
                    break;
                }
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let query = target.split_once('?').map_or("", |(_, query)| query).to_owned();
            let count = {
                let mut log = log.lock().unwrap();
                log.push(query.clone());
                log.len()
            };
            let _ = stream.write_all(answer(&query, count).as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (base, asked)
}

fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn ok(body: &str) -> String {
    http("200 OK", "content-type: text/xml\r\n", body)
}

fn oai(inner: &str) -> String {
    ok(&format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\">\
         <responseDate>2026-05-04T03:02:01Z</responseDate><request>http://x/oai</request>{inner}</OAI-PMH>"
    ))
}

fn identify(granularity: &str) -> String {
    oai(&format!(
        "<Identify><repositoryName>机构知识库</repositoryName><baseURL>http://x/oai</baseURL><protocolVersion>2.0</protocolVersion>\
         <adminEmail>a@b.org</adminEmail><earliestDatestamp>2000-01-01</earliestDatestamp><deletedRecord>persistent</deletedRecord>\
         <granularity>{granularity}</granularity></Identify>"
    ))
}

fn record(id: &str, title: &str) -> String {
    format!(
        "<record><header><identifier>{id}</identifier><datestamp>2026-01-01</datestamp><setSpec>a:b</setSpec></header><metadata>\
         <oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\
         <dc:title>{title}</dc:title></oai_dc:dc></metadata></record>"
    )
}

fn deleted(id: &str) -> String {
    format!(
        "<record><header status=\"deleted\"><identifier>{id}</identifier><datestamp>2026-01-02</datestamp></header></record>"
    )
}

fn list(records: &str, token: &str) -> String {
    oai(&format!("<ListRecords>{records}<resumptionToken>{token}</resumptionToken></ListRecords>"))
}

fn outward() -> Outward {
    Outward::new(Rules::allowing(["127.0.0.1".to_owned()])).unwrap()
}

async fn all(base: &str, selection: Selection) -> Result<Vec<String>, Error> {
    let (mut harvest, _) = Harvest::start(outward(), base, selection).await?;
    let mut identifiers = Vec::new();
    while let Some(page) = harvest.page().await? {
        identifiers.extend(page.records.into_iter().map(|record| record.identifier));
    }
    Ok(identifiers)
}

#[tokio::test]
async fn tokens_are_followed_to_the_end_and_waits_are_kept() {
    let (base, asked) = serve(|query, count| match query {
        "verb=Identify" => identify("YYYY-MM-DD"),
        // Busy once; then the same question has its answer.
        _ if count == 2 => http("503 Service Unavailable", "retry-after: 0\r\n", ""),
        query if query.contains("resumptionToken=a%2B1") => list(&deleted("oai:x:2"), ""),
        _ => list(&record("oai:x:1", "一"), "a+1"),
    })
    .await;
    let selection = Selection { from: Some("2026-01-01T00:00:00Z".into()), until: None, set: Some("a:b".into()) };
    assert_eq!(all(&base, selection).await.unwrap(), ["oai:x:1", "oai:x:2"]);
    let asked = asked.lock().unwrap();
    assert_eq!(asked[1], "verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01&set=a%3Ab", "days only, as it wishes");
    assert_eq!(asked[1], asked[2]);
    assert_eq!(asked[3], "verb=ListRecords&resumptionToken=a%2B1", "a token goes alone, and whole");
}

#[tokio::test]
async fn what_is_no_repository_says_so() {
    let (page, _) = serve(|_, _| ok("<!DOCTYPE html><html><body>Welcome</body></html>")).await;
    assert!(matches!(all(&page, Selection::default()).await, Err(Error::NotOai { what, .. }) if what == "a web page"));
    let (gone, _) = serve(|_, _| http("404 Not Found", "", "no")).await;
    assert!(matches!(all(&gone, Selection::default()).await, Err(Error::Status { .. })));
    let unreachable = all("http://127.0.0.1:1/oai", Selection::default()).await;
    assert!(matches!(unreachable, Err(Error::Outward(outward::Error::Unreachable { .. }))));
}

#[tokio::test]
async fn circles_refusals_and_empty_lists_end() {
    let (circle, _) = serve(|query, _| match query {
        "verb=Identify" => identify("YYYY-MM-DDThh:mm:ssZ"),
        _ => list(&record("oai:x:1", "一"), "same"),
    })
    .await;
    assert!(matches!(all(&circle, Selection::default()).await, Err(Error::Circle { .. })));
    let error = |code: &str| oai(&format!("<error code=\"{code}\">x</error>"));
    let empty = error("noRecordsMatch");
    let (empty, _) = serve(move |query, _| if query == "verb=Identify" { identify("") } else { empty.clone() }).await;
    assert_eq!(all(&empty, Selection::default()).await.unwrap(), Vec::<String>::new());
    let refused = error("noSetHierarchy");
    let (refused, _) =
        serve(move |query, _| if query == "verb=Identify" { identify("") } else { refused.clone() }).await;
    assert!(
        matches!(all(&refused, Selection::default()).await, Err(Error::Refused { code, .. }) if code == "noSetHierarchy")
    );
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let (target, asked) = serve(|_, _| identify("")).await;
    // Allowed under one name of this machine, and led to another.
    let port = target.rsplit(':').next().unwrap().to_owned();
    let location = format!("location: http://127.0.0.2:{port}\r\n");
    let (from, _) = serve(move |_, _| http("302 Found", &location, "")).await;
    let error = outward().get(&from).await.unwrap_err();
    assert!(matches!(error, outward::Error::Refused(_)), "{error}");
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_response_without_end_is_left() {
    let (base, _) = serve(|_, _| http("200 OK", "", &"x".repeat(200_000))).await;
    let rules = Rules { response_limit: 100_000, ..Rules::allowing(["127.0.0.1".to_owned()]) };
    let error = Outward::new(rules).unwrap().get(&base).await.unwrap_err();
    assert!(matches!(error, outward::Error::TooLong { limit: 100_000, .. }), "{error}");
}

#[tokio::test]
async fn a_harvest_into_the_catalogue_goes_on_where_it_stopped() {
    // The third question fails for good: the harvest is interrupted after its first page.
    let (base, asked) = serve(|query, count| match query {
        "verb=Identify" => identify("YYYY-MM-DDThh:mm:ssZ"),
        _ if count == 3 => http("403 Forbidden", "", ""),
        query if query.contains("resumptionToken=next") => list(&(record("oai:x:2", "二") + &deleted("oai:x:3")), ""),
        query if query.contains("from=") => list(&deleted("oai:x:1"), ""),
        _ => list(&(record("oai:x:1", "一") + &record("oai:x:3", "三")), "next"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let catalogue = Catalogue::open(Settings::in_folder(folder.path())).await.unwrap();
    let run = || harvest::into_catalogue(&catalogue, outward(), &base, None, |_| {});
    assert!(matches!(run().await, Err(Error::Status { .. })));
    assert_eq!(catalogue.store().head().await.unwrap().records, 2);

    let summary = run().await.unwrap();
    assert_eq!((summary.records, summary.deleted), (2, 1), "only the page that was missing");
    assert_eq!(summary.repository, "机构知识库");
    let head = catalogue.store().head().await.unwrap();
    assert_eq!((head.records, head.deleted), (3, 1));

    run().await.unwrap();
    let head = catalogue.store().head().await.unwrap();
    assert_eq!((head.records, head.deleted), (3, 2), "only what changed since, which is a deletion");
    let last = asked.lock().unwrap().last().cloned().unwrap();
    assert_eq!(
        last, "verb=ListRecords&metadataPrefix=oai_dc&from=2026-05-04T03%3A02%3A01Z",
        "from the server's own time"
    );

    let filter = Filter { set: Some("a".parse().unwrap()), ..Filter::default() };
    let listing = Listing { filter, after: None, limit: 10, newest_first: false };
    let live = catalogue.store().list(&listing).await.unwrap();
    let two = live.iter().find(|stored| !stored.record.deleted).unwrap();
    assert_eq!(two.record.provenance[0].datestamp, "2026-01-01", "the upstream date is kept apart from ours");
}
