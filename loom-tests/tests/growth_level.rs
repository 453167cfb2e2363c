//! Threads split runs of words until a level is complete, which is when all its parts have ended. The
//! hint is never early.

use crate::common::{
    find::{LAW, find},
    levels::while_levels_complete,
};
use guira::model::{Fault, Growing, Step};
use guira_loom_tests::{
    P, Q,
    growth::{Growth, UNMADE, ending, growing, split},
};

/// Two threads split the runs of a level of one part, the second one `lead` words ahead. There may be
/// a lookup.
fn two_splitters(lead: usize, with_lookup: bool) -> Growth {
    let (x, y) = (ending(0b111, 0), ending(0b101, 0));
    let setup = move || {
        // There are more levels than one for the controls: see `growing`.
        let filter = Growing::growing(&[&[x], &[y]], 3);
        filter.begin_level(0);
        filter
    };
    let scenario = Growth::new(&format!("two splitters, lead {lead}, {with_lookup}"), setup)
        .thread(move |filter| {
            filter.split_run(0, 0);
            0_usize
        })
        .thread(move |filter| {
            filter.split_run(0, lead);
            0_usize
        })
        .law(move |filter, _| {
            assert_eq!(filter.at_rest().len(), 2, "copies at rest");
            filter.finish_growth();
            assert_eq!(filter.level(), 1, "the level is complete");
            assert_eq!(filter.at_rest().len(), 2, "copies at rest");
        })
        .mains(&[0]);
    if !with_lookup {
        return scenario.outcomes(&[[0, 0]]);
    }
    let scenario = scenario
        .thread(move |filter| {
            assert!(filter.contains(x), "{LAW}");
            assert!(filter.contains(y), "{LAW}");
            1_usize
        })
        .large()
        .outcomes(&[[0, 0, 1]]);
    if lead == 0 {
        scenario
    } else {
        scenario.loads_only()
    }
}

/// Two threads split the last word of each of the two parts of a level, during a lookup.
fn two_parts() -> Growth {
    let item = |a, b, low| Growing::<2>::item_ending(4, (a, b), low, 3, 0);
    let (x, y) = (item(0, 1, 0b111), item(2, 3, 0b101));
    let setup = move || {
        let filter = Growing::growing(&[&[x], &[], &[y], &[]], 3);
        filter.begin_level(0);
        filter.split(x, 1, 0);
        filter.split(y, 3, 0);
        filter
    };
    Growth::new("the last words of two parts, a lookup", setup)
        .thread(|filter| {
            filter.split_run(0, 0);
            0_usize
        })
        .thread(|filter| {
            filter.split_run(0, 1);
            0_usize
        })
        .thread(move |filter| {
            assert!(filter.contains(x), "{LAW}");
            assert!(filter.contains(y), "{LAW}");
            1_usize
        })
        .law(|filter, _| {
            assert_eq!(filter.level(), 1, "the level is complete");
            assert_eq!(filter.at_rest().len(), 2, "copies at rest");
        })
        .large()
        .outcomes(&[[0, 0, 1]])
}

/// A thread ends the last part of a level. Another one may find all parts ended, and complete the
/// level in its place; then it looks for an item.
fn last_part() -> Growth {
    let x = ending(0b111, 0);
    let setup = move || {
        let filter = growing(P, &[x], 1);
        filter.begin_level(0);
        filter.split(x, Q, 0);
        filter
    };
    Growth::new("the last part of a level ends, a helper", setup)
        .thread(|filter| {
            filter.split_run(0, 0);
            0_usize
        })
        .thread(move |filter| {
            filter.split_run(0, 0);
            assert_eq!(filter.level(), 1, "the level is complete");
            find(filter, x)
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 1]])
}

/// A thread completes a level and begins the next one, during a lookup.
fn levels(levels: u32) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("lookup, splits of {levels} levels");
    let lookup =
        Growth::new(&name, move || growing(Q, &[x], levels)).thread(move |filter| find(filter, x));
    while_levels_complete(lookup, x, levels)
}

/// One thread begins a level, another one also splits a word, and a lookup may look in the word that the
/// split makes.
fn first_segment() -> Growth {
    let x = ending(0b111, 0);
    Growth::new("the first segment, a lookup", move || growing(Q, &[x], 1))
        .thread(|filter| {
            filter.begin_level(0);
            0_usize
        })
        .thread(move |filter| {
            filter.split(x, Q, 0);
            0_usize
        })
        .thread(move |filter| find(filter, x))
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
        .outcomes(&[[0, 0, 1]])
}

/// The planes have different levels: plane 1 of one bucket is split before plane 0, and the other
/// bucket not at all.
fn uneven_planes(removes: bool) -> Growth {
    let (x, y) = (ending(0b111, 0), ending(0b010, 0));
    let setup = move || {
        let filter = growing(P, &[x, y], 2);
        filter.split(x, P, 0);
        filter.split(x, Q, 0);
        filter
    };
    let name = if removes { "remove" } else { "contains" };
    Growth::new(&format!("planes at different levels, {name}"), setup)
        .thread(move |filter| {
            let present = if removes {
                filter.remove(x)
            } else {
                filter.contains(x)
            };
            assert!(present, "{LAW}");
            1_usize
        })
        .thread(move |filter| {
            split(filter, x, &[P], 1);
            0_usize
        })
        .thread(move |filter| {
            assert!(filter.relocate(y, P), "nothing is in its way");
            assert!(filter.contains(y), "{LAW}");
            split(filter, y, &[Q], 1);
            1_usize
        })
        .law(move |filter, _| {
            assert_eq!(
                filter.copies_at_rest(x),
                usize::from(!removes),
                "x at rest"
            );
            assert_eq!(filter.copies_at_rest(y), 1, "y at rest");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[1, 0, 1]])
}

