//! The API for programs.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use serde_json::json;

use crate::fixture::{BOUNDARY, Fixture, TOKEN, multipart, request};

#[tokio::test]
async fn records_are_made_read_edited_and_removed() {
    let fixture = Fixture::new().await;
    let body = json!({ "kind": "dataset", "values": { "title": [{ "value": "数据集", "lang": "zh" }, "A dataset"], "creator": "林文" } });
    let made = fixture.write(Method::POST, "/api/v1/records", body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let (id, seq) = (made.json()["id"].as_str().unwrap().to_owned(), made.json()["seq"].as_u64().unwrap());
    let path = made.header("location").to_owned();

    let record = fixture.get(&path).await.json();
    assert_eq!(record["kind"], "dataset");
    assert_eq!(record["oai"], format!("oai:catalogue.example.org:{id}"));
    assert_eq!(record["statements"][0]["value"], "数据集");
    assert_eq!(record["statements"][0]["lang"], "zh");
    assert_eq!(record["statements"][0]["evidence"]["by"], "person:lin");
    let found = fixture.get(&format!("/api/v1/records?q=dataset&after={seq}")).await.json();
    assert_eq!((found["total"].as_u64(), found["records"][0]["id"].as_str()), (Some(1), Some(id.as_str())), "{found}");
    assert!(found["facets"]["kind"][0]["count"] == 1, "{found}");

    fixture.pass(1);
    let edited = fixture.write(Method::PATCH, &path, json!({ "title": ["Another"], "creator": null })).await;
    assert_eq!(edited.status, StatusCode::OK, "{}", edited.text());
    assert!(edited.json()["seq"].as_u64().unwrap() > seq);
    let record = fixture.get(&path).await.json();
    assert_eq!(record["statements"].as_array().unwrap().len(), 1, "{record}");
    let history = fixture.get(&format!("{path}/history")).await.json();
    assert_eq!(history["entries"].as_array().unwrap().len(), 3, "{history}");

    fixture.pass(1);
    assert_eq!(fixture.write(Method::DELETE, &path, json!({})).await.status, StatusCode::OK);
    let gone = fixture.get(&path).await;
    assert_eq!((gone.status, gone.json()["deleted"].as_bool()), (StatusCode::GONE, Some(true)));
    fixture.pass(1);
    let released = fixture.write(Method::POST, &format!("{path}/release"), json!({ "elements": [] })).await;
    assert_eq!(released.status, StatusCode::OK, "{}", released.text());
}

#[tokio::test]
async fn the_text_is_found_and_never_given_out() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.document(b"%PDF-1.4 fake").await;
    fixture.index().await;
    let found = fixture.get("/api/v1/records?q=hidden").await;
    assert_eq!(found.json()["records"][0]["id"], id.to_string());
    for path in ["/api/v1/records".to_owned(), format!("/api/v1/records/{id}"), format!("/api/v1/records/{id}/history")]
    {
        assert!(!fixture.get(&path).await.text().contains("hidden words"), "{path}");
    }
    let oai = fixture.get("/oai?verb=ListRecords&metadataPrefix=oai_dc").await.text();
    assert!(!oai.contains("hidden words") && !fixture.get("/feed/rss2").await.text().contains("hidden words"));
}

