//! A union leaves each item with the larger of its two numbers of copies.

use crate::{
    common::combined::{assert_combined, insert_what_fits, items},
    snapshot::common::layouts::that_grows,
};
use guira::{CuckooFilter, ExpiringFilter, MergeError, Prefer};
use proptest::prelude::*;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

/// Fixed layouts and growing ones. No fixed layout has the size of a growing one.
const LAYOUTS: [u32; 8] = [10, 12, 15, 20, 30, 11, 18, 27];

fn empty(bits: u32, capacity: usize) -> CuckooFilter {
    that_grows(bits, capacity, 16)
}

/// What a union of two filters at rest must leave, whether or not it fails.
fn assert_united(filter: &CuckooFilter, other: &CuckooFilter, items: u64) {
    if assert_combined(filter, other, items, CuckooFilter::union_with, usize::max).is_ok() {
        let digest = filter.digest();
        assert_eq!(filter.union_with(other), Ok(()));
        assert_eq!(filter.digest(), digest, "a repetition changes nothing");
    }
}

proptest! {
    #[test]
    fn the_larger_number_of_copies_stays(
        bits in prop::sample::select(LAYOUTS.as_slice()),
        capacity in 10..300_usize,
        [here, there] in [items(), items()],
        finish in any::<bool>(),
    ) {
        let (filter, other) = (empty(bits, capacity), empty(bits, capacity));
        insert_what_fits(&filter, &here);
        insert_what_fits(&other, &there);
        if finish {
            other.finish_growth();
        }
        assert_united(&filter, &other, 2_000);
    }
}

/// Unites nine nodes that share a third of their keys, one after the other, and then all of them
/// again.
#[test]
fn nine_nodes_with_common_keys_are_united() {
    const NODES: u64 = 9;
    const COMMON: u64 = 3_000;
    const OWN: u64 = 1_000;
    let all = COMMON + NODES * OWN;
    for rate in [1e-2, 1e-3, 1e-4, 1e-6] {
        for grows in [false, true] {
            let builder = CuckooFilter::builder().false_positive_rate(rate).seed(9);
            let builder = match grows {
                false => builder.capacity(all as usize),
                true => builder.capacity(1_000).max_capacity(all as usize),
            };
            let spaced = [Prefer::Speed, Prefer::Space];
            for prefer in spaced.into_iter().take(2 - usize::from(grows)) {
                let builder = builder.clone().prefer(prefer);
                let node = |number: u64| {
                    let filter = builder.clone().build().expect("a filter");
                    let own = COMMON + number * OWN..COMMON + (number + 1) * OWN;
                    for item in (0..COMMON).chain(own) {
                        filter.insert_unique(&item).expect("room");
                    }
                    filter
                };
                let nodes: Vec<_> = (0..NODES).map(node).collect();
                let view = builder.clone().build().expect("a filter");
                for node in nodes.iter().chain(&nodes) {
                    view.union_with(node).expect("room below capacity");
                }
                assert!((0..all).all(|item| view.contains(&item)), "{rate}, {grows}");
                assert!(view.len() as u64 <= all, "{rate}, {grows}: {}", view.len());
                // Each class has exactly the largest number of copies of all nodes.
                for item in 0..all {
                    let most = nodes.iter().map(|node| node.count(&item)).max();
                    assert_eq!(Some(view.count(&item)), most, "{rate}, {grows}: {item}");
                }
            }
        }
    }
}

#[test]
fn a_union_that_ended_is_resumed() {
    let (filter, other) = (empty(15, 1_000), empty(15, 1_000));
    let mut fills = 1_000_000_u64;
    while filter.insert(&fills).is_ok() {
        fills += 1;
    }
    (0..500_u64).for_each(|item| other.insert(&item).expect("room"));
    let mut removed = 1_000_000_u64;
    let mut errors = 0;
    while let Err(error) = filter.union_with(&other) {
        assert!(matches!(error, MergeError::Insert { .. }), "{error}");
        errors += 1;
        for _ in 0..50 {
            assert!(filter.remove(&removed));
            removed += 1;
        }
    }
    assert!(errors > 1, "{errors}");
    let missing = (0..500_u64).filter(|item| filter.count(item) < other.count(item));
    assert_eq!(missing.count(), 0);
}

#[test]
fn filters_that_place_items_otherwise_are_refused() {
    let (filter, other) = (empty(15, 100), empty(12, 100));
    assert_eq!(filter.union_with(&filter), Err(MergeError::SameFilter));
    let refused = filter.union_with(&other);
    assert!(
        matches!(refused, Err(MergeError::Geometry(_))),
        "{refused:?}"
    );
}

