//! Jobs on SQLite. The rules (waits, attempts) are `crate::job`'s.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Result, Row, Transaction};

use super::read;
use crate::job::{ATTEMPTS, Job, JobId, JobState, JobStats, Lease, NewJob, retry_at};

const COLUMNS: &str = "id, kind, host, payload, state, attempts, due, error, lease";

fn job(row: &Row) -> Result<Job> {
    let due: i64 = row.get(6)?;
    Ok(Job {
        id: JobId(row.get(0)?),
        kind: row.get(1)?,
        host: row.get(2)?,
        payload: read::json(row, 3)?,
        state: JobState::from_name(row.get_ref(4)?.as_str()?),
        attempts: row.get(5)?,
        due: Timestamp::from_millisecond(due).unwrap_or(Timestamp::MAX),
        error: row.get(7)?,
        lease: row.get(8)?,
    })
}

pub(super) fn enqueue(transaction: &Transaction, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Option<JobId>>> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO job (kind, host, payload, state, attempts, due, lease, unique_name) \
         VALUES (?1, ?2, ?3, 'ready', 0, ?4, 0, ?5) ON CONFLICT (unique_name) DO NOTHING RETURNING id",
    )?;
    jobs.iter()
        .map(|job| {
            let due = job.run_at.unwrap_or(now).as_millisecond();
            let parameters = (&job.kind, &job.host, job.payload.to_string(), due, &job.unique);
            insert.query_row(parameters, |row| row.get(0).map(JobId)).optional()
        })
        .collect()
}

/// Whether a lease could give anything; costs no write.
pub(super) fn any_due(connection: &Connection, now: Timestamp) -> Result<bool> {
    let sql = "SELECT 1 FROM job WHERE state = 'ready' AND due <= ?1 \
               UNION ALL SELECT 1 FROM job WHERE state = 'leased' AND due <= ?1";
    connection.prepare_cached(sql)?.exists([now.as_millisecond()])
}

pub(super) fn lease(transaction: &Transaction, lease: &Lease, now: Timestamp) -> Result<Vec<Job>> {
    let time = now.as_millisecond();
    // Workers that died left their jobs behind.
    let sql = "UPDATE job SET state = CASE WHEN attempts >= ?2 THEN 'dead' ELSE 'ready' END, \
               error = coalesce(error, 'its worker did not finish in time') WHERE state = 'leased' AND due <= ?1";
    transaction.prepare_cached(sql)?.execute((time, ATTEMPTS))?;

    // Each host in turn, by one step in the index: a host with a long queue must not hide the others.
    let sql = "WITH RECURSIVE host (name) AS ( \
                   SELECT min(host) FROM job WHERE state = 'ready' \
                   UNION ALL \
                   SELECT (SELECT min(host) FROM job WHERE state = 'ready' AND host > host.name) FROM host \
                   WHERE host.name IS NOT NULL) \
               SELECT name, (SELECT count(*) FROM job WHERE state = 'leased' AND job.host = host.name) FROM host \
               WHERE name IS NOT NULL";
    let host = |row: &Row| Ok((row.get(0)?, row.get::<_, u32>(1)? as usize));
    let hosts: Vec<(String, usize)> = transaction.prepare_cached(sql)?.query_map([], host)?.collect::<Result<_>>()?;
    let kinds = serde_json::to_string(&lease.kinds).expect("names have a JSON form");
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE state = 'ready' AND host = ?1 AND due <= ?2 \
         AND (?3 = '[]' OR kind IN (SELECT value FROM json_each(?3))) ORDER BY due, id LIMIT ?4"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut jobs = Vec::new();
    for (host, leased) in hosts {
        let room = if host.is_empty() { lease.limit } else { lease.per_host.saturating_sub(leased).min(lease.limit) };
        if room > 0 {
            let found = statement.query_map((&host, time, &kinds, room as i64), job)?;
            jobs.extend(found.collect::<Result<Vec<_>>>()?);
        }
    }
    jobs.sort_by_key(|job| (job.due, job.id));
    jobs.truncate(lease.limit);
    let end = now.checked_add(lease.duration).unwrap_or(Timestamp::MAX);
    let sql = "UPDATE job SET state = 'leased', attempts = attempts + 1, lease = lease + 1, due = ?2 WHERE id = ?1";
    let mut update = transaction.prepare_cached(sql)?;
    for job in &mut jobs {
        update.execute((job.id.0, end.as_millisecond()))?;
        job.state = JobState::Leased;
        job.attempts += 1;
        job.lease += 1;
        job.due = end;
    }
    Ok(jobs)
}

pub(super) fn acknowledge(transaction: &Transaction, jobs: &[Job]) -> Result<Vec<bool>> {
    let sql = "DELETE FROM job WHERE id = ?1 AND lease = ?2 AND state = 'leased'";
    let mut delete = transaction.prepare_cached(sql)?;
    jobs.iter().map(|job| Ok(delete.execute((job.id.0, job.lease))? > 0)).collect()
}

pub(super) fn fail(transaction: &Transaction, job: &Job, error: &str, now: Timestamp) -> Result<Option<JobState>> {
    let (state, due) = match retry_at(job.attempts, now) {
        Some(due) => (JobState::Ready, due),
        None => (JobState::Dead, now),
    };
    let sql = "UPDATE job SET state = ?3, due = ?4, error = ?5 WHERE id = ?1 AND lease = ?2 AND state = 'leased'";
    let changed = transaction.execute(sql, (job.id.0, job.lease, state.name(), due.as_millisecond(), error))?;
    Ok((changed > 0).then_some(state))
}

pub(super) fn give_back(transaction: &Transaction, jobs: &[Job], now: Timestamp) -> Result<()> {
    let sql = "UPDATE job SET state = 'ready', attempts = attempts - 1, due = ?3 \
               WHERE id = ?1 AND lease = ?2 AND state = 'leased'";
    let mut update = transaction.prepare_cached(sql)?;
    jobs.iter().try_for_each(|job| update.execute((job.id.0, job.lease, now.as_millisecond())).map(|_| ()))
}

pub(super) fn list(connection: &Connection, state: JobState, limit: usize) -> Result<Vec<Job>> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE state = ?1 ORDER BY id LIMIT ?2");
    connection.prepare_cached(&sql)?.query_map((state.name(), limit as i64), job)?.collect()
}

pub(super) fn one(connection: &Connection, id: JobId) -> Result<Option<Job>> {
    connection.prepare_cached(&format!("SELECT {COLUMNS} FROM job WHERE id = ?1"))?.query_row([id.0], job).optional()
}

pub(super) fn revive(transaction: &Transaction, id: JobId, now: Timestamp) -> Result<bool> {
    let sql = "UPDATE job SET state = 'ready', attempts = 0, due = ?2, error = NULL WHERE id = ?1 AND state = 'dead'";
    Ok(transaction.execute(sql, (id.0, now.as_millisecond()))? > 0)
}

pub(super) fn stats(connection: &Connection) -> Result<JobStats> {
    let mut stats = JobStats::default();
    let mut statement = connection.prepare_cached("SELECT state, count(*) FROM job GROUP BY state")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        stats.add(row.get_ref(0)?.as_str()?, row.get::<_, i64>(1)?.unsigned_abs());
    }
    Ok(stats)
}