#[tokio::test]
async fn writing_needs_a_token() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    for (method, path) in [
        (Method::POST, "/api/v1/records".to_owned()),
        (Method::PATCH, format!("/api/v1/records/{id}")),
        (Method::DELETE, format!("/api/v1/records/{id}")),
        (Method::POST, format!("/api/v1/records/{id}/release")),
        (Method::POST, "/api/v1/files?name=a.pdf".into()),
    ] {
        for authorization in ["", "Bearer wrong", "Basic bGluOng=", "Bearer"] {
            let request = request(method.clone(), &path).header(header::AUTHORIZATION, authorization);
            let answer = fixture.send(request.body(Body::from("{}")).unwrap()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path} {authorization}");
            assert_eq!(answer.json()["error"], "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
}

#[tokio::test]
async fn wrong_requests_are_told_what_is_wrong() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    let nobody = zhulu_record::RecordId::from_bytes([3; 16]);
    let cases = [
        (Method::GET, "/api/v1/records?limit=x".to_owned(), json!({}), 400),
        (Method::GET, "/api/v1/records?kind=book".into(), json!({}), 400),
        (Method::GET, "/api/v1/records?facet=kind".into(), json!({}), 400),
        (Method::GET, "/api/v1/records?after=x".into(), json!({}), 400),
        (Method::GET, "/api/v1/nowhere".into(), json!({}), 404),
        (Method::GET, "/api/v1/records/xyz".into(), json!({}), 404),
        (Method::GET, format!("/api/v1/records/{nobody}"), json!({}), 404),
        (Method::GET, format!("/api/v1/records/{nobody}/history"), json!({}), 404),
        (Method::PATCH, format!("/api/v1/records/{nobody}"), json!({ "title": "x" }), 404),
        (Method::PATCH, format!("/api/v1/records/{id}"), json!({}), 400),
        (Method::PATCH, format!("/api/v1/records/{id}"), json!({ "title": "  " }), 400),
        (Method::PATCH, format!("/api/v1/records/{id}"), json!({ "Not An Element": "x" }), 422),
        (Method::PATCH, format!("/api/v1/records/{id}"), json!(["x"]), 422),
        (Method::POST, "/api/v1/records".into(), json!({ "values": {} }), 400),
        (Method::POST, "/api/v1/records".into(), json!({}), 422),
    ];
    for (method, path, body, status) in cases {
        let answer = fixture.write(method.clone(), &path, body.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path} {body}: {}", answer.text());
        let failure = answer.json();
        for part in ["error", "message", "hint"] {
            assert!(failure[part].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}: {failure}");
        }
    }
    let request = request(Method::PATCH, &format!("/api/v1/records/{id}"))
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
        .header(header::CONTENT_TYPE, "application/json");
    let large = fixture.send(request.body(Body::from(vec![b' '; 2 << 20])).unwrap()).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn files_become_jobs() {
    let fixture = Fixture::with(|config| config.upload_limit = 5_000).await;
    let send = |path: &str, kind: String, body: Vec<u8>| {
        let request = request(Method::POST, path).header(header::AUTHORIZATION, format!("bearer {TOKEN}"));
        fixture.send(request.header(header::CONTENT_TYPE, kind).body(Body::from(body)).unwrap())
    };
    let raw = send("/api/v1/files?name=%E6%8A%A5%E5%91%8A.pdf", "application/pdf".into(), b"%PDF".to_vec()).await;
    assert_eq!(raw.status, StatusCode::ACCEPTED, "{}", raw.text());
    let file = &raw.json()["files"][0];
    assert_eq!(file["name"], "报告.pdf");
    let job = fixture.get(&format!("/api/v1/jobs/{}", file["job"])).await.json();
    assert_eq!((job["state"].as_str(), job["kind"].as_str()), (Some("ready"), Some("file")), "{job}");
    let again = send("/api/v1/files?name=x.pdf", "application/pdf".into(), b"%PDF".to_vec()).await;
    assert!(again.json()["files"][0]["job"].is_null(), "the same bytes are being read already");
    let form =
        send("/api/v1/files", format!("multipart/form-data; boundary={BOUNDARY}"), multipart(&[("a.pdf", b"one")]))
            .await;
    assert_eq!(form.status, StatusCode::ACCEPTED, "{}", form.text());
    assert_eq!(fixture.get("/api/v1/jobs").await.json()["ready"], 2);
    assert_eq!(fixture.get("/api/v1/jobs/999").await.json()["state"], "done");
    assert_eq!(send("/api/v1/files", "application/pdf".into(), b"x".to_vec()).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        send("/api/v1/files?name=a", "application/pdf".into(), vec![0; 6_000]).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(send("/api/v1/files", "multipart/form-data".into(), vec![0; 60]).await.status, StatusCode::BAD_REQUEST);
}

/// The description names every route, and nothing that is not there.
#[tokio::test]
async fn the_description_is_honest() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    let openapi = fixture.get("/api/v1/openapi.json").await.json();
    let mut operations = 0;
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let concrete = path.replace("{id}", if path.starts_with("/jobs") { "1" } else { "" });
            let concrete = if concrete.contains("//") || concrete.ends_with('/') {
                path.replace("{id}", &id.to_string())
            } else {
                concrete
            };
            let method: Method = method.to_uppercase().parse().unwrap();
            let answer = fixture.write(method.clone(), &format!("/api/v1{concrete}"), json!({})).await;
            assert!(
                answer.status != StatusCode::NOT_FOUND && answer.status != StatusCode::METHOD_NOT_ALLOWED,
                "{method} {concrete}"
            );
            operations += 1;
        }
    }
    assert_eq!(operations, 11);
}
