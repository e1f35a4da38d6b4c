//! A million records into each store: how fast against the bare driver, how deep listings, reads and search cost, how much
//! memory, how soon the index has caught up.
//!
//! `cargo run --release -p zhulu-bench --bin catalogue -- sqlite [RECORDS]`, or `postgres` with `ZHULU_TEST_POSTGRES`
//! naming a server (`bench/run` does both, and starts one).

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use zhulu_bench::{Corpus, QUERIES, peak_memory, percentile, show};
use zhulu_catalogue::search::Query;
use zhulu_catalogue::{Address, Batch, Catalogue, Filter, Listing, Position, Settings};

const BATCH: u64 = 1000;
const PAGE: usize = 100;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().unwrap_or_else(|| "sqlite".to_owned());
    let records: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse()).context("RECORDS is a number")?;
    let folder = tempfile::tempdir()?;
    let mut settings = Settings::in_folder(folder.path());
    if store == "postgres" {
        let server = std::env::var("ZHULU_TEST_POSTGRES").context("ZHULU_TEST_POSTGRES names no server")?;
        for schema in ["bench_ours", "bench_bare"] {
            postgres(&server)
                .await?
                .batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"))
                .await?;
        }
        settings.address = Address::Postgres(format!("{server}&options=-csearch_path%3Dbench_ours"));
    }
    println!("# {store}: {records} records in batches of {BATCH}, durable after each");
    println!(
        "zhulu {}, SQLite {}, {} cores",
        env!("CARGO_PKG_VERSION"),
        rusqlite::version(),
        std::thread::available_parallelism()?
    );

    let catalogue = Catalogue::open(settings.clone()).await?;
    let mut bare = match &settings.address {
        Address::Sqlite(path) => Bare::sqlite(path, &folder.path().join("bare.sqlite"))?,
        Address::Postgres(_) => Bare::postgres().await?,
    };
    let (ours, theirs, bytes) = load(&catalogue, &mut bare, records).await?;
    drop(bare);
    let load_memory = peak_memory();
    let begun = Instant::now();
    catalogue.catch_up().await?;
    let indexed = begun.elapsed();
    println!("load: {} = {:.0} records/s", show(ours), records as f64 / ours.as_secs_f64());
    println!(
        "index: caught up {} after the load = {:.0} records/s; load and index together {:.2}x the load time (bound: 3x)",
        show(indexed),
        records as f64 / indexed.as_secs_f64(),
        (ours + indexed).as_secs_f64() / ours.as_secs_f64()
    );
    println!(
        "peak memory: {} MB after the load, {} MB after indexing (bound: 500 MB)",
        load_memory.map_or("?".to_owned(), |megabytes| megabytes.to_string()),
        peak_memory().map_or("?".to_owned(), |megabytes| megabytes.to_string())
    );
    pages(&catalogue).await?;
    reads(&catalogue, records).await?;
    searches(&catalogue).await?;

    println!(
        "bare driver, same rows, tables, indexes, batches and durability: {} ({} MB of log bodies, {} bytes each)",
        show(theirs),
        bytes >> 20,
        bytes / records
    );
    println!("RATIO load speed, ours to bare driver: {:.2} (bound: 0.50)", theirs.as_secs_f64() / ours.as_secs_f64());
    Ok(())
}

/// Appends all records, batch by batch, and after each batch writes the rows it made by the bare driver too: the two take
/// turns, so that whatever else the machine does falls on both alike. Only the time in `append` and in the driver counts,
/// not that of making records up or of reading rows.
async fn load(catalogue: &Catalogue, bare: &mut Bare, records: u64) -> Result<(Duration, Duration, u64)> {
    let corpus = Corpus::default();
    let (mut ours, mut theirs, mut bytes) = (Duration::ZERO, Duration::ZERO, 0);
    let mut number = 0;
    while number < records {
        let end = (number + BATCH).min(records);
        let drafts = (number..end).map(|number| corpus.draft(number)).collect();
        let begun = Instant::now();
        catalogue.append(Batch::of(drafts)).await?;
        ours += begun.elapsed();
        let rows = bare.rows(number).await?;
        bytes += rows.iter().map(|row| row.body.len() as u64).sum::<u64>();
        let begun = Instant::now();
        bare.write(rows).await?;
        theirs += begun.elapsed();
        number = end;
    }
    Ok((ours, theirs, bytes))
}

