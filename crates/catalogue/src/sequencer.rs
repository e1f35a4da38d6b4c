//! The sequencer: what a group of batches means for the stored rows. Pure; the same for both stores.
//!
//! A store works in three steps, inside one transaction that no other writer can interleave with:
//! it fetches what the [`Desk`] says it [`needs`](Desk::needs) until nothing is missing, lets it [`take`](Desk::take) each
//! batch, and writes the rows it [`finishes`](Desk::finish) with. Because writers follow one another, `seq` and datestamp
//! are in commit order, and a reader of the log can never step over an entry that commits later.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use zhulu_record::{
    Change, Clock, DRIFT_BOUND, Datestamp, Digest, Draft, Element, Entry, NodeId, Record, RecordId, SetName, Source,
    Stamp, State, Statement,
};

use crate::row::{Batch, Head, Logged, Outcome, Receipt, Stored};
use crate::store::Audit;

/// The one row that says where the log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadRow {
    pub(crate) node: NodeId,
    pub(crate) seq: u64,
    pub(crate) origin_seq: u64,
    pub(crate) datestamp: Option<Datestamp>,
    pub(crate) earliest: Option<Datestamp>,
    pub(crate) clock: (u64, u16),
    pub(crate) records: u64,
    pub(crate) deleted: u64,
    /// How many entries compaction has taken out of the log.
    pub(crate) compacted: u64,
}

impl From<HeadRow> for Head {
    fn from(row: HeadRow) -> Head {
        let HeadRow { node, seq, datestamp, earliest, records, deleted, .. } = row;
        Head { node, seq, datestamp, earliest, records, deleted }
    }
}

/// A record's row: where it stands in this node's time, and which entries of the log make it what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordRow {
    pub(crate) id: RecordId,
    pub(crate) datestamp: Datestamp,
    pub(crate) seq: u64,
    pub(crate) deleted: bool,
    pub(crate) merged_into: Option<RecordId>,
    /// The entries that still count, by seq.
    pub(crate) live: Vec<u64>,
    /// The sets it is in. A deleted record stays in those it was in: who harvests one of them must hear of the deletion.
    pub(crate) sets: BTreeSet<SetName>,
    /// Whether the store has no row of it yet.
    pub(crate) new: bool,
}

impl RecordRow {
    /// The record as readers see it, made from its live entries.
    pub(crate) fn stored(self, live: &[Logged]) -> Stored {
        let mut record = State::of(live.iter().map(|logged| &logged.entry)).view(self.id);
        record.sets = self.sets;
        Stored { datestamp: self.datestamp, seq: self.seq, record, merged_into: self.merged_into }
    }

    /// The row as verification sees it, with what else is stored of the record.
    pub(crate) fn audit(self, memberships: Vec<(SetName, Datestamp)>, history: Vec<Logged>) -> Audit {
        let RecordRow { id, datestamp, deleted, merged_into, live, sets, .. } = self;
        Audit { id, datestamp, deleted, merged_into, live, sets, memberships, history }
    }
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRow {
    pub(crate) seq: u64,
    pub(crate) stamp: Stamp,
    pub(crate) record: RecordId,
    pub(crate) datestamp: Datestamp,
    pub(crate) body: String,
}

/// A title or DOI that other records may share, shortened: a collision costs a person one look.
pub(crate) type Likeness = [u8; 8];

/// What a desk must be shown before it can work on its batches.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Rows of these records, with their live entries, as far as they exist.
    pub(crate) records: Vec<RecordId>,
    /// The records that have these keys, as far as any has.
    pub(crate) keys: Vec<RecordId>,
    /// Which of these stamps the log knows.
    pub(crate) stamps: Vec<Stamp>,
}

impl Needs {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.keys.is_empty() && self.stamps.is_empty()
    }
}

