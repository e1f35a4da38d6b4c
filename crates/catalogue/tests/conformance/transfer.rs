//! Moving catalogues: export and import between stores, byte for byte; backup while others write, and restore.

use std::io::BufReader;

use zhulu_catalogue::{Address, Catalogue, Listing, NewJob, Settings, SourceRow, Stored, TokenRow};
use zhulu_record::{BlobRef, Datestamp, Digest, Draft, Element, Statement};

use crate::place::{Place, append, id, machine, put, sound, titled};

crate::on_both_stores!(
    an_export_imported_elsewhere_exports_the_same_bytes,
    an_import_may_be_broken_off_and_run_again,
    lines_that_cannot_be_read_do_not_stop_an_import,
    a_backup_holds_everything_and_can_be_restored,
);

/// A bit of everything: languages, deletions, edits, conflicts, mergers, erasure, sources, files.
async fn varied(place: &Place) -> Catalogue {
    let catalogue = place.open().await;
    let digest = catalogue.blobs().put("一份文件".into()).await.unwrap();
    let mut with_file = titled(&["file"], "题 with \"quotes\" \u{0} and \u{1F600}");
    with_file.blobs =
        vec![BlobRef { digest, name: "论文.pdf".into(), media_type: "application/pdf".into(), size: 12 }];
    with_file.statements.push(Statement::new(Element::TITLE, "Title").lang("en"));
    append(&catalogue, vec![Draft::put(machine("files"), with_file).unwrap()]).await;
    for number in 0..40 {
        append(&catalogue, vec![put("m", &format!("r{}", number % 30), &format!("t{number}"))]).await;
        place.pass(700);
    }
    append(&catalogue, vec![Draft::delete(machine("m"), id("r3"))]).await;
    append(&catalogue, vec![Draft::put(machine("n"), titled(&["r4", "r5"], "both")).unwrap()]).await;
    let edit = vec![(Element::TITLE, vec![Statement::new(Element::TITLE, "改正")]), (Element::CREATOR, vec![])];
    catalogue.edit(id("r6"), "lin", edit).await.unwrap();
    catalogue.erase(id("r7"), "lin").await.unwrap();
    let source = SourceRow {
        source: machine("oai"),
        kind: "oai".into(),
        address: "https://例子.cn/oai".into(),
        cursor: Some("2026-01-01T00:00:00Z".into()),
        settings: serde_json::json!({"b": 1, "a": [true, null]}),
    };
    catalogue.store().put_source(&source).await.unwrap();
    let token =
        TokenRow { name: "owner".into(), digest: Digest::of(b"s3cret-token"), created: Datestamp::from_seconds(1) };
    catalogue.store().put_token(&token).await.unwrap();
    catalogue
}

