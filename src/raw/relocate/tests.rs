//! What one move does to its two words, and when a filter grows instead.

use super::*;
use crate::{
    raw::tests::{filter_and_class, put, word_at},
    table::layout::{F10x6, F15x4, G14x4},
    table::loads,
};

/// Doubles an empty filter so many times.
fn double<L: Layout>(raw: &RawFilter<L>, levels: u32) {
    for level in 0..levels {
        raw.table.planes.begin(level).expect("memory");
        raw.table.planes.sweep_all();
    }
}

/// A stripe that is held, or a snapshot between the two buckets: a move is given up, and
/// leaves both words as they were.
#[test]
fn a_move_gives_way() {
    let (raw, class) = filter_and_class::<F10x6>();
    let word = Word::EMPTY.with(2, class.fingerprint);
    put(&raw, class.p, word);
    let hop = Hop {
        fingerprint: class.fingerprint,
        from: class.p,
        to: class.q,
    };
    let given_up = || {
        assert_eq!(raw.move_resident(hop, false, Fill::Hole), None);
        assert_eq!(word_at(&raw, class.p), word);
        assert_eq!(word_at(&raw, class.q), Word::EMPTY);
    };
    let hold = raw.versions.hold(class.p);
    given_up();
    drop(hold);
    let snapshot = raw.frontiers.begin();
    snapshot.enter(0);
    given_up();
    snapshot.leave(0);
    let moved = raw.move_resident(hop, false, Fill::Hole);
    assert_eq!(moved, Some(Left::Hole));
    assert_eq!(word_at(&raw, class.p), Word::EMPTY);
    // From where it is not it cannot be moved.
    assert_eq!(raw.move_resident(hop, false, Fill::Hole), None);
    assert_eq!(raw.count(class), 1);
}

/// What is to be in the slot next is put there if it belongs into the same plane.
#[test]
fn a_move_leaves_behind_what_belongs_there() {
    fn check<L: Layout>(levels: u32, fingerprint: u64, other: u64, fits: bool) {
        let raw = RawFilter::<L>::new(8, levels).expect("a few bytes");
        double(&raw, levels);
        let class = Class::of_resident(fingerprint, 0, 8);
        let hop = Hop {
            fingerprint,
            from: class.p,
            to: class.q,
        };
        let back = Hop {
            from: class.q,
            to: class.p,
            ..hop
        };
        let left = if fits { Left::Fill } else { Left::Hole };
        let place = format!("{other} after {fingerprint} at level {levels}");
        let put = |word: Word<L>| Some(word.plus(fingerprint));
        assert!(raw.table.update(Step::Claim, fingerprint, class.p, put));
        let moved = raw.move_resident(hop, false, Fill::Item(other));
        assert_eq!(moved, Some(left), "{place}");
        let word = raw.table.load_for_update(fingerprint, class.p).word;
        assert_eq!(word.count(other), usize::from(fits), "{place}");
        let moved = raw.move_resident(back, false, Fill::Outline(other));
        assert_eq!(moved, Some(left), "{place}");
        let word = raw.table.load_for_update(fingerprint, class.q).word;
        assert_eq!(word.is_marked(Mark::Outline, other), fits, "{place}");
        assert_eq!(raw.count(class), 1, "{place}");
    }
    check::<F10x6>(0, 700, 501, true);
    for (fingerprint, other, fits) in [(6, 8, true), (6, 7, false), (7, 6, false), (7, 9, true)] {
        check::<G14x4>(1, fingerprint, other, fits);
    }
    for (fingerprint, other, fits) in [(6, 10, true), (6, 4, false), (7, 11, true), (7, 9, false)] {
        check::<G14x4>(2, fingerprint, other, fits);
    }
}

#[test]
fn inserts_refused_for_want_of_room_are_counted() {
    let (raw, _) = filter_and_class::<F10x6>();
    for error in [InsertError::Full, InsertError::Memory, InsertError::Full] {
        assert_eq!(raw.refused(error), error);
    }
    assert_eq!(raw.counters.stats().failed_inserts, 2);
}

