//! A service to ask, and the asking.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use jiff::Timestamp;
use metrics_exporter_prometheus::PrometheusHandle;
use tower::ServiceExt;
use zhulu_catalogue::{Batch, Catalogue, Settings, TokenRow};
use zhulu_record::{
    BlobRef, Datestamp, Digest, Draft, Element, Evidence, Key, Place, Put, RecordId, Source, Statement,
};
use zhulu_serve::{App, Reader, SiteConfig, app, install_metrics};

pub(crate) const TOKEN: &str = "a-token-for-tests";
pub(crate) const BOUNDARY: &str = "XBOUNDARYX";

/// Draws nothing, but tells what it was asked; stumbles over a file that says so.
struct FakeReader;

impl Reader for FakeReader {
    fn page_image(&self, bytes: &[u8], page: u32, width: u32) -> Option<Vec<u8>> {
        assert!(!bytes.starts_with(b"panic"), "a reader may stumble");
        (page <= 2).then(|| format!("png of {} bytes, page {page}, {width} wide", bytes.len()).into_bytes())
    }
}

pub(crate) struct Fixture {
    pub(crate) catalogue: Catalogue,
    pub(crate) router: Router,
    clock: Arc<AtomicI64>,
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

fn metrics() -> PrometheusHandle {
    // One collector in the process, as in the real one.
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| install_metrics().unwrap()).clone()
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Fixture::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut SiteConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // 2026-01-01T00:00:00Z, and on from there as the test says.
        let clock = Arc::new(AtomicI64::new(1_767_225_600));
        let ticking = clock.clone();
        let now: Arc<dyn Fn() -> Timestamp + Send + Sync> =
            Arc::new(move || Timestamp::from_second(ticking.load(Ordering::SeqCst)).unwrap());
        let catalogue = Catalogue::open_at(Settings::in_folder(folder.path()), now.clone()).await.unwrap();
        let row =
            TokenRow { name: "lin".into(), digest: Digest::of(TOKEN.as_bytes()), created: Datestamp::from_seconds(0) };
        catalogue.store().put_token(&row).await.unwrap();
        let mut config = SiteConfig {
            name: "测试目录".into(),
            base_url: Some("https://catalogue.example.org".into()),
            admin_email: "admin@example.org".into(),
            namespace: "catalogue.example.org".into(),
            ..SiteConfig::default()
        };
        change(&mut config);
        let app_state = App {
            catalogue: catalogue.clone(),
            reader: Arc::new(FakeReader),
            config,
            metrics: metrics(),
            secret: b"not a secret".to_vec(),
            now,
        };
        Fixture { catalogue, router: app(app_state), clock, folder }
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    /// A machine says this of the record with that OAI key.
    pub(crate) async fn put(&self, key: &str, statements: Vec<Statement>) -> RecordId {
        let put =
            Put { keys: vec![Key::Oai(key.into())], statements, evidence: Evidence::by("test:rule"), ..Put::default() };
        self.append(Draft::put(Source::machine("tests"), put).unwrap()).await
    }

    pub(crate) async fn append(&self, draft: Draft) -> RecordId {
        let receipt = self.catalogue.append(Batch::of(vec![draft])).await.unwrap();
        receipt.outcomes[0].0
    }

    /// Brings the index up to the log, for tests that search.
    pub(crate) async fn index(&self) {
        self.catalogue.catch_up().await.unwrap();
    }

    pub(crate) async fn titled(&self, key: &str, title: &str) -> RecordId {
        self.put(key, vec![Statement::new(Element::TITLE, title)]).await
    }

    /// A record with a file, and boxes on its pages.
    pub(crate) async fn document(&self, bytes: &'static [u8]) -> (RecordId, Digest) {
        let digest = self.catalogue.blobs().put(bytes.into()).await.unwrap();
        let place = Place::Page { page: 1, boxes: vec![[100, 50, 900, 90], [100, 95, 400, 130]] };
        let evidence = Evidence::by("rule:largest-font").at(place).sure(0.93);
        let put = Put {
            keys: vec![Key::File(digest)],
            statements: vec![
                Statement::new(Element::TITLE, "著录规则研究").lang("zh").because(evidence),
                Statement::new(Element::CREATOR, "林 文"),
                Statement::new(Element::ABSTRACT, "本文研究著录规则的自动抽取。").lang("zh"),
                Statement::new(Element::TEXT, "全文不公开 hidden words of the text"),
            ],
            blobs: vec![BlobRef {
                digest,
                name: "报告 \"1\".pdf".into(),
                media_type: "application/pdf".into(),
                size: bytes.len() as u64,
            }],
            ..Put::default()
        };
        (self.append(Draft::put(Source::machine("files"), put).unwrap()).await, digest)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    /// As the holder of the token, with JSON.
    pub(crate) async fn write(&self, method: Method, path: &str, body: serde_json::Value) -> Answer {
        let request = request(method, path).header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
        self.send(request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string())).unwrap())
            .await
    }

    /// The cookie of a session.
    pub(crate) async fn session(&self) -> String {
        let answer = self.get(&format!("/sign-in?token={TOKEN}")).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        let cookie = answer.header("set-cookie");
        assert!(
            cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Secure"),
            "{cookie}"
        );
        cookie.split(';').next().unwrap().to_owned()
    }

    /// A form sent with a session.
    pub(crate) async fn form(&self, cookie: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut body = form_urlencoded::Serializer::new(String::new());
        fields.iter().for_each(|(name, value)| {
            body.append_pair(name, value);
        });
        let request = request(Method::POST, path)
            .header(header::COOKIE, cookie)
            .header(header::ORIGIN, "https://catalogue.example.org")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(body.finish())).unwrap()).await
    }
}

pub(crate) fn request(method: Method, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, "localhost:8080")
}

/// A multipart form with files.
pub(crate) fn multipart(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, bytes) in files {
        body.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\nContent-Type: application/pdf\r\n\r\n").bytes());
        body.extend_from_slice(bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}
