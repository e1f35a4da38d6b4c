//! Queries on SQLite. Each runs on one connection and leaves nothing behind.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Result, Row};
use zhulu_record::{Datestamp, Digest, Entry, NodeId, RecordId, SetName, Source, Stamp};

use crate::row::{Filter, Listing, Logged, SetInfo, SourceRow, Stored, TokenRow};
use crate::sequencer::{HeadRow, RecordRow, likeness_of};
use crate::store::{Audit, LOG_BYTES, Tallies};

/// What stands in a column is not what was written there: reported as damage.
pub(super) fn damage(column: usize, reason: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(reason))
}

pub(super) fn bytes<const N: usize>(row: &Row, column: usize) -> Result<[u8; N]> {
    let bytes = row.get_ref(column)?.as_blob()?;
    bytes.try_into().map_err(|reason| damage(column, reason))
}

pub(super) fn id(row: &Row, column: usize) -> Result<RecordId> {
    bytes(row, column).map(RecordId::from_bytes)
}

fn number(row: &Row, column: usize) -> Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|reason| damage(column, reason))
}

fn datestamp(row: &Row, column: usize) -> Result<Datestamp> {
    row.get(column).map(Datestamp::from_seconds)
}

pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> Result<T> {
    serde_json::from_slice(row.get_ref(column)?.as_bytes()?).map_err(|reason| damage(column, reason))
}

fn logged(row: &Row) -> Result<Logged> {
    Ok(Logged { seq: number(row, 0)?, datestamp: datestamp(row, 1)?, entry: json(row, 2)? })
}

pub(super) fn head(connection: &Connection) -> Result<HeadRow> {
    let sql = "SELECT node, seq, origin_seq, datestamp, earliest, clock_millis, clock_counter, records, deleted, compacted \
               FROM head";
    connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(HeadRow {
            node: NodeId::from_bytes(bytes(row, 0)?),
            seq: number(row, 1)?,
            origin_seq: number(row, 2)?,
            datestamp: row.get::<_, Option<i64>>(3)?.map(Datestamp::from_seconds),
            earliest: row.get::<_, Option<i64>>(4)?.map(Datestamp::from_seconds),
            clock: (number(row, 5)?, row.get(6)?),
            records: number(row, 7)?,
            deleted: number(row, 8)?,
            compacted: number(row, 9)?,
        })
    })
}

pub(super) fn log(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Logged>> {
    let sql = "SELECT seq, datestamp, body FROM log WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((after as i64, limit as i64))?;
    let (mut entries, mut size) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        size += row.get_ref(2)?.as_bytes()?.len();
        entries.push(logged(row)?);
        if size >= LOG_BYTES {
            break;
        }
    }
    Ok(entries)
}

pub(super) fn changes(connection: &Connection, after: u64, limit: usize) -> Result<Vec<(u64, RecordId)>> {
    let sql = "SELECT seq, record FROM log WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    let change = |row: &Row| Ok((number(row, 0)?, id(row, 1)?));
    connection.prepare_cached(sql)?.query_map((after as i64, limit as i64), change)?.collect()
}

pub(super) fn export(connection: &Connection, after: Option<Stamp>, limit: usize) -> Result<Vec<Entry>> {
    let sql = "SELECT body FROM log WHERE stamp > ?1 ORDER BY stamp LIMIT ?2";
    let after = after.map(|stamp| stamp.to_bytes().to_vec()).unwrap_or_default();
    connection.prepare_cached(sql)?.query_map((after, limit as i64), |row| json(row, 0))?.collect()
}

const RECORD_COLUMNS: &str = "r.id, r.datestamp, r.seq, r.deleted, r.merged_into, r.live, r.sets";

fn record_row(row: &Row) -> Result<RecordRow> {
    let merged_into = match row.get_ref(4)? {
        rusqlite::types::ValueRef::Null => None,
        _ => Some(id(row, 4)?),
    };
    Ok(RecordRow {
        id: id(row, 0)?,
        datestamp: datestamp(row, 1)?,
        seq: number(row, 2)?,
        deleted: row.get(3)?,
        merged_into,
        live: json(row, 5)?,
        sets: json(row, 6)?,
        new: false,
    })
}

/// A record's row with the entries that make it what it is.
pub(super) fn record(connection: &Connection, id: RecordId) -> Result<Option<(RecordRow, Vec<Logged>)>> {
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record r WHERE id = ?1");
    let row = connection.prepare_cached(&sql)?.query_row([id.as_bytes().as_slice()], record_row).optional()?;
    let Some(row) = row else { return Ok(None) };
    let entries = live(connection, &row)?;
    Ok(Some((row, entries)))
}

fn live(connection: &Connection, row: &RecordRow) -> Result<Vec<Logged>> {
    let mut entry = connection.prepare_cached("SELECT seq, datestamp, body FROM log WHERE seq = ?1")?;
    row.live.iter().map(|seq| entry.query_row([*seq as i64], logged)).collect()
}

pub(super) fn stored(connection: &Connection, id: RecordId) -> Result<Option<Stored>> {
    Ok(record(connection, id)?.map(|(row, entries)| row.stored(&entries)))
}

