//! Places for catalogues under test, with a clock the test moves, and short ways to say things.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jiff::Timestamp;
use tempfile::TempDir;
use zhulu_catalogue::{Address, Batch, Catalogue, Outcome, Receipt, Settings, Stored};
use zhulu_record::{Draft, Element, Key, Kind, Put, RecordId, Source, Statement};

/// A folder and, for PostgreSQL, a schema; a clock that stands still until moved.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) settings: Settings,
    millis: Arc<AtomicI64>,
}

/// 2026-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_767_225_600_000;

static SCHEMAS: AtomicU64 = AtomicU64::new(0);

impl Place {
    pub(crate) fn sqlite() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::in_folder(folder.path());
        Place { folder, settings, millis: Arc::new(AtomicI64::new(START)) }
    }

    pub(crate) async fn postgres() -> Place {
        let server = std::env::var("ZHULU_TEST_POSTGRES")
            .expect("ZHULU_TEST_POSTGRES names no server; run ./test, or start one with tools/postgres");
        let schema = format!("t{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::SeqCst));
        let (client, connection) = tokio_postgres::connect(&server, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        let mut place = Place::sqlite();
        place.settings.address = Address::Postgres(format!("{server}&options=-csearch_path%3D{schema}"));
        place
    }

    /// The same kind of place, empty.
    pub(crate) async fn another(&self) -> Place {
        if self.is_sqlite() { Place::sqlite() } else { Place::postgres().await }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.settings.address, Address::Sqlite(_))
    }

    pub(crate) async fn open(&self) -> Catalogue {
        let millis = self.millis.clone();
        let now = move || Timestamp::from_millisecond(millis.load(Ordering::SeqCst)).unwrap();
        Catalogue::open_at(self.settings.clone(), Arc::new(now)).await.unwrap()
    }

    /// Moves the clock on (or back).
    pub(crate) fn pass(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }
}

pub(crate) fn machine(name: &str) -> Source {
    Source::machine(name)
}

pub(crate) fn key(name: &str) -> Key {
    Key::Oai(name.to_owned())
}

pub(crate) fn id(name: &str) -> RecordId {
    key(name).record()
}

pub(crate) fn titled(keys: &[&str], title: &str) -> Put {
    Put {
        kind: Kind::Document,
        keys: keys.iter().map(|name| key(name)).collect(),
        statements: vec![Statement::new(Element::TITLE, title)],
        ..Put::default()
    }
}

pub(crate) fn put(source: &str, name: &str, title: &str) -> Draft {
    Draft::put(machine(source), titled(&[name], title)).unwrap()
}

pub(crate) async fn append(catalogue: &Catalogue, drafts: Vec<Draft>) -> Receipt {
    catalogue.append(Batch::of(drafts)).await.unwrap()
}

pub(crate) fn outcomes(receipt: &Receipt) -> Vec<Outcome> {
    receipt.outcomes.iter().map(|(_, outcome)| *outcome).collect()
}

pub(crate) async fn stored(catalogue: &Catalogue, id: RecordId) -> Stored {
    catalogue.store().records(&[id]).await.unwrap().pop().flatten().expect("the record is there")
}

pub(crate) fn titles(stored: &Stored) -> Vec<&str> {
    stored.record.all(&Element::TITLE).filter_map(|said| said.statement.value.as_text()).collect()
}

/// Nothing disagrees with anything.
pub(crate) async fn sound(catalogue: &Catalogue) {
    assert_eq!(catalogue.verify().await.unwrap(), Vec::<String>::new());
}
