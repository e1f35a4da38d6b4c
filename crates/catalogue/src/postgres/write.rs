//! The writer task on PostgreSQL: groups waiting batches into one transaction, and writes what the sequencer decides.
//!
//! When the server goes away in the middle, the group is tried again until it comes back or patience ends. If it went away
//! during the commit itself, the log is asked whether the commit took place: each attempt has stamps of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use deadpool_postgres::{GenericClient, Object, Transaction};
use tokio::sync::mpsc::Receiver;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use zhulu_record::{Change, Datestamp, Digest, Entry, RecordId, SetName, Stamp};

use super::{PATIENCE, Shared, Waiting, read};
use crate::error::Error;
use crate::row::{Batch, Receipt, SourceRow};
use crate::sequencer::{Desk, Writes, due};

/// How many entries may share a transaction.
const GROUP: usize = 4096;

/// How many log entries compaction looks at in one transaction.
const COMPACTION_STEP: i64 = 2000;

/// The writers' lock, by a number of ours and the schema: two catalogues in one database do not wait for each other.
const LOCK: &str = "2053663861, hashtext(current_schema())";

/// Waits until no other writer is at work, and keeps others waiting until the transaction ends.
pub(super) async fn lock(transaction: &Transaction<'_>) -> Result<(), tokio_postgres::Error> {
    transaction.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"), &[]).await.map(|_| ())
}

/// Whether no writer is at work; if so, none begins before the transaction ends.
pub(super) async fn try_lock_shared(transaction: &Transaction<'_>) -> Result<bool, tokio_postgres::Error> {
    let sql = format!("SELECT pg_try_advisory_xact_lock_shared({LOCK})");
    Ok(transaction.query_one(&sql, &[]).await?.get(0))
}

/// Serves appends until nobody is left to ask for any.
pub(super) async fn run(shared: Arc<Shared>, mut requests: Receiver<Waiting>) {
    let mut set_ids = HashMap::new();
    while let Some(first) = requests.recv().await {
        let mut size = first.0.drafts.len() + first.0.entries.len();
        let mut group = vec![first];
        while size < GROUP {
            let Ok(next) = requests.try_recv() else { break };
            size += next.0.drafts.len() + next.0.entries.len();
            group.push(next);
        }
        let (batches, answers): (Vec<Batch>, Vec<_>) = group.into_iter().unzip();
        match persist(&shared, &batches, &mut set_ids).await {
            Ok(receipts) => {
                for (answer, receipt) in answers.into_iter().zip(receipts) {
                    // A caller that is gone no longer wants the answer; its batch is in the log all the same.
                    let _ = answer.send(Ok(receipt));
                }
            }
            Err(reason) => {
                for answer in answers {
                    let _ = answer.send(Err(again(&reason)));
                }
            }
        }
    }
}

/// The same error for each caller of a group.
fn again(error: &Error) -> Error {
    match error {
        Error::Full { catalogue } => Error::Full { catalogue: catalogue.clone() },
        Error::Damaged { catalogue, reason } => Error::Damaged { catalogue: catalogue.clone(), reason: reason.clone() },
        Error::Unavailable { catalogue, reason } => {
            Error::Unavailable { catalogue: catalogue.clone(), reason: reason.clone() }
        }
        other => Error::Refused(other.to_string()),
    }
}

