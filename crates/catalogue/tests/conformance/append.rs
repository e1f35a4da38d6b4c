//! Appending: batches with their cursors, the log, history, what moves a datestamp, what happens to the clock.

use zhulu_catalogue::{Batch, CursorUpdate, Outcome, SourceRow};
use zhulu_record::{Change, Datestamp, Draft, Element, Entry, Evidence, Stamp, Statement};

use crate::place::{Place, append, id, machine, outcomes, put, sound, stored, titled, titles};

crate::on_both_stores!(
    a_batch_and_its_cursor_are_there_together,
    the_log_is_in_order_and_read_from_any_place,
    what_changes_nothing_visible_moves_no_datestamp,
    what_is_said_again_to_the_letter_is_not_logged,
    datestamps_never_run_backwards,
    the_horizon_is_never_passed,
    entries_of_other_nodes_are_taken_once,
    a_stamp_too_far_ahead_waits_in_quarantine,
    edits_replace_what_was_seen_and_meet_as_conflicts,
    a_record_made_by_a_person_is_theirs,
    reopening_goes_on_where_it_stopped,
);

async fn a_batch_and_its_cursor_are_there_together(place: Place) {
    let catalogue = place.open().await;
    let row = SourceRow {
        source: machine("oai"),
        kind: "oai".into(),
        address: "http://127.0.0.1/oai".into(),
        cursor: None,
        settings: serde_json::json!({"set": "数学"}),
    };
    catalogue.store().put_source(&row).await.unwrap();
    let cursor = CursorUpdate { source: machine("oai"), cursor: "token-2".into() };
    let batch =
        Batch {
            drafts: vec![put("oai", "a", "甲"), put("oai", "b", "乙")], cursor: Some(cursor), ..Batch::default()
        };
    let receipt = catalogue.append(batch).await.unwrap();
    assert_eq!(receipt.seq, 2);
    assert_eq!(outcomes(&receipt), [Outcome::Created, Outcome::Created]);
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["甲"]);
    let sources = catalogue.store().sources().await.unwrap();
    assert_eq!(sources, [SourceRow { cursor: Some("token-2".into()), ..row }]);
    let only_cursor = CursorUpdate { source: machine("oai"), cursor: "done".into() };
    catalogue.append(Batch { cursor: Some(only_cursor), ..Batch::default() }).await.unwrap();
    assert_eq!(catalogue.store().sources().await.unwrap()[0].cursor.as_deref(), Some("done"));
    assert!(catalogue.store().remove_source(&machine("oai")).await.unwrap());
    assert!(!catalogue.store().remove_source(&machine("oai")).await.unwrap());
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["甲"], "what it said stays");
    sound(&catalogue).await;
}

async fn the_log_is_in_order_and_read_from_any_place(place: Place) {
    let catalogue = place.open().await;
    for number in 0..7 {
        append(&catalogue, vec![put("m", &format!("r{number}"), "t"), put("m", "same", &format!("t{number}"))]).await;
    }
    let all = catalogue.store().log(0, 100).await.unwrap();
    assert_eq!(all.iter().map(|logged| logged.seq).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>());
    assert!(all.windows(2).all(|pair| pair[0].entry.stamp < pair[1].entry.stamp));
    assert_eq!(all.iter().map(|logged| logged.entry.origin_seq).collect::<Vec<_>>(), (1..=14).collect::<Vec<_>>());
    let mut read = Vec::new();
    while let Some(last) = catalogue.store().log(read.len() as u64, 3).await.unwrap().last() {
        let seq = last.seq;
        read.extend(catalogue.store().log(read.len() as u64, 3).await.unwrap());
        assert_eq!(read.last().unwrap().seq, seq);
    }
    assert_eq!(read, all);
    let history = catalogue.store().history(id("same")).await.unwrap();
    assert_eq!(history.len(), 7);
    assert_eq!(titles(&stored(&catalogue, id("same")).await), ["t6"]);
    let head = catalogue.store().head().await.unwrap();
    assert_eq!((head.seq, head.records, head.deleted), (14, 8, 0));
}

