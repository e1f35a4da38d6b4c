//! Jobs on PostgreSQL. The rules (waits, attempts) are `crate::job`'s.
//!
//! Leasing is serialised by a lock of its own, since a limit per host cannot be kept by workers that do not see each other;
//! it is short, and takes jobs in batches. `SKIP LOCKED` keeps it from waiting for jobs that are just being finished.

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Shared;
use crate::error::Error;
use crate::job::{ATTEMPTS, Job, JobId, JobState, JobStats, Lease, NewJob, retry_at};

const COLUMNS: &str = "id, kind, host, payload, state, attempts, due, error, lease";

impl Shared {
    fn job(&self, row: &Row) -> Result<Job, Error> {
        Ok(Job {
            id: JobId(row.get(0)),
            kind: row.get(1),
            host: row.get(2),
            payload: self.json(row, 3)?,
            state: JobState::from_name(row.get(4)),
            attempts: row.get::<_, i64>(5).try_into().unwrap_or(u32::MAX),
            due: Timestamp::from_millisecond(row.get(6)).unwrap_or(Timestamp::MAX),
            error: row.get(7),
            lease: row.get(8),
        })
    }

    async fn ask(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.query(&self.connection().await?, sql, parameters).await
    }

    fn millis(&self) -> i64 {
        (self.now)().as_millisecond()
    }
}

pub(super) async fn enqueue(shared: &Shared, jobs: &[NewJob]) -> Result<Vec<Option<JobId>>, Error> {
    let mut connection = shared.connection().await?;
    let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
    let now = shared.millis();
    let mut ids = Vec::with_capacity(jobs.len());
    for job in jobs {
        let sql = "INSERT INTO job (kind, host, payload, state, attempts, due, lease, unique_name) \
                   VALUES ($1, $2, $3, 'ready', 0, $4, 0, $5) ON CONFLICT (unique_name) DO NOTHING RETURNING id";
        let due = job.run_at.map_or(now, Timestamp::as_millisecond);
        let payload = job.payload.to_string();
        let rows = shared.query(&transaction, sql, &[&job.kind, &job.host, &payload, &due, &job.unique]).await?;
        ids.push(rows.first().map(|row| JobId(row.get(0))));
    }
    transaction.commit().await.map_err(|reason| shared.error(reason))?;
    Ok(ids)
}

