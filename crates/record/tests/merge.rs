//! The merge, by its invariants: any order, any duplication, any relay give the same state; people outrank machines until
//! they release; a machine's delete withdraws only its own say; conflicts are seen; erasure leaves nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use zhulu_record::{
    Change, Confidence, Element, Entry, Evidence, Key, NodeId, Put, Record, RecordId, Register, Source, Stamp, State,
    Statement,
};

fn node(number: u8) -> NodeId {
    NodeId::from_bytes([number; 8])
}

fn stamp(millis: u64, number: u8) -> Stamp {
    Stamp { millis, counter: 0, node: node(number) }
}

fn record() -> RecordId {
    Key::Oai("oai:a:1".into()).record()
}

fn entry(millis: u64, source: &Source, change: Change) -> Entry {
    Entry {
        stamp: stamp(millis, 1),
        origin_seq: millis,
        record: record(),
        source: source.clone(),
        by: None,
        replaces: None,
        change,
    }
}

fn put(statements: &[(&Element, &str)]) -> Change {
    let statements = statements.iter().map(|(element, value)| Statement::new((*element).clone(), *value)).collect();
    Change::Put(Box::new(Put { keys: vec![Key::Oai("oai:a:1".into())], statements, ..Put::default() }))
}

fn clear(element: &Element) -> Change {
    Change::Put(Box::new(Put { clears: BTreeSet::from([element.clone()]), ..Put::default() }))
}

fn view(entries: &[Entry]) -> Record {
    State::of(entries).view(record())
}

fn titles(record: &Record) -> Vec<&str> {
    record.all(&Element::TITLE).filter_map(|said| said.statement.value.as_text()).collect()
}

fn machine(name: &str) -> Source {
    Source::machine(name)
}

#[test]
fn a_machine_put_is_a_snapshot_and_the_newer_stamp_wins() {
    let old = entry(1, &machine("m"), put(&[(&Element::TITLE, "old"), (&Element::CREATOR, "A")]));
    let new = entry(2, &machine("m"), put(&[(&Element::TITLE, "new")]));
    let shown = view(&[new, old]);
    assert_eq!(titles(&shown), ["new"]);
    assert_eq!(shown.first(&Element::CREATOR), None, "what it no longer says is retracted");
}

#[test]
fn sources_add_up_and_equal_words_are_shown_once_with_the_better_evidence() {
    let say = |confidence: f64| {
        let statement = Statement::new(Element::TITLE, "T").because(Evidence::by("x").sure(confidence));
        Change::Put(Box::new(Put { statements: vec![statement], ..Put::default() }))
    };
    let shown = view(&[entry(1, &machine("a"), say(0.9)), entry(2, &machine("b"), say(0.4))]);
    assert_eq!(titles(&shown), ["T"]);
    assert_eq!(shown.statements[0].statement.evidence.confidence, Some(Confidence::new(0.9)));
    let shown = view(&[
        entry(1, &machine("a"), put(&[(&Element::TITLE, "one")])),
        entry(2, &machine("b"), put(&[(&Element::TITLE, "two")])),
    ]);
    assert_eq!(titles(&shown), ["two", "one"], "what was said last comes first");
}

#[test]
fn people_outrank_machines_until_they_release() {
    let mut entries = vec![
        entry(1, &machine("m"), put(&[(&Element::TITLE, "machine"), (&Element::CREATOR, "A")])),
        entry(2, &Source::people(), put(&[(&Element::TITLE, "person")])),
        entry(3, &machine("m"), put(&[(&Element::TITLE, "machine again"), (&Element::CREATOR, "B")])),
    ];
    let shown = view(&entries);
    assert_eq!(titles(&shown), ["person"], "a later crawl does not undo a correction");
    assert_eq!(shown.first(&Element::CREATOR), Some("B"), "what the person left alone follows the machine");
    entries.push(entry(4, &Source::people(), clear(&Element::CREATOR)));
    assert_eq!(view(&entries).first(&Element::CREATOR), None, "a person may say there is none");
    entries.push(entry(5, &Source::people(), Change::Release(BTreeSet::from([Element::TITLE]))));
    let shown = view(&entries);
    assert_eq!(titles(&shown), ["machine again"]);
    assert_eq!(shown.first(&Element::CREATOR), None, "only the title was released");
    entries.push(entry(6, &Source::people(), Change::Release(BTreeSet::new())));
    assert_eq!(view(&entries).first(&Element::CREATOR), Some("B"));
}