/// Two pairs share a bucket. An item of each is moved while the shared word is split.
fn two_pairs() -> Growth {
    let item = |a, b, low| Growing::<2>::item_ending(4, (a, b), low, 3, 0);
    let (x, y) = (item(0, 1, 0b111), item(1, 2, 0b011));
    Growth::new(
        "two pairs, moves into and out of a word that is split",
        move || Growing::growing(&[&[x], &[y], &[], &[]], 1),
    )
    .thread(move |filter| {
        filter.relocate(x, 0);
        assert!(filter.contains(y), "{LAW}");
        0_usize
    })
    .thread(move |filter| {
        filter.relocate(y, 1);
        assert!(filter.contains(x), "{LAW}");
        0_usize
    })
    .thread(move |filter| {
        filter.split(x, 1, 0);
        0_usize
    })
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        assert_eq!(filter.copies_at_rest(y), 1, "copies at rest");
    })
    .mains(&[0])
    .large()
    .large()
    .outcomes(&[[0, 0, 0]])
}

/// A count of copies in both words, while the words are split.
fn count(residents: [usize; 2], buckets: &'static [usize], from: Option<usize>) -> Growth {
    let x = ending(0b111, 0);
    let copies = residents[P] + residents[Q];
    let setup = move || Growing::growing(&[&[x; 2][..residents[P]], &[x; 2][..residents[Q]]], 1);
    let name = format!("count of {residents:?}, splits of {buckets:?}, move {from:?}");
    let scenario = Growth::new(&name, setup)
        .thread(move |filter| {
            assert_eq!(filter.count(x), copies, "wrong count");
            copies
        })
        .thread(move |filter| {
            if let Some(from) = from {
                filter.relocate(x, from);
            }
            split(filter, x, buckets, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), copies, "at rest"))
        .mains(&[1])
        .large()
        .outcomes(&[[copies, 0]]);
    // The smaller scenarios, with either a move or splits, are explored in both modes.
    if from.is_some() {
        scenario.loads_only()
    } else {
        scenario
    }
}

/// One `insert_unique` during splits of both words, or two of them during a split of the home.
fn unique(present: bool, uniques: usize) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("{uniques} insert_unique, split, present {present}");
    let insert = move |filter: &Growing<2>| {
        let inserted = filter.insert_unique(x).expect("there is room");
        assert!(filter.contains(x), "{LAW}");
        inserted
    };
    let scenario = Growth::new(&name, move || growing(Q, &[x][..usize::from(present)], 1))
        .thread(insert)
        .thread(move |filter| {
            split(filter, x, &[Q, P][..3 - uniques], 0);
            0_usize
        })
        .law(move |filter, results| {
            let inserted = results[0] + results.get(2).unwrap_or(&0);
            assert_eq!(inserted, usize::from(!present), "exactly one inserts");
            assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        });
    if uniques == 2 {
        scenario.thread(insert).mains(&[0]).large()
    } else {
        scenario
    }
}

#[test]
fn no_thread_owns_a_run() {
    two_splitters(0, false).holds();
    two_splitters(1, false).holds();
    two_splitters(0, true).holds();
    two_splitters(1, true).holds();
}

#[test]
fn each_part_ends_once() {
    two_parts().holds();
    last_part().holds();
}

#[test]
fn one_part_is_not_enough() {
    two_parts().must_fail(Fault::OnePartEnough, UNMADE);
}

#[test]
fn the_end_of_a_part_carries_what_it_promises() {
    two_parts().must_fail(Step::EndPart, UNMADE);
    last_part().must_fail(Step::SeeParts, UNMADE);
}

#[test]
fn a_lookup_follows_the_hint() {
    levels(1).holds();
    levels(2).holds();
    levels(3).holds();
}

#[test]
fn a_segment_is_published_before_its_words() {
    first_segment().holds();
}

#[test]
fn what_is_published_is_observed_whole() {
    first_segment().must_fail(Fault::OnceUnordered, "Causality violation");
}

#[test]
fn planes_need_not_keep_step() {
    uneven_planes(false).holds();
    uneven_planes(true).holds();
}

#[test]
fn pairs_that_share_a_word_do_not_meet() {
    two_pairs().holds();
}

#[test]
fn a_count_is_that_of_one_moment() {
    count([1, 1], &[P, Q], None).holds();
    count([2, 0], &[P], None).holds();
    count([1, 0], &[Q, P], Some(P)).holds();
    count([0, 1], &[P, Q], Some(Q)).holds();
}

#[test]
fn insert_unique_is_exact_while_its_words_are_split() {
    unique(false, 1).outcomes(&[[1, 0]]).holds();
    unique(true, 1).outcomes(&[[0, 0]]).holds();
    unique(false, 2).outcomes(&[[0, 0, 1], [1, 0, 0]]).holds();
}

#[test]
fn the_hint_is_never_early() {
    two_splitters(1, true).must_fail(Fault::HintEarly, UNMADE);
    two_splitters(1, true).must_fail(Fault::MovePointerBlindly, UNMADE);
}

#[test]
fn the_hint_carries_what_it_promises() {
    levels(1).must_fail(Step::Hint, UNMADE);
    levels(1).must_fail(Step::Complete, UNMADE);
}

#[test]
fn the_split_pointer_carries_what_it_promises() {
    two_splitters(0, true).must_fail(Step::MovePointer, UNMADE);
}

#[test]
fn a_count_reads_both_words_again() {
    count([0, 1], &[P, Q], Some(Q)).must_fail(Fault::CountNoRereadP, "wrong count");
}

#[test]
fn a_split_takes_a_reservation_away() {
    unique(false, 2).must_fail(Fault::ReservationKept, "a reservation is left");
}
