//! How a record's state looks to a reader: who outranks whom, what is visible, what is in conflict.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::change::{BlobRef, Change, Entry, Kind, Provenance, Put, SetName, Source};
use crate::element::Element;
use crate::evidence::Confidence;
use crate::id::{Digest, Key, RecordId};
use crate::merge::{Register, State, touches};
use crate::stamp::Stamp;
use crate::statement::{Language, Statement, Value};

/// A statement as the record shows it: evidence made whole, and who said it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// What is said; its evidence includes the defaults of its change.
    #[serde(flatten)]
    pub statement: Statement,
    /// Who says it.
    pub source: Source,
    /// Since when.
    pub stamp: Stamp,
}

/// A source's standing in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voice {
    /// Who.
    pub source: Source,
    /// Its newest word.
    pub stamp: Stamp,
    /// Whether it still says anything.
    pub live: bool,
}

/// Two or more people changed the same thing without having seen each other's change. The newest stands until somebody
/// replaces it; all are in history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The element, or `None` when the question is whether the record exists.
    pub element: Option<Element>,
    /// The stamps of the changes that met, newest last: that one stands.
    pub stamps: Vec<Stamp>,
}

/// One record, as it now is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its identifier.
    pub id: RecordId,
    /// What it describes.
    pub kind: Kind,
    /// No source is live, or people removed it. A deleted record keeps its identifier for ever.
    pub deleted: bool,
    /// It was removed for legal reasons; nothing of what was said up to then is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// The newest stamp applied to it.
    pub stamp: Option<Stamp>,
    /// What makes it this record.
    pub keys: Vec<Key>,
    /// The sets it is in; a deleted record stays in those it was last in, so that harvesters of a set hear of it.
    pub sets: BTreeSet<SetName>,
    /// What is said, by element in reading order.
    pub statements: Vec<Said>,
    /// Files kept with it.
    pub blobs: Vec<BlobRef>,
    /// Where it was harvested.
    pub provenance: Vec<Provenance>,
    /// Who speaks of it.
    pub voices: Vec<Voice>,
    /// What people still have to settle.
    pub conflicts: Vec<Conflict>,
}

impl Record {
    /// All values of an element, in order.
    pub fn all<'s, 'e>(&'s self, element: &'e Element) -> impl Iterator<Item = &'s Said> + use<'s, 'e> {
        self.statements.iter().filter(move |said| said.statement.element == *element)
    }

    /// The first text of an element.
    pub fn first(&self, element: &Element) -> Option<&str> {
        self.all(element).find_map(|said| said.statement.value.as_text())
    }
}

/// What is published of a record, without the evidence and without copies: all that decides whether a change is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline<'s> {
    /// What it describes.
    pub kind: Kind,
    /// No source is live, or people removed it.
    pub deleted: bool,
    /// It was removed for legal reasons.
    pub erased: bool,
    /// The sets it is in.
    pub sets: BTreeSet<SetName>,
    /// What is said, by element in reading order.
    pub statements: Vec<&'s Statement>,
    blobs: BTreeSet<&'s BlobRef>,
    provenance: BTreeSet<&'s Provenance>,
}

impl Outline<'_> {
    /// Two outlines with the same digest look the same to every harvester and reader, so a change from one to the other
    /// moves no datestamp.
    pub fn digest(&self) -> Digest {
        let statements: Vec<_> = self
            .statements
            .iter()
            .map(|statement| (&statement.element, &statement.value, &statement.language))
            .collect();
        let published = (self.deleted, self.erased, self.kind, &self.sets, statements, &self.blobs, &self.provenance);
        let text = serde_json::to_vec(&published).expect("plain values have a JSON form");
        Digest::from_bytes(Sha256::digest(text).into())
    }
}

/// A statement on its way into a view, with the change it stands in.
type Spoken<'s> = (&'s Entry, &'s Put, &'s Statement);

