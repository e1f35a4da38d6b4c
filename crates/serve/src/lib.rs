//! Inward: HTTP for every protocol, and the portal.
//!
//! [`app`] makes the whole service from a catalogue and a few things only the process knows; [`run`] serves it until told to
//! stop. The words on the wire are `zhulu-protocol`'s; what the records mean is `zhulu-record`'s. This crate never reads a
//! document: what it needs of one comes through [`Reader`], which the binary supplies, and everything long is a job.
//!
//! | address | module |
//! |---|---|
//! | `/`, `/search`, `/record/{id}`, `/add`, `/sources`, `/about` | `portal` |
//! | `/sign-in`, `/sign-out` | `session` |
//! | `/oai` | `oai` |
//! | `/feed/rss2` | `feed` |
//! | `/api/v1` | `api` |
//! | `/healthz`, `/readyz`, `/metrics` | `health` |

mod address;
mod api;
mod failure;
mod feed;
mod guard;
mod health;
mod language;
mod oai;
mod portal;
mod session;
mod upload;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;
use jiff::Timestamp;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use zhulu_catalogue::Catalogue;
use zhulu_protocol::token::TokenKey;

pub use health::install_metrics;
pub use metrics_exporter_prometheus::PrometheusHandle;

/// What the portal needs of documents. The binary supplies it, since this crate must not know how documents are read.
pub trait Reader: Send + Sync {
    /// A PNG image of a page (counted from 1) of a file, `width` pixels wide. `None` if the file has no such page or is of
    /// a kind that has no pages. Takes as long as it takes: it is called where blocking does no harm.
    fn page_image(&self, bytes: &[u8], page: u32, width: u32) -> Option<Vec<u8>>;
}

/// How the service presents itself.
#[derive(Debug, Clone)]
pub struct SiteConfig {
    /// The catalogue's name, for people and for harvesters.
    pub name: String,
    /// The address it is reached under, without a slash at the end. `None`: as each request names it.
    pub base_url: Option<String>,
    /// Whom harvesters write to.
    pub admin_email: String,
    /// The namespace of our OAI identifiers: a domain name.
    pub namespace: String,
    /// How many records an OAI-PMH list gives at once.
    pub page_size: usize,
    /// How large an uploaded request may be, in bytes.
    pub upload_limit: usize,
    /// A folder of documents that an empty catalogue offers to take in.
    pub samples: Option<PathBuf>,
}

impl Default for SiteConfig {
    fn default() -> Self {
        SiteConfig {
            name: "zhulu 著录".to_owned(),
            base_url: None,
            admin_email: "admin@zhulu.invalid".to_owned(),
            namespace: "zhulu.invalid".to_owned(),
            page_size: 100,
            upload_limit: 256 << 20,
            samples: None,
        }
    }
}

/// All that the service is made from.
#[derive(Clone)]
pub struct App {
    /// The records.
    pub catalogue: Catalogue,
    /// The documents' reader.
    pub reader: Arc<dyn Reader>,
    /// Its presentation.
    pub config: SiteConfig,
    /// Where the figures of `/metrics` are collected; see [`install_metrics`].
    pub metrics: PrometheusHandle,
    /// What resumption tokens and sessions are signed with. The same on every server of one catalogue, and after a restart:
    /// otherwise lists under way break off and people have to sign in again.
    pub secret: Vec<u8>,
    /// The present time.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// The service's state: what it was made from, and what is derived from that once.
pub(crate) struct Site {
    pub(crate) app: App,
    pub(crate) tokens: TokenKey,
    /// Page images being drawn at once: each takes a core and the memory of a whole document.
    pub(crate) drawing: tokio::sync::Semaphore,
}

pub(crate) type SiteState = axum::extract::State<Arc<Site>>;

impl Site {
    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.app.catalogue
    }

    pub(crate) fn config(&self) -> &SiteConfig {
        &self.app.config
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.app.now)()
    }
}

/// A request's body outside uploads.
const BODY_LIMIT: usize = 1 << 20;

/// The whole service.
pub fn app(app: App) -> Router {
    let site = Arc::new(Site { tokens: TokenKey::new(&app.secret), drawing: tokio::sync::Semaphore::new(2), app });
    let portal = portal::routes(&site)
        .merge(session::routes())
        .fallback(failure::no_such_page)
        .layer(middleware::from_fn_with_state(site.clone(), portal::show_failures))
        .layer(middleware::from_fn(language::remember));
    Router::new()
        .nest("/api/v1", api::routes(&site))
        .route("/oai", get(oai::by_get).post(oai::by_post))
        .route("/feed/rss2", get(feed::rss2))
        .route("/healthz", get(health::up))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::figures))
        .merge(portal)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(guard::time_limit))
        .layer(CompressionLayer::new().gzip(true))
        .layer(middleware::from_fn(guard::headers))
        .layer(CatchPanicLayer::custom(guard::panicked))
        .layer(middleware::from_fn(health::measure))
        .layer(guard::trace())
        .with_state(site)
}

/// Serves until `shutdown` is done, then finishes the requests under way.
pub async fn run(
    listener: tokio::net::TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}
