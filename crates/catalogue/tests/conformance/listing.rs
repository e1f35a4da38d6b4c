//! Listings: by (datestamp, identifier), in ranges and sets, in pages of any size, with deletions; counts and sets.

use std::collections::BTreeSet;

use zhulu_catalogue::{Catalogue, Filter, Listing, Position, Stored};
use zhulu_record::{Datestamp, Draft, SetName};

use crate::place::{Place, START, append, id, machine, put, sound, titled};

crate::on_both_stores!(
    pages_of_any_size_give_the_same_list,
    ranges_and_sets_choose,
    a_deleted_record_stays_in_its_sets,
    newest_come_first_when_asked,
);

async fn pages(catalogue: &Catalogue, filter: &Filter, limit: usize, newest_first: bool) -> Vec<Stored> {
    let mut all: Vec<Stored> = Vec::new();
    loop {
        let after = all.last().map(|last| Position { datestamp: last.datestamp, record: last.record.id });
        let page =
            catalogue.store().list(&Listing { filter: filter.clone(), after, limit, newest_first }).await.unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn set(name: &str) -> Option<SetName> {
    Some(name.parse().unwrap())
}

async fn filled(place: &Place) -> Catalogue {
    let catalogue = place.open().await;
    for number in 0..12 {
        let mut of_set = titled(&[&format!("r{number}")], "t");
        if number % 3 == 0 {
            of_set.sets = BTreeSet::from(["thesis:math".parse().unwrap()]);
        }
        let source = if number % 2 == 0 { "even" } else { "odd" };
        append(&catalogue, vec![Draft::put(machine(source), of_set).unwrap()]).await;
        // Three records to a second: a page may end in the middle of one.
        if number % 3 == 2 {
            place.pass(1000);
        }
    }
    append(&catalogue, vec![Draft::delete(machine("even"), id("r4")), Draft::delete(machine("odd"), id("r7"))]).await;
    catalogue
}

async fn pages_of_any_size_give_the_same_list(place: Place) {
    let catalogue = filled(&place).await;
    let whole = pages(&catalogue, &Filter::default(), 100, false).await;
    assert_eq!(whole.len(), 12);
    assert!(whole.is_sorted_by_key(|stored| (stored.datestamp, stored.record.id)));
    assert_eq!(whole.iter().filter(|stored| stored.record.deleted).count(), 2);
    for limit in 1..=12 {
        assert_eq!(pages(&catalogue, &Filter::default(), limit, false).await, whole, "pages of {limit}");
    }
    sound(&catalogue).await;
}

async fn ranges_and_sets_choose(place: Place) {
    let catalogue = filled(&place).await;
    let second = |number: i64| Some(Datestamp::from_seconds(START / 1000 + number));
    let count = async |filter: Filter| {
        let listed = pages(&catalogue, &filter, 2, false).await.len() as u64;
        assert_eq!(catalogue.store().count(&filter).await.unwrap(), listed, "{filter:?}");
        listed
    };
    assert_eq!(
        count(Filter { from: second(1), until: second(1), set: None }).await,
        2,
        "both ends belong to the range"
    );
    assert_eq!(count(Filter { from: second(2), ..Filter::default() }).await, 7);
    assert_eq!(count(Filter { until: second(0), ..Filter::default() }).await, 3);
    assert_eq!(count(Filter { from: second(9), ..Filter::default() }).await, 0);
    assert_eq!(count(Filter { set: set("source-odd"), ..Filter::default() }).await, 6);
    assert_eq!(count(Filter { set: set("thesis:math"), ..Filter::default() }).await, 4);
    assert_eq!(count(Filter { set: set("thesis"), ..Filter::default() }).await, 4, "a set lies in its parent");
    assert_eq!(count(Filter { set: set("kind-document"), from: second(1), until: second(2) }).await, 4);
    assert_eq!(count(Filter { set: set("nosuch"), ..Filter::default() }).await, 0);
    let sets: Vec<String> =
        catalogue.store().sets().await.unwrap().iter().map(|info| format!("{} {}", info.name, info.records)).collect();
    assert_eq!(sets, ["kind-document 12", "source-even 6", "source-odd 6", "thesis 4", "thesis:math 4"]);
}

async fn a_deleted_record_stays_in_its_sets(place: Place) {
    let catalogue = place.open().await;
    let mut of_set = titled(&["a"], "t");
    of_set.sets = BTreeSet::from(["thesis".parse().unwrap()]);
    append(&catalogue, vec![Draft::put(machine("m"), of_set).unwrap()]).await;
    place.pass(1000);
    append(&catalogue, vec![Draft::delete(machine("m"), id("a"))]).await;
    for name in ["thesis", "source-m", "kind-document"] {
        let listed = pages(&catalogue, &Filter { set: set(name), ..Filter::default() }, 10, false).await;
        assert_eq!(listed.len(), 1, "{name}");
        assert!(listed[0].record.deleted && listed[0].record.sets.contains(&set(name).unwrap()));
    }
    place.pass(1000);
    append(&catalogue, vec![put("m", "a", "back, but in no thesis")]).await;
    assert!(pages(&catalogue, &Filter { set: set("thesis"), ..Filter::default() }, 10, false).await.is_empty());
    sound(&catalogue).await;
}

async fn newest_come_first_when_asked(place: Place) {
    let catalogue = filled(&place).await;
    let mut whole = pages(&catalogue, &Filter::default(), 100, false).await;
    whole.reverse();
    assert_eq!(pages(&catalogue, &Filter::default(), 5, true).await, whole);
}
