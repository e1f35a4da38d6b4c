//! OAI-PMH over the catalogue.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use axum::body::Body;
use axum::http::{Method, StatusCode};
use zhulu_protocol::oai::{Page, read};
use zhulu_record::{Draft, Element, RecordId, Source, Statement};

use crate::fixture::{Fixture, request};

async fn ask(fixture: &Fixture, query: &str) -> Page {
    let answer = fixture.get(&format!("/oai?{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "an error of the protocol is no error of HTTP");
    assert!(answer.header("content-type").starts_with("text/xml"));
    validate(&answer.body);
    let page = read(&answer.body);
    assert!(page.complete && page.warnings.is_empty(), "{}", answer.text());
    page
}

/// Against the official schemas, where they are at hand.
fn validate(xml: &[u8]) {
    let Some(corpus) = std::env::var_os("ZHULU_CORPUS") else { return };
    let schema = std::path::Path::new(&corpus).join("oai").join("xsd").join("all.xsd");
    let mut command = Command::new("xmllint");
    command.args(["--noout", "--nonet", "--schema"]).arg(schema).arg("-");
    let Ok(mut child) = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn() else { return };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), xml).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(xml));
}

async fn code(fixture: &Fixture, query: &str) -> String {
    let page = ask(fixture, query).await;
    assert!(page.records.is_empty());
    page.errors.first().map(|error| error.code.clone()).unwrap_or_default()
}

/// What a harvester has after following a list to its end: identifier, whether deleted, titles.
async fn harvest(fixture: &Fixture, query: &str) -> BTreeMap<String, (bool, Vec<Statement>)> {
    let mut seen = BTreeMap::new();
    let mut page = ask(fixture, query).await;
    let mut requests = 1;
    loop {
        for record in &page.records {
            let fresh = seen.insert(record.identifier.clone(), (record.deleted, record.statements.clone())).is_none();
            assert!(fresh, "{} came twice in one list", record.identifier);
        }
        let Some(token) = page.token else { return seen };
        assert!(page.complete_list_size.is_some());
        page = ask(fixture, &format!("verb=ListRecords&resumptionToken={token}")).await;
        requests += 1;
        assert!(requests < 1000);
    }
}

async fn fill(fixture: &Fixture, number: usize) -> BTreeMap<String, (bool, Vec<Statement>)> {
    let mut expected = BTreeMap::new();
    for n in 0..number {
        let said = vec![
            Statement::new(Element::TITLE, format!("题名 {n} <&>\u{1}")),
            Statement::new(Element::ABSTRACT, "摘要").lang("zh"),
        ];
        let id = fixture.put(&format!("oai:up:{n}"), said).await;
        // Several records share a datestamp, more than a small page holds.
        if n % 4 == 3 {
            fixture.pass(1);
        }
        let deleted = n % 5 == 2;
        if deleted {
            fixture.append(Draft::delete(Source::machine("tests"), id)).await;
        }
        let published = vec![
            Statement::new(Element::TITLE, format!("题名 {n} <&>")),
            Statement::new(Element::DESCRIPTION, "摘要").lang("zh"),
        ];
        expected
            .insert(format!("oai:catalogue.example.org:{id}"), (deleted, if deleted { Vec::new() } else { published }));
    }
    expected
}

#[tokio::test]
async fn a_harvest_is_the_catalogue_at_every_page_size() {
    for size in [1, 2, 3, 5, 11, 12, 100] {
        let fixture = Fixture::with(|config| config.page_size = size).await;
        let expected = fill(&fixture, 12).await;
        assert_eq!(harvest(&fixture, "verb=ListRecords&metadataPrefix=oai_dc").await, expected, "page size {size}");
        let set = harvest(&fixture, "verb=ListRecords&metadataPrefix=oai_dc&set=source-tests").await;
        assert_eq!(set.len(), 12);
    }
}

#[tokio::test]
async fn a_harvester_that_comes_back_from_the_last_response_misses_nothing() {
    let fixture = Fixture::with(|config| config.page_size = 3).await;
    fill(&fixture, 8).await;
    // In the middle of the list records change: they leave it, and come with the next harvest.
    let first = ask(&fixture, "verb=ListRecords&metadataPrefix=oai_dc").await;
    fixture.pass(5);
    let late = fixture.titled("oai:up:7", "changed in the middle").await;
    let mut page = first.clone();
    let mut last_date = first.response_date;
    while let Some(token) = page.token {
        page = ask(&fixture, &format!("verb=ListRecords&resumptionToken={token}")).await;
        last_date = page.response_date;
    }
    assert_eq!(last_date, first.response_date, "every part of a list may be the one that is remembered");
    let from = first.response_date.unwrap();
    let next = harvest(&fixture, &format!("verb=ListRecords&metadataPrefix=oai_dc&from={from}")).await;
    assert!(next.contains_key(&format!("oai:catalogue.example.org:{late}")), "{next:?}");
}