/// Commits a group, as often as it takes to find the server.
async fn persist(
    shared: &Shared,
    batches: &[Batch],
    set_ids: &mut HashMap<SetName, i64>,
) -> Result<Vec<Receipt>, Error> {
    let begun = Instant::now();
    let mut wait = std::time::Duration::from_millis(50);
    let mut doubtful: Option<(Stamp, Vec<Receipt>)> = None;
    loop {
        let attempt = async {
            let mut connection = shared.connection().await?;
            if let Some((stamp, receipts)) = doubtful.take_if(|_| true) {
                match knows(shared, &connection, stamp).await {
                    Ok(true) => return Ok(receipts),
                    Ok(false) => {}
                    Err(reason) => {
                        doubtful = Some((stamp, receipts));
                        return Err(reason);
                    }
                }
            }
            commit(shared, &mut connection, batches, set_ids, &mut doubtful).await
        };
        match attempt.await {
            Err(Error::Unavailable { reason, .. }) if begun.elapsed() < PATIENCE => {
                tracing::warn!(catalogue = shared.name, reason, "the catalogue is out of reach; trying again");
                // Nothing of the transaction is there, nor are the set numbers it made up.
                set_ids.clear();
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(std::time::Duration::from_secs(2));
            }
            Err(reason) => {
                set_ids.clear();
                return Err(reason);
            }
            Ok(receipts) => return Ok(receipts),
        }
    }
}

async fn knows(shared: &Shared, client: &Object, stamp: Stamp) -> Result<bool, Error> {
    let rows = shared.query(client, "SELECT 1 FROM log WHERE stamp = $1", &[&stamp.to_bytes().as_slice()]).await?;
    Ok(!rows.is_empty())
}

async fn commit(
    shared: &Shared,
    connection: &mut Object,
    batches: &[Batch],
    set_ids: &mut HashMap<SetName, i64>,
    doubtful: &mut Option<(Stamp, Vec<Receipt>)>,
) -> Result<Vec<Receipt>, Error> {
    let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
    lock(&transaction).await.map_err(|reason| shared.error(reason))?;
    // Only after the lock is ours: a datestamp read before could be older than one that commits meanwhile.
    let now = (shared.now)();
    let floor = shared.floor.load(Ordering::SeqCst);
    let floor = (floor != i64::MIN).then(|| Datestamp::from_seconds(floor));
    let mut desk = Desk::new(read::head(shared, &transaction).await?, now, floor);
    let released =
        Batch { entries: due_entries(shared, &transaction, now.as_millisecond()).await?, ..Batch::default() };
    loop {
        let needs = desk.needs(batches.iter().chain([&released]));
        if needs.is_empty() {
            break;
        }
        let records = match needs.records.as_slice() {
            [] => Vec::new(),
            ids => read::records(shared, &transaction, ids).await?,
        };
        let mut owners = Vec::new();
        if !needs.keys.is_empty() {
            let sql = "SELECT record_key, record FROM record_key WHERE record_key = ANY($1)";
            for row in shared.query(&transaction, sql, &[&read::id_bytes(&needs.keys)]).await? {
                owners.push((shared.id(&row, 0)?, shared.id(&row, 1)?));
            }
        }
        let mut known = Vec::new();
        if !needs.stamps.is_empty() {
            let stamps: Vec<Vec<u8>> = needs.stamps.iter().map(|stamp| stamp.to_bytes().to_vec()).collect();
            let rows = shared.query(&transaction, "SELECT stamp FROM log WHERE stamp = ANY($1)", &[&stamps]).await?;
            let found: HashSet<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
            known.extend(needs.stamps.iter().filter(|stamp| found.contains(stamp.to_bytes().as_slice())));
        }
        desk.supply(needs, records, owners, known);
    }
    desk.release(released);
    // Cloned, because a lost connection means doing it all again.
    let mut receipts: Vec<Receipt> = batches.iter().cloned().map(|batch| desk.take(batch)).collect();
    let writes = desk.finish();
    let mut orphaned = unreferenced(shared, &transaction, &writes.unwanted).await?;
    if !writes.is_empty() {
        orphaned.extend(save(shared, &transaction, &writes, set_ids).await?);
    }
    for receipt in &mut receipts {
        receipt.orphaned.clone_from(&orphaned);
    }
    if let Err(reason) = transaction.commit().await {
        let lost = reason.as_db_error().is_none();
        if let Some(row) = writes.log.first().filter(|_| lost) {
            *doubtful = Some((row.stamp, receipts));
        }
        return Err(shared.error(reason));
    }
    if !writes.purges.is_empty() {
        // The old values stand in dead rows until these are reused; this empties them now. It cannot be in a transaction.
        connection.batch_execute("VACUUM log").await.map_err(|reason| shared.error(reason))?;
    }
    Ok(receipts)
}

