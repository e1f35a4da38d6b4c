//! The writer thread on SQLite: groups waiting batches into one transaction, and writes what the sequencer decides.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;
use zhulu_record::{Datestamp, Digest, Entry, RecordId, SetName, Stamp};

use super::{Request, read};
use crate::error::Error;
use crate::row::{Batch, Receipt, SourceRow};
use crate::sequencer::{Desk, HeadRow, Writes, due};
use crate::store::Now;

/// How many entries may share a transaction. Enough that the wait for the disk no longer counts, few enough that a waiting
/// caller is answered soon and the group's memory stays small.
const GROUP: usize = 4096;

/// How many log entries compaction looks at in one transaction.
const COMPACTION_STEP: usize = 2000;

/// The writer: the one connection of this process that changes anything.
pub(super) struct Writer {
    connection: Connection,
    name: String,
    now: Now,
    floor: Arc<AtomicI64>,
    set_ids: HashMap<SetName, i64>,
}

type Waiting = (Batch, oneshot::Sender<Result<Receipt, Error>>);

impl Writer {
    pub(super) fn new(connection: Connection, name: String, now: Now, floor: Arc<AtomicI64>) -> Self {
        Writer { connection, name, now, floor, set_ids: HashMap::new() }
    }

    /// Serves requests until nobody is left to send any.
    pub(super) fn run(mut self, mut requests: Receiver<Request>) {
        let mut next = None;
        while let Some(request) = next.take().or_else(|| requests.blocking_recv()) {
            match request {
                Request::Run(work) => work(&mut self),
                Request::Append(batch, answer) => {
                    let mut size = batch.drafts.len() + batch.entries.len();
                    let mut group = vec![(batch, answer)];
                    while size < GROUP {
                        match requests.try_recv() {
                            Ok(Request::Append(batch, answer)) => {
                                size += batch.drafts.len() + batch.entries.len();
                                group.push((batch, answer));
                            }
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.append(group);
                }
            }
        }
    }

    fn append(&mut self, group: Vec<Waiting>) {
        let (batches, answers): (Vec<Batch>, Vec<_>) = group.into_iter().unzip();
        match self.commit(batches) {
            Ok(receipts) => {
                for (answer, receipt) in answers.into_iter().zip(receipts) {
                    // A caller that is gone no longer wants the answer; its batch is in the log all the same.
                    let _ = answer.send(Ok(receipt));
                }
            }
            Err(reason) => {
                // Nothing of the transaction is there, nor are the set numbers it made up.
                self.set_ids.clear();
                let mut answers = answers.into_iter();
                let first = answers.next();
                for answer in answers {
                    let _ = answer.send(Err(super::error(&self.name, again(&reason))));
                }
                if let Some(answer) = first {
                    let _ = answer.send(Err(super::error(&self.name, reason)));
                }
            }
        }
    }

    fn commit(&mut self, batches: Vec<Batch>) -> rusqlite::Result<Vec<Receipt>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Only after the lock is ours: a datestamp read before could be older than one that commits meanwhile.
        let now = (self.now)();
        let floor = self.floor.load(Ordering::SeqCst);
        let floor = (floor != i64::MIN).then(|| Datestamp::from_seconds(floor));
        let mut desk = Desk::new(read::head(&transaction)?, now, floor);
        let released = Batch { entries: due_entries(&transaction, now.as_millisecond())?, ..Batch::default() };
        loop {
            let needs = desk.needs(batches.iter().chain([&released]));
            if needs.is_empty() {
                break;
            }
            let mut records = Vec::new();
            for id in &needs.records {
                records.extend(read::record(&transaction, *id)?);
            }
            let mut owners = Vec::new();
            for key in &needs.keys {
                owners.extend(read::key_owner(&transaction, *key)?.map(|owner| (*key, owner)));
            }
            let mut known = Vec::new();
            for stamp in &needs.stamps {
                if read::knows_stamp(&transaction, *stamp)? {
                    known.push(*stamp);
                }
            }
            desk.supply(needs, records, owners, known);
        }
        desk.release(released);
        let mut receipts: Vec<Receipt> = batches.into_iter().map(|batch| desk.take(batch)).collect();
        let writes = desk.finish();
        let mut orphaned = unreferenced(&transaction, &writes.unwanted)?;
        if writes.is_empty() {
            transaction.rollback()?;
        } else {
            orphaned.extend(save(&transaction, &writes, &mut self.set_ids)?);
            transaction.commit()?;
        }
        if !writes.purges.is_empty() {
            self.scrub()?;
        }
        for receipt in &mut receipts {
            receipt.orphaned.clone_from(&orphaned);
        }
        Ok(receipts)
    }

    /// Rewrites the file, so that no page keeps a stale copy of what was erased, and empties the write-ahead log.
    /// `secure_delete` would not do: pages that were split before it was on keep what they held.
    fn scrub(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("VACUUM")?;
        // A reader in the middle of a query holds on to the log for as long as that takes.
        for _ in 0..100 {
            let busy: bool = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            if !busy {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        tracing::warn!(catalogue = self.name, "a reader kept the write-ahead log from being emptied after an erasure");
        Ok(())
    }

    /// Runs something in a transaction of its own.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let run = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        run().map_err(|reason| super::error(&self.name, reason))
    }

    /// Takes over all rows of a backup.
    pub(super) fn restore(&mut self, path: &Path) -> Result<(), Error> {
        let head = read::head(&self.connection).map_err(|reason| super::error(&self.name, reason))?;
        if head.seq > 0 {
            return Err(Error::Refused(format!(
                "{} is not empty; a backup can only be restored into an empty catalogue",
                self.name
            )));
        }
        // Brings a backup of an older form up to date first.
        drop(super::create(path)?);
        self.copy_over(path).map_err(|reason| super::error(&self.name, reason))?;
        self.set_ids.clear();
        Ok(())
    }
}

impl Writer {
    /// Copies every table of another catalogue's file over this one's.
    fn copy_over(&mut self, path: &Path) -> rusqlite::Result<()> {
        self.connection.execute("ATTACH DATABASE ?1 AS backup", [path.to_string_lossy()])?;
        let copied = (|| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (table, columns) in super::schema::TABLES {
                transaction.execute_batch(&format!(
                    "DELETE FROM main.{table}; INSERT INTO main.{table} ({columns}) SELECT {columns} FROM backup.{table}"
                ))?;
            }
            transaction.commit()
        })();
        self.connection.execute_batch("DETACH DATABASE backup")?;
        copied
    }
}

/// An error to tell the second and further callers of a group: rusqlite's own cannot be cloned.
fn again(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => rusqlite::Error::SqliteFailure(*code, message.clone()),
        other => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
    }
}

