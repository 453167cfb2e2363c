//! A slot is claimed once, and a failed insert leaves no trace. A path that is there throughout is
//! found, though it changes once. An insert that only a move is in the way of answers `Contended`.

use guira::{
    InsertError,
    model::{Fault, Item, Model},
};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd};

const ANSWER: &str = "items and answers disagree";
const NO_ROOM: &str = "refused although there was always room";
const TOLD_FULL: &str = "told to be full while another thread is in the way";

/// Two inserts of different items, with room for one.
fn last_slot() -> Scenario {
    let (x, y, full) = (even(0), even(1), [odd(0), odd(1)]);
    Scenario::new("two inserts, one slot", move || {
        Model::new(&[&full, &[full[0]]])
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| filter.insert(y))
    .law(move |filter, results| {
        assert_eq!(
            [filter.copies_at_rest(x), filter.copies_at_rest(y)],
            results,
            "{ANSWER}"
        );
        assert_eq!(filter.copies_at_rest(full[0]), 2, "a resident is lost");
        assert_eq!(filter.copies_at_rest(full[1]), 1, "a resident is lost");
    })
    .mains(&[0])
    .outcomes(&[[0, 1], [1, 0]])
    .least_bound(3)
}

/// Two inserts and a remove in a filter that is full at first.
fn full_and_remove() -> Scenario {
    let (x, full) = (even(0), [odd(0), odd(1)]);
    Scenario::new("insert into a full filter, remove", move || {
        Model::new(&[&full, &full])
    })
    .thread(move |filter| filter.insert(x))
    .thread(move |filter| filter.remove(full[0]))
    .law(move |filter, results| {
        assert_eq!(filter.copies_at_rest(x), results[0], "{ANSWER}");
        assert_eq!(filter.copies_at_rest(full[0]), 1, "a resident is lost");
        assert_eq!(filter.copies_at_rest(full[1]), 2, "a resident is lost");
    })
    .outcomes(&[[0, 1], [1, 1]])
}

fn item(a: usize, b: usize, nth: usize) -> Item {
    Model::<2>::item(4, a, b, nth)
}

/// The only path leads through a bucket whose last slot another insert needs.
fn path_and_insert() -> Scenario {
    let (x, y, z) = (item(0, 1, 0), item(0, 3, 0), item(2, 3, 1));
    let (fill, block) = (item(0, 1, 1), item(2, 3, 2));
    let setup = move || Model::new(&[&[fill, y], &[fill, fill], &[block, block], &[z]]);
    Scenario::new("insert by relocation, insert into the hole", setup)
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| filter.insert(z))
        .law(move |filter, results| {
            assert_eq!(filter.copies_at_rest(x), results[0], "{ANSWER}");
            assert_eq!(filter.copies_at_rest(z), 1 + results[1], "{ANSWER}");
            assert_eq!(filter.copies_at_rest(y), 1, "a resident is lost");
            assert_eq!(filter.copies_at_rest(fill), 3, "a resident is lost");
        })
        .outcomes(&[[0, 1], [1, 0]])
}

/// The victim is removed while it is relocated. The move is given up, and the slot of the victim is
/// free.
fn path_and_remove() -> Scenario {
    let (x, y) = (item(0, 1, 0), item(0, 3, 0));
    let fill = item(0, 1, 1);
    let setup = move || Model::new(&[&[fill, y], &[fill, fill], &[], &[]]);
    Scenario::new("insert by relocation, remove of the victim", setup)
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| filter.remove(y))
        .law(move |filter, results| {
            assert_eq!(filter.copies_at_rest(x), results[0], "{ANSWER}");
            assert_eq!(filter.copies_at_rest(y), 0, "a removed item is there");
            assert_eq!(filter.copies_at_rest(fill), 3, "a resident is lost");
        })
        .outcomes(&[[1, 1]])
}

/// Behind the search, the only empty slot moves from the end of one path to the end of another.
/// There is always a path.
fn hole_behind_the_search() -> Scenario {
    let (x, h) = (item(0, 1, 0), item(1, 2, 0));
    let (a, c, g) = (item(0, 3, 0), item(1, 2, 1), item(0, 3, 1));
    let setup = move || Model::new(&[&[a, a], &[c, c], &[c], &[g, a]]);
    Scenario::new("insert by relocation, the hole goes elsewhere", setup)
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| usize::from(filter.remove(g)) + 2 * usize::from(filter.insert(h)))
        .law(move |filter, results| {
            assert_eq!(results[0], 1, "{NO_ROOM}");
            assert_eq!(filter.copies_at_rest(x), 1, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(g), 0, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(h), results[1] / 2, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(a), 3, "a resident is lost");
            assert_eq!(filter.copies_at_rest(c), 3, "a resident is lost");
        })
        .outcomes(&[[1, 1], [1, 3]])
}