#[test]
fn removal_by_a_person_survives_the_machines_until_released() {
    let mut entries = vec![
        entry(1, &machine("m"), put(&[(&Element::TITLE, "t")])),
        entry(2, &Source::people(), Change::Delete),
        entry(3, &machine("m"), put(&[(&Element::TITLE, "t2")])),
        entry(4, &machine("n"), put(&[(&Element::TITLE, "t3")])),
    ];
    assert!(view(&entries).deleted);
    assert!(view(&entries).statements.is_empty());
    entries.push(entry(5, &Source::people(), Change::Release(BTreeSet::new())));
    assert!(!view(&entries).deleted);
    entries.push(entry(6, &Source::people(), Change::Delete));
    entries.push(entry(7, &Source::people(), put(&[(&Element::TITLE, "mine")])));
    assert_eq!(titles(&view(&entries)), ["mine"], "a person who writes into a removed record brings it back");
}

#[test]
fn a_machine_delete_withdraws_only_its_own_say() {
    let entries = [
        entry(1, &machine("a"), put(&[(&Element::TITLE, "a")])),
        entry(2, &machine("b"), put(&[(&Element::TITLE, "b")])),
        entry(3, &machine("a"), Change::Delete),
    ];
    assert_eq!(titles(&view(&entries)), ["b"]);
    let gone = entry(4, &machine("b"), Change::Delete);
    let all: Vec<Entry> = entries.into_iter().chain([gone]).collect();
    assert!(view(&all).deleted, "deleted when no source is live");
    let kept = entry(5, &Source::people(), put(&[(&Element::SUBJECT, "kept")]));
    let all: Vec<Entry> = all.into_iter().chain([kept]).collect();
    assert!(!view(&all).deleted, "people are a source too");
}

#[test]
fn two_people_who_replace_the_same_are_a_conflict_until_one_is_replaced() {
    let first = entry(1, &Source::people(), put(&[(&Element::TITLE, "first")]));
    let here = Entry { replaces: Some(first.stamp), ..entry(2, &Source::people(), put(&[(&Element::TITLE, "here")])) };
    let there = Entry {
        replaces: Some(first.stamp),
        stamp: stamp(3, 2),
        ..entry(3, &Source::people(), put(&[(&Element::TITLE, "there")]))
    };
    let shown = view(&[first.clone(), here.clone(), there.clone()]);
    assert_eq!(titles(&shown), ["there"], "the newest stands");
    assert_eq!(shown.conflicts.len(), 1);
    assert_eq!(shown.conflicts[0].stamps, [here.stamp, there.stamp]);
    let settled =
        Entry { replaces: Some(there.stamp), ..entry(4, &Source::people(), put(&[(&Element::TITLE, "both")])) };
    assert!(view(&[first.clone(), here.clone(), there.clone(), settled]).conflicts.is_empty());

    let elsewhere = Entry { replaces: None, ..entry(3, &Source::people(), put(&[(&Element::CREATOR, "C")])) };
    assert!(view(&[first.clone(), here.clone(), elsewhere]).conflicts.is_empty(), "different elements both stand");
    let same = Entry { stamp: stamp(3, 2), ..here.clone() };
    assert!(view(&[first, here, same]).conflicts.is_empty(), "who says the same is not in conflict");
}

#[test]
fn the_winner_is_what_the_next_edit_replaces() {
    let first = entry(1, &Source::people(), put(&[(&Element::TITLE, "1")]));
    let second = entry(2, &Source::people(), put(&[(&Element::CREATOR, "2")]));
    let state = State::of(&[first.clone(), second.clone()]);
    assert_eq!(state.winner(&Register::Element(Element::TITLE)), Some(first.stamp));
    assert_eq!(state.winner(&Register::Element(Element::CREATOR)), Some(second.stamp));
    assert_eq!(state.winner(&Register::Existence), None);
}

#[test]
fn erasure_voids_what_came_before_it_even_when_that_comes_later() {
    let secret = entry(1, &machine("m"), put(&[(&Element::TITLE, "secret")]));
    let edit = entry(2, &Source::people(), put(&[(&Element::CREATOR, "secret")]));
    let erase = entry(3, &Source::people(), Change::Erase);
    for entries in [[&secret, &edit, &erase], [&erase, &edit, &secret]] {
        let state = State::of(entries);
        let shown = state.view(record());
        assert!(shown.deleted && shown.erased && shown.statements.is_empty() && shown.keys.is_empty());
        assert!(!format!("{state:?}").contains("secret"));
    }
    let again = entry(4, &machine("m"), put(&[(&Element::TITLE, "again")]));
    assert!(view(&[secret.clone(), erase.clone(), again.clone()]).deleted, "a machine does not bring it back");
    let release = entry(5, &Source::people(), Change::Release(BTreeSet::new()));
    let shown = view(&[secret, erase, again, release]);
    assert!(!shown.deleted && !shown.erased);
    assert_eq!(titles(&shown), ["again"]);
}

