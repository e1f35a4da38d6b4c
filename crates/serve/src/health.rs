//! Whether the service is up, whether it is ready, and its figures for Prometheus.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use zhulu_catalogue::Error;

use crate::{Site, SiteState};

/// An index further behind than this would show people an old catalogue.
const LONGEST_LAG: Duration = Duration::from_secs(5);

/// Collects the process's figures from now on. Once in a process.
pub fn install_metrics() -> Result<PrometheusHandle, BuildError> {
    const SECONDS: &[f64] = &[0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
    let handle = PrometheusBuilder::new().set_buckets(SECONDS)?.install_recorder()?;
    metrics::describe_counter!("zhulu_requests_total", "Requests, by route, method and status");
    metrics::describe_histogram!("zhulu_request_seconds", "How long requests took, by route");
    metrics::describe_gauge!("zhulu_records", "Records in the catalogue, by state");
    metrics::describe_gauge!("zhulu_log_seq", "The last entry of the log");
    metrics::describe_gauge!("zhulu_index_lag_entries", "Entries of the log that are not yet in the search index");
    metrics::describe_gauge!(
        "zhulu_index_lag_seconds",
        "The age of the oldest entry that is not yet in the search index"
    );
    metrics::describe_gauge!("zhulu_jobs", "Jobs, by state");
    Ok(handle)
}

/// Counts and times every request.
pub(crate) async fn measure(request: Request, next: Next) -> Response {
    // The route, not the path: the number of different labels must not grow with the catalogue.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().to_string();
    let start = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::histogram!("zhulu_request_seconds", "route" => route.clone()).record(start.elapsed());
    metrics::counter!("zhulu_requests_total", "route" => route, "method" => method, "status" => status).increment(1);
    response
}

/// The process is up.
pub(crate) async fn up() -> &'static str {
    "up\n"
}

/// The catalogue answers, and the index is close behind the log.
pub(crate) async fn ready(State(site): SiteState) -> Response {
    match reason_against(&site).await {
        None => "ready\n".into_response(),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")).into_response(),
    }
}

async fn reason_against(site: &Site) -> Option<String> {
    if let Err(error) = site.catalogue().store().head().await {
        return Some(error.to_string());
    }
    match site.catalogue().lag().await {
        Err(error) => Some(error.to_string()),
        Ok((entries, lag)) if lag > LONGEST_LAG => {
            Some(format!("the search index is {entries} entries and {:.0} s behind the log", lag.as_secs_f64()))
        }
        Ok(_) => None,
    }
}

/// The figures.
pub(crate) async fn figures(State(site): SiteState) -> Response {
    if let Err(error) = gather(&site).await {
        // A scrape of the rest is worth more than none; readiness tells of the trouble.
        tracing::warn!(%error, "the catalogue's own figures are missing from /metrics");
    }
    site.app.metrics.run_upkeep();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], site.app.metrics.render()).into_response()
}

#[allow(clippy::cast_precision_loss, reason = "Prometheus knows no other numbers")]
async fn gather(site: &Site) -> Result<(), Error> {
    let head = site.catalogue().store().head().await?;
    metrics::gauge!("zhulu_records", "state" => "live").set(head.records.saturating_sub(head.deleted) as f64);
    metrics::gauge!("zhulu_records", "state" => "deleted").set(head.deleted as f64);
    metrics::gauge!("zhulu_log_seq").set(head.seq as f64);
    let jobs = site.catalogue().store().job_stats().await?;
    metrics::gauge!("zhulu_jobs", "state" => "ready").set(jobs.ready as f64);
    metrics::gauge!("zhulu_jobs", "state" => "leased").set(jobs.leased as f64);
    metrics::gauge!("zhulu_jobs", "state" => "dead").set(jobs.dead as f64);
    let (entries, lag) = site.catalogue().lag().await?;
    metrics::gauge!("zhulu_index_lag_entries").set(entries as f64);
    metrics::gauge!("zhulu_index_lag_seconds").set(lag.as_secs_f64());
    Ok(())
}