async fn due_entries(shared: &Shared, transaction: &Transaction<'_>, now: i64) -> Result<Vec<Entry>, Error> {
    let sql = "SELECT body FROM quarantine WHERE due <= $1 ORDER BY stamp LIMIT 1000";
    let rows = shared.query(transaction, sql, &[&now]).await?;
    rows.iter().map(|row| shared.json(row, 0)).collect()
}

/// Writes all rows; returns the blobs that lost their last reference.
async fn save(
    shared: &Shared,
    transaction: &Transaction<'_>,
    writes: &Writes,
    set_ids: &mut HashMap<SetName, i64>,
) -> Result<Vec<Digest>, Error> {
    save_log(transaction, writes).await.map_err(|reason| shared.error(reason))?;
    save_rows(transaction, writes, set_ids).await.map_err(|reason| shared.error(reason))?;
    let mut orphaned = Vec::new();
    for (record, stamp) in &writes.purges {
        orphaned.extend(purge(shared, transaction, *record, *stamp).await?);
    }
    if let Some(head) = &writes.head {
        let sql = "UPDATE head SET seq = $1, origin_seq = $2, datestamp = $3, earliest = $4, clock_millis = $5, \
                   clock_counter = $6, records = $7, deleted = $8";
        let statement = transaction.prepare_cached(sql).await.map_err(|reason| shared.error(reason))?;
        let parameters: [&(dyn ToSql + Sync); 8] = [
            &(head.seq as i64),
            &(head.origin_seq as i64),
            &head.datestamp.map(Datestamp::seconds),
            &head.earliest.map(Datestamp::seconds),
            &(head.clock.0 as i64),
            &i64::from(head.clock.1),
            &(head.records as i64),
            &(head.deleted as i64),
        ];
        transaction.execute(&statement, &parameters).await.map_err(|reason| shared.error(reason))?;
    }
    Ok(orphaned)
}

/// From how many rows on a COPY costs less than a statement with arrays. It takes a round trip more, and a half of the work
/// for each row.
const COPY_FROM: usize = 64;

/// Rows of a table that are known to be new, by the shorter way for their number.
async fn insert(
    transaction: &Transaction<'_>,
    table: &str,
    columns: &[(&str, Type)],
    rows: &[Vec<&(dyn ToSql + Sync)>],
) -> Result<(), tokio_postgres::Error> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    if rows.len() < COPY_FROM {
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({})", places.join(", "));
        let statement = transaction.prepare_cached(&sql).await?;
        // Sent one behind the other without waiting for the answers.
        futures::future::try_join_all(rows.iter().map(|row| transaction.execute(&statement, row))).await?;
        return Ok(());
    }
    let sink = transaction.copy_in(&format!("COPY {table} ({names}) FROM STDIN BINARY")).await?;
    let types: Vec<Type> = columns.iter().map(|(_, kind)| kind.clone()).collect();
    let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
    for row in rows {
        writer.as_mut().write(row).await?;
    }
    writer.finish().await.map(|_| ())
}

async fn save_log(transaction: &Transaction<'_>, writes: &Writes) -> Result<(), tokio_postgres::Error> {
    let cells: Vec<_> = writes
        .log
        .iter()
        .map(|row| {
            (
                row.seq as i64,
                row.stamp.to_bytes().to_vec(),
                row.record.as_bytes().as_slice(),
                row.datestamp.seconds(),
                &row.body,
            )
        })
        .collect();
    let rows: Vec<_> =
        cells.iter().map(|cell| vec![&cell.0 as &(dyn ToSql + Sync), &cell.1, &cell.2, &cell.3, cell.4]).collect();
    let columns = [
        ("seq", Type::INT8),
        ("stamp", Type::BYTEA),
        ("record", Type::BYTEA),
        ("datestamp", Type::INT8),
        ("body", Type::TEXT),
    ];
    insert(transaction, "log", &columns, &rows).await
}