#[tokio::test]
async fn a_list_whose_rest_has_moved_still_ends() {
    let fixture = Fixture::with(|config| config.page_size = 2).await;
    for n in 0..3 {
        fixture.titled(&format!("oai:up:{n}"), "t").await;
        fixture.pass(1);
    }
    let first = ask(&fixture, "verb=ListRecords&metadataPrefix=oai_dc").await;
    fixture.pass(10);
    fixture.titled("oai:up:2", "moved").await;
    let token = first.token.unwrap();
    let last = ask(&fixture, &format!("verb=ListRecords&resumptionToken={token}")).await;
    assert_eq!((last.records.len(), last.token, last.errors.len()), (1, None, 0));
}

#[tokio::test]
async fn every_error_condition() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    let oai = format!("oai:catalogue.example.org:{id}");
    let cases = [
        ("verb=Nonsense".to_owned(), "badVerb"),
        (String::new(), "badVerb"),
        ("verb=ListRecords".into(), "badArgument"),
        ("verb=Identify&x=1".into(), "badArgument"),
        ("verb=ListRecords&metadataPrefix=marc21".into(), "cannotDisseminateFormat"),
        (format!("verb=GetRecord&metadataPrefix=marc21&identifier={oai}"), "cannotDisseminateFormat"),
        ("verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:other:1".into(), "idDoesNotExist"),
        (
            format!(
                "verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:catalogue.example.org:{}",
                RecordId::from_bytes([9; 16])
            ),
            "idDoesNotExist",
        ),
        ("verb=ListMetadataFormats&identifier=x".into(), "idDoesNotExist"),
        ("verb=ListRecords&resumptionToken=forged".into(), "badResumptionToken"),
        ("verb=ListSets&resumptionToken=forged".into(), "badResumptionToken"),
        ("verb=ListRecords&metadataPrefix=oai_dc&set=nowhere".into(), "noRecordsMatch"),
        ("verb=ListRecords&metadataPrefix=oai_dc&until=1999-01-01".into(), "noRecordsMatch"),
        ("verb=ListRecords&metadataPrefix=oai_dc&from=2099-01-01".into(), "noRecordsMatch"),
    ];
    for (query, expected) in cases {
        assert_eq!(code(&fixture, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn all_six_verbs_by_get_and_post() {
    let fixture = Fixture::new().await;
    let empty = ask(&fixture, "verb=Identify").await.identify.unwrap();
    assert_eq!(empty.name, "测试目录");
    ask(&fixture, "verb=ListSets").await;
    assert_eq!(code(&fixture, "verb=ListRecords&metadataPrefix=oai_dc").await, "noRecordsMatch");

    let id = fixture.titled("oai:up:1", "题").await;
    let oai = format!("oai:catalogue.example.org:{id}");
    let identify = ask(&fixture, "verb=Identify").await.identify.unwrap();
    assert_eq!(identify.earliest, "2026-01-01T00:00:00Z");
    ask(&fixture, "verb=ListMetadataFormats").await;
    ask(&fixture, &format!("verb=ListMetadataFormats&identifier={oai}")).await;
    let headers = ask(&fixture, "verb=ListIdentifiers&metadataPrefix=oai_dc&from=2026-01-01&until=2026-01-01").await;
    assert_eq!(headers.records[0].identifier, oai);
    assert!(headers.records[0].metadata.is_none());
    assert_eq!(headers.records[0].sets, ["kind-document", "source-tests"]);

    let query = format!("verb=GetRecord&metadataPrefix=oai_dc&identifier={oai}");
    let get = fixture.get(&format!("/oai?{query}")).await;
    let post = fixture.send(request(Method::POST, "/oai").body(Body::from(query)).unwrap()).await;
    assert_eq!(get.text(), post.text());
    assert!(get.text().contains("<dc:title>题</dc:title>"));
    assert!(get.text().contains("https://catalogue.example.org/oai</request>"));
}
