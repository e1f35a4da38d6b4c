//! The stored form on SQLite: its tables, its version, and how an older form becomes the present one.
//!
//! The tables carry the same names and columns as PostgreSQL's (`postgres/schema.rs`), so that a backup of either is an
//! SQLite catalogue. A change of form is a new script at the end of [`FORMS`], never an edit of one that stands there;
//! `tests/saved/` keeps a catalogue of every form.

use rusqlite::Connection;

use crate::error::Error;

/// `zhlu`, in the header of the file: tells a catalogue from any other SQLite file.
pub(crate) const APPLICATION_ID: i32 = 0x7a68_6c75;

/// The script that makes each form of the one before.
const FORMS: &[&str] = &[FORM_1];

/// The form this program writes.
pub(crate) const VERSION: i64 = FORMS.len() as i64;

// Everything but `log`, `head`, `source`, `token`, `job` and `quarantine` can be derived from the log.
const FORM_1: &str = "
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    node BLOB NOT NULL,
    secret BLOB NOT NULL,
    seq INTEGER NOT NULL,
    origin_seq INTEGER NOT NULL,
    datestamp INTEGER,
    earliest INTEGER,
    clock_millis INTEGER NOT NULL,
    clock_counter INTEGER NOT NULL,
    records INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    compacted INTEGER NOT NULL
);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    stamp BLOB NOT NULL,
    record BLOB NOT NULL,
    datestamp INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX log_stamp ON log (stamp);
CREATE INDEX log_record ON log (record);
CREATE TABLE record (
    id BLOB PRIMARY KEY,
    datestamp INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    merged_into BLOB,
    live TEXT NOT NULL,
    sets TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX record_datestamp ON record (datestamp, id);
CREATE INDEX record_merged ON record (merged_into) WHERE merged_into IS NOT NULL;
CREATE TABLE set_name (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    records INTEGER NOT NULL
);
CREATE TABLE membership (
    set_id INTEGER NOT NULL,
    datestamp INTEGER NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (set_id, datestamp, record)
) WITHOUT ROWID;
CREATE TABLE record_key (
    record_key BLOB PRIMARY KEY,
    record BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE likeness (
    likeness BLOB NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (likeness, record)
) WITHOUT ROWID;
CREATE TABLE blob (
    digest BLOB NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (digest, seq)
) WITHOUT ROWID;
CREATE INDEX blob_seq ON blob (seq);
CREATE TABLE quarantine (
    stamp BLOB PRIMARY KEY,
    due INTEGER NOT NULL,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX quarantine_due ON quarantine (due);
CREATE TABLE source (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    address TEXT NOT NULL,
    cursor TEXT,
    settings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE token (
    name TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due INTEGER NOT NULL,
    error TEXT,
    lease INTEGER NOT NULL,
    unique_name TEXT UNIQUE
);
CREATE INDEX job_host ON job (state, host, due, id);
CREATE INDEX job_due ON job (state, due, id);
";

/// Every table with its columns, in an order in which they may be filled.
pub(crate) const TABLES: &[(&str, &str)] = &[
    (
        "head",
        "id, node, secret, seq, origin_seq, datestamp, earliest, clock_millis, clock_counter, records, deleted, compacted",
    ),
    ("log", "seq, stamp, record, datestamp, body"),
    ("record", "id, datestamp, seq, deleted, merged_into, live, sets"),
    ("set_name", "id, name, records"),
    ("membership", "set_id, datestamp, record"),
    ("record_key", "record_key, record"),
    ("likeness", "likeness, record"),
    ("blob", "digest, seq"),
    ("quarantine", "stamp, due, body"),
    ("source", "name, kind, address, cursor, settings"),
    ("token", "name, digest, created"),
    ("job", "id, kind, host, payload, state, attempts, due, error, lease, unique_name"),
];

/// The form of the database, if it is one of ours that we know; an empty one has form 0. Changes nothing.
pub(crate) fn check(connection: &Connection, name: &str) -> Result<i64, Error> {
    let ask = |sql: &str| {
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|error| super::error(name, error))
    };
    let (found, application) = (ask("PRAGMA user_version")?, ask("PRAGMA application_id")?);
    if ask("SELECT count(*) FROM sqlite_schema")? > 0 && application != i64::from(APPLICATION_ID) {
        let reason = "it is an SQLite file, but no zhulu catalogue".to_owned();
        return Err(Error::Damaged { catalogue: name.to_owned(), reason });
    }
    if found > VERSION {
        return Err(Error::Newer { catalogue: name.to_owned(), found, known: VERSION });
    }
    Ok(found)
}

/// Brings the database to the present form, or says why not. `name` is for messages.
pub(crate) fn prepare(connection: &mut Connection, name: &str) -> Result<(), Error> {
    if check(connection, name)? == VERSION {
        return Ok(());
    }
    let mut migrate = || -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have done it while this one waited for the lock.
        let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        for form in FORMS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
            transaction.execute_batch(form)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()
    };
    migrate().map_err(|error| super::error(name, error))
}