async fn what_changes_nothing_visible_moves_no_datestamp(place: Place) {
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "a", "t")]).await;
    let before = stored(&catalogue, id("a")).await;
    place.pass(60_000);
    let mut same = titled(&["a"], "t");
    same.evidence = Evidence::by("a newer model").sure(0.99);
    let receipt = append(&catalogue, vec![Draft::put(machine("m"), same).unwrap()]).await;
    assert_eq!(outcomes(&receipt), [Outcome::Unchanged]);
    assert_eq!(receipt.seq, 2, "it is in the log");
    let after = stored(&catalogue, id("a")).await;
    assert_eq!((after.datestamp, after.seq), (before.datestamp, before.seq));
    assert_eq!(after.record.statements[0].statement.evidence.by.as_deref(), Some("a newer model"));
    place.pass(60_000);
    let receipt = append(&catalogue, vec![put("m", "a", "u")]).await;
    assert_eq!(outcomes(&receipt), [Outcome::Changed]);
    assert_eq!(stored(&catalogue, id("a")).await.datestamp.seconds(), before.datestamp.seconds() + 120);
    sound(&catalogue).await;
}

async fn what_is_said_again_to_the_letter_is_not_logged(place: Place) {
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "a", "t")]).await;
    let receipt = append(&catalogue, vec![put("m", "a", "t")]).await;
    assert_eq!((receipt.seq, outcomes(&receipt)), (1, vec![Outcome::Unchanged]));
    let receipt = append(&catalogue, vec![put("n", "a", "t")]).await;
    assert_eq!(receipt.seq, 2, "another source has its own say");
}

async fn datestamps_never_run_backwards(place: Place) {
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "a", "t")]).await;
    place.pass(-3_600_000);
    append(&catalogue, vec![put("m", "b", "t")]).await;
    let (a, b) = (stored(&catalogue, id("a")).await, stored(&catalogue, id("b")).await);
    assert_eq!(a.datestamp, b.datestamp);
    let log = catalogue.store().log(0, 9).await.unwrap();
    assert!(log[0].entry.stamp < log[1].entry.stamp);
}

async fn the_horizon_is_never_passed(place: Place) {
    let catalogue = place.open().await;
    place.pass(10_000);
    let told = catalogue.store().horizon().await.unwrap();
    // The wall clock is set back after a harvester was told that everything up to now is settled.
    place.pass(-5_000);
    append(&catalogue, vec![put("m", "a", "t")]).await;
    assert!(stored(&catalogue, id("a")).await.datestamp >= told);
    assert!(catalogue.store().horizon().await.unwrap() >= told);
}

/// Entries as another node would send them.
fn foreign(number: u64, name: &str, title: &str, millis: u64) -> Entry {
    let node = zhulu_record::NodeId::from_bytes([7; 8]);
    let draft = put("m", name, title);
    draft.stamped(Stamp { millis, counter: 0, node }, number)
}

async fn entries_of_other_nodes_are_taken_once(place: Place) {
    let catalogue = place.open().await;
    let start = crate::place::START as u64;
    let (old, new) = (foreign(1, "a", "old", start - 9), foreign(2, "a", "new", start - 8));
    let batch = |entries: Vec<Entry>| Batch { entries, ..Batch::default() };
    let receipt = catalogue.append(batch(vec![new.clone(), old.clone(), new.clone()])).await.unwrap();
    assert_eq!(outcomes(&receipt), [Outcome::Created, Outcome::Unchanged, Outcome::Known]);
    let receipt = catalogue.append(batch(vec![old, new])).await.unwrap();
    assert_eq!((receipt.seq, outcomes(&receipt)), (2, vec![Outcome::Known, Outcome::Known]));
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["new"]);
    append(&catalogue, vec![put("m", "a", "ours")]).await;
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["ours"]);
    sound(&catalogue).await;
}

