//! An intersection leaves each item with the smaller of its two numbers of copies, and a difference
//! leaves what the other filter lacks.

use crate::common::combined::{Call, Wanted, assert_combined, insert_what_fits, items};
use guira::{CuckooFilter, ExpiringFilter, MergeError, Prefer};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// The bits of fingerprints and of counters, and whether words are semi-sorted or the filter grows.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Fixed(u32),
    SemiSorted(f64),
    Growing(u32),
    Counting(u32, u32),
    GrowingCounting(u32, u32),
}

const KINDS: [Kind; 10] = [
    Kind::Fixed(10),
    Kind::Fixed(12),
    Kind::Fixed(15),
    Kind::Fixed(30),
    Kind::SemiSorted(1e-3),
    Kind::Growing(11),
    Kind::Growing(18),
    Kind::Counting(11, 4),
    Kind::Counting(12, 8),
    Kind::GrowingCounting(14, 4),
];

fn empty(kind: Kind, capacity: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(capacity).seed(0x5eed);
    let growing = |builder: guira::Builder| builder.max_capacity(16 * capacity);
    match kind {
        Kind::Fixed(bits) => builder.fingerprint_bits(bits),
        Kind::SemiSorted(rate) => builder.false_positive_rate(rate).prefer(Prefer::Space),
        Kind::Growing(bits) => growing(builder.fingerprint_bits(bits)),
        Kind::Counting(bits, counter) => builder.fingerprint_bits(bits).counter_bits(counter),
        Kind::GrowingCounting(bits, counter) => {
            growing(builder.fingerprint_bits(bits).counter_bits(counter))
        }
    }
    .build()
    .expect("a filter")
}

const CALLS: [(Call, Wanted); 2] = [
    (CuckooFilter::intersect_with, |here, there| here.min(there)),
    (CuckooFilter::difference_with, |here, there| {
        if there == 0 { here } else { 0 }
    }),
];

proptest! {
    #[test]
    fn the_filter_has_what_the_oracle_says(
        kind in prop::sample::select(KINDS.as_slice()),
        capacity in 10..300_usize,
        [here, there] in [items(), items()],
        [finish_here, finish_there] in any::<[bool; 2]>(),
    ) {
        for (call, wanted) in CALLS {
            let [filter, other] = [(&here, finish_here), (&there, finish_there)].map(|(items, finish)| {
                let filter = empty(kind, capacity);
                insert_what_fits(&filter, items);
                if finish {
                    filter.finish_growth();
                }
                filter
            });
            let combined = assert_combined(&filter, &other, 2_000, call, wanted);
            combined.expect("compatible filters");
            let digest = filter.digest();
            call(&filter, &other).expect("compatible filters");
            prop_assert_eq!(filter.digest(), digest, "a repetition changes nothing");
            let left = filter.clone();
            prop_assert_eq!(left.len(), filter.len(), "what is left is counted");
        }
    }
}

#[test]
fn filters_that_place_items_otherwise_are_refused() {
    let (filter, other) = (empty(Kind::Fixed(15), 100), empty(Kind::Fixed(12), 100));
    filter.insert(&1).expect("room");
    for (call, _) in CALLS {
        assert_eq!(call(&filter, &filter), Err(MergeError::SameFilter));
        let refused = call(&filter, &other);
        assert!(
            matches!(refused, Err(MergeError::Geometry(_))),
            "{refused:?}"
        );
        assert!(filter.contains(&1), "a refused call changes nothing");
    }
}