/// Walks the whole listing once, then reads its first and its last page again and again.
async fn pages(catalogue: &Catalogue) -> Result<()> {
    let page = async |after: Option<Position>| {
        let listing = Listing { filter: Filter::default(), after, limit: PAGE, newest_first: false };
        let begun = Instant::now();
        let page = catalogue.store().list(&listing).await?;
        anyhow::Ok((begun.elapsed(), page))
    };
    let (mut count, mut after, mut before_last) = (0u64, None, None);
    loop {
        let (_, found) = page(after).await?;
        if found.len() < PAGE {
            break;
        }
        count += 1;
        before_last = after;
        after = found.last().map(|last| Position { datestamp: last.datestamp, record: last.record.id });
    }
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        first.push(page(None).await?.0);
        last.push(page(before_last).await?.0);
    }
    let (first, last) = (percentile(&mut first, 0.5), percentile(&mut last, 0.5));
    println!("page 1 of {PAGE} records: {}; page {count}: {}", show(first), show(last));
    println!("RATIO page {count} to page 1: {:.2} (bound: 1.20)", last.as_secs_f64() / first.as_secs_f64());
    Ok(())
}

async fn reads(catalogue: &Catalogue, records: u64) -> Result<()> {
    let corpus = Corpus::default();
    let (mut point, mut log) = (Vec::new(), Vec::new());
    for step in 0..2000u64 {
        let id = corpus.draft(step.wrapping_mul(7919) % records).record;
        let begun = Instant::now();
        catalogue.store().records(&[id]).await?.pop().flatten().context("a loaded record is there")?;
        point.push(begun.elapsed());
    }
    for step in 0..300u64 {
        let begun = Instant::now();
        catalogue.store().log(step.wrapping_mul(104_729) % records, 100).await?;
        log.push(begun.elapsed());
    }
    println!("point read: p50 {}, p99 {}", show(percentile(&mut point, 0.5)), show(percentile(&mut point, 0.99)));
    println!(
        "log read of 100 entries: p50 {}, p99 {}",
        show(percentile(&mut log, 0.5)),
        show(percentile(&mut log, 0.99))
    );
    Ok(())
}

async fn searches(catalogue: &Catalogue) -> Result<()> {
    let mut all = Vec::new();
    for text in QUERIES {
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..20 {
            let query = Query { text: (*text).to_owned(), limit: 10, ..Query::default() };
            let begun = Instant::now();
            total = catalogue.search(query, None).await?.total;
            times.push(begun.elapsed());
        }
        all.extend_from_slice(&times);
        println!("  {:<28} {total:>9} found, p50 {}", text, show(percentile(&mut times, 0.5)));
    }
    println!(
        "search, {} queries: p50 {}, p99 {}",
        QUERIES.len(),
        show(percentile(&mut all, 0.5)),
        show(percentile(&mut all, 0.99))
    );
    let query = Query { count_facets: true, limit: 10, ..Query::default() };
    let begun = Instant::now();
    catalogue.search(query, None).await?;
    println!("all records with facets counted: {}", show(begun.elapsed()));
    Ok(())
}

/// What a batch wrote about one record.
struct Row {
    seq: i64,
    stamp: Vec<u8>,
    record: Vec<u8>,
    datestamp: i64,
    body: String,
    live: String,
    sets: String,
}

/// The same rows into the same tables with the same indexes, by the driver alone: rusqlite with prepared statements, and
/// tokio-postgres with COPY, its fastest way.
enum Bare {
    Sqlite { source: Connection, bare: Connection },
    Postgres { source: tokio_postgres::Client, bare: tokio_postgres::Client },
}

