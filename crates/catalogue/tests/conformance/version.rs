//! Stored forms: a saved catalogue of every form opens and is sound; one of a newer form is refused and left alone.

use std::path::Path;

use zhulu_catalogue::{Address, Catalogue, Error, Settings};

use crate::place::{Place, id, sound, stored, titles};

crate::on_both_stores!(a_catalogue_of_a_newer_form_is_refused_and_left_alone);

async fn a_catalogue_of_a_newer_form_is_refused_and_left_alone(place: Place) {
    drop(place.open().await);
    match &place.settings.address {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.pragma_update(None, "user_version", 999).unwrap();
        }
        Address::Postgres(url) => {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            client.batch_execute("UPDATE zhulu_form SET version = 999").await.unwrap();
        }
    }
    let refused = Catalogue::open(place.settings.clone()).await.err().expect("it is refused");
    assert!(matches!(refused, Error::Newer { found: 999, .. }), "{refused}");
    assert!(refused.to_string().contains("newer zhulu"), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_no_catalogue_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    let refused = Catalogue::open(Settings::for_sqlite(path.clone())).await.err().expect("it is refused");
    assert!(refused.to_string().contains("no zhulu catalogue"), "{refused}");
    let count: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
    std::fs::write(&path, "这不是数据库".repeat(1000)).unwrap();
    let refused = Catalogue::open(Settings::for_sqlite(path)).await.err().expect("it is refused");
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
}

/// `tests/saved/form-N.sqlite` is a small catalogue as form N wrote it. Being an SQLite catalogue it also restores into
/// PostgreSQL, so that one saved file shows both. `ZHULU_SAVE_FORM=1` writes the file of the present form.
#[tokio::test(flavor = "multi_thread")]
async fn every_saved_form_opens_and_is_sound() {
    let saved = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved");
    let place = Place::sqlite();
    let present = place.open().await.store().version();
    if std::env::var_os("ZHULU_SAVE_FORM").is_some() {
        let catalogue = place.open().await;
        for (name, title) in [("a", "著录"), ("b", "to enter in a catalogue")] {
            crate::place::append(&catalogue, vec![crate::place::put("m", name, title)]).await;
        }
        catalogue.delete(id("b"), "lin").await.unwrap();
        std::fs::create_dir_all(&saved).unwrap();
        catalogue.store().backup(&saved.join(format!("form-{present}.sqlite"))).await.unwrap();
    }
    for form in 1..=present {
        let path = saved.join(format!("form-{form}.sqlite"));
        assert!(path.exists(), "no catalogue of form {form} is saved; ZHULU_SAVE_FORM=1 writes the present form's");
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&path, folder.path().join("catalogue.sqlite")).unwrap();
        let opened = Catalogue::open(Settings::in_folder(folder.path())).await.unwrap();
        let place = Place::postgres().await;
        let postgres = place.open().await;
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(&path, copy.path().join("catalogue.sqlite")).unwrap();
        postgres.restore(copy.path()).await.unwrap();
        for catalogue in [opened, postgres] {
            assert_eq!(titles(&stored(&catalogue, id("a")).await), ["著录"], "form {form}");
            assert!(stored(&catalogue, id("b")).await.record.deleted);
            sound(&catalogue).await;
        }
    }
}