fn due_entries(transaction: &Transaction, now: i64) -> rusqlite::Result<Vec<Entry>> {
    let sql = "SELECT body FROM quarantine WHERE due <= ?1 ORDER BY stamp LIMIT 1000";
    transaction.prepare_cached(sql)?.query_map([now], |row| read::json(row, 0))?.collect()
}

/// Writes all rows; returns the blobs that lost their last reference.
fn save(
    transaction: &Transaction,
    writes: &Writes,
    set_ids: &mut HashMap<SetName, i64>,
) -> rusqlite::Result<Vec<Digest>> {
    let mut insert = transaction
        .prepare_cached("INSERT INTO log (seq, stamp, record, datestamp, body) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for row in &writes.log {
        let stamp = row.stamp.to_bytes();
        let record = row.record.as_bytes();
        insert.execute((row.seq as i64, stamp.as_slice(), record.as_slice(), row.datestamp.seconds(), &row.body))?;
    }
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO blob (digest, seq) VALUES (?1, ?2)")?;
    for (digest, seq) in &writes.blobs {
        insert.execute((digest.as_bytes().as_slice(), *seq as i64))?;
    }
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO record (id, datestamp, seq, deleted, merged_into, live, sets) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
         ON CONFLICT (id) DO UPDATE SET datestamp = excluded.datestamp, seq = excluded.seq, deleted = excluded.deleted, \
         merged_into = excluded.merged_into, live = excluded.live, sets = excluded.sets",
    )?;
    for row in &writes.records {
        upsert.execute((
            row.id.as_bytes().as_slice(),
            row.datestamp.seconds(),
            row.seq as i64,
            row.deleted,
            row.merged_into.as_ref().map(|id| id.as_bytes().as_slice()),
            serde_json::to_string(&row.live).expect("numbers have a JSON form"),
            serde_json::to_string(&row.sets).expect("names have a JSON form"),
        ))?;
    }
    for (loser, winner) in &writes.repointed {
        let sql = "UPDATE record SET merged_into = ?2 WHERE merged_into = ?1";
        transaction.prepare_cached(sql)?.execute((loser.as_bytes().as_slice(), winner.as_bytes().as_slice()))?;
    }
    save_sets(transaction, writes, set_ids)?;
    let mut insert =
        transaction.prepare_cached("INSERT OR REPLACE INTO record_key (record_key, record) VALUES (?1, ?2)")?;
    for (key, record) in &writes.keys {
        insert.execute((key.as_bytes().as_slice(), record.as_bytes().as_slice()))?;
    }
    let mut delete = transaction.prepare_cached("DELETE FROM likeness WHERE likeness = ?1 AND record = ?2")?;
    for (like, record) in &writes.lost_likeness {
        delete.execute((like.as_slice(), record.as_bytes().as_slice()))?;
    }
    let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO likeness (likeness, record) VALUES (?1, ?2)")?;
    for (like, record) in &writes.won_likeness {
        insert.execute((like.as_slice(), record.as_bytes().as_slice()))?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT OR IGNORE INTO quarantine (stamp, due, body) VALUES (?1, ?2, ?3)")?;
    for entry in &writes.quarantined {
        let body = serde_json::to_string(entry).expect("an entry has a JSON form");
        insert.execute((entry.stamp.to_bytes().as_slice(), due(entry), body))?;
    }
    let mut delete = transaction.prepare_cached("DELETE FROM quarantine WHERE stamp = ?1")?;
    for stamp in &writes.released {
        delete.execute([stamp.to_bytes().as_slice()])?;
    }
    for (source, cursor) in &writes.cursors {
        let sql = "INSERT INTO source (name, kind, address, cursor, settings) VALUES (?1, '', '', ?2, 'null') \
                   ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor";
        transaction.prepare_cached(sql)?.execute((source.name(), cursor))?;
    }
    let mut orphaned = Vec::new();
    for (record, stamp) in &writes.purges {
        orphaned.extend(purge(transaction, *record, *stamp)?);
    }
    if let Some(head) = &writes.head {
        save_head(transaction, head)?;
    }
    Ok(orphaned)
}

