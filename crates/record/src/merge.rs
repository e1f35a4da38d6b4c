//! The merge: what a set of entries about one record adds up to.
//!
//! A [`State`] is built by applying entries in any order, any number of times, from any relay; equal sets of entries
//! give equal states. That holds because each part of it is a maximum or a union:
//!
//! - a machine source's register keeps its newest entry;
//! - of people every entry is kept (they are few, and conflicts are seen by comparing them);
//! - an erasure keeps its newest stamp and voids every entry up to it, whether that came before or comes after.
//!
//! How a state looks to a reader is `view`'s. Which records are one is the catalogue's, by the keys in the entries.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::change::{Change, Entry, Source};
use crate::element::Element;
use crate::stamp::Stamp;

/// What people's changes compete for: each element by itself, and whether the record is there at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register {
    /// Whether the record exists.
    Existence,
    /// What one element says.
    Element(Element),
}

/// Everything that counts of what was ever said about one record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    machines: BTreeMap<Source, Entry>,
    people: BTreeMap<Stamp, Entry>,
    erasure: Option<Entry>,
    /// The newest stamp ever applied, counted even when the entry itself is void or superseded.
    newest: Option<Stamp>,
}

impl State {
    /// The state that these entries add up to.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut state = State::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    /// Takes one entry in.
    pub fn apply(&mut self, entry: &Entry) {
        self.place(Cow::Borrowed(entry));
    }

    /// Takes one entry in and keeps it, without a copy.
    pub fn take(&mut self, entry: Entry) {
        self.place(Cow::Owned(entry));
    }

    fn place(&mut self, entry: Cow<'_, Entry>) {
        self.newest = self.newest.max(Some(entry.stamp));
        match &entry.change {
            Change::Erase => {
                if self.erasure.as_ref().is_none_or(|erasure| erasure.stamp < entry.stamp) {
                    self.machines.retain(|_, other| other.stamp > entry.stamp);
                    self.people.retain(|stamp, _| *stamp > entry.stamp);
                    self.erasure = Some(entry.into_owned());
                }
            }
            _ if self.is_void(&entry) => {}
            // Only people hold registers that can be released; from a machine it means nothing.
            Change::Release(_) if !entry.source.is_people() => {}
            _ if entry.source.is_people() => {
                self.people.entry(entry.stamp).or_insert_with(|| entry.into_owned());
            }
            _ => match self.machines.get_mut(&entry.source) {
                Some(held) if held.stamp >= entry.stamp => {}
                Some(held) => *held = entry.into_owned(),
                None => {
                    self.machines.insert(entry.source.clone(), entry.into_owned());
                }
            },
        }
    }

    /// Takes in all that another state holds: two records turned out to be one.
    pub fn join(&mut self, other: &State) {
        for entry in other.live() {
            self.apply(entry);
        }
        self.newest = self.newest.max(other.newest);
    }

    /// Whether an erasure leaves nothing of `entry`.
    pub fn is_void(&self, entry: &Entry) -> bool {
        // An already emptied entry has nothing to say either; its erasure may still be on its way.
        matches!(entry.change, Change::Erased(_))
            || self.erasure.as_ref().is_some_and(|erasure| entry.stamp < erasure.stamp)
    }

    /// The entries that still count. All others may go from the log without a trace in any view but history.
    pub fn live(&self) -> impl Iterator<Item = &Entry> {
        self.machines.values().chain(self.people.values()).chain(&self.erasure)
    }

    /// The newest stamp applied: what a peer compares.
    pub fn newest(&self) -> Option<Stamp> {
        self.newest
    }

    /// Whether the record was erased and nobody has released it since. New machine snapshots are then not even stored.
    pub fn is_erased(&self) -> bool {
        self.erasure.as_ref().is_some_and(|erasure| self.released(None).is_none_or(|release| release < erasure.stamp))
    }

    /// What a person now editing `register` replaces: the newest of people's entries about it.
    pub fn winner(&self, register: &Register) -> Option<Stamp> {
        self.people.values().rev().find(|entry| touches(entry, register)).map(|entry| entry.stamp)
    }

    pub(crate) fn machines(&self) -> &BTreeMap<Source, Entry> {
        &self.machines
    }

    pub(crate) fn people(&self) -> &BTreeMap<Stamp, Entry> {
        &self.people
    }

    pub(crate) fn erasure(&self) -> Option<&Entry> {
        self.erasure.as_ref()
    }

    /// The newest release that covers `element`; `None` asks for releases of the whole record.
    pub(crate) fn released(&self, element: Option<&Element>) -> Option<Stamp> {
        let covers = |entry: &&Entry| match &entry.change {
            Change::Release(elements) => {
                elements.is_empty() || element.is_some_and(|element| elements.contains(element))
            }
            _ => false,
        };
        self.people.values().rev().find(covers).map(|entry| entry.stamp)
    }
}

/// Whether a person's entry competes for `register`.
pub(crate) fn touches(entry: &Entry, register: &Register) -> bool {
    match (&entry.change, register) {
        (Change::Put(put), Register::Element(element)) => put.elements().contains(element),
        (Change::Release(elements), Register::Element(element)) => elements.is_empty() || elements.contains(element),
        (Change::Release(elements), Register::Existence) => elements.is_empty(),
        (Change::Delete, Register::Existence) => true,
        _ => false,
    }
}
