//! The portal, as a browser without scripts sees it.

use axum::body::Body;
use axum::http::{Method, StatusCode, header};
use zhulu_catalogue::JobState;
use zhulu_record::{Draft, Element, Key, RecordId, Source, Statement};

use crate::fixture::{BOUNDARY, Fixture, multipart, request};

#[tokio::test]
async fn every_page_answers_in_both_languages_with_safe_headers() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.document(b"%PDF-1.4 fake").await;
    for path in ["/", "/search", "/search?q=著录", &format!("/record/{id}"), "/add", "/sources", "/about", "/sign-in"]
    {
        for (tag, word) in [("en", "Skip to content"), ("zh", "跳到正文")] {
            let joint = if path.contains('?') { '&' } else { '?' };
            let path: String = path
                .chars()
                .flat_map(|c| {
                    if c.is_ascii() {
                        c.to_string()
                    } else {
                        form_urlencoded::byte_serialize(c.to_string().as_bytes()).collect()
                    }
                    .chars()
                    .collect::<Vec<_>>()
                })
                .collect();
            let answer = fixture.get(&format!("{path}{joint}lang={tag}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            let text = answer.text();
            assert!(text.contains(word) && text.contains(&format!("<html lang=\"{tag}\">")), "{path}: {text}");
            assert!(answer.header("content-security-policy").starts_with("default-src 'self'"));
            assert_eq!(answer.header("x-content-type-options"), "nosniff");
            assert!(!text.contains("style=\"") && !text.contains("onclick"), "the policy forbids what stands inline");
            for outside in ["src=\"http", "<link rel=\"stylesheet\" href=\"http", "@import", "url(http"] {
                assert!(!text.contains(outside), "{path} asks elsewhere");
            }
        }
    }
    let accept = request(Method::GET, "/")
        .header(header::ACCEPT_LANGUAGE, "zh-CN,zh;q=0.9,en;q=0.8")
        .body(Body::empty())
        .unwrap();
    assert!(fixture.send(accept).await.text().contains("<html lang=\"zh\">"));
    assert!(fixture.get("/?lang=zh").await.header("set-cookie").starts_with("lang=zh"));
}

#[tokio::test]
async fn what_comes_from_outside_is_escaped() {
    let fixture = Fixture::new().await;
    let attack = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
    let said = [Element::TITLE, Element::CREATOR, Element::ABSTRACT, Element::SUBJECT, Element::IDENTIFIER]
        .map(|element| Statement::new(element, format!("javascript:{attack}")));
    let id = fixture.put("oai:up:1", said.to_vec()).await;
    fixture.index().await;
    let query: String = form_urlencoded::byte_serialize(attack.as_bytes()).collect();
    let pages = [
        "/".to_owned(),
        format!("/record/{id}"),
        "/search?q=script".into(),
        format!("/search?q={query}"),
        format!("/search?facet=creator:{query}"),
        format!("/search?kind={query}"),
        format!("/sign-in?next={query}"),
        format!("/add/progress?file=1..{query}"),
        format!("/record/{query}"),
        format!("/oai?verb={query}"),
        "/feed/rss2".into(),
    ];
    for page in pages {
        let text = fixture.get(&page).await.text();
        assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{page}: {text}");
        assert!(!text.contains("href=\"javascript:"), "{page}");
    }
}

#[tokio::test]
async fn a_record_shows_its_evidence_and_hides_its_text() {
    let fixture = Fixture::new().await;
    let (id, digest) = fixture.document(b"%PDF-1.4 fake").await;
    let page = fixture.get(&format!("/record/{id}?lang=en")).await.text();
    assert!(page.contains("著录规则研究") && page.contains("lang=\"zh\""));
    assert!(page.contains("rule:largest-font") && page.contains("93%") && page.contains("page 1"), "{page}");
    assert!(page.contains("<rect x=\"100\" y=\"50\" width=\"800\" height=\"40\">"), "{page}");
    assert!(page.contains(&format!("/record/{id}/page/1.png")));
    assert!(!page.contains("hidden words"), "the text is for searching only");

    let image = fixture.get(&format!("/record/{id}/page/1.png")).await;
    assert_eq!((image.status, image.header("content-type")), (StatusCode::OK, "image/png"));
    assert_eq!(image.text(), "png of 13 bytes, page 1, 900 wide");
    let again =
        request(Method::GET, &format!("/record/{id}/page/1.png")).header(header::IF_NONE_MATCH, image.header("etag"));
    assert_eq!(fixture.send(again.body(Body::empty()).unwrap()).await.status, StatusCode::NOT_MODIFIED);
    for missing in ["3.png", "0.png", "x.png", "1.jpg", "99999999999.png"] {
        assert_eq!(
            fixture.get(&format!("/record/{id}/page/{missing}")).await.status,
            StatusCode::NOT_FOUND,
            "{missing}"
        );
    }

    let file = fixture.get(&format!("/record/{id}/file/{digest}")).await;
    assert_eq!(file.body, b"%PDF-1.4 fake");
    let disposition = file.header("content-disposition");
    assert!(
        disposition.starts_with("attachment;") && disposition.contains("UTF-8''%E6%8A%A5%E5%91%8A%20%221%22.pdf"),
        "{disposition}"
    );
    assert_eq!(
        fixture.get(&format!("/record/{id}/file/{}", zhulu_record::Digest::of(b"other"))).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_reader_that_stumbles_costs_one_image() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.document(b"panic").await;
    assert_eq!(fixture.get(&format!("/record/{id}/page/1.png")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(fixture.get(&format!("/record/{id}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn searching_marks_narrows_and_pages() {
    let fixture = Fixture::new().await;
    for n in 0..25 {
        let creator = if n % 2 == 0 { "林文" } else { "Ada Lovelace" };
        let said = vec![
            Statement::new(Element::TITLE, format!("Extraction of metadata, part {n}")),
            Statement::new(Element::CREATOR, creator),
            Statement::new(Element::ABSTRACT, "元数据自动抽取的方法"),
        ];
        fixture.put(&format!("oai:up:{n}"), said).await;
    }
    fixture.index().await;
    let page = fixture.get("/search?q=metadata&lang=en").await.text();
    assert!(page.contains("1–20 of 25") && page.contains("<mark>"), "{page}");
    assert!(page.contains("offset=20") && page.contains("facet=creator%3A"), "{page}");
    let next = fixture.get("/search?q=metadata&offset=20&lang=en").await.text();
    assert!(next.contains("21–25 of 25") && next.contains("rel=\"prev\""), "{next}");
    let narrowed = fixture.get("/search?q=metadata&facet=creator:Ada+Lovelace&lang=en").await.text();
    assert!(narrowed.contains("1–12 of 12"), "{narrowed}");
    let none = fixture.get("/search?q=zzzzzz&lang=zh").await;
    assert_eq!(none.status, StatusCode::OK);
    assert!(none.text().contains("没有找到"));
}

#[tokio::test]
async fn what_is_gone_says_so() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "to be removed").await;
    fixture.append(Draft::delete(Source::people(), id)).await;
    let gone = fixture.get(&format!("/record/{id}?lang=en")).await;
    assert_eq!(gone.status, StatusCode::GONE);
    assert!(gone.text().contains("This record was removed"));
    let history = format!("/api/v1/records/{id}/history");
    assert!(!gone.text().contains("to be removed") && !fixture.get(&history).await.text().contains("to be removed"));
    let told = fixture.write(Method::GET, &history, serde_json::json!({})).await.text();
    assert!(told.contains("to be removed"), "people who may write may read what was removed: {told}");
    fixture.append(Draft::erase(id)).await;
    let erased = fixture.get(&format!("/record/{id}?lang=en")).await;
    assert_eq!(erased.status, StatusCode::GONE);
    assert!(erased.text().contains("legal reasons") && !erased.text().contains("to be removed"), "{}", erased.text());
    for path in [
        format!("/record/{}", RecordId::from_bytes([1; 16])),
        "/record/x".into(),
        "/nowhere".into(),
        "/assets/x".into(),
    ] {
        let missing = fixture.get(&path).await;
        assert_eq!(missing.status, StatusCode::NOT_FOUND, "{path}");
        assert!(missing.header("content-type").starts_with("text/html"), "{path}");
    }
}

#[tokio::test]
async fn people_edit_release_and_remove() {
    let fixture = Fixture::new().await;
    let id = fixture
        .put("oai:up:1", vec![Statement::new(Element::TITLE, "机器题名"), Statement::new(Element::CREATOR, "A")])
        .await;
    let cookie = fixture.session().await;
    let edit = format!("/record/{id}/edit");
    assert_eq!(fixture.get(&edit).await.status, StatusCode::UNAUTHORIZED);
    let page = fixture
        .send(request(Method::GET, &edit).header(header::COOKIE, &cookie).body(Body::empty()).unwrap())
        .await
        .text();
    let seen = page.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let fields = [
        ("seen", seen.as_str()),
        ("title.value", "人工题名"),
        ("title.lang", "zh"),
        ("creator.value", "A"),
        ("creator.lang", ""),
    ];

    fixture.pass(1);
    assert_eq!(fixture.form(&cookie, &edit, &fields).await.status, StatusCode::SEE_OTHER);
    let stored = fixture.catalogue.record(id).await.unwrap().unwrap();
    assert_eq!(stored.record.first(&Element::TITLE), Some("人工题名"));
    let creator = stored.record.all(&Element::CREATOR).next().unwrap();
    assert!(!creator.source.is_people(), "what was not changed stays the machine's");
    let page = fixture.get(&format!("/record/{id}?lang=en")).await.text();
    assert!(page.contains("person:lin"), "{page}");

    let stale = fixture.form(&cookie, &edit, &fields).await;
    assert_eq!(stale.status, StatusCode::CONFLICT, "the form was made from an older state");
    assert!(stale.text().contains("人工题名"));

    fixture.pass(1);
    assert_eq!(
        fixture.form(&cookie, &format!("/record/{id}/release"), &[("element", "title")]).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(fixture.catalogue.record(id).await.unwrap().unwrap().record.first(&Element::TITLE), Some("机器题名"));
    assert_eq!(fixture.form(&cookie, &format!("/record/{id}/delete"), &[]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(fixture.get(&format!("/record/{id}")).await.status, StatusCode::GONE);
    fixture.pass(1);
    fixture.form(&cookie, &format!("/record/{id}/release"), &[]).await;
    assert_eq!(fixture.get(&format!("/record/{id}")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn forms_of_other_sites_and_forged_sessions_are_refused() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:up:1", "题").await;
    let cookie = fixture.session().await;
    let delete = format!("/record/{id}/delete");
    let send = |cookie: String, origin: &'static str| {
        fixture.send(
            request(Method::POST, &delete)
                .header(header::COOKIE, cookie)
                .header(header::ORIGIN, origin)
                .body(Body::empty())
                .unwrap(),
        )
    };
    assert_eq!(send(cookie.clone(), "https://evil.example").await.status, StatusCode::FORBIDDEN);
    assert_eq!(send(cookie.clone(), "null").await.status, StatusCode::FORBIDDEN);
    assert_eq!(send(format!("{cookie}x"), "https://catalogue.example.org").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(
        send("zhulu_session=bGlu.99999999999.AAAA".into(), "https://catalogue.example.org").await.status,
        StatusCode::UNAUTHORIZED
    );
    fixture.pass(31 * 24 * 3600);
    assert_eq!(send(cookie, "https://catalogue.example.org").await.status, StatusCode::UNAUTHORIZED, "a session ends");
    let cookie = fixture.session().await;
    fixture.catalogue.store().remove_token("lin").await.unwrap();
    assert_eq!(
        send(cookie, "https://catalogue.example.org").await.status,
        StatusCode::UNAUTHORIZED,
        "withdrawn with its token"
    );
    assert_eq!(fixture.get("/sign-in?token=wrong").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn signing_in_leads_only_to_our_own_pages() {
    let fixture = Fixture::new().await;
    for (next, expected) in
        [("/add", "/add"), ("https://evil.example", "/"), ("//evil.example", "/"), ("/\\evil.example", "/"), ("", "/")]
    {
        let answer = fixture.form("", "/sign-in", &[("token", crate::fixture::TOKEN), ("next", next)]).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::SEE_OTHER, expected), "{next}");
    }
}

#[tokio::test]
async fn uploading_queues_and_shows_progress() {
    let fixture = Fixture::with(|config| config.upload_limit = 10_000).await;
    let upload = |cookie: String, body: Vec<u8>| {
        let request = request(Method::POST, "/add").header(header::COOKIE, cookie);
        fixture.send(
            request
                .header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={BOUNDARY}"))
                .body(Body::from(body))
                .unwrap(),
        )
    };
    assert_eq!(upload(String::new(), multipart(&[("a.pdf", b"x")])).await.status, StatusCode::UNAUTHORIZED);
    let cookie = fixture.session().await;
    let answer = upload(cookie.clone(), multipart(&[("报告.pdf", b"%PDF one"), ("../b.pdf", b"%PDF two")])).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let jobs = fixture.catalogue.store().jobs(JobState::Ready, 10).await.unwrap();
    let names: Vec<_> = jobs.iter().map(|job| (job.kind.as_str(), job.payload["name"].as_str().unwrap())).collect();
    assert_eq!(names, [("file", "报告.pdf"), ("file", "b.pdf")]);
    let digest: zhulu_record::Digest = serde_json::from_value(jobs[0].payload["blob"].clone()).unwrap();
    assert_eq!(&fixture.catalogue.blobs().get(digest).await.unwrap()[..], b"%PDF one");

    let address = answer.header("location").to_owned();
    let progress = fixture.get(&format!("{address}&lang=en")).await.text();
    assert!(progress.contains("报告.pdf") && progress.contains("waiting") && progress.contains("0 of 2"), "{progress}");
    let lease =
        zhulu_catalogue::Lease { kinds: vec![], limit: 9, duration: std::time::Duration::from_secs(60), per_host: 9 };
    let leased = fixture.catalogue.store().lease(&lease).await.unwrap();
    let put = zhulu_record::Put {
        keys: vec![Key::File(digest)],
        statements: vec![Statement::new(Element::TITLE, "题")],
        ..Default::default()
    };
    let id = fixture.append(Draft::put(Source::machine("uploads"), put).unwrap()).await;
    fixture.catalogue.store().acknowledge(&leased).await.unwrap();
    let progress = fixture.get(&format!("{address}&lang=en")).await.text();
    assert!(progress.contains("2 of 2") && progress.contains(&format!("/record/{id}")), "{progress}");

    assert_eq!(upload(cookie.clone(), multipart(&[])).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(upload(cookie.clone(), multipart(&[("e.pdf", b"")])).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(upload(cookie, multipart(&[("big.pdf", &[b'x'; 20_000])])).await.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn an_empty_catalogue_offers_the_samples() {
    let samples = tempfile::tempdir().unwrap();
    for name in ["样例.pdf", "b.pdf", "README.md", ".hidden"] {
        std::fs::write(samples.path().join(name), "x").unwrap();
    }
    let folder = samples.path().to_owned();
    let fixture = Fixture::with(move |config| config.samples = Some(folder)).await;
    assert!(fixture.folder.path().is_dir());
    assert!(fixture.get("/?lang=en").await.text().contains("Sign in to add the samples"));
    assert_eq!(fixture.form("", "/add/samples", &[]).await.status, StatusCode::UNAUTHORIZED);
    let cookie = fixture.session().await;
    let home = request(Method::GET, "/?lang=en").header(header::COOKIE, &cookie).body(Body::empty()).unwrap();
    assert!(fixture.send(home).await.text().contains("action=\"/add/samples\""));
    let answer = fixture.form(&cookie, "/add/samples", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let jobs = fixture.catalogue.store().jobs(JobState::Ready, 10).await.unwrap();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job.kind == "path" && job.payload["path"].is_string()));
    assert!(!Fixture::new().await.get("/?lang=en").await.text().contains("samples"));
}

#[tokio::test]
async fn the_feed_is_sent_once() {
    let fixture = Fixture::new().await;
    let empty = fixture.get("/feed/rss2").await;
    assert_eq!(empty.status, StatusCode::OK);
    let id = fixture.titled("oai:up:1", "题 & 名").await;
    let feed = fixture.get("/feed/rss2").await;
    assert!(feed.header("content-type").starts_with("application/rss+xml"));
    assert!(
        feed.text().contains(&format!("<link>https://catalogue.example.org/record/{id}</link>")),
        "{}",
        feed.text()
    );
    assert!(feed.text().contains("题 &amp; 名"));
    let conditional = |name: &'static str, value: String| {
        fixture.send(request(Method::GET, "/feed/rss2").header(name, value).body(Body::empty()).unwrap())
    };
    assert_eq!(conditional("if-none-match", feed.header("etag").into()).await.status, StatusCode::NOT_MODIFIED);
    assert_eq!(
        conditional("if-modified-since", feed.header("last-modified").into()).await.status,
        StatusCode::NOT_MODIFIED
    );
    assert_eq!(conditional("if-none-match", "\"other\"".into()).await.status, StatusCode::OK);
    fixture.pass(60);
    fixture.titled("oai:up:2", "new").await;
    assert_eq!(conditional("if-none-match", feed.header("etag").into()).await.status, StatusCode::OK);
    assert_eq!(conditional("if-modified-since", feed.header("last-modified").into()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn records_that_turn_out_to_be_one_lead_to_it() {
    let fixture = Fixture::new().await;
    let ids = [fixture.titled("oai:a:1", "甲").await, fixture.titled("oai:b:1", "乙").await];
    let keys = ["oai:a:1", "oai:b:1"].map(|key| Key::Oai(key.into())).to_vec();
    let put = zhulu_record::Put { keys, statements: vec![Statement::new(Element::TITLE, "合")], ..Default::default() };
    fixture.pass(1);
    fixture.append(Draft::put(Source::machine("third"), put).unwrap()).await;
    let stored = fixture.catalogue.store().records(&ids).await.unwrap();
    let (from, to) = stored.iter().flatten().find_map(|stored| Some((stored.record.id, stored.merged_into?))).unwrap();
    let answer = fixture.get(&format!("/record/{from}")).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::PERMANENT_REDIRECT, format!("/record/{to}").as_str())
    );
    let header = fixture
        .get(&format!("/oai?verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:catalogue.example.org:{from}"))
        .await
        .text();
    assert!(header.contains("<header status=\"deleted\">"), "{header}");
    let shown = fixture.get(&format!("/api/v1/records/{from}")).await.json();
    assert_eq!(shown["id"], to.to_string());
    assert!(!fixture.get("/feed/rss2").await.text().contains(&from.to_string()));
}

#[tokio::test]
async fn disagreement_and_likeness_are_shown() {
    let fixture = Fixture::new().await;
    let id = fixture.titled("oai:a:1", "A title that two records share").await;
    let other = fixture.titled("oai:b:1", "A title that two records share").await;
    let page = fixture.get(&format!("/record/{id}?lang=en")).await.text();
    assert!(page.contains("Possibly the same as") && page.contains(&format!("/record/{other}")), "{page}");
    for (person, title) in [("person:lin", "林的题名"), ("person:wang", "王的题名")] {
        let put = zhulu_record::Put {
            statements: vec![Statement::new(Element::TITLE, title)],
            evidence: zhulu_record::Evidence::by(person),
            ..Default::default()
        };
        // Neither has seen the other's change.
        let change = zhulu_record::Change::Put(Box::new(put));
        fixture.append(Draft { record: id, source: Source::people(), by: None, replaces: None, change }).await;
    }
    let page = fixture.get(&format!("/record/{id}?lang=en")).await.text();
    assert!(
        page.contains("Two people disagree") && page.contains("林的题名") && page.contains("person:wang"),
        "{page}"
    );
}
