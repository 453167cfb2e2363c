//! A merge adds the copies of the other filter: of any size, and beside writers. `combined` has the laws of
//! filters at rest.

use crate::{
    common::{
        filters::{BITS, GROWABLE_BITS},
        stop::Stop,
    },
    snapshot::common::{
        fields::{LEVELS, MAX_CAPACITY, with, with_byte},
        layouts::that_grows,
    },
};
use guira::{CuckooFilter, InsertError, MergeError};
use std::{
    hash::{BuildHasherDefault, DefaultHasher, RandomState},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

/// An empty filter of the layout for `capacity` items. A filter that can grow has room for 16 times
/// that number.
fn empty(bits: u32, capacity: usize) -> CuckooFilter {
    that_grows(bits, capacity, 16)
}

fn filled(filter: CuckooFilter, items: impl Iterator<Item = u64>) -> CuckooFilter {
    for item in items {
        filter.insert(&item).expect("room");
    }
    filter
}

/// A filter of the layout in the middle of the doubling after `level`, and the number of its items.
/// `None` if the layout does not double that often.
fn sweeping(bits: u32, level: u32) -> Option<(CuckooFilter, u64)> {
    let filter = empty(bits, 2_000);
    let mut items = 0;
    while filter.stats().doublings < level || filter.stats().buckets_to_split == 0 {
        filter.insert(&items).ok()?;
        items += 1;
    }
    Some((filter, items))
}

#[test]
fn filters_of_all_sizes_are_merged_into_each_other() {
    let mut deepest = 0;
    for bits in GROWABLE_BITS {
        for (level, (grown, items)) in
            (0..).map_while(|level| Some((level, sweeping(bits, level)?)))
        {
            deepest = deepest.max(level);
            let all = items + 100;
            let small = || filled(empty(bits, 2_000), items..all);
            let wanted = filled(empty(bits, 2_000), 0..all).digest();
            let filter = small();
            filter.merge(&grown).expect("room");
            assert_eq!(filter.digest(), wanted);
            assert!(
                filter.stats().doublings >= level,
                "it has grown at least that far"
            );
            grown.merge(&small()).expect("room");
            assert_eq!(grown.digest(), wanted);
        }
    }
    assert!(deepest >= 3, "{deepest}");
}

/// An empty filter like `other`, except for one byte of its header and the maximal capacity.
fn like(other: &CuckooFilter, (at, byte): (usize, u8), max_capacity: u64) -> CuckooFilter {
    let header = with_byte(&other.header(), at, byte);
    let header = with(&header, MAX_CAPACITY, max_capacity);
    CuckooFilter::from_header(&header, 1 << 20).expect("a header")
}

/// The requested capacity does not affect the place of an item.
#[test]
fn filters_of_other_capacities_are_merged() {
    let other = empty(27, 1_000);
    let levels = other.header()[LEVELS];
    let filter = like(&other, (LEVELS, levels), 12_345);
    assert_eq!(filter.max_capacity(), 12_345);
    let other = filled(other, 0..4_000);
    let filter = filled(filter, 4_000..8_000);
    filter.merge(&other).expect("room");
    assert!((0..8_000_u64).all(|item| filter.contains(&item)));
    other.merge(&filter).expect("room");
    assert!((0..8_000_u64).all(|item| other.contains(&item)));
}

/// The maximal capacity does not affect the place of an item either.
#[test]
fn filters_that_may_grow_differently_far_are_merged() {
    for bits in GROWABLE_BITS {
        let other = empty(bits, 1_000);
        let levels = other.header()[LEVELS];
        // No filter ends with words of one slot, so those of 33 bits double six times at least.
        let changed = match levels {
            1 | 6 => levels + 1,
            _ => levels - 1,
        };
        if bits - u32::from(changed) < 9 {
            continue;
        }
        let filter = filled(like(&other, (LEVELS, changed), 1_000), 0..300);
        let other = filled(other, 300..600);
        filter.merge(&other).expect("room");
        other.merge(&filter).expect("room");
        let lost =
            |filter: &CuckooFilter| (0..600_u64).filter(|item| !filter.contains(item)).count();
        assert_eq!((lost(&filter), lost(&other)), (0, 0), "{bits} bits");
    }
}

#[test]
fn a_merge_that_finds_no_room_says_how_far_it_came() {
    let filter = filled(empty(12, 1_000), 0..900);
    let other = filled(empty(12, 1_000), 900..1_900);
    let Err(MergeError::Insert { merged, error }) = filter.merge(&other) else {
        panic!("1900 items into the room of 1000");
    };
    assert_eq!(error, InsertError::Full);
    assert!((50..300).contains(&merged), "{merged}");
    assert_eq!(filter.len(), 900 + merged);
    assert!(
        (0..900_u64).all(|item| filter.contains(&item)),
        "nothing is lost"
    );
    assert!((900..1_900_u64).all(|item| other.contains(&item)));
    let text = MergeError::Insert { merged, error }.to_string();
    assert_eq!(
        text,
        format!("{merged} copies were merged, and the next one was not")
    );

    // A remove makes room. Then the merge starts again.
    for item in 0..900_u64 {
        assert!(filter.remove(&item));
    }
    let again = filter.merge(&other);
    let now = match again {
        Ok(()) => 1_000,
        Err(MergeError::Insert { merged, .. }) => merged,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(
        filter.len(),
        merged + now,
        "a second copy of what was merged"
    );
}

#[test]
fn filters_with_hashers_of_their_own_are_merged_if_these_agree() {
    type Fixed = BuildHasherDefault<DefaultHasher>;
    let build = || {
        CuckooFilter::builder()
            .hasher(Fixed::new())
            .build()
            .unwrap()
    };
    let (filter, other) = (build(), build());
    other.insert("ani").unwrap();
    filter.merge(&other).unwrap();
    assert!(filter.contains("ani"));

    let build = || CuckooFilter::builder().hasher(RandomState::new()).build();
    let (filter, other) = (build().unwrap(), build().unwrap());
    let refused = filter.merge(&other);
    assert!(
        matches!(refused, Err(MergeError::Hasher { .. })),
        "{refused:?}"
    );
}

/// The items of a thread, which no other thread writes.
fn own(thread: u64) -> std::ops::Range<u64> {
    let start = 1_000_000 * (thread + 1);
    start..start + 100
}

/// Inserts its own items and removes them, again and again, until `stop` is set.
fn churn(filter: &CuckooFilter, thread: u64, stop: &AtomicBool) {
    // Relaxed: the flag publishes nothing else.
    while !stop.load(Ordering::Relaxed) {
        // The filter is nearly full, so an insert may be refused.
        let inserted: Vec<u64> = own(thread)
            .filter(|item| filter.insert(item).is_ok())
            .collect();
        for item in inserted {
            assert!(filter.contains(&item), "the item of this thread is lost");
            assert!(filter.remove(&item), "the item of this thread is removed");
        }
    }
}

/// Merges `other` into a filter of the same kind that has a few items and a writer of its own.
/// During the merge, `other` has two copies of each item of `twice` and one of each item of `once`.
fn merge_beside_a_writer(other: &CuckooFilter, once: &[u64], twice: &[u64]) {
    let filter = CuckooFilter::from_header(&other.header(), 1 << 20).expect("a header");
    let here = 5_000_000..5_000_050;
    let filter = filled(filter, here.clone());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| churn(&filter, 2, &stop));
        let _stop = Stop(&stop);
        filter.merge(other).expect("room for all");
        for (items, copies) in [(once, 1), (twice, 2)] {
            for item in items {
                assert!(filter.count(item) >= copies, "{item} was not merged");
            }
        }
    });
    for item in here.chain(once.iter().chain(twice).chain(twice).copied()) {
        assert!(filter.remove(&item), "the owner finds each copy");
    }
}