const ROWS: &str = "SELECT l.seq, l.stamp, l.record, l.datestamp, l.body, r.live, r.sets \
                    FROM log l JOIN record r ON r.id = l.record WHERE l.seq > $1 ORDER BY l.seq LIMIT $2";

impl Bare {
    fn sqlite(from: &Path, to: &Path) -> Result<Bare> {
        let source = Connection::open(from)?;
        let bare = Connection::open(to)?;
        let pragmas = [
            ("page_size", "8192"),
            ("journal_mode", "WAL"),
            ("synchronous", "FULL"),
            ("cache_size", "-98304"),
            ("wal_autocheckpoint", "8192"),
        ];
        for (pragma, value) in pragmas {
            bare.pragma_update(None, pragma, value)?;
        }
        let tables: Vec<String> = source
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        bare.execute_batch(&(tables.join(";\n") + ";"))?;
        bare.execute_batch(
            "INSERT INTO head VALUES (1, x'00', x'00', 0, 0, NULL, NULL, 0, 0, 0, 0, 0); \
             INSERT INTO set_name VALUES (1, 'a', 0), (2, 'b', 0)",
        )?;
        Ok(Bare::Sqlite { source, bare })
    }

    async fn postgres() -> Result<Bare> {
        let server = std::env::var("ZHULU_TEST_POSTGRES")?;
        let source = postgres(&format!("{server}&options=-csearch_path%3Dbench_ours")).await?;
        let bare = postgres(&format!("{server}&options=-csearch_path%3Dbench_bare")).await?;
        let version: String = source.query_one("SHOW server_version", &[]).await?.get(0);
        println!("PostgreSQL {version}, synchronous_commit on");
        for table in ["log", "record", "membership", "likeness", "head", "set_name"] {
            bare.batch_execute(&format!("CREATE TABLE {table} (LIKE bench_ours.{table} INCLUDING ALL)")).await?;
        }
        bare.batch_execute(
            "INSERT INTO head SELECT * FROM bench_ours.head; \
             INSERT INTO set_name (id, name, records) VALUES (1, 'a', 0), (2, 'b', 0)",
        )
        .await?;
        Ok(Bare::Postgres { source, bare })
    }

    /// The rows that the catalogue has written after this place in the log.
    async fn rows(&self, after: u64) -> Result<Vec<Row>> {
        let (after, limit) = (after as i64, BATCH as i64);
        match self {
            Bare::Sqlite { source, .. } => {
                let row = |row: &rusqlite::Row| {
                    Ok(Row {
                        seq: row.get(0)?,
                        stamp: row.get(1)?,
                        record: row.get(2)?,
                        datestamp: row.get(3)?,
                        body: row.get(4)?,
                        live: row.get(5)?,
                        sets: row.get(6)?,
                    })
                };
                let mut statement = source.prepare_cached(ROWS)?;
                let rows = statement.query_map((after, limit), row)?.collect::<rusqlite::Result<_>>()?;
                Ok(rows)
            }
            Bare::Postgres { source, .. } => {
                let row = |row: &tokio_postgres::Row| Row {
                    seq: row.get(0),
                    stamp: row.get(1),
                    record: row.get(2),
                    datestamp: row.get(3),
                    body: row.get(4),
                    live: row.get(5),
                    sets: row.get(6),
                };
                Ok(source.query(ROWS, &[&after, &limit]).await?.iter().map(row).collect())
            }
        }
    }

    async fn write(&mut self, mut rows: Vec<Row>) -> Result<()> {
        // In the order of the index, as the catalogue writes them.
        rows.sort_by(|a, b| a.record.cmp(&b.record));
        match self {
            Bare::Sqlite { bare, .. } => write_sqlite(bare, &rows),
            Bare::Postgres { bare, .. } => write_postgres(bare, &rows).await,
        }
    }
}