#[test]
fn evidence_alone_changes_nothing_visible() {
    let say = |by: &str| {
        Change::Put(Box::new(Put {
            statements: vec![Statement::new(Element::TITLE, "T")],
            evidence: Evidence::by(by),
            ..Put::default()
        }))
    };
    let (old, new) = (entry(1, &machine("m"), say("v1")), entry(2, &machine("m"), say("v2")));
    assert_eq!(State::of([&old]).outline().digest(), State::of([&old, &new]).outline().digest());
}

#[test]
fn entries_have_a_stable_json_form() {
    let entry = entry(1, &machine("m"), put(&[(&Element::TITLE, "题")]));
    let text = serde_json::to_string(&entry).unwrap();
    assert_eq!(
        text,
        r#"{"stamp":"000000000001-0000-0101010101010101","origin_seq":1,"record":"hty44na3v2gpzan6z7njz6hs4e","source":"m","change":{"put":{"kind":"document","keys":["oai=oai:a:1"],"statements":[{"element":"title","value":"题"}]}}}"#
    );
    assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
}

/// Any change, by anyone, at any time: few values each, so that they collide.
fn any_entry() -> impl Strategy<Value = Entry> {
    let element = prop_oneof![Just(Element::TITLE), Just(Element::CREATOR), Just(Element::SUBJECT)];
    let statements = prop::collection::vec((element.clone(), "[ab]"), 0..3);
    let elements = prop::collection::btree_set(element, 0..2);
    let change = prop_oneof![
        6 => (statements, elements.clone(), any::<bool>()).prop_map(|(statements, clears, second)| {
            let statements = statements.into_iter().map(|(element, value)| Statement::new(element, value)).collect();
            let keys = vec![Key::Oai(if second { "oai:a:2" } else { "oai:a:1" }.into())];
            Change::Put(Box::new(Put { statements, clears, keys, ..Put::default() }))
        }),
        2 => Just(Change::Delete),
        2 => elements.prop_map(Change::Release),
        1 => Just(Change::Erase),
    ];
    let source = prop_oneof![Just(Source::people()), Just(machine("a")), Just(machine("b"))];
    (1u64..40, 1u8..4, source, change, prop::option::of(1u64..40)).prop_map(
        |(millis, node, source, change, replaces)| Entry {
            stamp: stamp(millis, node),
            origin_seq: millis,
            record: record(),
            source,
            by: None,
            replaces: replaces.map(|millis| stamp(millis, 1)),
            change,
        },
    )
}

/// A set of entries as nodes would have written them: no two share a stamp.
fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec(any_entry(), 1..24).prop_map(|mut entries| {
        entries.sort_by_key(|entry| entry.stamp);
        entries.dedup_by_key(|entry| entry.stamp);
        entries
    })
}

proptest! {
    #[test]
    fn any_order_and_any_duplication_give_the_same_state(
        (entries, delivery) in any_entries().prop_flat_map(|entries| {
            let twice: Vec<Entry> = entries.iter().chain(&entries).cloned().collect();
            (Just(entries), Just(twice).prop_shuffle())
        })
    ) {
        prop_assert_eq!(State::of(&entries), State::of(&delivery));
    }

    #[test]
    fn any_relay_gives_the_same_state(entries in any_entries(), cut in any::<prop::sample::Index>()) {
        // One node hears the first part from a relay that has already merged it, and the rest itself.
        let (first, rest) = entries.split_at(cut.index(entries.len()));
        let mut relayed = State::of(rest);
        relayed.join(&State::of(first));
        prop_assert_eq!(relayed, State::of(&entries));
    }

    #[test]
    fn what_is_not_live_may_go(entries in any_entries()) {
        let state = State::of(&entries);
        let compacted = State::of(state.live());
        prop_assert_eq!(state.outline().digest(), compacted.outline().digest());
        prop_assert_eq!(state.view(record()).conflicts, compacted.view(record()).conflicts);
    }

    #[test]
    fn an_entry_whose_values_were_purged_merges_as_the_whole_one_would(entries in any_entries()) {
        // A relay that has applied the erasure passes emptied entries on; another passes whole ones.
        let state = State::of(&entries);
        let purged: Vec<Entry> = entries.iter().map(|entry| if state.is_void(entry) { entry.erased() } else { entry.clone() }).collect();
        prop_assert_eq!(state, State::of(&purged));
    }

    #[test]
    fn entries_round_trip_through_json(entry in any_entry()) {
        let text = serde_json::to_string(&entry).unwrap();
        prop_assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
    }
}
