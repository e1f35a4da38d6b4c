//! Writers side by side, with a reader of the log and a harvester at work: the reader sees every committed entry once, in
//! order; the harvester, which always goes on from the horizon it was last told, misses nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zhulu_catalogue::{Address, Batch, Catalogue, Filter, Listing, Logged, Position};
use zhulu_record::{Datestamp, Draft, RecordId};

use crate::place::{Place, put, sound};

crate::on_both_stores!(a_reader_sees_every_entry_once_and_a_harvester_misses_nothing);

const WRITERS: usize = 8;
const APPENDS: usize = 50_000;
/// How many appends a writer has on their way at once.
const WINDOW: usize = 32;
/// Few enough that writers meet in the same records.
const RECORDS: usize = 5_000;

async fn a_reader_sees_every_entry_once_and_a_harvester_misses_nothing(place: Place) {
    // Two handles, as two processes would have: they share nothing but the database.
    let handles = [
        Catalogue::open(place.settings.clone()).await.unwrap(),
        Catalogue::open(place.settings.clone()).await.unwrap(),
    ];
    let done = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn(read_log(handles[0].clone(), done.clone()));
    let harvester = tokio::spawn(harvest(handles[1].clone(), done.clone()));
    let holder = match &place.settings.address {
        Address::Postgres(url) => Some(tokio::spawn(hold_transactions_open(url.clone(), done.clone()))),
        Address::Sqlite(_) => None,
    };
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let catalogue = handles[writer % 2].clone();
        writers.spawn(async move {
            let mut last = 0;
            let mut waiting = tokio::task::JoinSet::new();
            for number in 0..APPENDS / WRITERS {
                if waiting.len() == WINDOW {
                    last = last.max(waiting.join_next().await.unwrap().unwrap());
                }
                let name = format!("r{}", (number * WRITERS + writer) * 7 % RECORDS);
                let draft: Draft = put(&format!("w{writer}"), &name, &format!("title {writer} {number}"));
                let catalogue = catalogue.clone();
                waiting.spawn(async move { catalogue.append(Batch::of(vec![draft])).await.unwrap().seq });
            }
            waiting.join_all().await.into_iter().fold(last, u64::max)
        });
    }
    let acknowledged = writers.join_all().await.into_iter().max().unwrap();
    done.store(true, Ordering::SeqCst);
    let held = match holder {
        Some(holder) => holder.await.unwrap(),
        None => 0,
    };
    let read = reader.await.unwrap();
    let harvested = harvester.await.unwrap();

    let head = handles[0].store().head().await.unwrap();
    assert_eq!(head.seq as usize, APPENDS + held, "every append is in the log, and nothing else");
    assert!(acknowledged <= head.seq);
    assert_eq!(read.len(), APPENDS + held);
    assert!(read.iter().zip(1..).all(|(seq, expected)| *seq == expected), "once each, in order, without a gap");
    let whole = list_from(&handles[0], None).await;
    assert_eq!(whole.len(), head.records as usize);
    assert_eq!(harvested, whole, "the harvester's copy is the catalogue");
    if place.is_sqlite() {
        sound(&handles[0]).await;
    }
}

/// Follows the log while it grows; every batch is checked for order as it comes.
async fn read_log(catalogue: Catalogue, done: Arc<AtomicBool>) -> Vec<u64> {
    let mut seen: Vec<u64> = Vec::new();
    loop {
        let finished = done.load(Ordering::SeqCst);
        let page: Vec<Logged> = catalogue.store().log(seen.last().copied().unwrap_or(0), 500).await.unwrap();
        if page.is_empty() {
            if finished {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        seen.extend(page.into_iter().map(|logged| logged.seq));
    }
}

async fn list_from(catalogue: &Catalogue, from: Option<Datestamp>) -> BTreeMap<RecordId, Datestamp> {
    let mut found = BTreeMap::new();
    let mut after = None;
    loop {
        let filter = Filter { from, ..Filter::default() };
        let page = catalogue.store().list(&Listing { filter, after, limit: 500, newest_first: false }).await.unwrap();
        let Some(last) = page.last() else { return found };
        after = Some(Position { datestamp: last.datestamp, record: last.record.id });
        found.extend(page.into_iter().map(|stored| (stored.record.id, stored.datestamp)));
    }
}

/// Harvests again and again, each time from what it was last told is settled.
async fn harvest(catalogue: Catalogue, done: Arc<AtomicBool>) -> BTreeMap<RecordId, Datestamp> {
    let mut copy = BTreeMap::new();
    let mut from = None;
    loop {
        let finished = done.load(Ordering::SeqCst);
        let horizon = catalogue.store().horizon().await.unwrap();
        copy.extend(list_from(&catalogue, from).await);
        from = Some(horizon);
        if finished {
            return copy;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A writer that takes its place in the log and then keeps its transaction open for a while before it commits, as a process
/// on a slow machine would. Returns how many entries it wrote.
async fn hold_transactions_open(url: String, done: Arc<AtomicBool>) -> usize {
    let (mut client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut held = 0;
    while !done.load(Ordering::SeqCst) && held < 6 {
        let transaction = client.transaction().await.unwrap();
        transaction.execute("SELECT pg_advisory_xact_lock(2053663861, hashtext(current_schema()))", &[]).await.unwrap();
        let head = transaction
            .query_one("SELECT seq, node, origin_seq, datestamp, clock_millis FROM head", &[])
            .await
            .unwrap();
        let (seq, node, origin_seq): (i64, Vec<u8>, i64) = (head.get(0), head.get(1), head.get(2));
        let datestamp = head.get::<_, Option<i64>>(3).unwrap_or(0).max(jiff::Timestamp::now().as_second());
        let millis = head.get::<_, i64>(4) + 1;
        let node = zhulu_record::NodeId::from_bytes(node.try_into().unwrap());
        let stamp = zhulu_record::Stamp { millis: millis as u64, counter: 0, node };
        let name = format!("held{held}");
        let entry = put("holder", &name, "kept waiting").stamped(stamp, origin_seq as u64 + 1);
        let id = entry.record.as_bytes().to_vec();
        let stamp = stamp.to_bytes().to_vec();
        let body = serde_json::to_string(&entry).unwrap();
        let sql = "INSERT INTO log (seq, stamp, record, datestamp, body) VALUES ($1, $2, $3, $4, $5)";
        transaction.execute(sql, &[&(seq + 1), &stamp, &id, &datestamp, &body]).await.unwrap();
        let sql = "INSERT INTO record (id, datestamp, seq, deleted, live, sets) VALUES ($1, $2, $3, 0, $4, '[]')";
        transaction.execute(sql, &[&id, &datestamp, &(seq + 1), &format!("[{}]", seq + 1)]).await.unwrap();
        let sql = "UPDATE head SET seq = seq + 1, origin_seq = origin_seq + 1, records = records + 1, \
                   clock_millis = $1, clock_counter = 0, datestamp = $2";
        transaction.execute(sql, &[&millis, &datestamp]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1200)).await;
        transaction.commit().await.unwrap();
        held += 1;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    held
}