impl State {
    /// What is published of it.
    pub fn outline(&self) -> Outline<'_> {
        self.look().0
    }

    /// The outline, and the statements in it with where they stand.
    fn look(&self) -> (Outline<'_>, Vec<Spoken<'_>>) {
        let people = || self.people().values().filter_map(put_of);
        let mut live: Vec<(&Entry, &Put)> = self.machines().values().filter_map(put_of).collect();
        // Newest first: what a reader sees first, and what decides the kind, is what was said last.
        live.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.stamp));

        let deleted = self.is_deleted(!live.is_empty());
        let kind = live.first().map(|(_, put)| put.kind).or_else(|| people().next_back().map(|(_, put)| put.kind));
        let mut sets: BTreeSet<SetName> = kind.map(SetName::of_kind).into_iter().collect();
        sets.extend(self.machines().keys().map(SetName::of_source));
        let mut blobs = BTreeSet::new();
        let mut provenance = BTreeSet::new();
        for (_, put) in live.iter().copied().chain(people()) {
            sets.extend(put.sets.iter().flat_map(SetName::with_parents));
            if !deleted {
                blobs.extend(&put.blobs);
                provenance.extend(&put.provenance);
            }
        }
        let spoken = if deleted { Vec::new() } else { self.spoken(&live) };
        let statements = spoken.iter().map(|(_, _, statement)| *statement).collect();
        let erased = self.is_erased();
        (Outline { kind: kind.unwrap_or_default(), deleted, erased, sets, statements, blobs, provenance }, spoken)
    }

    /// The record this state shows.
    pub fn view(&self, id: RecordId) -> Record {
        let (outline, spoken) = self.look();
        let puts = self.machines().values().chain(self.people().values()).filter_map(put_of);
        let keys: BTreeSet<&Key> = puts.flat_map(|(_, put)| &put.keys).collect();
        let voices = self.machines().values().map(|entry| Voice {
            source: entry.source.clone(),
            stamp: entry.stamp,
            live: matches!(entry.change, Change::Put(_)),
        });
        let statements = spoken.into_iter().map(|(entry, put, statement)| Said {
            statement: Statement {
                element: statement.element.clone(),
                value: statement.value.clone(),
                language: statement.language.clone(),
                evidence: statement.evidence.or(&put.evidence),
            },
            source: entry.source.clone(),
            stamp: entry.stamp,
        });
        Record {
            id,
            kind: outline.kind,
            deleted: outline.deleted,
            erased: outline.erased,
            stamp: self.newest(),
            keys: keys.into_iter().cloned().collect(),
            statements: statements.collect(),
            blobs: outline.blobs.into_iter().cloned().collect(),
            provenance: outline.provenance.into_iter().cloned().collect(),
            sets: outline.sets,
            voices: voices.chain(self.people_voice()).collect(),
            conflicts: self.conflicts(),
        }
    }

    /// Whether the record is gone, given whether any machine still speaks of it.
    fn is_deleted(&self, machine_speaks: bool) -> bool {
        let released = self.released(None);
        let since_release = |entry: &&Entry| Some(entry.stamp) > released;
        // An erasure counts as a person's removal, and as such can be released.
        let removal = self.erasure().filter(since_release).map(|entry| (entry.stamp, false));
        let word = self.people().values().rev().filter(since_release).find_map(|entry| match &entry.change {
            Change::Delete => Some((entry.stamp, false)),
            // A person who writes into a removed record brings it back.
            Change::Put(put) if self.holds(entry, put) => Some((entry.stamp, true)),
            _ => None,
        });
        match removal.max(word) {
            Some((_, exists)) => !exists,
            None => !machine_speaks,
        }
    }

    /// Whether any element of a person's put is still theirs, not released since.
    fn holds(&self, entry: &Entry, put: &Put) -> bool {
        put.elements().into_iter().any(|element| self.released(Some(element)) < Some(entry.stamp))
    }

    /// What is said and by whom: people's word on the elements they hold, the machines' on all others.
    fn spoken<'s>(&'s self, live: &[(&'s Entry, &'s Put)]) -> Vec<Spoken<'s>> {
        // What people hold: for each element the newest put since its release.
        let mut held: BTreeMap<&Element, (&Entry, &Put)> = BTreeMap::new();
        for (entry, put) in self.people().values().filter_map(put_of) {
            for element in put.elements() {
                if self.released(Some(element)) < Some(entry.stamp) {
                    held.insert(element, (entry, put));
                }
            }
        }
        let mut spoken: Vec<Spoken> = Vec::new();
        for (element, (entry, put)) in &held {
            let said = put.statements.iter().filter(|statement| statement.element == **element);
            spoken.extend(said.map(|statement| (*entry, *put, statement)));
        }
        let mut seen: BTreeMap<(&Element, &Value, Option<&Language>), usize> = BTreeMap::new();
        for (entry, put) in live {
            for statement in put.statements.iter().filter(|statement| !held.contains_key(&statement.element)) {
                match seen.entry((&statement.element, &statement.value, statement.language.as_ref())) {
                    // Two sources that say the same are shown as one, with the better evidence.
                    btree_map::Entry::Occupied(place) => {
                        let shown = &mut spoken[*place.get()];
                        if sureness(put, statement) > sureness(shown.1, shown.2) {
                            *shown = (entry, put, statement);
                        }
                    }
                    btree_map::Entry::Vacant(place) => {
                        place.insert(spoken.len());
                        spoken.push((entry, put, statement));
                    }
                }
            }
        }
        // Stable: within an element the order of the source stays, since the order of authors means something.
        spoken.sort_by(|(.., a), (.., b)| {
            a.element.rank().cmp(&b.element.rank()).then_with(|| a.element.cmp(&b.element))
        });
        spoken
    }

    fn people_voice(&self) -> Option<Voice> {
        let entry = self.people().values().next_back()?;
        let live = self.people().values().filter_map(put_of).any(|(entry, put)| self.holds(entry, put));
        Some(Voice { source: entry.source.clone(), stamp: entry.stamp, live })
    }

    fn conflicts(&self) -> Vec<Conflict> {
        let mut registers = BTreeSet::from([Register::Existence]);
        for entry in self.people().values() {
            match &entry.change {
                Change::Put(put) => registers.extend(put.elements().into_iter().cloned().map(Register::Element)),
                Change::Release(elements) => registers.extend(elements.iter().cloned().map(Register::Element)),
                _ => {}
            }
        }
        let mut conflicts = Vec::new();
        for register in registers {
            let touching: Vec<&Entry> = self.people().values().filter(|entry| touches(entry, &register)).collect();
            let mut by_replaced: BTreeMap<Option<Stamp>, Vec<&Entry>> = BTreeMap::new();
            for entry in &touching {
                by_replaced.entry(entry.replaces).or_default().push(entry);
            }
            for rivals in by_replaced.into_values() {
                let Some((winner, losers)) = rivals.split_last() else { continue };
                let differ = losers.iter().any(|loser| word_on(loser, &register) != word_on(winner, &register));
                let settled = touching.iter().any(|entry| entry.replaces == Some(winner.stamp));
                if differ && !settled {
                    let element = match &register {
                        Register::Existence => None,
                        Register::Element(element) => Some(element.clone()),
                    };
                    conflicts.push(Conflict { element, stamps: rivals.iter().map(|entry| entry.stamp).collect() });
                }
            }
        }
        conflicts
    }
}

fn put_of(entry: &Entry) -> Option<(&Entry, &Put)> {
    match &entry.change {
        Change::Put(put) => Some((entry, put)),
        _ => None,
    }
}

fn sureness(put: &Put, statement: &Statement) -> Option<Confidence> {
    statement.evidence.confidence.or(put.evidence.confidence)
}

/// What an entry says in one register, without evidence: people who agree are not in conflict.
fn word_on<'a>(entry: &'a Entry, register: &Register) -> (u8, Vec<(&'a Value, &'a Option<Language>)>) {
    match (&entry.change, register) {
        (Change::Put(put), Register::Element(element)) => {
            let values = put.statements.iter().filter(|statement| statement.element == *element);
            (0, values.map(|statement| (&statement.value, &statement.language)).collect())
        }
        (Change::Delete, _) => (1, Vec::new()),
        _ => (2, Vec::new()),
    }
}
