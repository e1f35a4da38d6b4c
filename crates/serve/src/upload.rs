//! Taking files in: bytes go to the blob store, and a job to whoever reads them. Reading is never done here.

use axum::body::Bytes;
use axum::extract::Multipart;
use axum::extract::multipart::MultipartError;
use axum::http::StatusCode;
use serde_json::json;
use zhulu_catalogue::{JobId, NewJob};
use zhulu_record::Digest;

use crate::Site;
use crate::failure::Failure;

/// A file on its way into the catalogue.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    /// The job; `None` when the same file is being read already.
    pub(crate) job: Option<JobId>,
    pub(crate) blob: Digest,
    pub(crate) name: String,
}

/// Keeps one file and queues its reading.
pub(crate) async fn take(site: &Site, name: &str, media_type: &str, bytes: Bytes) -> Result<Queued, Failure> {
    if bytes.is_empty() {
        return Err(Failure::bad(format!("the file {name:?} is empty"), "send a file with something in it"));
    }
    let blob = site.catalogue().blobs().put(bytes).await?;
    let payload = json!({ "blob": blob, "name": name, "media_type": media_type });
    let job = NewJob { unique: Some(format!("file:{blob}")), ..NewJob::new("file", payload) };
    let jobs = site.catalogue().store().enqueue(&[job]).await?;
    Ok(Queued { job: jobs.into_iter().next().flatten(), blob, name: name.to_owned() })
}

/// Keeps every file of a form and queues their reading.
pub(crate) async fn take_all(site: &Site, mut form: Multipart) -> Result<Vec<Queued>, Failure> {
    let mut queued = Vec::new();
    while let Some(field) = form.next_field().await.map_err(refused)? {
        // A field without a file name is not a file; a browser sends an empty one for a file input left alone.
        let Some(name) = field.file_name().map(base_name).filter(|name| !name.is_empty()) else { continue };
        let media_type = field.content_type().unwrap_or("application/octet-stream").to_owned();
        let bytes = field.bytes().await.map_err(refused)?;
        queued.push(take(site, &name, &media_type, bytes).await?);
    }
    if queued.is_empty() {
        return Err(Failure::bad("the form holds no file", "choose at least one file"));
    }
    Ok(queued)
}

/// A file's own name: whatever folders a client puts before it are its own business.
pub(crate) fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    name.chars().filter(|c| !c.is_control()).take(255).collect()
}

fn refused(error: MultipartError) -> Failure {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let hint = "send fewer or smaller files at a time, or raise upload_limit in the configuration";
        return Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "the upload is larger than this server takes",
            hint,
        );
    }
    Failure::bad(format!("the upload cannot be read: {}", error.body_text()), "send it as multipart/form-data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_folders() {
        assert_eq!(base_name("C:\\文档\\报告.pdf"), "报告.pdf");
        assert_eq!(base_name("../../etc/passwd"), "passwd");
        assert_eq!(base_name("a\nb\u{0}.pdf"), "ab.pdf");
    }
}
