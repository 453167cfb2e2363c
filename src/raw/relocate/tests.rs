//! When a filter grows instead of filling up, and what an insert that is refused has tried.

use super::*;
use crate::{
    raw::tests::{double, filter_and_class, growing, grown, marked, put},
    sync::loads,
    table::{
        Levels,
        entry::{Entry, Fingerprint},
        layout::{F10x6, F15x4, Growing, GrowingCounting, Word},
        word::{Bucket, Mark, Phases},
    },
};

/// A word that is full of other items.
fn full() -> Word<F15x4> {
    let entries = (2..6).map(Entry::new);
    entries.fold(Word::<F15x4>::EMPTY, Bucket::plus)
}

#[test]
fn inserts_refused_for_want_of_room_are_counted() {
    let (raw, _) = filter_and_class::<F10x6>();
    use InsertError::{Contended, Full, Memory};
    for error in [Full, Memory, Contended, Full] {
        assert_eq!(raw.count_failure(error), error);
    }
    assert_eq!(raw.stats().failed_inserts, 2);
}

#[test]
fn a_level_begins_when_it_is_due() {
    let raw = growing(64, 2).growing_early();
    let first = raw.table.level();
    let due = |level| geometry::grow_at::<Growing>(64, raw.table.levels(), level) as u64;
    raw.len.add(due(first) - 1);
    raw.grow_in_time(first);
    assert!(!raw.table.is_growing(first));
    raw.len.add(1);
    raw.grow_in_time(first);
    assert!(raw.table.is_growing(first));
    raw.table.finish_level();
    raw.grow_in_time(first + 1);
    assert!(!raw.table.is_growing(first + 1));
    raw.len.add(due(first + 1) - due(first));
    raw.grow_in_time(first + 1);
    assert!(raw.table.is_growing(first + 1));
    raw.table.finish_level();
    // There is no level more.
    raw.grow_in_time(first + 2);
    assert_eq!(raw.table.doublings(), 2);
}

/// A filter of 64 buckets, and many classes of one pair and one plane, whatever the level.
fn crowd() -> (RawFilter<Growing>, Vec<Class>) {
    let raw = growing(64, 2);
    let q = Class::of_resident(Fingerprint::new(grown(4)), 0, 64).q;
    let classes = (1..1 << 11)
        .map(|number| Class::of_resident(Fingerprint::new(grown(4 * number)), 0, 64))
        .filter(|class| class.q == q);
    (raw, classes.collect())
}

/// Growth is for a filter that is full, not for a pair that many keys were made for.
#[test]
fn an_empty_filter_does_not_grow_for_a_crowded_pair() {
    for doublings in 0..2 {
        let (raw, classes) = crowd();
        double(&raw, doublings);
        let level = raw.table.level();
        for &class in &classes[..8] {
            assert_eq!(raw.insert(class), Ok(()));
        }
        // A sixteenth of the slots.
        let enough = 16 << doublings;
        raw.len.add(enough - 8 - 1);
        assert_eq!(raw.insert(classes[8]), Err(InsertError::Full));
        assert!(!raw.table.is_growing(level), "at level {level}");
        raw.len.add(1);
        // All stay of one plane: the next level does not help.
        assert_eq!(raw.insert(classes[8]), Err(InsertError::Full));
        assert!(raw.table.level() > level || raw.table.is_growing(level));
    }
}

/// For the ninth copy of one class no level is begun, for another class of the pair it is. After a remove of
/// another thread, the class does not fill its pair any more, and still needs no further level, whichever copy
/// was removed.
#[test]
fn a_filter_does_not_grow_for_a_class_that_fills_its_pair() {
    let (raw, classes) = crowd();
    raw.len.add(100);
    let grows = || raw.table.doublings() > 0 || raw.table.is_growing(raw.table.level());
    for _ in 0..8 {
        assert_eq!(raw.insert(classes[0]), Ok(()));
    }
    assert_eq!(raw.insert(classes[0]), Err(InsertError::TooManyCopies));
    assert!(!raw.has_others(classes[0]) && raw.has_others(classes[1]));
    assert!(!grows() && raw.remove(classes[0]));
    assert!(!raw.has_others(classes[0]));
    assert_eq!(raw.insert(classes[1]), Ok(()));
    assert!(!grows());
    // One of the two words is full of it, the other is not.
    assert_eq!(raw.insert(classes[0]), Err(InsertError::Full));
    assert!(grows());
    for (class, is_other) in [(&classes[0], false), (&classes[1], true)] {
        let (raw, _) = crowd();
        put(&raw, classes[0].p, marked::<Growing>(class, Mark::Outline));
        assert_eq!(raw.has_others(classes[0]), is_other);
    }
}

