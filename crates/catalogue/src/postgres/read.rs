//! Queries on PostgreSQL. Those that need several statements to agree run them in one read-only snapshot.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use futures::TryStreamExt;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use zhulu_record::{Datestamp, Digest, Entry, NodeId, RecordId, Source, Stamp};

use super::{Shared, damaged};
use crate::error::Error;
use crate::row::{Filter, Listing, Logged, SetInfo, SourceRow, Stored, TokenRow};
use crate::sequencer::{HeadRow, RecordRow, likeness_of};
use crate::store::{Audit, LOG_BYTES, Tallies};

type Parameter<'a> = &'a (dyn ToSql + Sync);

impl Shared {
    fn bytes<const N: usize>(&self, row: &Row, column: usize) -> Result<[u8; N], Error> {
        let bytes: &[u8] = row.get(column);
        bytes.try_into().map_err(|_| damaged(&self.name, format!("{} bytes where {N} belong", bytes.len())))
    }

    pub(super) fn id(&self, row: &Row, column: usize) -> Result<RecordId, Error> {
        self.bytes(row, column).map(RecordId::from_bytes)
    }

    pub(super) fn digest(&self, row: &Row, column: usize) -> Result<Digest, Error> {
        self.bytes(row, column).map(Digest::from_bytes)
    }

    pub(super) fn json<T: serde::de::DeserializeOwned>(&self, row: &Row, column: usize) -> Result<T, Error> {
        serde_json::from_str(row.get(column)).map_err(|reason| damaged(&self.name, reason))
    }

    fn logged(&self, row: &Row) -> Result<Logged, Error> {
        Ok(Logged { seq: number(row, 0), datestamp: datestamp(row, 1), entry: self.json(row, 2)? })
    }

    fn record_row(&self, row: &Row) -> Result<RecordRow, Error> {
        let merged_into = match row.get::<_, Option<&[u8]>>(4) {
            None => None,
            Some(_) => Some(self.id(row, 4)?),
        };
        Ok(RecordRow {
            id: self.id(row, 0)?,
            datestamp: datestamp(row, 1),
            seq: number(row, 2),
            deleted: number(row, 3) != 0,
            merged_into,
            live: self.json(row, 5)?,
            sets: self.json(row, 6)?,
            new: false,
        })
    }

    pub(super) async fn query(
        &self,
        client: &impl GenericClient,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        // Prepared once per connection: planning would cost more than most of these queries.
        let statement = client.prepare_cached(sql).await.map_err(|reason| self.error(reason))?;
        client.query(&statement, parameters).await.map_err(|reason| self.error(reason))
    }

    async fn query_pool(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Error> {
        self.query(&self.connection().await?, sql, parameters).await
    }
}

pub(super) fn number(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).try_into().unwrap_or(0)
}

fn datestamp(row: &Row, column: usize) -> Datestamp {
    Datestamp::from_seconds(row.get(column))
}

pub(super) fn id_bytes(ids: &[RecordId]) -> Vec<&[u8]> {
    ids.iter().map(|id| id.as_bytes().as_slice()).collect()
}

pub(super) async fn head(shared: &Shared, client: &impl GenericClient) -> Result<HeadRow, Error> {
    let sql = "SELECT node, seq, origin_seq, datestamp, earliest, clock_millis, clock_counter, records, deleted, compacted \
               FROM head";
    let rows = shared.query(client, sql, &[]).await?;
    let row = rows.first().ok_or_else(|| damaged(&shared.name, "it has no head"))?;
    Ok(HeadRow {
        node: NodeId::from_bytes(shared.bytes(row, 0)?),
        seq: number(row, 1),
        origin_seq: number(row, 2),
        datestamp: row.get::<_, Option<i64>>(3).map(Datestamp::from_seconds),
        earliest: row.get::<_, Option<i64>>(4).map(Datestamp::from_seconds),
        clock: (number(row, 5), u16::try_from(number(row, 6)).unwrap_or(u16::MAX)),
        records: number(row, 7),
        deleted: number(row, 8),
        compacted: number(row, 9),
    })
}