/// Rows to be written, in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    pub(crate) log: Vec<LogRow>,
    pub(crate) blobs: Vec<(Digest, u64)>,
    pub(crate) records: Vec<RecordRow>,
    pub(crate) left_sets: Vec<(SetName, Datestamp, RecordId)>,
    pub(crate) joined_sets: Vec<(SetName, Datestamp, RecordId)>,
    pub(crate) keys: Vec<(RecordId, RecordId)>,
    pub(crate) lost_likeness: Vec<(Likeness, RecordId)>,
    pub(crate) won_likeness: Vec<(Likeness, RecordId)>,
    /// Everything merged into the first is from now on merged into the second.
    pub(crate) repointed: Vec<(RecordId, RecordId)>,
    /// Entries about this record and all that are merged into it, older than the stamp, lose their values.
    pub(crate) purges: Vec<(RecordId, Stamp)>,
    pub(crate) quarantined: Vec<Entry>,
    pub(crate) released: Vec<Stamp>,
    pub(crate) cursors: Vec<(Source, String)>,
    /// Files of changes that were refused: unless an entry refers to them, they must not stay.
    pub(crate) unwanted: Vec<Digest>,
    pub(crate) head: Option<HeadRow>,
}

impl Writes {
    /// Whether there is anything to commit.
    pub(crate) fn is_empty(&self) -> bool {
        self.log.is_empty() && self.quarantined.is_empty() && self.released.is_empty() && self.cursors.is_empty()
    }
}

struct Working {
    /// As it is stored; `None` for a record that is new.
    row: Option<RecordRow>,
    state: State,
    /// The seq of every entry in `state`.
    seqs: HashMap<Stamp, u64>,
    merged_into: Option<RecordId>,
    /// What it might share with others when it was loaded, to know what to take out of that view.
    before: BTreeSet<Likeness>,
    /// How it looked last; `None` for a record that nobody has seen yet.
    looked: Option<Digest>,
    /// The last seq that changed how it looks.
    changed: Option<u64>,
    dirty: bool,
}

impl Working {
    fn new() -> Self {
        Working {
            row: None,
            state: State::default(),
            seqs: HashMap::new(),
            merged_into: None,
            before: BTreeSet::new(),
            looked: None,
            changed: None,
            dirty: true,
        }
    }

    /// Looks again after a change; whether a reader would see a difference.
    fn look(&mut self, seq: u64) -> bool {
        self.dirty = true;
        if self.row.is_none() && self.changed.is_none() {
            // New: there is nothing to compare with, and the digest is not made unless a second change asks for it.
            self.changed = Some(seq);
            return true;
        }
        let now = self.state.outline().digest();
        let differs = self.looked != Some(now);
        self.looked = Some(now);
        if differs {
            self.changed = Some(seq);
        }
        differs
    }

    /// Makes sure that [`Working::look`] has something to compare with; before the state changes.
    fn remember(&mut self) {
        if self.looked.is_none() && self.changed.is_some() {
            self.looked = Some(self.state.outline().digest());
        }
    }
}

/// Where one group of batches is worked on.
pub(crate) struct Desk {
    head: HeadRow,
    clock: Clock,
    now: Timestamp,
    datestamp: Datestamp,
    working: HashMap<RecordId, Working>,
    /// Asked for and not there.
    absent: HashSet<RecordId>,
    owners: HashMap<RecordId, Option<RecordId>>,
    known: HashMap<Stamp, bool>,
    writes: Writes,
}

impl Desk {
    /// A desk for one transaction. `floor` is the latest time a harvester was ever told is settled.
    pub(crate) fn new(head: HeadRow, now: Timestamp, floor: Option<Datestamp>) -> Self {
        let datestamp = Some(Datestamp::from_timestamp(now)).max(head.datestamp).max(floor);
        Desk {
            clock: Clock::resume(head.node, head.clock.0, head.clock.1),
            head,
            now,
            datestamp: datestamp.expect("a maximum with something in it"),
            working: HashMap::new(),
            absent: HashSet::new(),
            owners: HashMap::new(),
            known: HashMap::new(),
            writes: Writes::default(),
        }
    }

