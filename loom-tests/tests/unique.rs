//! Of an absent item one copy is inserted, and exactly one `insert_unique` returns true. A slot that
//! is there throughout is found.

use guira::model::{Fault, Item, Model, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, even, odd, other, with};

const TWICE: &str = "not exactly one insert_unique";
const PRESENT: &str = "a present item is inserted again";
const NO_ROOM: &str = "refused although there was always room";
const REST: &str = "answers and copies disagree";

fn unique(filter: &Model<2>, item: Item) -> usize {
    filter.insert_unique(item).expect("there is room").into()
}

/// The item whose home is `home`.
fn at_home(home: usize, nth: usize) -> Item {
    if home == P { even(nth) } else { odd(nth) }
}

/// A call in a filter with one free slot, which a remove and an insert move from one bucket to the
/// other.
fn spare_slot() -> Scenario {
    let (x, z) = (even(0), even(1));
    let (a, b, c) = (odd(0), odd(1), odd(2));
    Scenario::new("unique, the only empty slot moves", move || {
        Model::new(&[&[a, b], &[c]])
    })
    .thread(move |filter| usize::from(filter.insert_unique(x) == Ok(true)))
    .thread(move |filter| usize::from(filter.remove(a)) + 2 * usize::from(filter.insert(z)))
    .law(move |filter, results| {
        assert_eq!(results[0], 1, "{NO_ROOM}");
        assert_eq!(filter.copies_at_rest(x), 1, "{REST}");
        assert_eq!(filter.copies_at_rest(z), results[1] / 2, "{REST}");
    })
}

fn empty() -> Model<2> {
    Model::new(&[&[], &[]])
}

/// A filter in which the home of some items has one item more than the other word, so that calls
/// reserve in the other word.
fn fuller(home: usize) -> Model<2> {
    with(home, &[at_home(home, 1)])
}

/// Two calls for the first of `items`, in the filter that `start` makes. `second` is what the
/// second thread does. At the end, the filter has one copy of each item.
fn two_calls<const N: usize>(
    name: &str,
    start: impl Fn() -> Model<2> + Send + Sync + 'static,
    items: [Item; N],
    second: impl Fn(&Model<2>) -> usize + Send + Sync + 'static,
) -> Scenario {
    let x = items[0];
    Scenario::new(name, start)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| second(filter))
        .law(move |filter, results| {
            assert_eq!(results[0] + results[1], 1, "{TWICE}");
            for item in items {
                assert_eq!(filter.copies_at_rest(item), 1, "{REST}");
            }
        })
        .outcomes(&[[0, 1], [1, 0]])
}

/// Two calls.
fn two(home: usize) -> Scenario {
    let x = at_home(home, 0);
    let name = format!("two uniques, home {home}");
    two_calls(&name, empty, [x], move |filter| unique(filter, x)).mains(&[0])
}

/// A call, after which the item is moved away from where it was added.
fn unique_and_move(filter: &Model<2>, item: Item, from: usize) -> usize {
    let inserted = unique(filter, item);
    filter.relocate(item, from);
    inserted
}

/// Two calls. One thread then moves the item away from its home.
fn two_and_move(home: usize) -> Scenario {
    let x = at_home(home, 0);
    let name = format!("two uniques, one moves it, home {home}");
    two_calls(&name, empty, [x], move |filter| {
        unique_and_move(filter, x, home)
    })
}

/// As `two_and_move`, after which the same thread reserves for another item.
fn two_and_move_and_reserve() -> Scenario {
    let (x, y) = (even(0), even(1));
    let name = "two uniques, one moves it and inserts another";
    two_calls(name, empty, [x, y], move |filter| {
        let inserted = unique_and_move(filter, x, P);
        unique(filter, y);
        inserted
    })
}

/// Two calls that both reserve away from home.
fn two_away(home: usize) -> Scenario {
    let x = at_home(home, 0);
    let name = format!("two uniques away from home {home}");
    let start = move || fuller(home);
    two_calls(&name, start, [x], move |filter| unique(filter, x)).mains(&[0])
}

/// As `two_away`, but one call then moves the item home.
fn two_away_and_move(home: usize) -> Scenario {
    let x = at_home(home, 0);
    let name = format!("two uniques away from home {home}, one moves it");
    let start = move || fuller(home);
    two_calls(&name, start, [x], move |filter| {
        unique_and_move(filter, x, other(home))
    })
}

