//! What is harvested from us is what we have: `harvest(serve(catalogue)) == catalogue`, at every page size, with deletions,
//! over real HTTP on a loopback address, also when records change between two harvests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use zhulu_catalogue::{Batch, Catalogue, Listing, Settings};
use zhulu_gather::harvest;
use zhulu_gather::outward::{Outward, Rules};
use zhulu_protocol::dublin_core;
use zhulu_record::{Draft, Element, Key, Put, Source, Statement};
use zhulu_serve::{App, Reader, SiteConfig};

const NAMESPACE: &str = "catalogue.example";
const RECORDS: usize = 13;

struct NoPages;

impl Reader for NoPages {
    fn page_image(&self, _: &[u8], _: u32, _: u32) -> Option<Vec<u8>> {
        None
    }
}

fn draft(number: usize, title: &str) -> Draft {
    let statements = vec![
        Statement::new(Element::TITLE, title).lang("zh"),
        Statement::new(Element::TITLE, "Plain & <simple> \"title\"").lang("en"),
        Statement::new(Element::CREATOR, "王文博"),
        Statement::new(Element::CREATOR, "Keller, A."),
        Statement::new(Element::ABSTRACT, "摘要：\n两行 ]]> 与 \u{1F600}"),
        Statement::new(Element::SUBJECT, "元数据"),
        Statement::new(Element::ISSUED, "2009-05"),
        Statement::new(Element::TEXT, "the text is never published"),
    ];
    let sets = [if number.is_multiple_of(2) { "even" } else { "odd:inner" }.parse().unwrap()].into();
    let put = Put { keys: vec![Key::Oai(format!("local:{number}"))], statements, sets, ..Put::default() };
    Draft::put(Source::machine("test"), put).unwrap()
}

/// What a harvester can know of a catalogue: identifier → datestamp, deleted, sets, Dublin Core.
type Portrait = BTreeMap<String, (String, bool, Vec<String>, String)>;

async fn portrait_of_ours(catalogue: &Catalogue) -> Portrait {
    let listing = Listing { filter: Default::default(), after: None, limit: 1000, newest_first: false };
    let records = catalogue.store().list(&listing).await.unwrap();
    let entry = |stored: zhulu_catalogue::Stored| {
        let identifier = format!("oai:{NAMESPACE}:{}", stored.record.id);
        let metadata = dublin_core::write(stored.record.statements.iter().map(|said| &said.statement));
        let metadata = if stored.record.deleted { String::new() } else { metadata };
        let sets = stored.record.sets.iter().map(ToString::to_string).collect();
        (identifier, (stored.datestamp.to_string(), stored.record.deleted, sets, metadata))
    };
    records.into_iter().map(entry).collect()
}

/// The same, of the catalogue that a harvest filled.
async fn portrait_of_theirs(catalogue: &Catalogue, ours: &Portrait) -> Portrait {
    let mut portrait = Portrait::new();
    for (identifier, (datestamp, ..)) in ours {
        let id = catalogue.store().by_key(&Key::Oai(identifier.clone())).await.unwrap();
        let Some(id) = id else { continue };
        let stored = catalogue.record(id).await.unwrap().unwrap();
        let said: Vec<&Statement> = stored.record.statements.iter().map(|said| &said.statement).collect();
        let metadata = if stored.record.deleted { String::new() } else { dublin_core::write(said) };
        let provenance = stored.record.provenance.first();
        let sets =
            stored.record.sets.iter().map(ToString::to_string).filter(|set| !set.starts_with("source-http")).collect();
        // Of a deleted record no provenance is kept; that it is deleted says enough.
        let datestamp = provenance.map_or(datestamp.clone(), |provenance| provenance.datestamp.clone());
        portrait.insert(identifier.clone(), (datestamp, stored.record.deleted, sets, metadata));
    }
    assert_eq!(catalogue.store().head().await.unwrap().records as usize, portrait.len(), "nothing else came along");
    portrait
}

