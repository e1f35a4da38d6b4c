//! Identity: equal keys meet as one record, in whatever order and through whichever node they come; like titles do not.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use zhulu_catalogue::{Batch, Catalogue, Listing, Stored};
use zhulu_record::{Draft, Element, Entry, Key, NodeId, Stamp, Statement};

use crate::place::{Place, append, id, key, machine, outcomes, put, sound, stored, titled, titles};

crate::on_both_stores!(
    a_shared_key_makes_two_records_one,
    keys_lead_to_their_record,
    likeness_is_only_a_hint,
    any_order_of_delivery_gives_the_same_catalogue,
);

async fn a_shared_key_makes_two_records_one(place: Place) {
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "a", "A"), put("n", "b", "B")]).await;
    let (small, large) = (id("a").min(id("b")), id("a").max(id("b")));
    place.pass(5000);
    let both = Draft::put(machine("o"), titled(&["a", "b"], "C")).unwrap();
    let receipt = append(&catalogue, vec![both]).await;
    assert_eq!(receipt.outcomes[0].0, small, "the smallest identifier stays");
    let one = stored(&catalogue, small).await;
    assert_eq!(titles(&one).len(), 3, "what all three said is there");
    let tombstone = stored(&catalogue, large).await;
    assert!(tombstone.record.deleted);
    assert_eq!(tombstone.merged_into, Some(small));
    assert_eq!(tombstone.datestamp, one.datestamp, "harvesters hear of both");
    assert_eq!(catalogue.record(large).await.unwrap().unwrap().record.id, small, "the old identifier leads on");
    assert_eq!(catalogue.store().history(small).await.unwrap().len(), 3);
    // From now on either name speaks of the one record.
    append(&catalogue, vec![put("m", "a", "A2"), put("n", "b", "B2")]).await;
    let mut found = stored(&catalogue, small).await;
    found.record.statements.sort_by_key(|said| said.statement.value.clone());
    assert_eq!(titles(&found), ["A2", "B2", "C"]);
    let head = catalogue.store().head().await.unwrap();
    assert_eq!((head.records, head.deleted), (2, 1));
    sound(&catalogue).await;
}

async fn keys_lead_to_their_record(place: Place) {
    let catalogue = place.open().await;
    let put = titled(&["a", "b", "c"], "t");
    append(&catalogue, vec![Draft::put(machine("m"), put).unwrap()]).await;
    for name in ["a", "b", "c"] {
        assert_eq!(catalogue.store().by_key(&key(name)).await.unwrap(), Some(id("a")), "{name}");
    }
    assert_eq!(catalogue.store().by_key(&key("d")).await.unwrap(), None);
    assert_eq!(catalogue.store().by_key(&Key::Url("a".into())).await.unwrap(), None, "a key of another kind");
}

async fn likeness_is_only_a_hint(place: Place) {
    let catalogue = place.open().await;
    let mut with_doi = titled(&["c"], "Something else altogether");
    with_doi.statements.push(Statement::new(Element::IDENTIFIER, "https://doi.org/10.1000/XYZ"));
    let mut same_doi = titled(&["d"], "And a third thing");
    same_doi.statements.push(Statement::new(Element::IDENTIFIER, "doi:10.1000/xyz"));
    let drafts = vec![
        put("m", "a", "论元数据的自动抽取方法"),
        put("m", "b", "论元数据的 自动抽取方法。"),
        Draft::put(machine("m"), with_doi).unwrap(),
        Draft::put(machine("m"), same_doi).unwrap(),
        put("m", "e", "前言"),
        put("m", "f", "前言"),
    ];
    append(&catalogue, drafts).await;
    let alike = async |name: &str| catalogue.store().alike(id(name), 10).await.unwrap();
    assert_eq!(alike("a").await, [id("b")]);
    assert_eq!(alike("c").await, [id("d")]);
    assert!(alike("e").await.is_empty(), "a short title says nothing");
    append(&catalogue, vec![put("m", "b", "another title now")]).await;
    assert!(alike("a").await.is_empty(), "it follows the title");
    assert_eq!(catalogue.store().head().await.unwrap().deleted, 0, "nothing was merged");
}

/// What must be the same on every node: everything but when this node heard of it.
async fn portrait(catalogue: &Catalogue) -> Vec<(Stored, u64)> {
    let listing = Listing { filter: Default::default(), after: None, limit: 1000, newest_first: false };
    let mut records = catalogue.store().list(&listing).await.unwrap();
    records.sort_by_key(|stored| stored.record.id);
    let mut portrait = Vec::new();
    for mut stored in records {
        let history = catalogue.store().history(stored.record.id).await.unwrap().len() as u64;
        stored.datestamp = zhulu_record::Datestamp::from_seconds(0);
        stored.seq = 0;
        if stored.record.deleted {
            // Which sets a deleted record was last seen in is local history.
            stored.record.sets.clear();
        }
        if stored.merged_into.is_some() {
            stored.record.stamp = None;
        }
        portrait.push((stored, history));
    }
    portrait
}

async fn any_order_of_delivery_gives_the_same_catalogue(place: Place) {
    let change = (0u8..4, prop::collection::vec(0usize..5, 1..3), 0u8..10);
    let entries = prop::collection::vec(change, 1..12);
    let entries = entries.prop_map(|changes| changes.into_iter().enumerate().collect::<Vec<_>>()).prop_shuffle();
    // The same cases in every run: a failure here must be found again.
    let mut runner = TestRunner::deterministic();
    let cases = if place.is_sqlite() { 24 } else { 8 };
    for _ in 0..cases {
        let shuffled = entries.new_tree(&mut runner).unwrap().current();
        let entry = |number: usize, (source, keys, what): &(u8, Vec<usize>, u8)| -> Entry {
            let names: Vec<String> = keys.iter().map(|key| format!("k{key}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let draft = match what {
                0 => Draft::delete(machine(&format!("m{source}")), id(names[0])),
                1 => Draft::erase(id(names[0])),
                _ => Draft::put(machine(&format!("m{source}")), titled(&names, &format!("t{number}"))).unwrap(),
            };
            let node = NodeId::from_bytes([*source + 1; 8]);
            draft.stamped(Stamp { millis: crate::place::START as u64 + number as u64, counter: 0, node }, number as u64)
        };
        let mut sorted = shuffled.clone();
        sorted.sort_by_key(|(number, _)| *number);
        let (here, there) = (place.another().await, place.another().await);
        let (here, there) = (here.open().await, there.open().await);
        let all: Vec<Entry> = sorted.iter().map(|(number, change)| entry(*number, change)).collect();
        here.append(Batch { entries: all.clone(), ..Batch::default() }).await.unwrap();
        for (number, change) in &shuffled {
            there.append(Batch { entries: vec![entry(*number, change)], ..Batch::default() }).await.unwrap();
        }
        let again = there.append(Batch { entries: all, ..Batch::default() }).await.unwrap();
        assert!(outcomes(&again).iter().all(|outcome| *outcome == zhulu_catalogue::Outcome::Known));
        assert_eq!(portrait(&here).await, portrait(&there).await, "delivered as {shuffled:?}");
        sound(&here).await;
        sound(&there).await;
    }
}