fn save_head(transaction: &Transaction, head: &HeadRow) -> rusqlite::Result<()> {
    let sql = "UPDATE head SET seq = ?1, origin_seq = ?2, datestamp = ?3, earliest = ?4, clock_millis = ?5, \
               clock_counter = ?6, records = ?7, deleted = ?8";
    transaction.prepare_cached(sql)?.execute((
        head.seq as i64,
        head.origin_seq as i64,
        head.datestamp.map(Datestamp::seconds),
        head.earliest.map(Datestamp::seconds),
        head.clock.0 as i64,
        head.clock.1,
        head.records as i64,
        head.deleted as i64,
    ))?;
    Ok(())
}

fn save_sets(transaction: &Transaction, writes: &Writes, set_ids: &mut HashMap<SetName, i64>) -> rusqlite::Result<()> {
    let mut changes: BTreeMap<&SetName, i64> = BTreeMap::new();
    for (set, ..) in &writes.left_sets {
        *changes.entry(set).or_default() -= 1;
    }
    for (set, ..) in &writes.joined_sets {
        *changes.entry(set).or_default() += 1;
    }
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO set_name (name, records) VALUES (?1, ?2) \
         ON CONFLICT (name) DO UPDATE SET records = records + ?2 RETURNING id",
    )?;
    for (set, change) in changes {
        if change != 0 || !set_ids.contains_key(set) {
            let id = upsert.query_row((set.name(), change), |row| row.get(0))?;
            set_ids.insert(set.clone(), id);
        }
    }
    let mut delete =
        transaction.prepare_cached("DELETE FROM membership WHERE set_id = ?1 AND datestamp = ?2 AND record = ?3")?;
    for (set, datestamp, record) in &writes.left_sets {
        delete.execute((set_ids[set], datestamp.seconds(), record.as_bytes().as_slice()))?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO membership (set_id, datestamp, record) VALUES (?1, ?2, ?3)")?;
    for (set, datestamp, record) in &writes.joined_sets {
        insert.execute((set_ids[set], datestamp.seconds(), record.as_bytes().as_slice()))?;
    }
    Ok(())
}

