//! Erasure, compaction and verification: what must go is gone to the last byte, what must stay stays, damage is found.

use std::path::Path;
use std::time::Duration;

use zhulu_catalogue::{Address, Outcome};
use zhulu_record::{BlobRef, Draft, Element, Statement};

use crate::place::{Place, append, id, machine, outcomes, put, sound, stored, titled, titles};

crate::on_both_stores!(
    erasure_leaves_a_marker_and_not_a_byte_else,
    compaction_removes_superseded_snapshots_only,
    verification_finds_what_does_not_agree,
);

const SECRET: &str = "不可告人的隐私secretphrase";

fn files_with(folder: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, needle));
        } else if std::fs::read(&path).unwrap().windows(needle.len()).any(|window| window == needle.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

async fn erasure_leaves_a_marker_and_not_a_byte_else(place: Place) {
    let catalogue = place.open().await;
    let digest = catalogue.blobs().put(SECRET.into()).await.unwrap();
    let shared = catalogue.blobs().put("shared file".into()).await.unwrap();
    let blob = |digest| BlobRef { digest, name: SECRET.into(), media_type: "text/plain".into(), size: 1 };
    let mut secret = titled(&["a", "a2"], SECRET);
    secret.blobs = vec![blob(digest), blob(shared)];
    let mut other = titled(&["b"], "innocent");
    other.blobs = vec![BlobRef { name: "x".into(), ..blob(shared) }];
    // Beside others, so that its page is not simply dropped.
    let mut drafts: Vec<Draft> = (0..50).map(|number| put("m", &format!("r{number}"), "neighbour")).collect();
    drafts.insert(25, Draft::put(machine("m"), secret.clone()).unwrap());
    drafts.push(Draft::put(machine("m"), other).unwrap());
    append(&catalogue, drafts).await;
    let edit = vec![(Element::CREATOR, vec![Statement::new(Element::CREATOR, SECRET)])];
    catalogue.edit(id("a"), "lin", edit).await.unwrap();
    catalogue.catch_up().await.unwrap();
    sound(&catalogue).await;

    catalogue.erase(id("a"), "lin").await.unwrap();
    let gone = stored(&catalogue, id("a")).await;
    assert!(gone.record.deleted && gone.record.erased);
    assert!(!format!("{:?}", catalogue.store().history(id("a")).await.unwrap()).contains(SECRET));
    assert!(!catalogue.blobs().has(digest).await.unwrap(), "its own file is gone");
    assert!(catalogue.blobs().has(shared).await.unwrap(), "a file others refer to is not");
    let query = zhulu_catalogue::search::Query { text: "secretphrase".into(), limit: 5, ..Default::default() };
    assert_eq!(catalogue.search(query, None).await.unwrap().total, 0);
    sound(&catalogue).await;

    // The file is read again: its bytes are kept before anybody knows that they must not be.
    catalogue.blobs().put(SECRET.into()).await.unwrap();
    let again = append(&catalogue, vec![Draft::put(machine("m"), secret.clone()).unwrap()]).await;
    assert_eq!(outcomes(&again), [Outcome::Erased], "a machine does not bring it back");
    assert!(!catalogue.blobs().has(digest).await.unwrap() && catalogue.blobs().has(shared).await.unwrap());
    let by_other_key = titled(&["a2"], SECRET);
    let again = append(&catalogue, vec![Draft::put(machine("m"), by_other_key).unwrap()]).await;
    assert_eq!(outcomes(&again), [Outcome::Erased], "nor by its other key");
    let mut export = Vec::new();
    catalogue.export(&mut export, true).await.unwrap();
    assert!(!String::from_utf8(export).unwrap().contains("secretphrase"));
    if let Address::Postgres(url) = &place.settings.address {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for table in ["log", "record", "quarantine"] {
            let rows = client
                .query_one(&format!("SELECT count(*) FROM {table} t WHERE t::text LIKE '%secretphrase%'"), &[])
                .await
                .unwrap();
            assert_eq!(rows.get::<_, i64>(0), 0, "{table}");
        }
    }
    // On disk too, while it is open: SQLite's file and log, the blobs, the index.
    assert_eq!(files_with(place.folder.path(), "secretphrase"), Vec::<String>::new());
}

async fn compaction_removes_superseded_snapshots_only(place: Place) {
    let catalogue = place.open().await;
    for number in 0..5 {
        append(&catalogue, vec![put("m", "a", &format!("t{number}"))]).await;
        place.pass(24 * 3_600_000);
    }
    let edit = |title: &str| vec![(Element::CREATOR, vec![Statement::new(Element::CREATOR, title)])];
    catalogue.edit(id("a"), "lin", edit("first")).await.unwrap();
    catalogue.edit(id("a"), "lin", edit("second")).await.unwrap();
    append(&catalogue, vec![put("m", "b", "gone"), Draft::delete(machine("m"), id("b"))]).await;
    catalogue.catch_up().await.unwrap();
    let before = stored(&catalogue, id("a")).await;

    // Appended at day 0 to 4, and it is day 5 now: those of day 0 to 2 are older than two days, the newest of all stays.
    let report = catalogue.compact(Duration::from_secs(2 * 24 * 3600 + 1)).await.unwrap();
    assert_eq!(report.entries, 3);
    place.pass(400 * 24 * 3_600_000);
    let report = catalogue.compact(Duration::from_secs(1)).await.unwrap();
    assert_eq!(report.entries, 2, "the snapshot before the last, and what stood before the deletion");
    assert_eq!(stored(&catalogue, id("a")).await, before);
    assert!(stored(&catalogue, id("b")).await.record.deleted, "a deleted record is remembered for ever");
    assert_eq!(catalogue.store().history(id("a")).await.unwrap().len(), 3, "people's changes are never compacted");
    assert_eq!(catalogue.compact(Duration::from_secs(1)).await.unwrap().entries, 0);
    append(&catalogue, vec![put("m", "a", "t9")]).await;
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["t9"]);
    sound(&catalogue).await;
    // A follower that starts from nothing still ends with the same.
    let folder = place.folder.path().join("index");
    drop(catalogue);
    std::fs::remove_dir_all(folder).unwrap();
    sound(&place.open().await).await;
}

async fn verification_finds_what_does_not_agree(place: Place) {
    let catalogue = place.open().await;
    let digest = catalogue.blobs().put("file".into()).await.unwrap();
    let mut with_file = titled(&["a"], "t");
    with_file.blobs = vec![BlobRef { digest, name: "f".into(), media_type: "text/plain".into(), size: 4 }];
    append(&catalogue, vec![Draft::put(machine("m"), with_file).unwrap(), put("m", "b", "u")]).await;
    sound(&catalogue).await;
    let script = "DELETE FROM membership; UPDATE record SET deleted = 1 - deleted; UPDATE head SET records = 7";
    match &place.settings.address {
        Address::Sqlite(path) => rusqlite::Connection::open(path).unwrap().execute_batch(script).unwrap(),
        Address::Postgres(url) => {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute(script).await.unwrap();
        }
    }
    catalogue.blobs().remove(digest).await.unwrap();
    let found = catalogue.verify().await.unwrap().join("\n");
    for expected in [
        "records: 2 counted, 7 expected",
        "is deleted, but not by the log",
        "listed in 0",
        "missing from the blob store",
        "the index has",
    ] {
        assert!(found.contains(expected), "{expected:?} is not in:\n{found}");
    }
}