/// Removes the additional item of the home, and then calls.
fn unique_at_home(filter: &Model<2>, home: usize) -> usize {
    let removed = filter.remove(at_home(home, 1));
    assert!(removed, "a present item is not removed");
    unique(filter, at_home(home, 0))
}

/// Two calls. One may reserve at home, and the other one away from home.
fn home_and_away(home: usize) -> Scenario {
    let x = at_home(home, 0);
    let name = format!("a unique at home {home} and one away");
    let start = move || fuller(home);
    two_calls(&name, start, [x], move |filter| {
        unique_at_home(filter, home)
    })
}

/// A call for the item whose home is P, the calls of `second` for it, and a remove of it.
fn two_and_remove(
    name: &str,
    start: impl Fn() -> Model<2> + Send + Sync + 'static,
    second: impl Fn(&Model<2>, Item) -> usize + Send + Sync + 'static,
) -> Scenario {
    let x = at_home(P, 0);
    Scenario::new(name, start)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| second(filter, x))
        .thread(move |filter| filter.remove(x))
        .law(move |filter, results| {
            let inserted = results[0] + results[1];
            assert!((1..=1 + results[2]).contains(&inserted), "{TWICE}");
            assert_eq!(filter.copies_at_rest(x), inserted - results[2], "{REST}");
        })
        .mains(&[0])
        .outcomes(&[[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]])
}

/// Both words are full. One of them has a resident whose alternate bucket is not full.
fn both_full() -> Scenario {
    let item = |a, b, nth| Model::<2>::item(4, a, b, nth);
    let (x, y, z, w) = (item(0, 1, 0), item(0, 1, 1), item(0, 1, 2), item(0, 3, 0));
    let insert = move |filter: &Model<2>| usize::from(filter.insert_unique(x) == Ok(true));
    Scenario::new("two uniques, both words full", move || {
        Model::new(&[&[y, w], &[y, z], &[], &[]])
    })
    .thread(insert)
    .thread(insert)
    .law(move |filter, results| {
        assert!(results[0] + results[1] <= 1, "{TWICE}");
        assert_eq!(filter.copies_at_rest(x), results[0] + results[1], "{REST}");
        assert_eq!(filter.copies_at_rest(w), 1, "a resident is lost");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[0, 1], [1, 0]])
}

/// Three calls.
fn three() -> Scenario {
    let x = even(0);
    Scenario::new("three uniques", empty)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| unique(filter, x))
        .law(move |filter, results| {
            assert_eq!(results.iter().sum::<usize>(), 1, "{TWICE}");
            assert_eq!(filter.copies_at_rest(x), 1, "{REST}");
        })
        .mains(&[0])
        .outcomes(&[[0, 0, 1], [0, 1, 0], [1, 0, 0]])
}

/// The item is present and moves. Its home may have one item more than the other word.
fn present(home: usize, fuller: bool, from: usize) -> Scenario {
    let (x, y) = (at_home(home, 0), at_home(home, 1));
    let what = if fuller { "fuller home" } else { "home" };
    let direction = direction(from);
    let name = format!("unique of a present item, {what} {home}, move {direction}");
    let residents = move |bucket| {
        let y = (fuller && bucket == home).then_some(y);
        Vec::from_iter(y.into_iter().chain((bucket == from).then_some(x)))
    };
    Scenario::new(&name, move || Model::new(&[&residents(P), &residents(Q)]))
        .thread(move |filter| {
            assert_eq!(unique(filter, x), 0, "{PRESENT}");
            0_usize
        })
        .thread(move |filter| {
            filter.relocate(x, from);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "{REST}"))
        .outcomes(&[[0, 0]])
}

/// A plain insert at home and a move away from it, after which the home has its former contents. If
/// the call returns true, the other thread must count two copies.
fn insert_and_move() -> Scenario {
    let x = even(0);
    Scenario::new("unique, insert, move away, count", empty)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| {
            assert!(filter.insert(x), "there is room");
            filter.relocate(x, P);
            filter.count(x)
        })
        .law(move |filter, results| {
            assert_eq!(results[1], 1 + results[0], "{PRESENT}");
            assert_eq!(filter.copies_at_rest(x), 1 + results[0], "{REST}");
        })
        .outcomes(&[[0, 1], [1, 2]])
}