/// Takes the values out of all entries about `record` that are older than its erasure.
fn purge(transaction: &Transaction, record: RecordId, erasure: Stamp) -> rusqlite::Result<Vec<Digest>> {
    let mut digests = HashSet::new();
    for logged in read::history(transaction, record)? {
        if logged.entry.stamp >= erasure {
            continue;
        }
        let body = serde_json::to_string(&logged.entry.erased()).expect("an entry has a JSON form");
        transaction.prepare_cached("UPDATE log SET body = ?2 WHERE seq = ?1")?.execute((logged.seq as i64, body))?;
        let mut delete = transaction.prepare_cached("DELETE FROM blob WHERE seq = ?1 RETURNING digest")?;
        for digest in delete.query_map([logged.seq as i64], |row| read::bytes(row, 0).map(Digest::from_bytes))? {
            digests.insert(digest?);
        }
    }
    unreferenced(transaction, &digests)
}

/// Those of the blobs that no entry refers to.
fn unreferenced<'d>(
    transaction: &Transaction,
    digests: impl IntoIterator<Item = &'d Digest>,
) -> rusqlite::Result<Vec<Digest>> {
    let mut used = transaction.prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?;
    let mut orphaned = Vec::new();
    for digest in digests {
        if !used.exists([digest.as_bytes().as_slice()])? {
            orphaned.push(*digest);
        }
    }
    Ok(orphaned)
}

pub(super) fn put_source(transaction: &Transaction, row: &SourceRow) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO source (name, kind, address, cursor, settings) VALUES (?1, ?2, ?3, ?4, ?5)";
    let settings = row.settings.to_string();
    transaction.execute(sql, (row.source.name(), &row.kind, &row.address, &row.cursor, settings))?;
    Ok(())
}

/// Removes superseded machine entries among the next few of the log; returns how far it got and how many went.
pub(super) fn compact(
    transaction: &Transaction,
    after: u64,
    before: Datestamp,
) -> rusqlite::Result<Option<(u64, u64)>> {
    let entries = read::log(transaction, after, COMPACTION_STEP)?;
    let Some(last) = entries.last().filter(|_| entries[0].datestamp < before) else { return Ok(None) };
    let mut removed = 0;
    for logged in &entries {
        let entry = &logged.entry;
        if entry.source.is_people() || logged.datestamp >= before {
            continue;
        }
        let owner = read::by_key(transaction, entry.record)?.unwrap_or(entry.record);
        let lives = read::record(transaction, owner)?.is_some_and(|(row, _)| row.live.contains(&logged.seq));
        // What is left of an erased entry says which keys belong together; nothing else does any more.
        let marker = matches!(entry.change, zhulu_record::Change::Erased(_));
        if !lives && !marker {
            transaction.prepare_cached("DELETE FROM log WHERE seq = ?1")?.execute([logged.seq as i64])?;
            transaction.prepare_cached("DELETE FROM blob WHERE seq = ?1")?.execute([logged.seq as i64])?;
            removed += 1;
        }
    }
    transaction.execute("UPDATE head SET compacted = compacted + ?1", [removed as i64])?;
    Ok(Some((last.seq, removed)))
}
