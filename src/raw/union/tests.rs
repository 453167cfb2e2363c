//! What a union carries over, although epochs have begun since the scan, and beside marks.

use super::*;
use crate::{
    raw::tests::{put, word_at},
    table::{Levels, layout::E16x3, time::Epochs, word::Mark},
};

type Raw = RawFilter<E16x3>;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 5;

const EPOCH: u64 = 9;

fn class() -> Class {
    Class::of_pair(Fingerprint::new(1), 2, 3)
}

/// The entry of a copy of the class that has this age.
fn aged(&age: &u64) -> Entry {
    let then = Now::<E16x3>::new(EPOCH.wrapping_sub(age), OLDEST);
    Moment::<Word<E16x3>>::entry(then, class().fingerprint)
}

/// A filter that has copies of the class with these ages, in its bucket P.
fn with_copies(ages: &[u64]) -> Raw {
    let raw = Raw::new(8, Levels::FIXED).expect("a few bytes");
    let raw = raw.with_time(Epochs::new(OLDEST).at_epoch(EPOCH));
    let word = ages
        .iter()
        .map(aged)
        .fold(Word::<E16x3>::EMPTY, Bucket::plus);
    put(&raw, class().p, word);
    raw.len.add(ages.len() as u64);
    raw
}

/// Raises the copies of the class in `raw` to those of `other`, which a scan has found with this age.
/// Returns how many were changed.
fn raised(raw: &Raw, other: &Raw, age: u64) -> usize {
    let of_other = |class, age| other.present_for_union(class, age);
    let mut changed = 0;
    let raised = raw.raise_copies(&of_other, 0, &[(class(), age)], &mut changed);
    raised.expect("there is room");
    changed
}

/// Epochs have begun since the scan, so the copy is older than that says.
#[test]
fn a_copy_that_has_become_older_is_carried_over() {
    for age in 0..=OLDEST {
        let (raw, other) = (with_copies(&[]), with_copies(&[age]));
        assert_eq!(raised(&raw, &other, 0), 1, "{age}");
        let here = |age| raw.present_for_union(class(), age).expect("it is at rest");
        assert_eq!(here(OLDEST).copies, 1);
        // As in a merge, it is taken for one epoch younger.
        assert_eq!(here(age.saturating_sub(1)).young, 1);
        // When this filter's epochs began says nothing of the copy.
        assert_eq!(raw.moment().uncounted(), OLDEST);
        assert_eq!(raised(&raw, &other, 0), 0);
    }
}

/// A late tick has let copies die before their epochs were over.
#[test]
fn copies_that_are_dead_by_the_clock_are_not_carried_over() {
    let other = with_copies(&[1, 4]);
    let now = other.moment();
    assert!(other.time.tick(now, now.with_oldest(3)));
    for age in [1, OLDEST] {
        let found = other
            .present_for_union(class(), age)
            .expect("it is at rest");
        assert_eq!((found.copies, found.young), (1, 1), "{age}");
    }
}

/// Another thread has the only copy withheld, which is too old. It cannot become younger, so another one is
/// added.
#[test]
fn a_young_copy_is_added_beside_a_mark() {
    let (raw, other) = (with_copies(&[3]), with_copies(&[0]));
    let withheld = word_at(&raw, class().p).with_mark(aged(&3), Mark::Withheld);
    put(&raw, class().p, withheld.expect("it is there"));
    assert_eq!(raised(&raw, &other, 0), 1);
    let found = raw.present_for_union(class(), 0).expect("a mark only");
    assert_eq!((found.copies, found.young), (2, 1));
}