/// A remove and a move of the present item.
fn present_and_remove(from: usize) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("unique, move {}, remove", direction(from)),
        move || with(from, &[x]),
    )
    .thread(move |filter| unique(filter, x))
    .thread(move |filter| {
        filter.relocate(x, from);
        0_usize
    })
    .thread(move |filter| filter.remove(x))
    .law(move |filter, results| {
        assert_eq!(results[2], 1, "remove of a present item is false");
        assert_eq!(filter.copies_at_rest(x), results[0], "{REST}");
    })
    .mains(&[0])
    .outcomes(&[[0, 0, 1], [1, 0, 1]])
}

/// Two calls and a plain insert, which may come before, between or after them.
fn two_and_insert() -> Scenario {
    let x = even(0);
    Scenario::new("two uniques, insert", empty)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| filter.insert(x))
        .law(move |filter, results| {
            assert!(results[0] + results[1] <= 1, "{TWICE}");
            assert_eq!(
                filter.copies_at_rest(x),
                results.iter().sum::<usize>(),
                "{REST}"
            );
        })
        .mains(&[0])
        .outcomes(&[[0, 0, 1], [0, 1, 1], [1, 0, 1]])
}

/// A plain insert into the other bucket, and then a remove of the copy at home. One copy is always
/// present.
fn window(home: usize) -> Scenario {
    // Away from home, a plain insert finds the emptier bucket.
    let x = at_home(home, 0);
    Scenario::new(
        &format!("unique, insert and remove, home {home}"),
        move || with(home, &[x]),
    )
    .thread(move |filter| {
        assert_eq!(unique(filter, x), 0, "{PRESENT}");
        0_usize
    })
    .thread(move |filter| {
        assert!(filter.insert(x), "there is room");
        filter.remove(x)
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "{REST}"))
    .outcomes(&[[0, 1]])
}

/// The home is full, so both calls reserve in the other word.
fn full_home() -> Scenario {
    let (x, y, z) = (even(0), even(1), odd(0));
    Scenario::new("two uniques, full home", move || {
        Model::new(&[&[y, y], &[z]])
    })
    .thread(move |filter| usize::from(filter.insert_unique(x) == Ok(true)))
    .thread(move |filter| usize::from(filter.insert_unique(x) == Ok(true)))
    .law(move |filter, results| {
        assert!(results[0] + results[1] <= 1, "{TWICE}");
        assert_eq!(filter.copies_at_rest(x), results[0] + results[1], "{REST}");
        assert_eq!(filter.copies_at_rest(y), 2, "a resident is lost");
    })
    .mains(&[0])
    .outcomes(&[[0, 1], [1, 0]])
}

/// A call for each of two classes. Each may remove the other's reservation.
fn two_classes(name: &str, x: Item, y: Item) -> Scenario {
    Scenario::new(name, empty)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| unique(filter, y))
        .law(move |filter, results| {
            assert_eq!(results, [1, 1], "{TWICE}");
            assert_eq!(filter.copies_at_rest(x), 1, "{REST}");
            assert_eq!(filter.copies_at_rest(y), 1, "{REST}");
        })
        .outcomes(&[[1, 1]])
}

/// Two classes have the same home, and each word has one empty slot.
fn two_classes_one_slot() -> Scenario {
    let (x, y, z) = (even(0), even(1), even(2));
    Scenario::new("uniques of two classes, one slot", move || {
        Model::new(&[&[z], &[z]])
    })
    .thread(move |filter| unique(filter, x))
    .thread(move |filter| unique(filter, y))
    .law(move |filter, results| {
        assert_eq!(results, [1, 1], "{TWICE}");
        assert_eq!(filter.copies_at_rest(x), 1, "{REST}");
        assert_eq!(filter.copies_at_rest(y), 1, "{REST}");
        assert_eq!(filter.copies_at_rest(z), 2, "a resident is lost");
    })
    .mains(&[0])
    .outcomes(&[[1, 1]])
}

