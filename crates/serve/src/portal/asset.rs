//! What pages need beside themselves: one style sheet, one script, one icon. Compiled in.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use zhulu_record::Digest;

use crate::failure::Failure;

pub(super) static STYLE: Asset =
    Asset::new("portal.css", "text/css; charset=utf-8", include_str!("../../assets/portal.css"));
pub(super) static SCRIPT: Asset =
    Asset::new("portal.js", "text/javascript; charset=utf-8", include_str!("../../assets/portal.js"));
pub(super) static ICON: Asset = Asset::new("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg"));

/// A file compiled in.
pub(super) struct Asset {
    name: &'static str,
    media_type: &'static str,
    text: &'static str,
    address: OnceLock<String>,
}

impl Asset {
    const fn new(name: &'static str, media_type: &'static str, text: &'static str) -> Self {
        Asset { name, media_type, text, address: OnceLock::new() }
    }

    /// Its address, which changes with its content, so that browsers may keep it for ever.
    pub(super) fn address(&self) -> &str {
        self.address
            .get_or_init(|| format!("/assets/{}?{}", self.name, &Digest::of(self.text.as_bytes()).to_string()[..12]))
    }
}

pub(super) async fn get(Path(name): Path<String>) -> Result<Response, Failure> {
    let asset = [&STYLE, &SCRIPT, &ICON].into_iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(|| Failure::missing("there is no such file"))?;
    let headers =
        [(header::CONTENT_TYPE, asset.media_type), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.text).into_response())
}