/// Items that are in both filters are never absent, while others come and go in both, and several threads
/// intersect.
#[test]
fn beside_writers_what_both_filters_have_stays() {
    const KEYS: u64 = 4_000;
    for kind in [
        Kind::Fixed(15),
        Kind::SemiSorted(1e-3),
        Kind::Growing(18),
        Kind::Counting(16, 4),
    ] {
        // Nearly full, so that inserts relocate.
        let [filter, other] = [(); 2].map(|()| empty(kind, 3 * KEYS as usize));
        for key in 0..KEYS {
            filter.insert_unique(&key).expect("room");
            other.insert_unique(&key).expect("room");
            // A second copy, which is one too many.
            filter.insert(&key).expect("room");
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = [0, 1]
                .map(|number: u64| {
                    let (filter, other) = (&filter, &other);
                    scope.spawn(move || {
                        for round in 0..20 {
                            for key in 0..KEYS / 8 {
                                let passing = KEYS * (1 + number) + key + round;
                                // Of a class that is too full the filters get no copy.
                                let _ = other
                                    .insert(&passing)
                                    .is_ok_and(|()| other.remove(&passing));
                                let _ = filter.insert(&passing);
                            }
                        }
                    })
                })
                .into();
            for _ in 0..2 {
                let (filter, other, done) = (&filter, &other, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        filter.intersect_with(other).expect("compatible filters");
                    }
                });
            }
            let (filter, done) = (&filter, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for key in 0..KEYS {
                        assert!(filter.contains(&key), "{kind:?}: {key}");
                    }
                }
            });
            for writer in writers {
                writer.join().expect("no panic");
            }
            done.store(true, Ordering::Relaxed);
        });
        filter.intersect_with(&other).expect("compatible filters");
        for key in 0..KEYS {
            let copies = filter.count(&key);
            assert!((1..=other.count(&key)).contains(&copies), "{kind:?}: {key}");
        }
        assert!(filter.len() <= other.len(), "{kind:?}: {}", filter.len());
    }
}

const TTL: Duration = Duration::from_secs(60);

/// The copies of an item by their age, the youngest first.
fn expiring(bits: u32, grows: bool, copies: &[usize; 5]) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).epochs(4).seed(3);
    let builder = match grows {
        false => builder.capacity(1_000).fingerprint_bits(bits),
        true => builder.capacity(100).max_capacity(1_000),
    };
    let filter = builder.build().expect("a filter");
    for (age, count) in copies.iter().enumerate().rev() {
        for _ in 0..*count {
            filter.insert(&7).expect("room");
        }
        if age > 0 {
            filter.advance();
        }
    }
    filter
}

/// The copies by age, which a filter shows while it ages.
fn by_age(filter: &ExpiringFilter) -> [usize; 5] {
    let copy = filter.clone();
    // Those of at most each age, the oldest first.
    let within = [(); 5].map(|()| {
        let count = copy.count(&7);
        copy.advance();
        count
    });
    let next = |age: usize| within.get(5 - age).copied().unwrap_or(0);
    std::array::from_fn(|age| within[4 - age] - next(age))
}

#[test]
fn the_youngest_copies_stay() {
    for (bits, grows) in [(11, false), (16, false), (26, false), (0, true)] {
        for (here, there) in [
            ([1, 0, 0, 0, 0], [0, 0, 0, 0, 1]),
            ([1, 0, 0, 0, 1], [0, 0, 1, 0, 0]),
            ([0, 1, 1, 0, 2], [0, 0, 2, 0, 1]),
            ([0, 0, 0, 0, 2], [2, 0, 0, 0, 0]),
            ([1, 1, 1, 1, 0], [0, 0, 0, 0, 0]),
        ] {
            let [filter, other] = [here, there].map(|copies| expiring(bits, grows, &copies));
            assert_eq!(by_age(&filter), here, "{bits}");
            let (mut most, mut left) = (there.iter().sum::<usize>(), here);
            for count in &mut left {
                *count = most.min(*count);
                most -= *count;
            }
            filter.intersect_with(&other).expect("compatible filters");
            assert_eq!(by_age(&filter), left, "{bits}: {here:?}, {there:?}");
            filter.difference_with(&other).expect("compatible filters");
            let left = if there == [0; 5] { left } else { [0; 5] };
            assert_eq!(by_age(&filter), left, "{bits}: {here:?}, {there:?}");
        }
    }
}

#[test]
fn what_is_dead_in_the_other_filter_is_absent_from_it() {
    let [filter, other] =
        [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]].map(|copies| expiring(16, false, &copies));
    other.advance();
    filter.difference_with(&other).expect("compatible filters");
    assert!(filter.contains(&7));
    filter.intersect_with(&other).expect("compatible filters");
    assert!(!filter.contains(&7));
}