async fn exported(catalogue: &Catalogue) -> String {
    let mut bytes = Vec::new();
    catalogue.export(&mut bytes, true).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn all(catalogue: &Catalogue) -> Vec<Stored> {
    let listing = Listing { filter: Default::default(), after: None, limit: 1000, newest_first: false };
    catalogue.store().list(&listing).await.unwrap()
}

async fn an_export_imported_elsewhere_exports_the_same_bytes(place: Place) {
    let catalogue = varied(&place).await;
    let export = exported(&catalogue).await;
    assert!(!export.contains(&Digest::of(b"s3cret-token").to_string()), "no token, not even its digest");
    // From this store into the other kind, and from there back into this kind.
    let other_place = if place.is_sqlite() { Place::postgres().await } else { Place::sqlite() };
    other_place.pass(1_000_000);
    let other = other_place.open().await;
    let report = other.import(&mut BufReader::new(export.as_bytes())).await.unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    assert_eq!((report.known, report.quarantined, report.blobs), (0, 0, 1));
    assert_eq!(exported(&other).await, export);
    let back_place = place.another().await;
    back_place.pass(2_000_000);
    let back = back_place.open().await;
    back.import(&mut BufReader::new(exported(&other).await.as_bytes())).await.unwrap();
    assert_eq!(exported(&back).await, export);
    for copy in [&other, &back] {
        sound(copy).await;
        let look = |records: Vec<Stored>| {
            let mut views: Vec<_> = records
                .into_iter()
                .map(|stored| (stored.record.id, stored.record.statements, stored.record.deleted))
                .collect();
            views.sort_by_key(|view| view.0);
            views
        };
        assert_eq!(look(all(copy).await), look(all(&catalogue).await));
    }
    assert_ne!(other.store().head().await.unwrap().node, catalogue.store().head().await.unwrap().node);
}

async fn an_import_may_be_broken_off_and_run_again(place: Place) {
    let export = exported(&varied(&Place::sqlite()).await).await;
    let catalogue = place.open().await;
    place.pass(1_000_000);
    let half = &export.as_bytes()[..export.len() / 2];
    let report = catalogue.import(&mut BufReader::new(half)).await.unwrap();
    assert_eq!(report.warnings.len(), 1, "the line that was cut: {:?}", report.warnings);
    let taken = report.entries;
    let report = catalogue.import(&mut BufReader::new(export.as_bytes())).await.unwrap();
    assert_eq!(report.known, taken);
    assert_eq!(exported(&catalogue).await, export);
    sound(&catalogue).await;
}

async fn lines_that_cannot_be_read_do_not_stop_an_import(place: Place) {
    let catalogue = place.open().await;
    let export = exported(&varied(&Place::sqlite()).await).await;
    place.pass(1_000_000);
    let mut lines: Vec<&str> = export.lines().collect();
    lines.insert(3, "不是 JSON");
    lines.insert(5, "{\"entry\":{\"stamp\":\"x\"}}");
    lines.insert(6, "");
    lines.push("{\"blob\":{\"digest\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"data\":\"AAAA\"}}");
    let report = catalogue.import(&mut BufReader::new(lines.join("\n").as_bytes())).await.unwrap();
    assert_eq!(report.warnings.len(), 3, "{:?}", report.warnings);
    assert!(report.warnings[0].starts_with("line 4 "), "{}", report.warnings[0]);
    assert_eq!(exported(&catalogue).await, export);
    let newer = "{\"zhulu\":{\"form\":99}}\n";
    let refused = catalogue.import(&mut BufReader::new(newer.as_bytes())).await.unwrap_err().to_string();
    assert!(refused.contains("newer zhulu"), "{refused}");
}

async fn a_backup_holds_everything_and_can_be_restored(place: Place) {
    let catalogue = varied(&place).await;
    catalogue.store().enqueue(&[NewJob::new("later", serde_json::json!({"n": 1}))]).await.unwrap();
    let folder = place.folder.path().join("备份");
    // Somebody goes on writing meanwhile.
    let writer = {
        let catalogue = catalogue.clone();
        tokio::spawn(async move {
            for number in 0..50 {
                append(&catalogue, vec![put("busy", &format!("x{number}"), "t")]).await;
            }
        })
    };
    catalogue.backup(&folder).await.unwrap();
    writer.await.unwrap();
    assert!(catalogue.backup(&folder).await.unwrap_err().to_string().contains("not empty"));

    // It is a catalogue by itself …
    let copy = Catalogue::open(Settings::in_folder(&folder)).await.unwrap();
    sound(&copy).await;
    let whole = all(&copy).await;
    assert!(whole.len() >= 30);
    // … and can be restored into either store, with local numbers and datestamps as they were.
    for target in [Place::sqlite(), Place::postgres().await] {
        let restored = target.open().await;
        restored.restore(&folder).await.unwrap();
        assert_eq!(all(&restored).await, whole);
        let (head, of_copy) = (restored.store().head().await.unwrap(), copy.store().head().await.unwrap());
        assert_eq!(head, of_copy);
        assert_eq!(restored.store().tokens().await.unwrap().len(), 1);
        assert_eq!(restored.store().job_stats().await.unwrap().ready, 1);
        assert_eq!(exported(&restored).await, exported(&copy).await);
        target.pass(10_000_000);
        append(&restored, vec![put("m", "after", "t")]).await;
        restored.store().enqueue(&[NewJob::new("next", serde_json::Value::Null)]).await.unwrap();
        sound(&restored).await;
        assert!(restored.restore(&folder).await.unwrap_err().to_string().contains("not empty"));
        if let Address::Sqlite(path) = &target.settings.address {
            drop(restored);
            assert!(path.exists());
            sound(&target.open().await).await;
        }
    }
}