pub(super) async fn log(shared: &Shared, after: u64, limit: usize) -> Result<Vec<Logged>, Error> {
    let connection = shared.connection().await?;
    let sql = "SELECT seq, datestamp, body FROM log WHERE seq > $1 ORDER BY seq LIMIT $2";
    let statement = connection.prepare_cached(sql).await.map_err(|reason| shared.error(reason))?;
    // Row by row, to stop at the bound without having fetched what lies beyond it.
    let rows =
        connection.query_raw(&statement, [after as i64, limit as i64]).await.map_err(|reason| shared.error(reason))?;
    let mut rows = std::pin::pin!(rows);
    let (mut entries, mut size) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await.map_err(|reason| shared.error(reason))? {
        size += row.get::<_, &str>(2).len();
        entries.push(shared.logged(&row)?);
        if size >= LOG_BYTES {
            break;
        }
    }
    Ok(entries)
}

pub(super) async fn changes(shared: &Shared, after: u64, limit: usize) -> Result<Vec<(u64, RecordId)>, Error> {
    let sql = "SELECT seq, record FROM log WHERE seq > $1 ORDER BY seq LIMIT $2";
    let rows = shared.query_pool(sql, &[&(after as i64), &(limit as i64)]).await?;
    rows.iter().map(|row| Ok((number(row, 0), shared.id(row, 1)?))).collect()
}

pub(super) async fn export(shared: &Shared, after: Option<Stamp>, limit: usize) -> Result<Vec<Entry>, Error> {
    let after = after.map(|stamp| stamp.to_bytes().to_vec()).unwrap_or_default();
    let sql = "SELECT body FROM log WHERE stamp > $1 ORDER BY stamp LIMIT $2";
    let rows = shared.query_pool(sql, &[&after, &(limit as i64)]).await?;
    rows.iter().map(|row| shared.json(row, 0)).collect()
}

const RECORD_COLUMNS: &str = "r.id, r.datestamp, r.seq, r.deleted, r.merged_into, r.live, r.sets";

/// The rows of these records, as far as they exist, with the entries that make them what they are.
pub(super) async fn records(
    shared: &Shared,
    client: &impl GenericClient,
    ids: &[RecordId],
) -> Result<Vec<(RecordRow, Vec<Logged>)>, Error> {
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record r WHERE id = ANY($1)");
    let rows = shared.query(client, &sql, &[&id_bytes(ids)]).await?;
    let rows = rows.iter().map(|row| shared.record_row(row)).collect::<Result<Vec<_>, Error>>()?;
    with_entries(shared, client, rows).await
}

async fn with_entries(
    shared: &Shared,
    client: &impl GenericClient,
    rows: Vec<RecordRow>,
) -> Result<Vec<(RecordRow, Vec<Logged>)>, Error> {
    let seqs: Vec<i64> = rows.iter().flat_map(|row| &row.live).map(|seq| *seq as i64).collect();
    let mut entries = HashMap::with_capacity(seqs.len());
    if !seqs.is_empty() {
        let sql = "SELECT seq, datestamp, body FROM log WHERE seq = ANY($1)";
        for row in shared.query(client, sql, &[&seqs]).await? {
            let logged = shared.logged(&row)?;
            entries.insert(logged.seq, logged);
        }
    }
    rows.into_iter()
        .map(|row| {
            let missing =
                |seq: &u64| damaged(&shared.name, format!("entry {seq} of record {} is not in the log", row.id));
            let live = row.live.iter().map(|seq| entries.remove(seq).ok_or_else(|| missing(seq)));
            let live = live.collect::<Result<Vec<_>, Error>>()?;
            Ok((row, live))
        })
        .collect()
}