/// Arrays for `unnest`, which takes many rows in one statement.
fn bytes_of<'a, T: 'a>(rows: &'a [T], bytes: impl Fn(&'a T) -> &'a [u8]) -> Vec<&'a [u8]> {
    rows.iter().map(bytes).collect()
}

async fn save_rows(
    transaction: &Transaction<'_>,
    writes: &Writes,
    set_ids: &mut HashMap<SetName, i64>,
) -> Result<(), tokio_postgres::Error> {
    let run = async |sql: &str, parameters: &[&(dyn ToSql + Sync)]| {
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, parameters).await
    };
    if !writes.blobs.is_empty() {
        let digests = bytes_of(&writes.blobs, |(digest, _)| digest.as_bytes());
        let seqs: Vec<i64> = writes.blobs.iter().map(|(_, seq)| *seq as i64).collect();
        let sql = "INSERT INTO blob SELECT * FROM unnest($1::bytea[], $2::bigint[]) ON CONFLICT DO NOTHING";
        run(sql, &[&digests, &seqs]).await?;
    }
    save_records(transaction, writes).await?;
    for (loser, winner) in &writes.repointed {
        let sql = "UPDATE record SET merged_into = $2 WHERE merged_into = $1";
        run(sql, &[&loser.as_bytes().as_slice(), &winner.as_bytes().as_slice()]).await?;
    }
    save_sets(transaction, writes, set_ids).await?;
    if !writes.keys.is_empty() {
        // The last word on a key counts; one statement may not touch a row twice.
        let last: BTreeMap<_, _> = writes.keys.iter().copied().collect();
        let keys: Vec<&[u8]> = last.keys().map(|key| key.as_bytes().as_slice()).collect();
        let records: Vec<&[u8]> = last.values().map(|record| record.as_bytes().as_slice()).collect();
        let sql = "INSERT INTO record_key SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
                   ON CONFLICT (record_key) DO UPDATE SET record = excluded.record";
        run(sql, &[&keys, &records]).await?;
    }
    if !writes.lost_likeness.is_empty() {
        let likes = bytes_of(&writes.lost_likeness, |(like, _)| like);
        let records = bytes_of(&writes.lost_likeness, |(_, record)| record.as_bytes());
        let sql = "DELETE FROM likeness l USING unnest($1::bytea[], $2::bytea[]) AS gone (likeness, record) \
                   WHERE l.likeness = gone.likeness AND l.record = gone.record";
        run(sql, &[&likes, &records]).await?;
    }
    let cells: Vec<_> =
        writes.won_likeness.iter().map(|(like, record)| (like.as_slice(), record.as_bytes().as_slice())).collect();
    let rows: Vec<_> = cells.iter().map(|cell| vec![&cell.0 as &(dyn ToSql + Sync), &cell.1]).collect();
    insert(transaction, "likeness", &[("likeness", Type::BYTEA), ("record", Type::BYTEA)], &rows).await?;
    for entry in &writes.quarantined {
        let body = serde_json::to_string(entry).expect("an entry has a JSON form");
        let sql = "INSERT INTO quarantine (stamp, due, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        run(sql, &[&entry.stamp.to_bytes().as_slice(), &due(entry), &body]).await?;
    }
    for stamp in &writes.released {
        run("DELETE FROM quarantine WHERE stamp = $1", &[&stamp.to_bytes().as_slice()]).await?;
    }
    for (source, cursor) in &writes.cursors {
        let sql = "INSERT INTO source (name, kind, address, cursor, settings) VALUES ($1, '', '', $2, 'null') \
                   ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor";
        run(sql, &[&source.name(), cursor]).await?;
    }
    Ok(())
}

