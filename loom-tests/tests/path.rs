//! A path of two relocations. The free slot is passed on, and no other insert can take it.

use guira::model::{Fault, Item, Model, Step};
use guira_loom_tests::Scenario;

/// The buckets of a path. `first` moves from the first one to the second, and `last` from the
/// second to the third.
const PATHS: [[usize; 3]; 4] = [[0, 1, 2], [2, 1, 0], [1, 0, 3], [0, 3, 2]];

const MISSED: &str = "false negative";
const ONCE: &str = "removed and left do not add up";

/// `first`, `last`, and the new item for which the path is made.
fn items([a, b, c]: [usize; 3]) -> [Item; 3] {
    [
        Model::<2>::item(4, a, b, 0),
        Model::<2>::item(4, b, c, 0),
        Model::<2>::item(4, a, b, 1),
    ]
}

fn model([a, b, _]: [usize; 3], [first, last, _]: [Item; 3]) -> Model<2> {
    let mut residents: [&[Item]; 4] = [&[]; 4];
    let (in_a, in_b) = ([first], [last]);
    residents[a] = &in_a;
    residents[b] = &in_b;
    Model::new(&residents)
}

fn chain(filter: &Model<2>, [a, b, _]: [usize; 3], [first, last, new]: [Item; 3]) -> bool {
    filter.relocate_chain(first, a, last, b, new)
}

/// A lookup of one of the two items on the path.
fn lookup(path: [usize; 3], which: usize) -> Scenario {
    let items = items(path);
    Scenario::new(
        &format!("lookup of item {which}, path {path:?}"),
        move || model(path, items),
    )
    .thread(move |filter| {
        assert!(filter.contains(items[which]), "{MISSED}");
        true
    })
    .thread(move |filter| chain(filter, path, items))
    .law(move |filter, _| {
        for item in items {
            assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
        }
    })
    .large()
    .outcomes(&[[1, 1]])
}

/// A remove of each of the two items.
fn removes(path: [usize; 3]) -> Scenario {
    let items = items(path);
    let scenario = Scenario::new(&format!("remove of both items, path {path:?}"), move || {
        model(path, items)
    })
    .thread(move |filter| filter.remove(items[0]))
    .thread(move |filter| chain(filter, path, items))
    .thread(move |filter| filter.remove(items[1]))
    .law(move |filter, results| {
        assert_eq!(
            [results[0], results[2]],
            [1, 1],
            "remove of a present item is false"
        );
        assert_eq!(filter.copies_at_rest(items[0]), 0, "{ONCE}");
        assert_eq!(filter.copies_at_rest(items[1]), 0, "{ONCE}");
        assert_eq!(
            filter.copies_at_rest(items[2]),
            results[1],
            "items and answers disagree"
        );
    })
    .mains(&[0])
    .large()
    .outcomes(&[[1, 0, 1], [1, 1, 1]]);
    match path {
        // It has several times as many interleavings as the others.
        [1, 0, 3] => scenario.large(),
        _ => scenario,
    }
}

/// Two paths that share the middle bucket.
fn crossing() -> Scenario {
    let item = |a, b, nth| Model::<2>::item(4, a, b, nth);
    let (x, y, u, v) = (item(0, 1, 0), item(1, 2, 0), item(1, 2, 1), item(0, 1, 1));
    let (new, another) = (item(0, 3, 0), item(2, 3, 0));
    Scenario::new("two paths across", move || {
        Model::new(&[&[x], &[y, v], &[u], &[]])
    })
    .thread(move |filter| filter.relocate_chain(x, 0, y, 1, new))
    .thread(move |filter| filter.relocate_chain(u, 2, v, 1, another))
    .law(move |filter, results| {
        for item in [x, y, u, v] {
            assert_eq!(filter.copies_at_rest(item), 1, "a resident is lost");
        }
        let inserted = [filter.copies_at_rest(new), filter.copies_at_rest(another)];
        assert_eq!(inserted, results, "items and answers disagree");
    })
}

/// An item is moved, then a path brings another copy of it into the same bucket as its second hop,
/// and there are two removes. The search has read the source before the first move.
fn path_after_move() -> Scenario {
    let (x, y) = (Model::<2>::item(4, 0, 1, 0), Model::<2>::item(4, 0, 3, 0));
    let new = Model::<2>::item(4, 1, 2, 0);
    Scenario::new("removes, move, path to the same bucket", move || {
        Model::new(&[&[y], &[x], &[], &[]])
    })
    .thread(move |filter| usize::from(filter.remove(x)) + usize::from(filter.remove(x)))
    .thread(move |filter| {
        filter.relocate(x, 1);
        0_usize
    })
    .thread(move |filter| filter.relocate_chain(x, 1, y, 0, new))
    .law(move |filter, results| {
        assert_eq!(results[0] + filter.copies_at_rest(x), 1, "{ONCE}");
        assert_eq!(filter.copies_at_rest(y), 1, "a resident is lost");
    })
    .mains(&[0])
    .large()
}

#[test]
fn both_items_of_a_path_are_found() {
    for path in PATHS {
        for which in [0, 1] {
            lookup(path, which).holds();
        }
    }
}

#[test]
fn both_items_of_a_path_are_removed_once() {
    for path in PATHS {
        removes(path).holds();
    }
}

#[test]
fn paths_cross() {
    crossing()
        .outcomes(&[[0, 0], [0, 1], [1, 0], [1, 1]])
        .holds();
}

#[test]
fn a_path_follows_a_move() {
    path_after_move().outcomes(&[[1, 0, 0], [1, 0, 1]]).holds();
}

#[test]
fn the_version_is_advanced_in_a_path() {
    lookup([2, 1, 0], 0).must_fail(Fault::NoAdvance, MISSED);
    lookup([2, 1, 0], 1).must_fail(Fault::NoAdvance, MISSED);
}

#[test]
fn the_release_that_ends_a_move_is_needed() {
    path_after_move().must_fail(Step::Settle, "Mark::Shadow");
}