#[test]
fn a_level_begins_when_it_is_due() {
    let due = Box::new([10, 20]);
    let raw = RawFilter::<G14x4>::new(8, 2).expect("a few bytes");
    let raw = raw.growing_when(due);
    raw.len.add(9);
    raw.grow_in_time(0);
    assert!(!raw.table.planes.is_growing(0));
    raw.len.add(1);
    raw.grow_in_time(0);
    assert!(raw.table.planes.is_growing(0));
    raw.table.planes.sweep_all();
    raw.grow_in_time(1);
    assert!(!raw.table.planes.is_growing(1));
    raw.len.add(10);
    raw.grow_in_time(1);
    assert!(raw.table.planes.is_growing(1));
    raw.table.planes.sweep_all();
    // There is no level more.
    raw.grow_in_time(2);
    assert_eq!(raw.table.planes.level(), 2);
}

/// A filter of 64 buckets, and many classes of one pair and one plane, whatever the level.
fn crowd() -> (RawFilter<G14x4>, Vec<Class>) {
    let raw = RawFilter::new(64, 2).expect("a few bytes");
    let q = Class::of_resident(4, 0, 64).q;
    let classes = (1..1 << 12)
        .map(|number| Class::of_resident(4 * number, 0, 64))
        .filter(|class| class.q == q);
    (raw, classes.collect())
}

/// Growth is for a filter that is full, not for a pair that many keys were made for.
#[test]
fn an_empty_filter_does_not_grow_for_a_crowded_pair() {
    for level in 0..2 {
        let (raw, classes) = crowd();
        let planes = &raw.table.planes;
        double(&raw, level);
        for &class in &classes[..8] {
            assert_eq!(raw.insert(class), Ok(()));
        }
        // A sixteenth of the slots.
        let enough = 16 << level;
        raw.len.add(enough - 8 - 1);
        assert_eq!(raw.insert(classes[8]), Err(InsertError::Full));
        assert!(!planes.is_growing(level), "at level {level}");
        raw.len.add(1);
        // All stay of one plane: the next level does not help.
        assert_eq!(raw.insert(classes[8]), Err(InsertError::Full));
        assert!(planes.level() > level || planes.is_growing(level));
    }
}

/// For the ninth copy of one class no level is begun, for another class of the pair it is.
#[test]
fn a_filter_does_not_grow_for_a_class_that_fills_its_pair() {
    let (raw, classes) = crowd();
    raw.len.add(100);
    let grows = || raw.table.planes.is_growing(0) || raw.table.planes.level() > 0;
    for _ in 0..8 {
        assert_eq!(raw.insert(classes[0]), Ok(()));
    }
    assert_eq!(raw.insert(classes[0]), Err(InsertError::Full));
    assert!(!grows());
    assert!(raw.remove(classes[0]));
    assert_eq!(raw.insert(classes[1]), Ok(()));
    assert!(!grows());
    // One of the two words is full of it, the other is not.
    assert_eq!(raw.insert(classes[0]), Err(InsertError::Full));
    assert!(grows());
}

/// Where no path is found, one round tells: more are for threads that are in the way.
#[test]
fn an_insert_that_is_refused_has_looked_twice() {
    let raw = RawFilter::<F15x4>::new(2, 0).expect("a few bytes");
    let class = |fingerprint| Class::of_resident(fingerprint, 0, 2);
    for fingerprint in 1..=8 {
        assert_eq!(raw.insert(class(fingerprint)), Ok(()));
    }
    let (answer, loads) = loads::during(|| raw.insert(class(9)));
    assert_eq!(answer, Err(InsertError::Full));
    // A search comes back to both words some fifty times before it keeps a list of what it knows;
    // 64 rounds are thousands of loads.
    assert!((1..200).contains(&loads), "{loads} loads");
}
