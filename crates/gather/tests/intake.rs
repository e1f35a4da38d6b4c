//! Taking files in and running queued work, on a catalogue in a temporary folder.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use zhulu_catalogue::{Catalogue, JobState, NewJob, Outcome, Settings};
use zhulu_gather::intake::{self, Report, take_in};
use zhulu_gather::work::{WorkSettings, work};
use zhulu_record::{Digest, Element, Key};

async fn catalogue(folder: &tempfile::TempDir) -> Catalogue {
    Catalogue::open(Settings::in_folder(&folder.path().join("catalogue"))).await.unwrap()
}

async fn reports(catalogue: &Catalogue, paths: Vec<PathBuf>, settings: &intake::Settings) -> Vec<Report> {
    let mut reports = Vec::new();
    take_in(catalogue, paths, settings, |report| reports.push(report)).await.unwrap();
    reports
}

#[tokio::test]
async fn one_bad_input_never_stops_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("输入");
    fs::create_dir_all(&inputs).unwrap();
    fs::write(inputs.join("一.txt"), "元数据自动抽取研究\n\n李华\n").unwrap();
    fs::write(inputs.join("二.txt"), "x".repeat(5000)).unwrap();
    fs::write(inputs.join("三.pdf"), b"%PDF-1.7 and then nothing").unwrap();
    fs::write(inputs.join("四.txt"), "").unwrap();
    let catalogue = catalogue(&folder).await;
    let settings = intake::Settings { file_limit: 4000, ..intake::Settings::default() };
    let paths = vec![folder.path().join("nowhere"), inputs.clone(), inputs.join("一.txt")];
    let reports = reports(&catalogue, paths, &settings).await;
    let kinds: Vec<String> = reports
        .iter()
        .map(|report| match report {
            Report::Added { path, outcome, .. } => {
                format!("{} {outcome:?}", path.file_name().unwrap().to_string_lossy())
            }
            Report::Failed { path, .. } => format!("{} failed", path.file_name().unwrap().to_string_lossy()),
            Report::Skipped { path, .. } => format!("{} skipped", path.display()),
        })
        .collect();
    assert_eq!(
        kinds,
        ["nowhere failed", "一.txt Created", "三.pdf Created", "二.txt failed", "四.txt Created", "一.txt Unchanged"],
        "in the order of the input"
    );

    let digest = Digest::of("元数据自动抽取研究\n\n李华\n".as_bytes());
    let stored = catalogue.record(Key::File(digest).record()).await.unwrap().unwrap();
    assert!(stored.record.first(&Element::TITLE).is_some());
    assert_eq!(stored.record.blobs[0].name, "一.txt");
    assert_eq!(stored.record.blobs[0].digest, digest);
    assert_eq!(catalogue.blobs().get(digest).await.unwrap(), "元数据自动抽取研究\n\n李华\n".as_bytes());
}

#[tokio::test]
async fn many_small_files_arrive_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("inputs");
    fs::create_dir_all(&inputs).unwrap();
    for number in 0..150 {
        fs::write(inputs.join(format!("{number:03}.txt")), format!("Report number {number}\n")).unwrap();
    }
    let catalogue = catalogue(&folder).await;
    let reports = reports(&catalogue, vec![inputs], &intake::Settings::default()).await;
    assert_eq!(reports.len(), 150);
    assert!(reports.iter().all(|report| matches!(report, Report::Added { outcome: Outcome::Created, .. })));
    assert_eq!(catalogue.store().head().await.unwrap().records, 150);
}

#[tokio::test]
async fn the_worker_does_what_is_queued_and_keeps_what_fails() {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = catalogue(&folder).await;
    let upload = catalogue.blobs().put("Uploaded report\n".into()).await.unwrap();
    fs::write(folder.path().join("论文.txt"), "论文\n").unwrap();
    let jobs = [
        NewJob::new("file", serde_json::json!({ "blob": upload, "name": "上传.txt", "media_type": "text/plain" })),
        NewJob::new("path", serde_json::json!({ "path": folder.path().join("论文.txt") })),
        NewJob::new("file", serde_json::json!({ "blob": Digest::of(b"missing"), "name": "x" })),
        NewJob::new("path", serde_json::json!({ "wrong": true })),
    ];
    catalogue.store().enqueue(&jobs).await.unwrap();
    let done = async {
        // Two succeed; the other two fail and wait for their second try.
        for _ in 0..200 {
            let stats = catalogue.store().job_stats().await.unwrap();
            let waiting = catalogue.store().jobs(JobState::Ready, 10).await.unwrap();
            if stats.leased == 0 && waiting.len() == 2 && waiting.iter().all(|job| job.attempts == 1) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("the worker did not finish");
    };
    let settings = WorkSettings { poll: Duration::from_millis(20), ..WorkSettings::default() };
    work(catalogue.clone(), settings, done).await;
    assert_eq!(catalogue.store().head().await.unwrap().records, 2);
    let failed = catalogue.store().jobs(JobState::Ready, 10).await.unwrap();
    assert!(failed[0].error.as_deref().unwrap().contains("missing"), "{failed:?}");
    assert!(failed[1].error.as_deref().unwrap().contains("payload"), "{failed:?}");
}
