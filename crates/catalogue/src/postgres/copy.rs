//! Backup of a PostgreSQL catalogue as an SQLite one, and back: the tables have the same columns, so rows are copied as
//! they stand.

use std::path::Path;

use futures::TryStreamExt;
use rusqlite::types::Value;
use tokio_postgres::types::{ToSql, Type};

use super::{Shared, damaged, read, write};
use crate::error::Error;
use crate::sqlite::{self, TABLES};

/// How many rows travel together.
const STEP: usize = 1000;

type Rows = Vec<Vec<Value>>;

/// Copies all tables, as one moment saw them, into a new SQLite file.
pub(super) async fn backup(shared: &Shared, path: &Path) -> Result<(), Error> {
    let mut connection = shared.connection().await?;
    let transaction = read::snapshot!(shared, connection)?;
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<(usize, Rows)>(4);
    let file = path.to_owned();
    let writing = tokio::task::spawn_blocking(move || -> Result<(), Error> {
        let name = format!("sqlite:{}", file.display());
        let failed = |reason| sqlite::error(&name, reason);
        let mut copy = sqlite::create(&file)?;
        let transaction = copy.transaction().map_err(failed)?;
        while let Some((table, rows)) = receiver.blocking_recv() {
            let (table, columns) = TABLES[table];
            let places = vec!["?"; columns.split(", ").count()].join(", ");
            let sql = format!("INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})");
            let mut insert = transaction.prepare_cached(&sql).map_err(failed)?;
            for row in rows {
                insert.execute(rusqlite::params_from_iter(row)).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    });
    'tables: for (number, (table, columns)) in TABLES.iter().enumerate() {
        let sql = format!("SELECT {columns} FROM {table}");
        let none: [i64; 0] = [];
        let rows = transaction.query_raw(&sql, none).await.map_err(|reason| shared.error(reason))?;
        let mut rows = std::pin::pin!(rows);
        let mut step: Rows = Vec::with_capacity(STEP);
        while let Some(row) = rows.try_next().await.map_err(|reason| shared.error(reason))? {
            step.push((0..row.len()).map(|column| value(&row, column)).collect());
            if step.len() == STEP && sender.send((number, std::mem::take(&mut step))).await.is_err() {
                // The writing side has failed, and will say why.
                break 'tables;
            }
        }
        if sender.send((number, step)).await.is_err() {
            break;
        }
    }
    drop(sender);
    writing.await.unwrap_or_else(|reason| Err(damaged(&shared.name, reason)))
}

fn value(row: &tokio_postgres::Row, column: usize) -> Value {
    let found = match *row.columns()[column].type_() {
        Type::INT8 => row.get::<_, Option<i64>>(column).map(Value::Integer),
        Type::INT4 => row.get::<_, Option<i32>>(column).map(|number| Value::Integer(number.into())),
        Type::BYTEA => row.get::<_, Option<Vec<u8>>>(column).map(Value::Blob),
        _ => row.get::<_, Option<String>>(column).map(Value::Text),
    };
    found.unwrap_or(Value::Null)
}

/// Fills the empty catalogue from an SQLite file, in one transaction.
pub(super) async fn restore(shared: &Shared, path: &Path) -> Result<(), Error> {
    let mut connection = shared.connection().await?;
    let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
    write::lock(&transaction).await.map_err(|reason| shared.error(reason))?;
    if read::head(shared, &transaction).await?.seq > 0 {
        return Err(Error::Refused(format!(
            "{} is not empty; a backup can only be restored into an empty catalogue",
            shared.name
        )));
    }
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<(usize, Rows)>(4);
    let file = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || -> Result<(), Error> {
        let name = format!("sqlite:{}", file.display());
        let failed = |reason| sqlite::error(&name, reason);
        // Opened for writing, since a backup of an older form is first brought up to date.
        let backup = sqlite::create(&file)?;
        for (number, (table, columns)) in TABLES.iter().enumerate() {
            let mut statement = backup.prepare(&format!("SELECT {columns} FROM {table}")).map_err(failed)?;
            let width = statement.column_count();
            let mut rows = statement.query([]).map_err(failed)?;
            let mut step: Rows = Vec::with_capacity(STEP);
            while let Some(row) = rows.next().map_err(failed)? {
                let row = (0..width).map(|column| row.get::<_, Value>(column));
                step.push(row.collect::<Result<_, _>>().map_err(failed)?);
                if step.len() == STEP && sender.blocking_send((number, std::mem::take(&mut step))).is_err() {
                    return Ok(());
                }
            }
            if sender.blocking_send((number, step)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    });
    let run = async |sql: &str| transaction.batch_execute(sql).await.map_err(|reason| shared.error(reason));
    run("DELETE FROM head; DELETE FROM source; DELETE FROM token; DELETE FROM job").await?;
    while let Some((number, rows)) = receiver.recv().await {
        let (table, columns) = TABLES[number];
        if rows.is_empty() {
            continue;
        }
        let statement = transaction
            .prepare_cached(&format!("SELECT {columns} FROM {table} LIMIT 0"))
            .await
            .map_err(|reason| shared.error(reason))?;
        let types: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
        let sink = transaction.copy_in(&format!("COPY {table} ({columns}) FROM STDIN BINARY")).await;
        let writer =
            tokio_postgres::binary_copy::BinaryCopyInWriter::new(sink.map_err(|reason| shared.error(reason))?, &types);
        let mut writer = std::pin::pin!(writer);
        for row in rows {
            let cells: Vec<Box<dyn ToSql + Sync + Send>> =
                row.into_iter().zip(&types).map(|(value, kind)| cell(value, kind)).collect();
            let cells: Vec<&(dyn ToSql + Sync)> = cells.iter().map(|cell| &**cell as &(dyn ToSql + Sync)).collect();
            writer.as_mut().write(&cells).await.map_err(|reason| shared.error(reason))?;
        }
        writer.finish().await.map_err(|reason| shared.error(reason))?;
    }
    reading.await.unwrap_or_else(|reason| Err(damaged(&shared.name, reason)))?;
    // Numbers given from now on follow those that came along.
    run("SELECT setval(pg_get_serial_sequence('job', 'id'), greatest((SELECT max(id) FROM job), 1)); \
         SELECT setval(pg_get_serial_sequence('set_name', 'id'), greatest((SELECT max(id) FROM set_name), 1))")
    .await?;
    transaction.commit().await.map_err(|reason| shared.error(reason))
}

fn cell(value: Value, kind: &Type) -> Box<dyn ToSql + Sync + Send> {
    match (value, kind) {
        (Value::Integer(number), &Type::INT4) => Box::new(i32::try_from(number).unwrap_or(i32::MAX)),
        (Value::Integer(number), _) => Box::new(number),
        (Value::Blob(bytes), _) => Box::new(bytes),
        (Value::Text(text), _) => Box::new(text),
        (Value::Real(number), _) => Box::new(number),
        (Value::Null, &Type::INT8 | &Type::INT4) => Box::new(None::<i64>),
        (Value::Null, &Type::BYTEA) => Box::new(None::<Vec<u8>>),
        (Value::Null, _) => Box::new(None::<String>),
    }
}
