//! Verification: whether the log, the rows derived from it, the index and the blobs agree. Changes nothing.

use std::collections::BTreeSet;

use zhulu_record::State;

use crate::catalogue::{Catalogue, blocking};
use crate::error::Error;
use crate::store::{Audit, Tallies};

/// How many records are compared at a time.
const STEP: usize = 1000;

impl Catalogue {
    /// One sentence for each place where log, records, index and blobs do not agree.
    pub async fn verify(&self) -> Result<Vec<String>, Error> {
        self.catch_up().await?;
        let mut found = tally(&self.store().tallies().await?);
        let mut present = BTreeSet::new();
        let mut after = None;
        loop {
            let audits = self.store().audit(after, STEP).await?;
            let Some(last) = audits.last() else { break };
            after = Some(last.id);
            for audit in &audits {
                found.extend(compare(audit));
                if !audit.deleted {
                    present.insert(audit.id);
                }
            }
        }
        let (behind, _) = self.lag().await?;
        if behind > 0 {
            found.push(format!("the index is {behind} entries behind the log (another process holds it)"));
        } else {
            let catalogue = self.clone();
            let indexed: BTreeSet<_> = blocking(move || catalogue.index().ids()).await?.into_iter().collect();
            found.extend(present.difference(&indexed).map(|id| format!("record {id} is missing from the index")));
            found.extend(
                indexed.difference(&present).map(|id| format!("the index has {id}, which is deleted or unknown")),
            );
        }
        let mut after = None;
        loop {
            let digests = self.store().blob_digests(after, STEP).await?;
            let Some(last) = digests.last() else { break };
            after = Some(*last);
            for digest in digests {
                match self.blobs().get(digest).await {
                    Ok(_) => {}
                    Err(Error::NoBlob(_)) => found.push(format!("the file {digest} is missing from the blob store")),
                    Err(reason) => found.push(format!("the file {digest} cannot be read: {reason}")),
                }
            }
        }
        Ok(found)
    }
}

fn tally(tallies: &Tallies) -> Vec<String> {
    let mut found: Vec<String> = tallies.complaints.iter().map(|line| format!("the database says: {line}")).collect();
    let mut check = |what: &str, counted: u64, said: u64| {
        if counted != said {
            found.push(format!("{what}: {counted} counted, {said} expected"));
        }
    };
    check("last entry of the log", tallies.last_seq, tallies.head_seq);
    check("entries in the log, with those compacted", tallies.entries + tallies.compacted, tallies.head_seq);
    check("records", tallies.records, tallies.head_records);
    check("deleted records", tallies.deleted, tallies.head_deleted);
    check("records in sets", tallies.memberships, tallies.set_records);
    found
}

fn compare(audit: &Audit) -> Vec<String> {
    let Audit { id, .. } = audit;
    let mut found = Vec::new();
    if audit.merged_into.is_some() {
        // Its entries count for the record it was merged into.
        if !audit.live.is_empty() || !audit.deleted {
            found.push(format!("record {id} was merged into another and still has a life of its own"));
        }
    } else {
        let state = State::of(audit.history.iter().map(|logged| &logged.entry));
        let live: BTreeSet<_> = state.live().map(|entry| entry.stamp).collect();
        let stored: BTreeSet<_> = audit
            .history
            .iter()
            .filter(|logged| audit.live.contains(&logged.seq))
            .map(|logged| logged.entry.stamp)
            .collect();
        if live != stored || stored.len() != audit.live.len() {
            found.push(format!("record {id} is made of other entries than the log has for it"));
        }
        if state.view(*id).deleted != audit.deleted {
            found
                .push(format!("record {id} is {}deleted, but not by the log", if audit.deleted { "" } else { "not " }));
        }
    }
    if audit.memberships.len() != audit.sets.len() {
        found.push(format!("record {id} is in {} sets and listed in {}", audit.sets.len(), audit.memberships.len()));
    }
    found
}