async fn serve(catalogue: &Catalogue, page_size: usize) -> String {
    // One recorder in a process, whatever the number of services.
    static METRICS: OnceLock<zhulu_serve::PrometheusHandle> = OnceLock::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App {
        catalogue: catalogue.clone(),
        reader: Arc::new(NoPages),
        config: SiteConfig { namespace: NAMESPACE.to_owned(), page_size, ..SiteConfig::default() },
        metrics: METRICS.get_or_init(|| zhulu_serve::install_metrics().unwrap()).clone(),
        secret: catalogue.store().secret().await.unwrap(),
        now: Arc::new(jiff::Timestamp::now),
    };
    tokio::spawn(zhulu_serve::run(listener, zhulu_serve::app(app), std::future::pending()));
    format!("http://{address}/oai")
}

async fn harvested(catalogue: &Catalogue, address: &str) {
    let outward = Outward::new(Rules::allowing(["127.0.0.1".to_owned()])).unwrap();
    let summary = harvest::into_catalogue(catalogue, outward, address, None, |_| {}).await.unwrap();
    assert_eq!(summary.warnings, Vec::new());
}

async fn every_page_size(settings: Settings) {
    let catalogue = Catalogue::open(settings).await.unwrap();
    let drafts = (0..RECORDS).map(|number| draft(number, &format!("题名 {number}"))).collect();
    catalogue.append(Batch::of(drafts)).await.unwrap();
    let withdrawn =
        |number: usize| Draft::delete(Source::machine("test"), Key::Oai(format!("local:{number}")).record());
    catalogue.append(Batch::of(vec![withdrawn(3), withdrawn(8)])).await.unwrap();
    catalogue.delete(Key::Oai("local:5".into()).record(), "lin").await.unwrap();
    let ours = portrait_of_ours(&catalogue).await;
    assert_eq!(ours.len(), RECORDS);
    for page_size in 1..=RECORDS + 1 {
        let address = serve(&catalogue, page_size).await;
        let folder = tempfile::tempdir().unwrap();
        let copy = Catalogue::open(Settings::in_folder(folder.path())).await.unwrap();
        harvested(&copy, &address).await;
        let mut theirs = portrait_of_theirs(&copy, &ours).await;
        let mut ours = ours.clone();
        // A record first heard of as deleted has no sets to leave; its deletion is what counts.
        for portrait in [&mut ours, &mut theirs] {
            portrait.values_mut().filter(|entry| entry.1).for_each(|entry| entry.2.clear());
        }
        assert_eq!(theirs, ours, "pages of {page_size}");
    }

    // A copy that is kept in step, while records change, go and come back.
    let address = serve(&catalogue, 4).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = Catalogue::open(Settings::in_folder(folder.path())).await.unwrap();
    for round in 0..4 {
        harvested(&copy, &address).await;
        let changes = vec![draft(round, &format!("改 {round}")), withdrawn(round + 6), draft(20 + round, "新")];
        catalogue.append(Batch::of(changes)).await.unwrap();
    }
    harvested(&copy, &address).await;
    let ours = portrait_of_ours(&catalogue).await;
    let theirs = portrait_of_theirs(&copy, &ours).await;
    let plain = |portrait: &Portrait| -> Vec<(String, bool, String)> {
        portrait.iter().map(|(identifier, entry)| (identifier.clone(), entry.1, entry.3.clone())).collect()
    };
    assert_eq!(plain(&theirs), plain(&ours));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    every_page_size(Settings::in_folder(folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres() {
    let server = std::env::var("ZHULU_TEST_POSTGRES")
        .expect("ZHULU_TEST_POSTGRES names no server; run ./test, or start one with tools/postgres");
    let folder = tempfile::tempdir().unwrap();
    // A database of its own: the rows of a schema would do, but this crate knows no SQL.
    let name = format!("harvest{}", std::process::id());
    let made =
        std::process::Command::new("psql").args([&server, "-qc", &format!("CREATE DATABASE {name}")]).status().unwrap();
    assert!(made.success());
    let address = server.replacen("/postgres?", &format!("/{name}?"), 1).parse().unwrap();
    every_page_size(Settings { address, ..Settings::in_folder(folder.path()) }).await;
}
