//! Failures: what goes back when a request cannot be served. Programs get JSON; the portal turns it into a page.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use zhulu_catalogue::Error;

/// Why a request was not served: what happened, and what to do next.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// A short name that programs can tell failures apart by.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Failure { status, code, message: message.into(), hint: hint.into() }
    }

    /// The request itself is wrong.
    pub(crate) fn bad(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure::new(StatusCode::BAD_REQUEST, "bad-request", message, hint)
    }

    /// There is nothing here.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Failure::new(StatusCode::NOT_FOUND, "not-found", message, "check the address; /search finds records")
    }

    /// Writing needs a token or a session.
    pub(crate) fn unauthorized() -> Self {
        let hint = "send `Authorization: Bearer TOKEN`, or sign in at /sign-in; `zhulu token add NAME` makes a token";
        Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "this needs a valid token or a signed-in session", hint)
    }

    /// A form that another site sent.
    pub(crate) fn foreign_origin() -> Self {
        let hint = "open the page here and send its form again; behind a proxy, set base_url to the public address";
        Failure::new(StatusCode::FORBIDDEN, "foreign-origin", "the request comes from a page of another site", hint)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::NoRecord(_) => Failure::missing(message),
            Error::Query { .. } => Failure::bad(message, "quote the part that is meant literally, as in \"a: b\""),
            Error::Refused(_) => {
                Failure::new(StatusCode::CONFLICT, "refused", message, "read the record again and repeat the change")
            }
            Error::NoBlob(_) => Failure::new(
                StatusCode::NOT_FOUND,
                "no-file",
                "the file is not in the store any more",
                "tell the administrator",
            ),
            Error::Full { .. } => {
                tracing::error!(error = message, "no space left");
                let hint = "nothing was half-written; tell the administrator, and try again later";
                Failure::new(StatusCode::INSUFFICIENT_STORAGE, "full", "no space is left for the catalogue", hint)
            }
            Error::Unavailable { .. } => {
                tracing::error!(error = message, "catalogue unavailable");
                Failure::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "unavailable",
                    "the catalogue is unavailable",
                    "try again in a moment",
                )
            }
            _ => {
                // Paths and the words of the database are for the log, not for whoever asks.
                tracing::error!(error = message, "request failed");
                let hint = "try again; if it stays, the log of the server says why";
                Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the catalogue could not do this", hint)
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.code, "message": self.message, "hint": self.hint });
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        // For the portal, which shows the same as a page.
        response.extensions_mut().insert(self);
        response
    }
}

/// The answer to an address that leads nowhere.
pub(crate) async fn no_such_page() -> Failure {
    Failure::missing("there is no such page")
}
