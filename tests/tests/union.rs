//! A union can be resumed after an error, and beside writers it adds each key once. `combined` has the laws
//! of filters at rest.

use crate::snapshot::common::layouts::that_grows;
use guira::{CuckooFilter, MergeError};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn empty(bits: u32, capacity: usize) -> CuckooFilter {
    that_grows(bits, capacity, 16)
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