fn write_sqlite(bare: &mut Connection, rows: &[Row]) -> Result<()> {
    let transaction = bare.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    {
        let sql = "INSERT INTO log (seq, stamp, record, datestamp, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut log = transaction.prepare_cached(sql)?;
        let mut in_order: Vec<&Row> = rows.iter().collect();
        in_order.sort_by_key(|row| row.seq);
        for row in in_order {
            log.execute((row.seq, &row.stamp, &row.record, row.datestamp, &row.body))?;
        }
        let sql = "INSERT INTO record (id, datestamp, seq, deleted, live, sets) VALUES (?1, ?2, ?3, 0, ?4, ?5)";
        let mut record = transaction.prepare_cached(sql)?;
        let sql = "INSERT INTO membership (set_id, datestamp, record) VALUES (?1, ?2, ?3)";
        let mut membership = transaction.prepare_cached(sql)?;
        // One likeness for each record, from its title; its value is as random as a hash of anything.
        let mut likeness = transaction.prepare_cached("INSERT INTO likeness (likeness, record) VALUES (?1, ?2)")?;
        for row in rows {
            record.execute((&row.record, row.datestamp, row.seq, &row.live, &row.sets))?;
            membership.execute((1, row.datestamp, &row.record))?;
            membership.execute((2, row.datestamp, &row.record))?;
            likeness.execute((&row.record[8..], &row.record))?;
        }
        transaction.prepare_cached("UPDATE set_name SET records = records + ?1")?.execute([rows.len() as i64])?;
        transaction
            .prepare_cached("UPDATE head SET seq = seq + ?1, records = records + ?1")?
            .execute([rows.len() as i64])?;
    }
    transaction.commit()?;
    Ok(())
}

async fn postgres(url: &str) -> Result<tokio_postgres::Client> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn write_postgres(bare: &mut tokio_postgres::Client, rows: &[Row]) -> Result<()> {
    let transaction = bare.transaction().await?;
    let copy = async |sql: &str, types: &[Type], rows: Vec<Vec<&(dyn ToSql + Sync)>>| -> Result<()> {
        let sink = transaction.copy_in(sql).await?;
        let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, types));
        for row in rows {
            writer.as_mut().write(&row).await?;
        }
        writer.finish().await?;
        Ok(())
    };
    let log = rows.iter().map(|r| vec![&r.seq as &(dyn ToSql + Sync), &r.stamp, &r.record, &r.datestamp, &r.body]);
    let types = [Type::INT8, Type::BYTEA, Type::BYTEA, Type::INT8, Type::TEXT];
    copy("COPY log (seq, stamp, record, datestamp, body) FROM STDIN BINARY", &types, log.collect()).await?;
    let zero = 0i64;
    let record =
        rows.iter().map(|r| vec![&r.record as &(dyn ToSql + Sync), &r.datestamp, &r.seq, &zero, &r.live, &r.sets]);
    let types = [Type::BYTEA, Type::INT8, Type::INT8, Type::INT8, Type::TEXT, Type::TEXT];
    copy("COPY record (id, datestamp, seq, deleted, live, sets) FROM STDIN BINARY", &types, record.collect()).await?;
    let (one, two) = (1i64, 2i64);
    let membership = rows.iter().flat_map(|r| {
        [vec![&one as &(dyn ToSql + Sync), &r.datestamp, &r.record], vec![&two, &r.datestamp, &r.record]]
    });
    let types = [Type::INT8, Type::INT8, Type::BYTEA];
    copy("COPY membership (set_id, datestamp, record) FROM STDIN BINARY", &types, membership.collect()).await?;
    let likes: Vec<&[u8]> = rows.iter().map(|row| &row.record[8..]).collect();
    let likeness = rows.iter().zip(&likes).map(|(r, like)| vec![like as &(dyn ToSql + Sync), &r.record]);
    copy("COPY likeness (likeness, record) FROM STDIN BINARY", &[Type::BYTEA, Type::BYTEA], likeness.collect()).await?;
    transaction.execute("UPDATE set_name SET records = records + $1", &[&(rows.len() as i64)]).await?;
    transaction.execute("UPDATE head SET seq = seq + $1, records = records + $1", &[&(rows.len() as i64)]).await?;
    transaction.commit().await?;
    Ok(())
}