/// A read-only transaction that sees one moment.
macro_rules! snapshot {
    ($shared:expr, $connection:ident) => {
        $connection
            .build_transaction()
            .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await
            .map_err(|reason| $shared.error(reason))
    };
}
pub(super) use snapshot;

pub(super) async fn stored(shared: &Shared, ids: &[RecordId]) -> Result<Vec<Option<Stored>>, Error> {
    let mut connection = shared.connection().await?;
    let transaction = snapshot!(shared, connection)?;
    let found = records(shared, &transaction, ids).await?;
    let mut found: HashMap<RecordId, Stored> =
        found.into_iter().map(|(row, live)| (row.id, row.stored(&live))).collect();
    Ok(ids.iter().map(|id| found.remove(id)).collect())
}

pub(super) async fn history(shared: &Shared, client: &impl GenericClient, id: RecordId) -> Result<Vec<Logged>, Error> {
    let sql = "SELECT seq, datestamp, body FROM log \
               WHERE record = $1 OR record IN (SELECT id FROM record WHERE merged_into = $1) ORDER BY stamp";
    let rows = shared.query(client, sql, &[&id.as_bytes().as_slice()]).await?;
    rows.iter().map(|row| shared.logged(row)).collect()
}

pub(super) async fn list(shared: &Shared, listing: &Listing) -> Result<Vec<Stored>, Error> {
    let Listing { filter, after, limit, newest_first } = listing;
    let limit = *limit as i64;
    let set = filter.set.as_ref().map(|set| set.name().to_owned());
    let after_key = after.map(|after| (after.datestamp.seconds(), after.record.as_bytes().to_vec()));
    let (from, until) = (filter.from.map(Datestamp::seconds), filter.until.map(Datestamp::seconds));
    let (alias, key) = if set.is_some() { ("m", "m.record") } else { ("r", "r.id") };
    let (direction, beyond) = if *newest_first { ("DESC", "<") } else { ("ASC", ">") };

    let mut conditions: Vec<String> = Vec::new();
    let mut parameters: Vec<Parameter> = vec![&limit];
    if let Some(set) = &set {
        parameters.push(set);
        conditions.push(format!("m.set_id = (SELECT id FROM set_name WHERE name = ${})", parameters.len()));
    }
    if let Some((datestamp, record)) = &after_key {
        parameters.push(datestamp);
        parameters.push(record);
        let place = parameters.len();
        conditions.push(format!("({alias}.datestamp, {key}) {beyond} (${}, ${place})", place - 1));
    }
    if let Some(from) = &from {
        parameters.push(from);
        conditions.push(format!("{alias}.datestamp >= ${}", parameters.len()));
    }
    if let Some(until) = &until {
        parameters.push(until);
        conditions.push(format!("{alias}.datestamp <= ${}", parameters.len()));
    }
    let tables = if set.is_some() { "membership m JOIN record r ON r.id = m.record" } else { "record r" };
    let conditions = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let sql = format!(
        "SELECT {RECORD_COLUMNS} FROM {tables} {conditions} \
         ORDER BY {alias}.datestamp {direction}, {key} {direction} LIMIT $1"
    );
    let mut connection = shared.connection().await?;
    let transaction = snapshot!(shared, connection)?;
    let rows = shared.query(&transaction, &sql, &parameters).await?;
    let rows = rows.iter().map(|row| shared.record_row(row)).collect::<Result<Vec<_>, Error>>()?;
    Ok(with_entries(shared, &transaction, rows).await?.into_iter().map(|(row, live)| row.stored(&live)).collect())
}