async fn a_stamp_too_far_ahead_waits_in_quarantine(place: Place) {
    let catalogue = place.open().await;
    let hour = 3_600_000;
    let ahead = foreign(1, "a", "from the future", (crate::place::START + 3 * hour) as u64);
    let receipt = catalogue.append(Batch { entries: vec![ahead.clone()], ..Batch::default() }).await.unwrap();
    assert_eq!((receipt.seq, outcomes(&receipt)), (0, vec![Outcome::Quarantined]));
    assert!(catalogue.store().records(&[id("a")]).await.unwrap()[0].is_none());
    assert_eq!(catalogue.store().quarantine().await.unwrap(), std::slice::from_ref(&ahead));
    place.pass(2 * hour);
    append(&catalogue, vec![put("m", "b", "t")]).await;
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["from the future"], "its time has come");
    assert!(catalogue.store().quarantine().await.unwrap().is_empty());
    let receipt = catalogue.append(Batch { entries: vec![ahead], ..Batch::default() }).await.unwrap();
    assert_eq!(outcomes(&receipt), [Outcome::Known]);
}

async fn edits_replace_what_was_seen_and_meet_as_conflicts(place: Place) {
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "a", "machine")]).await;
    let say = |title: &str| vec![(Element::TITLE, vec![Statement::new(Element::TITLE, title)])];
    catalogue.edit(id("a"), "lin", say("一")).await.unwrap();
    catalogue.edit(id("a"), "wu", say("二")).await.unwrap();
    let now = stored(&catalogue, id("a")).await;
    assert_eq!(titles(&now), ["二"]);
    assert!(now.record.conflicts.is_empty(), "the second had seen the first");
    // Another node edits what the first left, not having seen the second.
    let log = catalogue.store().log(0, 9).await.unwrap();
    let mut rival = log[2].entry.clone();
    rival.stamp.node = zhulu_record::NodeId::from_bytes([9; 8]);
    rival.stamp.millis -= 1;
    if let Change::Put(put) = &mut rival.change {
        put.statements = vec![Statement::new(Element::TITLE, "三")];
    }
    catalogue.append(Batch { entries: vec![rival], ..Batch::default() }).await.unwrap();
    let now = stored(&catalogue, id("a")).await;
    assert_eq!((titles(&now), now.record.conflicts.len()), (vec!["二"], 1));
    catalogue.edit(id("a"), "lin", say("四")).await.unwrap();
    assert!(stored(&catalogue, id("a")).await.record.conflicts.is_empty(), "settled by who saw it");
    catalogue.release(id("a"), "lin", vec![Element::TITLE]).await.unwrap();
    assert_eq!(titles(&stored(&catalogue, id("a")).await), ["machine"]);
    catalogue.delete(id("a"), "lin").await.unwrap();
    assert!(stored(&catalogue, id("a")).await.record.deleted);
    catalogue.release(id("a"), "lin", Vec::new()).await.unwrap();
    assert!(!stored(&catalogue, id("a")).await.record.deleted);
    assert!(catalogue.edit(id("nowhere"), "lin", say("x")).await.is_err());
    sound(&catalogue).await;
}

async fn a_record_made_by_a_person_is_theirs(place: Place) {
    let catalogue = place.open().await;
    let made = catalogue.create("lin", titled(&[], "手工")).await.unwrap();
    let shown = stored(&catalogue, made).await;
    assert_eq!(titles(&shown), ["手工"]);
    assert_eq!(shown.record.statements[0].statement.evidence.by.as_deref(), Some("person:lin"));
    catalogue.release(made, "lin", Vec::new()).await.unwrap();
    assert!(stored(&catalogue, made).await.record.deleted, "nobody is left to say anything");
    sound(&catalogue).await;
}

async fn reopening_goes_on_where_it_stopped(place: Place) {
    let node = {
        let catalogue = place.open().await;
        append(&catalogue, vec![put("m", "a", "t")]).await;
        catalogue.store().head().await.unwrap().node
    };
    let catalogue = place.open().await;
    append(&catalogue, vec![put("m", "b", "t")]).await;
    let head = catalogue.store().head().await.unwrap();
    assert_eq!((head.node, head.seq, head.records), (node, 2, 2));
    assert_eq!(head.earliest, Some(Datestamp::from_seconds(crate::place::START / 1000)));
    let log = catalogue.store().log(0, 9).await.unwrap();
    assert!(log[0].entry.stamp < log[1].entry.stamp);
    sound(&catalogue).await;
}
