//! A record's files, and images of their pages.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use zhulu_record::{BlobRef, Digest, Record};

use crate::failure::Failure;
use crate::{SiteState, address, api};

/// How wide page images are drawn: twice what a column shows, for sharp screens.
const WIDTH: u32 = 900;
const LAST_PAGE: u32 = 10_000;

/// The file whose pages are shown: a PDF, else whatever there is.
pub(super) fn document(record: &Record) -> Option<&BlobRef> {
    record.blobs.iter().find(|blob| blob.media_type == "application/pdf").or_else(|| record.blobs.first())
}

/// `/record/{id}/page/{n}.png`
pub(super) async fn page_image(
    State(site): SiteState,
    Path((id, image)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let missing = || Failure::missing("there is no image of such a page");
    let page = image.strip_suffix(".png").and_then(|page| page.parse::<u32>().ok());
    let page = page.filter(|page| (1..=LAST_PAGE).contains(page)).ok_or_else(missing)?;
    let stored = api::find(&site, &id).await?;
    let blob = document(&stored.record).ok_or_else(missing)?;
    let tag = format!("\"{}-{page}-{WIDTH}\"", blob.digest);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let bytes = site.catalogue().blobs().get(blob.digest).await?;
    // Nobody closes the semaphore; if it were, drawing without its limit would still be right.
    let turn = site.drawing.acquire().await.ok();
    let reader = site.app.reader.clone();
    let drawn = tokio::task::spawn_blocking(move || reader.page_image(&bytes, page, WIDTH)).await;
    drop(turn);
    // A panic in the reader costs this image, not the page it stands on.
    let png = drawn.ok().flatten().ok_or_else(missing)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/png")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
        (header::ETAG, HeaderValue::from_str(&tag).map_err(|_| missing())?),
    ];
    Ok((headers, png).into_response())
}

/// `/record/{id}/file/{digest}`: always to be saved, never to be shown in our name.
pub(super) async fn download(
    State(site): SiteState,
    Path((id, digest)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let stored = api::find(&site, &id).await?;
    let digest: Option<Digest> = digest.parse().ok();
    let blob = stored.record.blobs.iter().find(|blob| Some(blob.digest) == digest);
    let blob = blob.ok_or_else(|| Failure::missing("the record has no such file"))?;
    let bytes = site.catalogue().blobs().get(blob.digest).await?;
    let plain: String =
        blob.name.chars().map(|c| if c.is_ascii_alphanumeric() || "._- ".contains(c) { c } else { '_' }).collect();
    let disposition = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", address::encode(&blob.name));
    let media_type = HeaderValue::from_str(&blob.media_type);
    let headers = [
        (header::CONTENT_TYPE, media_type.unwrap_or(HeaderValue::from_static("application/octet-stream"))),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment")),
        ),
    ];
    Ok((headers, bytes).into_response())
}