pub(super) fn history(connection: &Connection, id: RecordId) -> Result<Vec<Logged>> {
    let sql = "SELECT seq, datestamp, body FROM log \
               WHERE record = ?1 OR record IN (SELECT id FROM record WHERE merged_into = ?1) ORDER BY stamp";
    connection.prepare_cached(sql)?.query_map([id.as_bytes().as_slice()], logged)?.collect()
}

pub(super) fn list(connection: &Connection, listing: &Listing) -> Result<Vec<Stored>> {
    let Listing { filter, after, limit, newest_first } = listing;
    let (column, mut conditions) = match &filter.set {
        Some(_) => ("m", vec!["m.set_id = (SELECT id FROM set_name WHERE name = :set)"]),
        None => ("r", Vec::new()),
    };
    let key = if filter.set.is_some() { "m.record" } else { "r.id" };
    let (direction, beyond) = if *newest_first { ("DESC", "<") } else { ("ASC", ">") };
    let position = format!("({column}.datestamp, {key}) {beyond} (:after_datestamp, :after_id)");
    let (from, until) = (format!("{column}.datestamp >= :from"), format!("{column}.datestamp <= :until"));
    let mut parameters: Vec<(&str, Box<dyn rusqlite::ToSql>)> = vec![(":limit", Box::new(*limit as i64))];
    if let Some(set) = &filter.set {
        parameters.push((":set", Box::new(set.name().to_owned())));
    }
    if let Some(after) = after {
        conditions.push(&position);
        parameters.push((":after_datestamp", Box::new(after.datestamp.seconds())));
        parameters.push((":after_id", Box::new(after.record.as_bytes().to_vec())));
    }
    if let Some(datestamp) = filter.from {
        conditions.push(&from);
        parameters.push((":from", Box::new(datestamp.seconds())));
    }
    if let Some(datestamp) = filter.until {
        conditions.push(&until);
        parameters.push((":until", Box::new(datestamp.seconds())));
    }
    let tables = match &filter.set {
        // CROSS JOIN keeps SQLite from walking all records to look each up in the set.
        Some(_) => "membership m CROSS JOIN record r ON r.id = m.record",
        None => "record r",
    };
    let conditions = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sql = format!(
        "SELECT {RECORD_COLUMNS} FROM {tables} {conditions} \
         ORDER BY {column}.datestamp {direction}, {key} {direction} LIMIT :limit"
    );
    let transaction = connection.unchecked_transaction()?;
    let mut statement = transaction.prepare_cached(&sql)?;
    let bound: Vec<(&str, &dyn rusqlite::ToSql)> = parameters.iter().map(|(name, value)| (*name, &**value)).collect();
    let rows = statement.query_map(bound.as_slice(), record_row)?.collect::<Result<Vec<_>>>()?;
    rows.into_iter()
        .map(|row| {
            let entries = live(&transaction, &row)?;
            Ok(row.stored(&entries))
        })
        .collect()
}

pub(super) fn count(connection: &Connection, filter: &Filter) -> Result<u64> {
    let from = filter.from.map_or(i64::MIN, Datestamp::seconds);
    let until = filter.until.map_or(i64::MAX, Datestamp::seconds);
    let whole = filter.from.is_none() && filter.until.is_none();
    match &filter.set {
        None if whole => head(connection).map(|head| head.records),
        None => {
            let sql = "SELECT count(*) FROM record WHERE datestamp BETWEEN ?1 AND ?2";
            connection.prepare_cached(sql)?.query_row((from, until), |row| number(row, 0))
        }
        Some(set) if whole => {
            let sql = "SELECT coalesce(max(records), 0) FROM set_name WHERE name = ?1";
            connection.prepare_cached(sql)?.query_row([set.name()], |row| number(row, 0))
        }
        Some(set) => {
            let sql = "SELECT count(*) FROM membership \
                       WHERE set_id = (SELECT id FROM set_name WHERE name = ?1) AND datestamp BETWEEN ?2 AND ?3";
            connection.prepare_cached(sql)?.query_row((set.name(), from, until), |row| number(row, 0))
        }
    }
}

/// The record that a key leads to: by the key table, or because the record is named after it; through a merger if need be.
pub(super) fn by_key(connection: &Connection, key: RecordId) -> Result<Option<RecordId>> {
    let sql = "SELECT coalesce(merged_into, id) FROM record \
               WHERE id = coalesce((SELECT record FROM record_key WHERE record_key = ?1), ?1)";
    connection.prepare_cached(sql)?.query_row([key.as_bytes().as_slice()], |row| id(row, 0)).optional()
}

pub(super) fn key_owner(connection: &Connection, key: RecordId) -> Result<Option<RecordId>> {
    let sql = "SELECT record FROM record_key WHERE record_key = ?1";
    connection.prepare_cached(sql)?.query_row([key.as_bytes().as_slice()], |row| id(row, 0)).optional()
}

pub(super) fn knows_stamp(connection: &Connection, stamp: Stamp) -> Result<bool> {
    connection.prepare_cached("SELECT 1 FROM log WHERE stamp = ?1")?.exists([stamp.to_bytes().as_slice()])
}