/// A reservation is not an item: a lookup and a count must not find it.
fn reservation_is_no_item() -> Scenario {
    let (x, y) = (even(0), even(1));
    Scenario::new("unique, lookup and count of another", empty)
        .thread(move |filter| unique(filter, x))
        .thread(move |filter| {
            assert!(!filter.contains(y), "an absent item is found");
            assert_eq!(filter.count(y), 0, "an absent item is counted");
            assert!(!filter.remove(y), "an absent item is removed");
            true
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "{REST}"))
        .outcomes(&[[1, 1]])
}

#[test]
fn two_calls_insert_one_copy() {
    for home in ENDS {
        two(home).holds();
        two_and_move(home).holds();
    }
    two_and_move_and_reserve().holds();
}

#[test]
fn three_calls_insert_one_copy() {
    three().holds();
}

#[test]
fn a_present_item_is_not_inserted() {
    for home in ENDS {
        for from in ENDS {
            present(home, false, from).holds();
        }
        window(home).holds();
    }
    insert_and_move().holds();
}

#[test]
fn a_removed_item_may_be_inserted() {
    for from in ENDS {
        present_and_remove(from).holds();
    }
    two_and_remove("two uniques, remove", empty, unique).holds();
}

#[test]
fn a_plain_insert_is_counted() {
    two_and_insert().holds();
}

#[test]
fn calls_away_from_home_insert_one_copy() {
    for home in ENDS {
        two_away(home).holds();
        two_away_and_move(home).holds();
        home_and_away(home).holds();
    }
    full_home().holds();
}

#[test]
fn an_item_that_is_removed_beside_calls_at_home_and_away_may_be_inserted() {
    let second = |filter: &Model<2>, _| unique_at_home(filter, P);
    two_and_remove("a unique at home, one away, remove", || fuller(P), second).holds();
}

#[test]
fn a_present_item_is_not_inserted_away_from_home() {
    for home in ENDS {
        for from in ENDS {
            present(home, true, from).holds();
        }
    }
}

#[test]
fn room_is_made() {
    both_full().holds();
}

#[test]
fn if_a_call_overlooks_another_ones_reservation_it_fails() {
    home_and_away(P).must_fail(Fault::UniqueOverlooksTokens, TWICE);
}

#[test]
fn without_a_fence_between_reserve_and_read_it_fails() {
    home_and_away(P).must_fail(Fault::NoFence, TWICE);
}

#[test]
fn two_classes_share_a_home() {
    two_classes("uniques of two classes", even(0), even(1)).holds();
    // The home of each is the other word of the other one.
    two_classes("uniques of two classes, opposite homes", even(0), odd(0)).holds();
    two_classes_one_slot().holds();
    reservation_is_no_item().holds();
}

#[test]
fn without_a_reservation_it_fails() {
    two_and_move(P).must_fail(Fault::UniqueNoReservation, TWICE);
}

#[test]
fn with_one_token_for_all_it_fails() {
    two_and_move_and_reserve().must_fail(Fault::UniqueSharedToken, TWICE);
}

#[test]
fn if_it_looks_at_the_other_word_first_it_fails() {
    two_and_move(P).must_fail(Fault::UniqueReadsEarly, TWICE);
}

#[test]
fn if_others_keep_the_reservation_it_fails() {
    insert_and_move().must_fail(Fault::ReservationKept, PRESENT);
}

/// A fence follows Reserve. Between it and its end, the call only loads, or evicts.
#[test]
fn neither_a_reservation_nor_its_end_need_be_released() {
    for home in ENDS {
        for step in [Step::Reserve, Step::Confirm, Step::Cancel, Step::Evict] {
            home_and_away(home).holds_relaxed(step);
            two_and_move(home).holds_relaxed(step);
            present(home, false, home).holds_relaxed(step);
        }
    }
    insert_and_move().holds_relaxed(Step::Confirm);
}

#[test]
fn the_release_of_a_remove_is_needed() {
    window(P).must_fail(Step::Take, PRESENT);
}

#[test]
fn a_slot_that_is_there_throughout_is_found() {
    spare_slot().outcomes(&[[1, 3]]).holds();
}

#[test]
fn the_wrong_reservations_are_right_but_for_their_faults() {
    for home in ENDS {
        two(home).holds_rehearsed();
    }
}