async fn save_sets(
    transaction: &Transaction<'_>,
    writes: &Writes,
    set_ids: &mut HashMap<SetName, i64>,
) -> Result<(), tokio_postgres::Error> {
    let mut changes: BTreeMap<&SetName, i64> = BTreeMap::new();
    for (set, ..) in &writes.left_sets {
        *changes.entry(set).or_default() -= 1;
    }
    for (set, ..) in &writes.joined_sets {
        *changes.entry(set).or_default() += 1;
    }
    for (set, change) in changes {
        if change != 0 || !set_ids.contains_key(set) {
            let sql = "INSERT INTO set_name (name, records) VALUES ($1, $2) \
                       ON CONFLICT (name) DO UPDATE SET records = set_name.records + $2 RETURNING id";
            let statement = transaction.prepare_cached(sql).await?;
            let row = transaction.query_one(&statement, &[&set.name(), &change]).await?;
            set_ids.insert(set.clone(), row.get(0));
        }
    }
    let columns = |rows: &[(SetName, Datestamp, RecordId)]| {
        let sets: Vec<i64> = rows.iter().map(|(set, ..)| set_ids[set]).collect();
        let datestamps: Vec<i64> = rows.iter().map(|(_, datestamp, _)| datestamp.seconds()).collect();
        let records: Vec<Vec<u8>> = rows.iter().map(|(.., record)| record.as_bytes().to_vec()).collect();
        (sets, datestamps, records)
    };
    if !writes.left_sets.is_empty() {
        let (sets, datestamps, records) = columns(&writes.left_sets);
        let sql = "DELETE FROM membership m USING unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS gone (set_id, datestamp, record) \
                   WHERE m.set_id = gone.set_id AND m.datestamp = gone.datestamp AND m.record = gone.record";
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, &[&sets, &datestamps, &records]).await?;
    }
    let cells: Vec<_> = writes
        .joined_sets
        .iter()
        .map(|(set, datestamp, record)| (set_ids[set], datestamp.seconds(), record.as_bytes().as_slice()))
        .collect();
    let rows: Vec<_> = cells.iter().map(|cell| vec![&cell.0 as &(dyn ToSql + Sync), &cell.1, &cell.2]).collect();
    let columns = [("set_id", Type::INT8), ("datestamp", Type::INT8), ("record", Type::BYTEA)];
    insert(transaction, "membership", &columns, &rows).await
}

/// Rows of records: new ones are inserted, known ones replaced.
async fn save_records(transaction: &Transaction<'_>, writes: &Writes) -> Result<(), tokio_postgres::Error> {
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().expect("numbers and names have a JSON form");
    let cells: Vec<_> = writes
        .records
        .iter()
        .map(|row| {
            (
                row.id.as_bytes().as_slice(),
                row.datestamp.seconds(),
                row.seq as i64,
                i64::from(row.deleted),
                row.merged_into.as_ref().map(|id| id.as_bytes().as_slice()),
                json(&|| serde_json::to_string(&row.live)),
                json(&|| serde_json::to_string(&row.sets)),
            )
        })
        .collect();
    let (mut new, mut known) = (Vec::new(), Vec::new());
    for (cell, row) in cells.iter().zip(&writes.records) {
        let cells: Vec<&(dyn ToSql + Sync)> = vec![&cell.0, &cell.1, &cell.2, &cell.3, &cell.4, &cell.5, &cell.6];
        if row.new { new.push(cells) } else { known.push(cells) }
    }
    let columns = [
        ("id", Type::BYTEA),
        ("datestamp", Type::INT8),
        ("seq", Type::INT8),
        ("deleted", Type::INT8),
        ("merged_into", Type::BYTEA),
        ("live", Type::TEXT),
        ("sets", Type::TEXT),
    ];
    insert(transaction, "record", &columns, &new).await?;
    let sql = "UPDATE record SET datestamp = $2, seq = $3, deleted = $4, merged_into = $5, live = $6, sets = $7 WHERE id = $1";
    let statement = transaction.prepare_cached(sql).await?;
    // Sent one behind the other without waiting for the answers.
    futures::future::try_join_all(known.iter().map(|row| transaction.execute(&statement, row))).await?;
    Ok(())
}