#[test]
fn what_is_present_is_merged_beside_writers_of_both() {
    let (once, twice): (Vec<u64>, Vec<u64>) = ((0..8_000).collect(), (8_000..8_500).collect());
    for bits in BITS {
        // The filter is so full that its writers relocate.
        let other = filled(empty(bits, 10_000), (0..8_500).chain(8_000..8_500));
        let (stop, before) = (AtomicBool::new(false), other.stats().relocations);
        thread::scope(|scope| {
            let (other, stop) = (&other, &stop);
            for thread in 0..2 {
                scope.spawn(move || churn(other, thread, stop));
            }
            let _stop = Stop(stop);
            let mut merges = 0;
            // The writers may start late.
            while merges < 20 || other.stats().relocations == before {
                merge_beside_a_writer(other, &once, &twice);
                merges += 1;
            }
        });
    }
}

#[test]
fn what_is_present_is_merged_while_both_grow() {
    let (once, twice): (Vec<u64>, Vec<u64>) = ((0..2_000).collect(), (2_000..2_500).collect());
    for bits in [13, 14, 18, 27, 13, 14, 18, 27] {
        let other = filled(empty(bits, 4_000), (0..2_500).chain(2_000..2_500));
        let (begun, level) = (AtomicU64::new(0), other.stats().doublings);
        thread::scope(|scope| {
            let (other, begun) = (&other, &begun);
            scope.spawn(move || {
                for item in 0..40_000_u64 {
                    while begun.load(Ordering::Relaxed) < item / 10_000 {
                        thread::yield_now();
                    }
                    // A preempted relocation may leave no room in two buckets, so an insert is retried.
                    while other.insert(&(10_000 + item)).is_err() {
                        thread::yield_now();
                    }
                }
            });
            for merge in 1..=4 {
                begun.store(merge, Ordering::Relaxed);
                merge_beside_a_writer(other, &once, &twice);
            }
        });
        assert!(
            other.stats().doublings >= level + 2,
            "the other filter has doubled during the merges"
        );
    }
}
