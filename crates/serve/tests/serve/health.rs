//! Up, ready, and figures.

use axum::http::StatusCode;

use crate::fixture::Fixture;

#[tokio::test]
async fn ready_means_that_the_index_is_close_behind() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.get("/healthz").await.status, StatusCode::OK);
    assert_eq!(fixture.get("/readyz").await.text(), "ready\n");
    let put = zhulu_record::Put {
        keys: vec![zhulu_record::Key::Oai("a".into())],
        statements: vec![zhulu_record::Statement::new(zhulu_record::Element::TITLE, "题")],
        ..Default::default()
    };
    let draft = zhulu_record::Draft::put(zhulu_record::Source::machine("tests"), put).unwrap();
    fixture.catalogue.append(zhulu_catalogue::Batch::of(vec![draft])).await.unwrap();
    assert_eq!(fixture.get("/readyz").await.status, StatusCode::OK, "a moment's lag is no trouble");
    fixture.pass(6);
    let late = fixture.get("/readyz").await;
    assert_eq!(late.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(late.text().contains("1 entries"), "{}", late.text());
    fixture.catalogue.catch_up().await.unwrap();
    assert_eq!(fixture.get("/readyz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn figures_are_kept_by_route() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    fixture.get(&format!("/record/{id}")).await;
    fixture.get("/api/v1/records").await;
    let figures = fixture.get("/metrics").await.text();
    assert!(
        figures.contains("zhulu_requests_total{route=\"/record/{id}\",method=\"GET\",status=\"200\"}"),
        "{figures}"
    );
    assert!(figures.contains("route=\"/api/v1/records\"") && figures.contains("zhulu_request_seconds_bucket"));
    assert!(figures.contains("zhulu_records{state=\"live\"}") && figures.contains("zhulu_log_seq"));
    assert!(!figures.contains(&id.to_string()), "no label grows with the catalogue");
}