pub(super) async fn count(shared: &Shared, filter: &Filter) -> Result<u64, Error> {
    let from = filter.from.map_or(i64::MIN, Datestamp::seconds);
    let until = filter.until.map_or(i64::MAX, Datestamp::seconds);
    let whole = filter.from.is_none() && filter.until.is_none();
    let rows = match &filter.set {
        None if whole => shared.query_pool("SELECT records FROM head", &[]).await?,
        None => {
            let sql = "SELECT count(*) FROM record WHERE datestamp BETWEEN $1 AND $2";
            shared.query_pool(sql, &[&from, &until]).await?
        }
        Some(set) if whole => {
            let sql = "SELECT coalesce(max(records), 0) FROM set_name WHERE name = $1";
            shared.query_pool(sql, &[&set.name()]).await?
        }
        Some(set) => {
            let sql = "SELECT count(*) FROM membership \
                       WHERE set_id = (SELECT id FROM set_name WHERE name = $1) AND datestamp BETWEEN $2 AND $3";
            shared.query_pool(sql, &[&set.name(), &from, &until]).await?
        }
    };
    Ok(rows.first().map_or(0, |row| number(row, 0)))
}

/// The record that a key leads to: by the key table, or because the record is named after it; through a merger if need be.
pub(super) async fn by_key(shared: &Shared, key: RecordId) -> Result<Option<RecordId>, Error> {
    let sql = "SELECT coalesce(merged_into, id) FROM record \
               WHERE id = coalesce((SELECT record FROM record_key WHERE record_key = $1), $1)";
    let rows = shared.query_pool(sql, &[&key.as_bytes().as_slice()]).await?;
    rows.first().map(|row| shared.id(row, 0)).transpose()
}

pub(super) async fn alike(shared: &Shared, record: RecordId, limit: usize) -> Result<Vec<RecordId>, Error> {
    let Some(stored) = stored(shared, &[record]).await?.pop().flatten() else { return Ok(Vec::new()) };
    let likeness = likeness_of(&stored.record);
    let likeness: Vec<&[u8]> = likeness.iter().map(|like| like.as_slice()).collect();
    let sql = "SELECT DISTINCT record FROM likeness WHERE likeness = ANY($1) AND record <> $2 ORDER BY record LIMIT $3";
    let rows = shared.query_pool(sql, &[&likeness, &record.as_bytes().as_slice(), &(limit as i64)]).await?;
    rows.iter().map(|row| shared.id(row, 0)).collect()
}

pub(super) async fn sets(shared: &Shared) -> Result<Vec<SetInfo>, Error> {
    let rows = shared.query_pool("SELECT name, records FROM set_name WHERE records > 0 ORDER BY name", &[]).await?;
    let info = |row: &Row| {
        let name = row.get::<_, &str>(0).parse().map_err(|reason| damaged(&shared.name, reason))?;
        Ok(SetInfo { name, records: number(row, 1) })
    };
    rows.iter().map(info).collect()
}

pub(super) async fn sources(shared: &Shared) -> Result<Vec<SourceRow>, Error> {
    let rows = shared.query_pool("SELECT name, kind, address, cursor, settings FROM source ORDER BY name", &[]).await?;
    let source = |row: &Row| {
        Ok(SourceRow {
            source: Source::machine(row.get::<_, String>(0)),
            kind: row.get(1),
            address: row.get(2),
            cursor: row.get(3),
            settings: shared.json(row, 4)?,
        })
    };
    rows.iter().map(source).collect()
}

pub(super) async fn tokens(shared: &Shared) -> Result<Vec<TokenRow>, Error> {
    let rows = shared.query_pool("SELECT name, digest, created FROM token ORDER BY name", &[]).await?;
    let token =
        |row: &Row| Ok(TokenRow { name: row.get(0), digest: shared.digest(row, 1)?, created: datestamp(row, 2) });
    rows.iter().map(token).collect()
}

