//! What stands between every request and its handler: time limits, headers that browsers obey, panics, the request log.

use std::any::Any;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::classify::{ServerErrorsAsFailures, SharedClassifier};
use tower_http::trace::{DefaultOnRequest, TraceLayer};

use crate::failure::Failure;

/// Long enough for the slowest honest answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Long enough for a large file over a slow line.
const UPLOAD_TIME_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Ends a request that takes too long.
pub(crate) async fn time_limit(request: Request, next: Next) -> Response {
    let upload =
        request.method() == axum::http::Method::POST && matches!(request.uri().path(), "/add" | "/api/v1/files");
    let limit = if upload { UPLOAD_TIME_LIMIT } else { TIME_LIMIT };
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("the request was not answered within {} s", limit.as_secs());
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", message, "try again in a moment").into_response()
        }
    }
}

/// Nothing from elsewhere runs in our pages, and our pages show up in nobody else's.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A panic is a bug, and costs one request.
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("without words"), "a request panicked");
    let hint = "this is a bug; the log of the server says where";
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "bug", "the server stumbled over this request", hint)
        .into_response()
}

type Trace = TraceLayer<
    SharedClassifier<ServerErrorsAsFailures>,
    fn(&Request) -> tracing::Span,
    DefaultOnRequest,
    fn(&Response, Duration, &tracing::Span),
>;

/// The request log: one line for each answer. The query is left out: it may hold a token.
pub(crate) fn trace() -> Trace {
    let span: fn(&Request) -> tracing::Span =
        |request| tracing::info_span!("request", method = %request.method(), path = request.uri().path());
    let answered: fn(&Response, Duration, &tracing::Span) = |response, latency, _| {
        let milliseconds = latency.as_secs_f64() * 1000.0;
        tracing::info!(status = response.status().as_u16(), milliseconds, "answered");
    };
    TraceLayer::new_for_http().make_span_with(span).on_response(answered)
}