#[test]
fn a_round_among_copies_does_not_grow_the_filter() {
    let levels = Levels { first: 21, more: 9 };
    let raw = RawFilter::<GrowingCounting<8>>::new(64, levels).expect("a few bytes");
    let class = Class::of_resident(Fingerprint::new(1 << 39), 0, 64);
    while raw.insert(class).is_ok() {}
    let mut search = Search::default();
    let mut round = || raw.round(Alone, &mut search, 0, class, Fill::Item(class.untagged()));
    assert_eq!(round(), Err(InsertError::TooManyCopies));
    assert!(raw.remove(class));
    // Every slot is occupied, so the search finds nothing.
    assert_eq!(round(), Ok(Round::Disturbed));
    assert!(!raw.table.is_growing(raw.table.level()));
    assert_eq!(raw.insert(class), Ok(()));
}

/// Where no path is found, one round tells: more are for threads that are in the way.
#[test]
fn an_insert_that_is_refused_has_looked_twice() {
    let raw = RawFilter::<F15x4>::new(2, Levels::FIXED).expect("a few bytes");
    let class = |fingerprint| Class::of_resident(fingerprint, 0, 2);
    for fingerprint in 1..=8 {
        assert_eq!(raw.insert(class(Fingerprint::new(fingerprint))), Ok(()));
    }
    let (answer, loads) = loads::during(|| raw.insert(class(Fingerprint::new(9))));
    assert_eq!(answer, Err(InsertError::Full));
    // A search comes back to both words some fifty times before it keeps a list of what it knows;
    // 64 rounds are thousands of loads.
    assert!((1..200).contains(&loads), "{loads} loads");
}

/// A move of the same pair fills both words. The words themselves may be nearly all there is.
#[test]
fn an_insert_that_only_a_move_is_in_the_way_of_can_be_repeated() {
    use Mark::{Delivered, Killed, Outline, Shadow, Trailing};
    for mark in [Outline, Shadow, Trailing, Delivered, Killed] {
        let raw = RawFilter::<F15x4>::new(64, Levels::FIXED).expect("a few bytes");
        let class = Class::of_resident(Fingerprint::new(9), 0, 64);
        let marked = full().with_mark(Entry::new(2), mark).expect("it is there");
        put(&raw, class.p, marked);
        put(&raw, class.q, marked);
        assert_eq!(raw.insert(class), Err(InsertError::Contended));
        assert_eq!(raw.insert_unique(class), Err(InsertError::Contended));
        assert_eq!(raw.stats().failed_inserts, 0);
        put(&raw, class.q, full());
        assert_eq!(raw.insert(class), Ok(()), "{mark:?}");
    }
}

/// A stopped remove holds the stripe of every move that could make room.
#[test]
fn an_insert_that_only_a_hold_is_in_the_way_of_can_be_repeated() {
    let raw = RawFilter::<F15x4>::new(8, Levels::FIXED).expect("a few bytes");
    let class = Class::of_resident(Fingerprint::new(9), 0, 8);
    put(&raw, class.p, full());
    put(&raw, class.q, full());
    let hold = raw.versions.of(class).hold().expect("few holds");
    assert_eq!(raw.insert(class), Err(InsertError::Contended));
    drop(hold);
    assert_eq!(raw.insert(class), Ok(()));
}

/// Moves of other threads are nearly over as a rule: a level begins for them only after many rounds.
#[test]
fn a_level_begins_late_where_only_a_move_is_in_the_way() {
    let raw = growing(2, 1);
    for bucket in [0, 1] {
        let empty = Word::<Growing>::at_level(raw.table.level());
        let full = (2..6).map(grown).map(Entry::new).fold(empty, Bucket::plus);
        let marked = full.with_mark(Entry::new(grown(2)), Mark::Trailing);
        put(&raw, bucket, marked.expect("it is there"));
    }
    raw.len.add(8);
    let class = Class::of_resident(Fingerprint::new(grown(9)), 0, 2);
    let (answer, loads) = loads::during(|| raw.insert(class));
    assert_eq!(answer, Ok(()));
    assert!(raw.table.doublings() > 0 || raw.table.is_growing(raw.table.level()));
    // Some four loads a round.
    assert!(loads > 100, "{loads} loads");
}
