//! Blobs by content hash, in a folder and, where `ZHULU_TEST_S3` names a server, in S3.

use zhulu_catalogue::{BlobAddress, Blobs, Error};
use zhulu_record::Digest;

async fn keeps_what_it_is_given(address: BlobAddress) {
    let blobs = Blobs::open(&address).unwrap();
    let text = "著录".repeat(10_000);
    let digest = blobs.put(text.clone().into()).await.unwrap();
    assert_eq!(digest, Digest::of(text.as_bytes()));
    assert_eq!(blobs.put(text.clone().into()).await.unwrap(), digest, "twice is once");
    assert_eq!(blobs.get(digest).await.unwrap(), text.as_bytes());
    let empty = blobs.put(Default::default()).await.unwrap();
    assert!(blobs.get(empty).await.unwrap().is_empty());
    assert!(blobs.has(digest).await.unwrap());
    let mut all: Vec<Digest> = blobs.all().await.unwrap().into_iter().map(|(digest, _)| digest).collect();
    all.sort_unstable();
    let mut expected = vec![digest, empty];
    expected.sort_unstable();
    assert_eq!(all, expected);
    assert!(blobs.remove(digest).await.unwrap());
    assert!(!blobs.remove(digest).await.unwrap());
    assert!(!blobs.has(digest).await.unwrap());
    assert!(matches!(blobs.get(digest).await, Err(Error::NoBlob(missing)) if missing == digest));
}

#[tokio::test]
async fn a_folder_keeps_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    keeps_what_it_is_given(BlobAddress::Folder(folder.path().join("文件"))).await;
}

#[tokio::test]
async fn a_damaged_file_is_not_passed_off_as_whole() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(&BlobAddress::Folder(folder.path().to_owned())).unwrap();
    let digest = blobs.put("content".into()).await.unwrap();
    let name = digest.to_string();
    let path = folder.path().join(&name[..2]).join(&name);
    std::fs::write(&path, b"not zstd").unwrap();
    assert!(matches!(blobs.get(digest).await, Err(Error::Blob { .. })));
    let other = blobs.put("other content".into()).await.unwrap().to_string();
    std::fs::copy(folder.path().join(&other[..2]).join(&other), &path).unwrap();
    assert!(matches!(blobs.get(digest).await, Err(Error::Blob { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_s3_store_keeps_what_it_is_given() {
    // `./test` starts a server; without one there is nothing to show here.
    let Ok(endpoint) = std::env::var("ZHULU_TEST_S3") else {
        eprintln!("NOT RUN: ZHULU_TEST_S3 names no server; run ./test");
        return;
    };
    let address = BlobAddress::S3 {
        bucket: "zhulu-test".into(),
        prefix: format!("run-{}/blobs", std::process::id()),
        endpoint: Some(endpoint),
        region: Some("us-east-1".into()),
        credentials: Some(("zhulu".into(), "zhulu-secret".into())),
    };
    keeps_what_it_is_given(address).await;
}