pub(super) async fn lease(shared: &Shared, lease: &Lease) -> Result<Vec<Job>, Error> {
    let now = (shared.now)();
    let time = now.as_millisecond();
    let sql = "SELECT EXISTS (SELECT 1 FROM job WHERE state = 'ready' AND due <= $1) \
               OR EXISTS (SELECT 1 FROM job WHERE state = 'leased' AND due <= $1)";
    let mut connection = shared.connection().await?;
    // Most of the time there is nothing to do, and finding that out must not cost a lock.
    if !shared.query(&connection, sql, &[&time]).await?.first().is_some_and(|row| row.get(0)) {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction().await.map_err(|reason| shared.error(reason))?;
    let sql = "SELECT pg_advisory_xact_lock(2053663862, hashtext(current_schema()))";
    transaction.execute(sql, &[]).await.map_err(|reason| shared.error(reason))?;
    // Workers that died left their jobs behind.
    let sql = "UPDATE job SET state = CASE WHEN attempts >= $2 THEN 'dead' ELSE 'ready' END, \
               error = coalesce(error, 'its worker did not finish in time') WHERE state = 'leased' AND due <= $1";
    shared.query(&transaction, sql, &[&time, &i64::from(ATTEMPTS)]).await?;

    // Each host in turn, by one step in the index: a host with a long queue must not hide the others.
    let sql = format!(
        "WITH RECURSIVE host (name) AS ( \
             SELECT min(host) FROM job WHERE state = 'ready' \
             UNION ALL \
             SELECT (SELECT min(j.host) FROM job j WHERE j.state = 'ready' AND j.host > host.name) FROM host \
             WHERE host.name IS NOT NULL), \
         room (name, slots) AS ( \
             SELECT name, CASE WHEN name = '' THEN $4::bigint ELSE least($4::bigint, $5::bigint - \
                 (SELECT count(*) FROM job j WHERE j.state = 'leased' AND j.host = host.name)) END \
             FROM host WHERE name IS NOT NULL) \
         UPDATE job SET state = 'leased', attempts = attempts + 1, lease = lease + 1, due = $2 \
         WHERE id IN ( \
             SELECT found.id FROM room CROSS JOIN LATERAL ( \
                 SELECT j.id, j.due FROM job j WHERE j.state = 'ready' AND j.host = room.name AND j.due <= $1 \
                 AND (cardinality($3::text[]) = 0 OR j.kind = ANY($3)) \
                 ORDER BY j.due, j.id LIMIT greatest(room.slots, 0) FOR UPDATE SKIP LOCKED) found \
             ORDER BY found.due, found.id LIMIT $4) \
         RETURNING {COLUMNS}"
    );
    let end = now.checked_add(lease.duration).unwrap_or(Timestamp::MAX).as_millisecond();
    let parameters: [&(dyn ToSql + Sync); 5] =
        [&time, &end, &lease.kinds, &(lease.limit as i64), &(lease.per_host as i64)];
    let rows = shared.query(&transaction, &sql, &parameters).await?;
    let mut jobs = rows.iter().map(|row| shared.job(row)).collect::<Result<Vec<_>, Error>>()?;
    transaction.commit().await.map_err(|reason| shared.error(reason))?;
    jobs.sort_by_key(|job| job.id);
    Ok(jobs)
}

pub(super) async fn acknowledge(shared: &Shared, jobs: &[Job]) -> Result<Vec<bool>, Error> {
    let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
    let leases: Vec<i64> = jobs.iter().map(|job| job.lease).collect();
    let sql = "DELETE FROM job USING unnest($1::bigint[], $2::bigint[]) AS done (id, lease) \
               WHERE job.id = done.id AND job.lease = done.lease AND job.state = 'leased' RETURNING job.id";
    let rows = shared.ask(sql, &[&ids, &leases]).await?;
    let gone: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    Ok(jobs.iter().map(|job| gone.contains(&job.id.0)).collect())
}

pub(super) async fn fail(shared: &Shared, job: &Job, error: &str) -> Result<Option<JobState>, Error> {
    let now = (shared.now)();
    let (state, due) = match retry_at(job.attempts, now) {
        Some(due) => (JobState::Ready, due),
        None => (JobState::Dead, now),
    };
    let sql = "UPDATE job SET state = $3, due = $4, error = $5 WHERE id = $1 AND lease = $2 AND state = 'leased' RETURNING id";
    let rows = shared.ask(sql, &[&job.id.0, &job.lease, &state.name(), &due.as_millisecond(), &error]).await?;
    Ok((!rows.is_empty()).then_some(state))
}

pub(super) async fn give_back(shared: &Shared, jobs: &[Job]) -> Result<(), Error> {
    let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
    let leases: Vec<i64> = jobs.iter().map(|job| job.lease).collect();
    let sql = "UPDATE job SET state = 'ready', attempts = attempts - 1, due = $3 \
               FROM unnest($1::bigint[], $2::bigint[]) AS back (id, lease) \
               WHERE job.id = back.id AND job.lease = back.lease AND job.state = 'leased'";
    shared.ask(sql, &[&ids, &leases, &shared.millis()]).await.map(|_| ())
}

pub(super) async fn list(shared: &Shared, state: JobState, limit: usize) -> Result<Vec<Job>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE state = $1 ORDER BY id LIMIT $2");
    let rows = shared.ask(&sql, &[&state.name(), &(limit as i64)]).await?;
    rows.iter().map(|row| shared.job(row)).collect()
}

pub(super) async fn one(shared: &Shared, id: JobId) -> Result<Option<Job>, Error> {
    let rows = shared.ask(&format!("SELECT {COLUMNS} FROM job WHERE id = $1"), &[&id.0]).await?;
    rows.first().map(|row| shared.job(row)).transpose()
}

pub(super) async fn revive(shared: &Shared, id: JobId) -> Result<bool, Error> {
    let sql = "UPDATE job SET state = 'ready', attempts = 0, due = $2, error = NULL \
               WHERE id = $1 AND state = 'dead' RETURNING id";
    Ok(!shared.ask(sql, &[&id.0, &shared.millis()]).await?.is_empty())
}

pub(super) async fn stats(shared: &Shared) -> Result<JobStats, Error> {
    let mut stats = JobStats::default();
    for row in shared.ask("SELECT state, count(*) FROM job GROUP BY state", &[]).await? {
        stats.add(row.get(0), super::read::number(&row, 1));
    }
    Ok(stats)
}