/// Threads add keys by `insert_unique` and unite filters in both directions, while other keys are
/// inserted and removed.
#[test]
fn beside_writers_each_key_is_in_once() {
    const KEYS: u64 = 20_000;
    for bits in [15, 18, 30] {
        let filters = [(); 3].map(|()| empty(bits, 4 * KEYS as usize));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let adders: Vec<_> = [0, 1, 2]
                .into_iter()
                .map(|node: usize| {
                    let filters = &filters;
                    scope.spawn(move || {
                        for key in 0..KEYS {
                            filters[node].insert_unique(&key).expect("room");
                            // These keys are inserted and removed, which causes relocations.
                            let passing = KEYS + 100 * node as u64 + key % 100;
                            filters[node].insert_unique(&passing).expect("room");
                            assert!(filters[node].remove(&passing));
                        }
                    })
                })
                .collect();
            for [into, from] in [[0, 1], [1, 2], [2, 0]] {
                let (filters, done) = (&filters, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        filters[into].union_with(&filters[from]).expect("room");
                    }
                });
            }
            for adder in adders {
                adder.join().expect("no panic");
            }
            done.store(true, Ordering::Relaxed);
        });
        for filter in &filters {
            for key in 0..KEYS {
                assert!(filter.contains(&key), "{bits}: {key}");
            }
        }
        for filter in &filters {
            // A union may have added each of these keys once.
            assert!(
                filter.len() as u64 <= KEYS + 300,
                "{bits}: {}",
                filter.len()
            );
        }
    }
}

const TTL: Duration = Duration::from_secs(60);

fn expiring(bits: u32) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL).epochs(4).capacity(1_000);
    let builder = builder.seed(3).fingerprint_bits(bits);
    builder.build().expect("a filter")
}

/// The number of further epochs in which the filter has the item.
fn left(filter: &ExpiringFilter, item: u32) -> u32 {
    let copy = filter.clone();
    let begun = (0..).take_while(|_| copy.contains(&item) && copy.advance());
    begun.count() as u32
}

/// Both ages are from 0 to 4 epochs, or the item is absent from one filter.
#[test]
fn the_younger_age_wins() {
    for bits in [11, 16, 26] {
        for here in 0..=5_u32 {
            for there in 0..=5_u32 {
                let filters = [here, there].map(|seen| {
                    let filter = expiring(bits);
                    for epoch in 0..=4 {
                        if seen == epoch {
                            filter.insert_unique(&7).expect("room");
                        }
                        if epoch < 4 {
                            filter.advance();
                        }
                    }
                    filter
                });
                let [filter, other] = &filters;
                let [before, of_other] = [left(filter, 7), left(other, 7)];
                filter.union_with(other).expect("room");
                let after = left(filter, 7);
                // A copy from the other filter lives for one more epoch, unless it is of the
                // current epoch.
                let most = if of_other == 0 {
                    0
                } else {
                    (of_other + 1).min(5)
                };
                assert_eq!(after, before.max(most), "{here}, {there}");
                assert_eq!(filter.count(&7), usize::from(after > 0), "{here}, {there}");
                let again = filter.digest();
                filter.union_with(other).expect("room");
                assert_eq!(filter.digest(), again, "a repetition changes nothing");
            }
        }
    }
}

/// Copies have several ages. For each age, the number of copies that are at most that old is then
/// the larger one of both filters.
#[test]
fn copies_of_several_ages_are_united() {
    let within = |filter: &ExpiringFilter| {
        let copy = filter.clone();
        [(); 5].map(|()| {
            let count = copy.count(&7);
            copy.advance();
            count
        })
    };
    for (here, there) in [
        ([1, 0, 2], [0, 2, 1]),
        ([3, 0, 0], [1, 1, 1]),
        ([0, 0, 1], [2, 2, 0]),
    ] {
        let [filter, other] = [here, there].map(|copies| {
            let filter = expiring(16);
            for count in copies {
                for _ in 0..count {
                    filter.insert(&7).expect("room");
                }
                filter.advance();
            }
            filter
        });
        let (before, of_other) = (within(&filter), within(&other));
        filter.union_with(&other).expect("room");
        let after = within(&filter);
        assert_eq!(after[0], before[0].max(of_other[0]), "{here:?}, {there:?}");
        for epoch in 0..5 {
            let least = before[epoch].max(of_other[epoch]);
            // A copy from the other filter may live for one more epoch.
            let most = before[epoch].max(of_other[epoch.saturating_sub(1)]);
            let is_right = (least..=most).contains(&after[epoch]);
            assert!(is_right, "{here:?}, {there:?}: {after:?}");
        }
    }
}