/// Takes the values out of all entries about `record` that are older than its erasure.
async fn purge(
    shared: &Shared,
    transaction: &Transaction<'_>,
    record: RecordId,
    erasure: Stamp,
) -> Result<Vec<Digest>, Error> {
    let mut digests = HashSet::new();
    for logged in read::history(shared, transaction, record).await? {
        if logged.entry.stamp >= erasure {
            continue;
        }
        let (seq, body) =
            (logged.seq as i64, serde_json::to_string(&logged.entry.erased()).expect("an entry has a JSON form"));
        shared.query(transaction, "UPDATE log SET body = $2 WHERE seq = $1", &[&seq, &body]).await?;
        for row in shared.query(transaction, "DELETE FROM blob WHERE seq = $1 RETURNING digest", &[&seq]).await? {
            digests.insert(shared.digest(&row, 0)?);
        }
    }
    unreferenced(shared, transaction, &digests).await
}

/// Those of the blobs that no entry refers to.
async fn unreferenced<'d>(
    shared: &Shared,
    transaction: &Transaction<'_>,
    digests: impl IntoIterator<Item = &'d Digest>,
) -> Result<Vec<Digest>, Error> {
    let mut orphaned = Vec::new();
    for digest in digests {
        let sql = "SELECT 1 FROM blob WHERE digest = $1 LIMIT 1";
        if shared.query(transaction, sql, &[&digest.as_bytes().as_slice()]).await?.is_empty() {
            orphaned.push(*digest);
        }
    }
    Ok(orphaned)
}

pub(super) async fn put_source(shared: &Shared, row: &SourceRow) -> Result<(), Error> {
    let sql = "INSERT INTO source (name, kind, address, cursor, settings) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, address = excluded.address, \
               cursor = excluded.cursor, settings = excluded.settings";
    let settings = row.settings.to_string();
    let parameters: [&(dyn ToSql + Sync); 5] = [&row.source.name(), &row.kind, &row.address, &row.cursor, &settings];
    shared.query(&shared.connection().await?, sql, &parameters).await.map(|_| ())
}

/// Removes superseded machine entries, in pieces, so that writers get their turn in between.
pub(super) async fn compact(shared: &Shared, before: Datestamp) -> Result<u64, Error> {
    let (mut after, mut removed) = (0i64, 0);
    loop {
        let mut connection = shared.connection().await?;
        let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
        lock(&transaction).await.map_err(|reason| shared.error(reason))?;
        let sql = "SELECT l.seq, l.body, own.live FROM log l \
                   LEFT JOIN record r ON r.id = l.record \
                   LEFT JOIN record own ON own.id = coalesce(r.merged_into, r.id) \
                   WHERE l.seq > $1 AND l.datestamp < $2 ORDER BY l.seq LIMIT $3";
        let rows = shared.query(&transaction, sql, &[&after, &before.seconds(), &COMPACTION_STEP]).await?;
        let Some(last) = rows.last() else { return Ok(removed) };
        after = last.get(0);
        let mut gone: Vec<i64> = Vec::new();
        for row in &rows {
            let (seq, entry): (i64, Entry) = (row.get(0), shared.json(row, 1)?);
            let live: Vec<i64> = match row.get::<_, Option<&str>>(2) {
                Some(_) => shared.json(row, 2)?,
                None => Vec::new(),
            };
            // What is left of an erased entry says which keys belong together; nothing else does any more.
            if !entry.source.is_people() && !live.contains(&seq) && !matches!(entry.change, Change::Erased(_)) {
                gone.push(seq);
            }
        }
        shared.query(&transaction, "DELETE FROM log WHERE seq = ANY($1)", &[&gone]).await?;
        shared.query(&transaction, "DELETE FROM blob WHERE seq = ANY($1)", &[&gone]).await?;
        shared.query(&transaction, "UPDATE head SET compacted = compacted + $1", &[&(gone.len() as i64)]).await?;
        transaction.commit().await.map_err(|reason| shared.error(reason))?;
        removed += gone.len() as u64;
    }
}