    /// What must still be fetched before these batches can be taken.
    pub(crate) fn needs<'a>(&self, batches: impl IntoIterator<Item = &'a Batch>) -> Needs {
        let mut records = BTreeSet::new();
        let mut keys = BTreeSet::new();
        let mut stamps = BTreeSet::new();
        for batch in batches {
            let drafts = batch.drafts.iter().map(|draft| (draft.record, draft_keys(draft)));
            let entries = batch.entries.iter().map(|entry| (entry.record, entry.keys()));
            for (record, claimed) in drafts.chain(entries) {
                records.insert(record);
                for key in claimed.iter().map(zhulu_record::Key::record) {
                    // Any key may be the identifier of a record of its own.
                    records.insert(key);
                    keys.insert(key);
                }
                // The identifier itself may be a further key of another record.
                keys.insert(record);
            }
            stamps.extend(batch.entries.iter().map(|entry| entry.stamp));
        }
        records.extend(self.owners.values().flatten());
        records.extend(self.working.values().filter_map(|working| working.merged_into));
        records.retain(|id| !self.working.contains_key(id) && !self.absent.contains(id));
        keys.retain(|key| !self.owners.contains_key(key));
        stamps.retain(|stamp| !self.known.contains_key(stamp));
        Needs {
            records: records.into_iter().collect(),
            keys: keys.into_iter().collect(),
            stamps: stamps.into_iter().collect(),
        }
    }

    /// Shows the desk what was asked for; what is not among it does not exist.
    pub(crate) fn supply(
        &mut self,
        needs: Needs,
        records: Vec<(RecordRow, Vec<Logged>)>,
        owners: Vec<(RecordId, RecordId)>,
        known: Vec<Stamp>,
    ) {
        self.absent.extend(needs.records);
        self.owners.extend(needs.keys.into_iter().map(|key| (key, None)));
        self.known.extend(needs.stamps.into_iter().map(|stamp| (stamp, false)));
        for (row, entries) in records {
            let mut working = Working::new();
            for logged in entries {
                working.seqs.insert(logged.entry.stamp, logged.seq);
                working.state.take(logged.entry);
            }
            let outline = working.state.outline();
            working.before = likeness(&outline.statements);
            working.looked = Some(outline.digest());
            working.merged_into = row.merged_into;
            working.dirty = false;
            self.absent.remove(&row.id);
            self.working.insert(row.id, Working { row: Some(row), ..working });
        }
        self.owners.extend(owners.into_iter().map(|(key, record)| (key, Some(record))));
        self.known.extend(known.into_iter().map(|stamp| (stamp, true)));
    }

    /// Takes a batch in. Everything it needs must have been supplied.
    pub(crate) fn take(&mut self, batch: Batch) -> Receipt {
        let mut outcomes = Vec::with_capacity(batch.drafts.len() + batch.entries.len());
        for draft in batch.drafts {
            outcomes.push(self.take_draft(draft));
        }
        for entry in batch.entries {
            outcomes.push(self.take_entry(entry));
        }
        if let Some(update) = batch.cursor {
            self.writes.cursors.push((update.source, update.cursor));
        }
        Receipt { seq: self.head.seq, outcomes, orphaned: Vec::new() }
    }

    /// Takes entries whose time has come out of quarantine.
    pub(crate) fn release(&mut self, batch: Batch) {
        self.writes.released.extend(batch.entries.iter().map(|entry| entry.stamp));
        self.take(batch);
    }

    fn take_draft(&mut self, draft: Draft) -> (RecordId, Outcome) {
        let record = self.resolve(draft.record);
        if !draft.source.is_people() {
            let keys = draft_keys(&draft).iter().map(|key| self.owner(key.record()));
            if keys.chain([record]).any(|id| self.working.get(&id).is_some_and(|working| working.state.is_erased())) {
                if let Change::Put(put) = &draft.change {
                    self.writes.unwanted.extend(put.blobs.iter().map(|blob| blob.digest));
                }
                return (record, Outcome::Erased);
            }
            // A source that says again, to the letter, what it says already adds nothing but length to the log.
            let same = |entry: &Entry| entry.source == draft.source && entry.change == draft.change;
            if self.working.get(&record).is_some_and(|working| working.state.live().any(same)) {
                return (record, Outcome::Unchanged);
            }
        }
        let stamp = self.clock.tick(self.now);
        self.head.origin_seq += 1;
        self.log(draft.stamped(stamp, self.head.origin_seq))
    }

    fn take_entry(&mut self, entry: Entry) -> (RecordId, Outcome) {
        if self.known.get(&entry.stamp).copied().unwrap_or(false) {
            return (self.resolve(entry.record), Outcome::Known);
        }
        self.known.insert(entry.stamp, true);
        if self.clock.witness(entry.stamp, self.now).is_err() {
            let record = entry.record;
            self.writes.quarantined.push(entry);
            return (record, Outcome::Quarantined);
        }
        if entry.origin() == self.head.node {
            // Our own words come back to us, after an older backup was restored: do not give their numbers out again.
            self.head.origin_seq = self.head.origin_seq.max(entry.origin_seq);
        }
        self.log(entry)
    }

    /// Puts an entry into the log and into its record.
    fn log(&mut self, entry: Entry) -> (RecordId, Outcome) {
        self.head.seq += 1;
        self.head.datestamp = Some(self.datestamp);
        self.head.earliest = self.head.earliest.or(Some(self.datestamp));
        let seq = self.head.seq;

        let existed = self.working.contains_key(&self.resolve(entry.record));
        let (record, merged) = self.unite(&entry, seq);
        let working = self.working.get_mut(&record).expect("unite has made it");
        let entry = if working.state.is_void(&entry) { entry.erased() } else { entry };
        self.writes.blobs.extend(entry.blobs().iter().map(|blob| (blob.digest, seq)));
        if entry.change == Change::Erase {
            self.writes.purges.push((record, entry.stamp));
        }
        self.writes.log.push(LogRow {
            seq,
            stamp: entry.stamp,
            record: entry.record,
            datestamp: self.datestamp,
            body: serde_json::to_string(&entry).expect("an entry has a JSON form"),
        });
        working.remember();
        working.seqs.insert(entry.stamp, seq);
        working.state.take(entry);
        let differs = working.look(seq);
        let outcome = match () {
            () if !existed => Outcome::Created,
            () if differs || merged => Outcome::Changed,
            () => Outcome::Unchanged,
        };
        (record, outcome)
    }

    /// Brings together all records that share a key with this entry: they are one. The smallest of their identifiers is
    /// the one that stays, so that every node, whatever order it hears of them in, keeps the same.
    fn unite(&mut self, entry: &Entry, seq: u64) -> (RecordId, bool) {
        let mut one: BTreeSet<RecordId> = BTreeSet::from([self.resolve(entry.record), entry.record]);
        let mut claims: Vec<RecordId> = entry.keys().iter().map(zhulu_record::Key::record).collect();
        claims.push(entry.record);
        for key in &claims {
            if let Some(Some(_)) = self.owners.get(key) {
                one.insert(self.owner(*key));
            }
            if self.working.contains_key(key) {
                one.insert(self.resolve(*key));
            }
        }
        let winner = *one.first().expect("the entry's own record is in it");
        for key in claims {
            if key != winner && !self.working.contains_key(&key) && self.owners.get(&key) != Some(&Some(winner)) {
                self.owners.insert(key, Some(winner));
                self.writes.keys.push((key, winner));
            }
        }
        self.working.entry(winner).or_insert_with(Working::new);
        let mut merged = false;
        for loser in one.into_iter().filter(|id| *id != winner) {
            let working = self.working.entry(loser).or_insert_with(Working::new);
            if working.merged_into == Some(winner) {
                continue;
            }
            merged = true;
            working.merged_into = Some(winner);
            working.remember();
            let state = std::mem::take(&mut working.state);
            let seqs = std::mem::take(&mut working.seqs);
            // As a record of its own it is deleted; a tombstone that leads on stays.
            working.look(seq);
            for other in self.working.values_mut().filter(|other| other.merged_into == Some(loser)) {
                other.merged_into = Some(winner);
                other.dirty = true;
            }
            self.writes.repointed.push((loser, winner));
            let working = self.working.get_mut(&winner).expect("made above");
            working.remember();
            working.state.join(&state);
            working.seqs.extend(seqs);
            working.dirty = true;
        }
        (winner, merged)
    }

    /// The record that has a key, or would be made for it.
    fn owner(&self, key: RecordId) -> RecordId {
        self.resolve(self.owners.get(&key).copied().flatten().unwrap_or(key))
    }

    /// What a record turned out to be.
    fn resolve(&self, id: RecordId) -> RecordId {
        match self.working.get(&id) {
            Some(working) => working.merged_into.unwrap_or(id),
            None => id,
        }
    }

    /// The rows to write.
    pub(crate) fn finish(mut self) -> Writes {
        let mut ids: Vec<RecordId> =
            self.working.iter().filter(|(_, working)| working.dirty).map(|(id, _)| *id).collect();
        // In order, so that two runs write the same bytes and the index is walked forwards.
        ids.sort_unstable();
        for id in ids {
            let working = &self.working[&id];
            let row = working.row.as_ref();
            let (datestamp, seq) = match (row, working.changed) {
                (Some(row), None) => (row.datestamp, row.seq),
                (_, changed) => (self.datestamp, changed.unwrap_or(self.head.seq)),
            };
            let outline = working.state.outline();
            let deleted = outline.deleted;
            self.head.records += u64::from(row.is_none());
            self.head.deleted += u64::from(deleted);
            self.head.deleted -= u64::from(row.is_some_and(|row| row.deleted));

            let none = BTreeSet::new();
            let old_sets = row.map_or(&none, |row| &row.sets);
            let after = likeness(&outline.statements);
            let sets = if deleted { old_sets | &outline.sets } else { outline.sets };
            let moved = row.is_none_or(|row| row.datestamp != datestamp);
            if let Some(row) = row {
                let left = old_sets.iter().filter(|set| moved || !sets.contains(set));
                self.writes.left_sets.extend(left.map(|set| (set.clone(), row.datestamp, id)));
            }
            let joined = sets.iter().filter(|set| moved || !old_sets.contains(set));
            self.writes.joined_sets.extend(joined.map(|set| (set.clone(), datestamp, id)));

            let before = &working.before;
            self.writes.lost_likeness.extend(before.difference(&after).map(|like| (*like, id)));
            self.writes.won_likeness.extend(after.difference(before).map(|like| (*like, id)));

            let mut live: Vec<u64> = working.state.live().map(|entry| working.seqs[&entry.stamp]).collect();
            live.sort_unstable();
            let merged_into = working.merged_into;
            self.writes.records.push(RecordRow {
                id,
                datestamp,
                seq,
                deleted,
                merged_into,
                live,
                sets,
                new: row.is_none(),
            });
        }
        let last = self.clock.last();
        self.head.clock = (last.millis, last.counter);
        self.writes.head = Some(self.head);
        self.writes
    }
}