pub(super) fn alike(connection: &Connection, record: RecordId, limit: usize) -> Result<Vec<RecordId>> {
    let Some(stored) = stored(connection, record)? else { return Ok(Vec::new()) };
    let mut statement =
        connection.prepare_cached("SELECT record FROM likeness WHERE likeness = ?1 AND record <> ?2 LIMIT ?3")?;
    let mut found = Vec::new();
    for like in likeness_of(&stored.record) {
        let parameters = (like.as_slice(), record.as_bytes().as_slice(), limit as i64);
        for other in statement.query_map(parameters, |row| id(row, 0))? {
            let other = other?;
            if !found.contains(&other) && found.len() < limit {
                found.push(other);
            }
        }
    }
    Ok(found)
}

fn set_name(row: &Row, column: usize) -> Result<SetName> {
    row.get_ref(column)?.as_str()?.parse().map_err(|reason| damage(column, reason))
}

pub(super) fn sets(connection: &Connection) -> Result<Vec<SetInfo>> {
    let sql = "SELECT name, records FROM set_name WHERE records > 0 ORDER BY name";
    let info = |row: &Row| Ok(SetInfo { name: set_name(row, 0)?, records: number(row, 1)? });
    connection.prepare_cached(sql)?.query_map([], info)?.collect()
}

pub(super) fn sources(connection: &Connection) -> Result<Vec<SourceRow>> {
    let sql = "SELECT name, kind, address, cursor, settings FROM source ORDER BY name";
    let source = |row: &Row| {
        Ok(SourceRow {
            source: Source::machine(row.get::<_, String>(0)?),
            kind: row.get(1)?,
            address: row.get(2)?,
            cursor: row.get(3)?,
            settings: json(row, 4)?,
        })
    };
    connection.prepare_cached(sql)?.query_map([], source)?.collect()
}

pub(super) fn tokens(connection: &Connection) -> Result<Vec<TokenRow>> {
    let sql = "SELECT name, digest, created FROM token ORDER BY name";
    let token = |row: &Row| {
        Ok(TokenRow { name: row.get(0)?, digest: Digest::from_bytes(bytes(row, 1)?), created: datestamp(row, 2)? })
    };
    connection.prepare_cached(sql)?.query_map([], token)?.collect()
}

pub(super) fn blob_digests(connection: &Connection, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>> {
    let after = after.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
    let sql = "SELECT DISTINCT digest FROM blob WHERE digest > ?1 ORDER BY digest LIMIT ?2";
    let digest = |row: &Row| bytes(row, 0).map(Digest::from_bytes);
    connection.prepare_cached(sql)?.query_map((after, limit as i64), digest)?.collect()
}

pub(super) fn quarantine(connection: &Connection) -> Result<Vec<Entry>> {
    connection
        .prepare_cached("SELECT body FROM quarantine ORDER BY stamp")?
        .query_map([], |row| json(row, 0))?
        .collect()
}

pub(super) fn audit(connection: &Connection, after: Option<RecordId>, limit: usize) -> Result<Vec<Audit>> {
    let transaction = connection.unchecked_transaction()?;
    let after = after.map(|id| id.as_bytes().to_vec()).unwrap_or_default();
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record r WHERE id > ?1 ORDER BY id LIMIT ?2");
    let rows: Vec<RecordRow> =
        transaction.prepare_cached(&sql)?.query_map((after, limit as i64), record_row)?.collect::<Result<_>>()?;
    let sql = "SELECT 1 FROM membership m JOIN set_name s ON s.id = m.set_id \
               WHERE s.name = ?1 AND m.datestamp = ?2 AND m.record = ?3";
    let mut membership = transaction.prepare_cached(sql)?;
    let mut audits = Vec::with_capacity(rows.len());
    for row in rows {
        let mut memberships = Vec::new();
        for set in &row.sets {
            if membership.exists((set.name(), row.datestamp.seconds(), row.id.as_bytes().as_slice()))? {
                memberships.push((set.clone(), row.datestamp));
            }
        }
        let history = history(&transaction, row.id)?;
        audits.push(row.audit(memberships, history));
    }
    Ok(audits)
}

pub(super) fn tallies(connection: &Connection) -> Result<Tallies> {
    let transaction = connection.unchecked_transaction()?;
    let head = head(&transaction)?;
    let one = |sql: &str| transaction.query_row(sql, [], |row| number(row, 0));
    let complaints: Vec<String> =
        transaction.prepare("PRAGMA integrity_check(20)")?.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    Ok(Tallies {
        entries: one("SELECT count(*) FROM log")?,
        last_seq: one("SELECT coalesce(max(seq), 0) FROM log")?,
        head_seq: head.seq,
        compacted: head.compacted,
        records: one("SELECT count(*) FROM record")?,
        head_records: head.records,
        deleted: one("SELECT count(*) FROM record WHERE deleted")?,
        head_deleted: head.deleted,
        memberships: one("SELECT count(*) FROM membership")?,
        set_records: one("SELECT coalesce(sum(records), 0) FROM set_name")?,
        complaints: complaints.into_iter().filter(|line| line != "ok").collect(),
    })
}