pub(super) async fn blob_digests(shared: &Shared, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, Error> {
    let after = after.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
    let sql = "SELECT DISTINCT digest FROM blob WHERE digest > $1 ORDER BY digest LIMIT $2";
    let rows = shared.query_pool(sql, &[&after, &(limit as i64)]).await?;
    rows.iter().map(|row| shared.digest(row, 0)).collect()
}

pub(super) async fn secret(shared: &Shared) -> Result<Vec<u8>, Error> {
    let rows = shared.query_pool("SELECT secret FROM head", &[]).await?;
    rows.first().map(|row| row.get(0)).ok_or_else(|| damaged(&shared.name, "it has no head"))
}

pub(super) async fn quarantine(shared: &Shared) -> Result<Vec<Entry>, Error> {
    let rows = shared.query_pool("SELECT body FROM quarantine ORDER BY stamp", &[]).await?;
    rows.iter().map(|row| shared.json(row, 0)).collect()
}

pub(super) async fn audit(shared: &Shared, after: Option<RecordId>, limit: usize) -> Result<Vec<Audit>, Error> {
    let mut connection = shared.connection().await?;
    let transaction = snapshot!(shared, connection)?;
    let after = after.map(|id| id.as_bytes().to_vec()).unwrap_or_default();
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record r WHERE id > $1 ORDER BY id LIMIT $2");
    let rows = shared.query(&transaction, &sql, &[&after, &(limit as i64)]).await?;
    let rows = rows.iter().map(|row| shared.record_row(row)).collect::<Result<Vec<_>, Error>>()?;
    let ids: Vec<RecordId> = rows.iter().map(|row| row.id).collect();

    let sql = "SELECT l.seq, l.datestamp, l.body, coalesce(r.merged_into, r.id) FROM record r \
               JOIN log l ON l.record = r.id WHERE r.id = ANY($1) OR r.merged_into = ANY($1) ORDER BY l.stamp";
    let mut histories: HashMap<RecordId, Vec<Logged>> = HashMap::new();
    for row in shared.query(&transaction, sql, &[&id_bytes(&ids)]).await? {
        histories.entry(shared.id(&row, 3)?).or_default().push(shared.logged(&row)?);
    }
    let sql = "SELECT r.id, s.name, m.datestamp FROM record r JOIN membership m ON m.record = r.id AND m.datestamp = r.datestamp \
               JOIN set_name s ON s.id = m.set_id AND s.name IN (SELECT jsonb_array_elements_text(r.sets::jsonb)) \
               WHERE r.id = ANY($1) AND m.set_id IN (SELECT id FROM set_name)";
    let mut memberships: HashMap<RecordId, Vec<_>> = HashMap::new();
    for row in shared.query(&transaction, sql, &[&id_bytes(&ids)]).await? {
        let name = row.get::<_, &str>(1).parse().map_err(|reason| damaged(&shared.name, reason))?;
        memberships.entry(shared.id(&row, 0)?).or_default().push((name, datestamp(&row, 2)));
    }
    let audit = |row: RecordRow| {
        let (memberships, history) = (memberships.remove(&row.id), histories.remove(&row.id));
        row.audit(memberships.unwrap_or_default(), history.unwrap_or_default())
    };
    Ok(rows.into_iter().map(audit).collect())
}

pub(super) async fn tallies(shared: &Shared) -> Result<Tallies, Error> {
    let mut connection = shared.connection().await?;
    let transaction = snapshot!(shared, connection)?;
    let head = head(shared, &transaction).await?;
    let sql = "SELECT (SELECT count(*) FROM log), (SELECT coalesce(max(seq), 0) FROM log), (SELECT count(*) FROM record), \
               (SELECT count(*) FROM record WHERE deleted <> 0), (SELECT count(*) FROM membership), \
               (SELECT coalesce(sum(records), 0)::bigint FROM set_name)";
    let rows = shared.query(&transaction, sql, &[]).await?;
    let row = rows.first().ok_or_else(|| damaged(&shared.name, "a count gave nothing"))?;
    Ok(Tallies {
        entries: number(row, 0),
        last_seq: number(row, 1),
        head_seq: head.seq,
        compacted: head.compacted,
        records: number(row, 2),
        head_records: head.records,
        deleted: number(row, 3),
        head_deleted: head.deleted,
        memberships: number(row, 4),
        set_records: number(row, 5),
        complaints: Vec::new(),
    })
}