fn draft_keys(draft: &Draft) -> &[zhulu_record::Key] {
    match &draft.change {
        Change::Put(put) => &put.keys,
        _ => &[],
    }
}

/// When an entry in quarantine may be taken in.
pub(crate) fn due(entry: &Entry) -> i64 {
    i64::try_from(entry.stamp.millis.saturating_sub(DRIFT_BOUND.as_millis() as u64)).unwrap_or(i64::MAX)
}

/// What other records may share with one that says this, for a person to judge: its DOIs, and its titles but for case, space and marks.
pub(crate) fn likeness<'s>(statements: impl IntoIterator<Item = &'s &'s Statement>) -> BTreeSet<Likeness> {
    let mut found = BTreeSet::new();
    for statement in statements {
        let Some(text) = statement.value.as_text() else { continue };
        let like = match &statement.element {
            element if *element == Element::TITLE => {
                let title: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
                // "Introduction", "前言": short titles are shared by things that have nothing else in common.
                (title.chars().count() >= 8 && title != "introduction").then(|| format!("title {title}"))
            }
            element if *element == Element::IDENTIFIER => doi(text).map(|doi| format!("doi {doi}")),
            _ => None,
        };
        if let Some(like) = like {
            let mut short = Likeness::default();
            short.copy_from_slice(&Sha256::digest(like.as_bytes())[..8]);
            found.insert(short);
        }
    }
    found
}

/// The same for a record as readers see it.
pub(crate) fn likeness_of(record: &Record) -> BTreeSet<Likeness> {
    likeness(&record.statements.iter().map(|said| &said.statement).collect::<Vec<_>>())
}

/// The DOI in an identifier, whether written bare, with `doi:` or as a URL; in lower case, since DOIs ignore it.
fn doi(text: &str) -> Option<String> {
    let start = text.find("10.")?;
    let doi = text[start..].trim_end_matches(['.', ',', ';', ' ']);
    let (registrant, suffix) = doi.split_once('/')?;
    let fits = registrant.len() >= 7 && registrant[3..].chars().all(|c| c.is_ascii_digit() || c == '.');
    (fits && !suffix.is_empty()).then(|| doi.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dois_are_one_however_written() {
        for text in ["10.1000/ABC.1", "doi:10.1000/abc.1", "https://doi.org/10.1000/abc.1."] {
            assert_eq!(doi(text).as_deref(), Some("10.1000/abc.1"), "{text}");
        }
        for text in ["10.5 apples", "10./x", "ISBN 10.1", "10.10x0/abc"] {
            assert_eq!(doi(text), None, "{text}");
        }
    }
}