/// The path changes once, through words that the search has not reached. At first it begins at
/// bucket 1, and then at bucket 0, which the search has already left.
fn path_behind_the_search() -> Scenario {
    let item = |a, b, nth| Model::<2>::item(6, a, b, nth);
    let (x, a, g) = (item(0, 1, 0), item(0, 3, 0), item(0, 3, 1));
    let (c, f, z) = (item(1, 2, 0), item(1, 2, 1), item(4, 5, 0));
    // If two buckets are equally full, the insert chooses the lower one.
    let to_lower = |e: &Item| e.fingerprint().is_multiple_of(2);
    let e = (0..).map(|nth| item(0, 5, nth)).find(to_lower);
    let e = e.expect("half of all");
    let setup = move || Model::new(&[&[g, a], &[c, c], &[c], &[a, a], &[], &[z]]);
    Scenario::new("insert by relocation, the path goes elsewhere", setup)
        .thread(move |filter| filter.insert(x))
        .thread(move |filter| {
            let removed = usize::from(filter.remove(a));
            let inserted = usize::from(filter.insert(e));
            removed + 2 * inserted + 4 * usize::from(filter.insert(f))
        })
        .law(move |filter, results| {
            assert_eq!(results[0], 1, "{NO_ROOM}");
            assert_eq!(filter.copies_at_rest(x), 1, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(a), 2, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(e), results[1] / 2 % 2, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(f), results[1] / 4, "{ANSWER}");
            assert_eq!(filter.copies_at_rest(c), 3, "a resident is lost");
            assert_eq!(filter.copies_at_rest(g), 1, "a resident is lost");
        })
        .outcomes(&[[1, 3], [1, 7]])
}

/// The move of x has marked both words and takes up their last slot. No resident can leave them until
/// it ends.
fn pair_of_a_move(from: usize) -> Scenario {
    let (x, y, others) = (even(0), even(1), [odd(0), odd(1)]);
    let name = format!("insert beside a move of its pair, {}", direction(from));
    let setup = move || match from {
        P => Model::new(&[&[x, others[0]], &[others[1]]]).decided(x, P),
        _ => Model::new(&[&[others[1]], &[x, others[0]]]).decided(x, Q),
    };
    Scenario::new(&name, setup)
        .thread(move |filter| match filter.try_insert(y) {
            Ok(()) => 1_usize,
            Err(error) => {
                assert_eq!(error, InsertError::Contended, "{TOLD_FULL}");
                2
            }
        })
        .thread(move |filter| filter.take_and_replace(x, from))
        .law(move |filter, results| {
            assert_eq!(
                filter.copies_at_rest(y),
                usize::from(results[0] == 1),
                "{ANSWER}"
            );
            for item in [x, others[0], others[1]] {
                assert_eq!(filter.copies_at_rest(item), 1, "a resident is lost");
            }
        })
        .outcomes(&[[1, 1], [2, 1]])
        .least_bound(3)
}

#[test]
fn the_last_slot_is_claimed_once() {
    last_slot().holds();
    full_and_remove().holds();
}

#[test]
fn a_path_is_made_or_given_up_without_a_trace() {
    path_and_insert().holds();
    path_and_remove().holds();
}

#[test]
fn a_path_that_there_is_throughout_is_found() {
    hole_behind_the_search().holds();
    path_behind_the_search().holds();
}

#[test]
fn an_insert_that_a_move_is_in_the_way_of_is_told_so() {
    ENDS.map(pair_of_a_move).iter().for_each(Scenario::holds);
}

#[test]
fn if_that_is_taken_for_full_it_is_not() {
    for from in ENDS {
        pair_of_a_move(from).must_fail(Fault::FullWhenDisturbed, TOLD_FULL);
    }
}

#[test]
fn if_the_search_is_not_made_again_it_is_not() {
    hole_behind_the_search().must_fail(Fault::FullUnchecked, NO_ROOM);
    path_behind_the_search().must_fail(Fault::FullUnchecked, NO_ROOM);
}

#[test]
fn an_unchecked_claim_loses_an_item() {
    last_slot().must_fail(Fault::ClaimUnchecked, "len and the words disagree");
}

#[test]
fn a_shadow_left_behind_is_a_trace() {
    path_and_remove().must_fail(Fault::NoRetract, "a mark is left");
}
