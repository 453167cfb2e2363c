//! An insert puts its item where lookups find it, whatever is split concurrently. Without memory no
//! trace remains.

use guira::{
    InsertError,
    model::{Fault, Growing, Item, Step, refuse_memory},
};
use guira_loom_tests::{
    ENDS, P, Q, direction,
    growth::{Growth, UNMADE, complete_levels, ending, full, growing, residents, split},
    other,
};

/// The item is in a word that lookups do not read.
const NOT_FOUND: &str = "false negative of an own item";

/// An insert that failed for lack of memory has left something behind.
const TRACE: &str = "items and answers disagree";

/// An insert failed although it could have made room.
const NO_WAY: &str = "no way was found";

/// The item is in no word.
const GONE: &str = "len and the words disagree: []";

/// An insert, while the words of its pair are split `times` times.
fn stale_insert(times: u32) -> Growth {
    // If both buckets are empty, the insert chooses Q, because the lowest bit of the item is 1.
    let x = ending(0b111, 0);
    Growth::new(&format!("insert, {times} splits"), move || {
        growing(P, &[], times)
    })
    .thread(move |filter| {
        assert!(filter.insert(x), "there is room");
        assert!(filter.contains(x), "{NOT_FOUND}");
        true
    })
    .thread(move |filter| {
        for level in 0..times {
            split(filter, x, &[Q], level);
        }
        true
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
    .outcomes(&[[1, 1]])
}

/// A move, while the words of its pair are split `times` times.
fn stale_move(from: usize, buckets: &'static [usize], times: u32) -> Growth {
    let x = ending(0b111, 0);
    let name = format!("move {}, {times} splits of {buckets:?}", direction(from));
    Growth::new(&name, move || growing(from, &[x], times))
        .thread(move |filter| {
            assert!(
                filter.relocate(x, from),
                "nothing is in the way of the move"
            );
            assert!(filter.contains(x), "false negative");
            true
        })
        .thread(move |filter| {
            for level in 0..times {
                split(filter, x, buckets, level);
            }
            true
        })
        .law(move |filter, _| {
            assert_eq!(filter.at_rest().len(), 1, "copies at rest");
            assert_eq!(filter.at_rest()[0].0, other(from), "the move is done");
        })
        .outcomes(&[[1, 1]])
}

/// An insert into a full pair that no other thread splits, and a lookup.
fn on_demand() -> Growth {
    let new = ending(0b001, 1);
    Growth::new("insert that grows, lookup", full)
        .thread(move |filter| insert_and_find(filter, new))
        .thread(move |filter| {
            assert!(filter.contains(residents()[3]), "false negative");
            true
        })
        .law(move |filter, _| {
            for item in residents().into_iter().chain([new]) {
                assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            }
            filter.finish_growth();
            assert_eq!(filter.at_rest().len(), 5, "after the splits");
        })
        .outcomes(&[[1, 1]])
}

/// Two inserts into a full pair.
fn two_on_demand() -> Growth {
    let new = [ending(0b001, 1), ending(0b000, 1)];
    Growth::new("two inserts that grow", full)
        .thread(move |filter| insert_and_find(filter, new[0]))
        .thread(move |filter| insert_and_find(filter, new[1]))
        .law(move |filter, _| {
            for item in residents().into_iter().chain(new) {
                assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            }
            filter.finish_growth();
            assert_eq!(filter.at_rest().len(), 6, "after the splits");
        })
        .mains(&[0])
        .large()
        .large()
        .outcomes(&[[1, 1]])
}

fn insert_and_find(filter: &Growing<2>, item: Item) -> bool {
    let inserted = filter.try_insert(item);
    assert_eq!(inserted, Ok(()), "the filter grows: {filter:?}");
    assert!(filter.contains(item), "{NOT_FOUND}");
    true
}

/// An insert into a full pair, without memory to grow until another thread inserts.
fn without_memory() -> Growth {
    let new = [ending(0b001, 1), ending(0b000, 1)];
    let setup = move || {
        refuse_memory(true);
        full()
    };
    Growth::new("insert without memory, insert with memory", setup)
        .thread(move |filter| {
            let inserted = filter.try_insert(new[0]);
            assert!(
                matches!(inserted, Ok(()) | Err(InsertError::Memory)),
                "{inserted:?}"
            );
            assert!(filter.contains(residents()[3]), "false negative");
            inserted.is_ok()
        })
        .thread(move |filter| {
            refuse_memory(false);
            assert_eq!(filter.try_insert(new[1]), Ok(()), "the filter grows");
            true
        })
        .law(move |filter, results| {
            for item in residents() {
                assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            }
            assert_eq!(filter.copies_at_rest(new[0]), results[0], "{TRACE}");
            assert_eq!(filter.copies_at_rest(new[1]), 1, "copies at rest");
        })
        .large()
        .large()
        .outcomes(&[[0, 1], [1, 1]])
}

/// A path of two moves whose middle word is split. The slot that the first move leaves is then in
/// another plane than the item that is to fill it.
fn path(splits: &'static [(usize, u32)]) -> Growth {
    let item = |a, b, low, nth| Growing::<2>::item_ending(4, (a, b), low, 3, nth);
    // `last` moves from bucket 1 to 2, `first` from 0 to 1, and `new` is inserted into 0.
    let (last, first, new) = (
        item(1, 2, 0b001, 0),
        item(0, 1, 0b010, 0),
        item(0, 1, 0b101, 0),
    );
    Growth::new(&format!("path of two, splits {splits:?}"), move || {
        Growing::growing(&[&[first], &[last], &[], &[]], 2)
    })
    .thread(move |filter| filter.relocate_path(&[(last, 1), (first, 0)], new))
    .thread(move |filter| {
        for &(bucket, level) in splits {
            filter.split(if bucket == 0 { first } else { last }, bucket, level);
        }
        true
    })
    .law(move |filter, results| {
        assert_eq!(filter.copies_at_rest(last), 1, "copies at rest");
        assert_eq!(filter.copies_at_rest(first), 1, "copies at rest");
        assert_eq!(
            filter.copies_at_rest(new),
            results[0],
            "new item at rest"
        );
    })
}

/// An insert into full words of plane 1 at level 1, which must search for a path, and a lookup of
/// an item that it moves.
fn search_in_a_plane() -> Growth {
    let item = |a, b, nth| Growing::<2>::item_ending(4, (a, b), 1, 1, nth);
    let setup = move || {
        let filter = Growing::growing(&[&[], &[], &[], &[]], 2);
        complete_levels(&filter, 1);
        for nth in 0..3 {
            filter.insert_into(item(0, 3, nth), 0);
            filter.insert_into(item(1, 2, nth), 1);
        }
        filter
    };
    let new = item(0, 1, 0);
    Growth::new("insert that searches in plane 1, lookup", setup)
        .thread(move |filter| {
            assert_eq!(filter.try_insert(new), Ok(()), "{NO_WAY}");
            assert!(filter.contains(new), "{NOT_FOUND}");
            true
        })
        .thread(move |filter| {
            assert!(filter.contains(item(0, 3, 0)), "false negative");
            true
        })
        .law(move |filter, _| {
            assert_eq!(filter.at_rest().len(), 7, "copies at rest");
            assert_eq!(filter.level(), 1, "there was room");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[1, 1]])
}

#[test]
fn a_search_knows_whole_fingerprints() {
    search_in_a_plane().holds();
    search_in_a_plane().must_fail(Fault::SearchForgetsPlane, NO_WAY);
}

#[test]
fn a_stale_insert_fails() {
    stale_insert(1).holds();
    stale_insert(2).holds();
    stale_insert(3).holds();
}

#[test]
fn a_stale_mover_finds_its_marks() {
    for from in ENDS {
        for buckets in [&[P] as &[_], &[Q]] {
            stale_move(from, buckets, 1).holds();
            stale_move(from, buckets, 2).holds();
        }
        stale_move(from, &[P, Q], 1).holds();
    }
}

#[test]
fn an_insert_into_a_full_pair_grows_it() {
    on_demand().holds();
    two_on_demand().holds();
}

#[test]
fn an_insert_without_memory_leaves_no_trace() {
    without_memory().holds();
}

#[test]
fn a_path_is_filled_in_its_plane() {
    path(&[(0, 0)]).outcomes(&[[0, 1], [1, 1]]).holds();
    path(&[(1, 0)]).outcomes(&[[1, 1]]).holds();
}

#[test]
fn a_word_that_is_split_is_frozen() {
    // An item that is inserted between the copy and the cut is lost with the cut.
    stale_insert(1).must_fail(Fault::NoFreeze, GONE);
    stale_insert(1).must_fail(Fault::FrozenIgnored, GONE);
}

#[test]
fn the_phase_tells_a_split_word_from_the_one_before() {
    stale_insert(1).must_fail(Fault::PhaseIgnored, NOT_FOUND);
    // At level 2, the word seems to be at level 0, and is split forever.
    stale_insert(2).must_fail(Fault::PhaseWraps, "maximum number of branches");
}

#[test]
fn a_split_keeps_the_mark() {
    stale_move(Q, &[Q], 1).must_fail(Fault::MarkDropped, "is_marked(Mark::Trailing");
}

#[test]
fn the_slot_that_a_move_leaves_belongs_to_a_plane() {
    path(&[(0, 0)]).must_fail(Fault::FillAnyPlane, "new item at rest");
    // The mover does not find its outline in the wrong plane either.
    path(&[(1, 0)]).must_fail(Fault::FillAnyPlane, "Mark::Outline");
}

#[test]
fn a_block_is_published_before_a_word_is_frozen() {
    two_on_demand().must_fail(Fault::PublishLate, UNMADE);
    // The thread that finds the frozen word has no memory to split it either.
    without_memory().must_fail(Fault::PublishLate, UNMADE);
}

#[test]
fn a_writer_sees_what_a_split_made() {
    stale_insert(1).must_fail(Step::LoadForUpdate, UNMADE);
    stale_insert(1).must_fail(Step::Freeze, UNMADE);
}
