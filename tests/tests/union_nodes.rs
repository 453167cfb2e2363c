//! Nine nodes with common keys, which are united while other threads change the result.
//!
//! Whatever the order of their steps, the numbers of copies are exact in the end.

use crate::common::stop::Stop;
use guira::{CuckooFilter, ExpiringFilter, Filter, Lifetime, Prefer, SeededState};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

const NODES: usize = 9;

/// The keys that each node has, each of them twice.
const COMMON: u64 = 800;

/// Other keys of the result, which stay.
const OTHERS: u64 = 300;

/// Other keys of each writer, which come and go.
const PASSING: u64 = 50;

/// Items of a filter in which all of these fit, and some of them only by relocations: two copies of
/// each key take more room in small buckets.
fn capacity(slots: u32) -> usize {
    match slots {
        2 => 4_000,
        3 => 2_300,
        _ => 2_100,
    }
}

type Seeded<T> = Filter<SeededState, T>;

fn insert<T: Lifetime>(filter: &Seeded<T>, key: u64) {
    filter.insert(&key).expect("room below the capacity");
}

fn with_common_keys<T: Lifetime>(filter: Seeded<T>) -> Seeded<T> {
    for _ in 0..2 {
        (0..COMMON).for_each(|key| insert(&filter, key));
    }
    filter
}

/// Unites the nodes with `result` in each of the orders at once, while two writers insert and remove
/// keys that no node has.
fn unite<T: Lifetime>(result: &Seeded<T>, nodes: &[Seeded<T>], orders: &[[usize; NODES]]) {
    let others = (COMMON..).filter(|&key| nodes[0].count(&key) == 0);
    let others: Vec<u64> = others.take((OTHERS + 2 * PASSING) as usize).collect();
    let (stays, passing) = others.split_at(OTHERS as usize);
    stays.iter().for_each(|&key| insert(result, key));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let _stop = Stop(done);
        for own in passing.chunks(PASSING as usize) {
            scope.spawn(move || {
                let _stop = Stop(done);
                while !done.load(Ordering::Relaxed) {
                    own.iter().for_each(|&key| insert(result, key));
                    for &key in own {
                        assert!(
                            result.count(&key) > 0 && result.remove(&key),
                            "{key} is lost"
                        );
                    }
                }
            });
        }
        let unions = orders.iter().map(|order| {
            scope.spawn(move || {
                for &node in order {
                    result
                        .union_with(&nodes[node])
                        .expect("room below the capacity");
                    let few = (0..COMMON).find(|&key| result.count(&key) < nodes[node].count(&key));
                    assert_eq!(few, None, "after a union with node {node}");
                }
            })
        });
        let unions: Vec<_> = unions.collect();
        for union in unions {
            union.join().expect("no violation");
        }
    });
    assert!(result.stats().relocations > 0);
    for &key in stays {
        assert!(result.count(&key) > 0, "{key} is lost");
    }
}

/// Each key is in as often as in a node.
fn assert_exact<T: Lifetime>(result: &Seeded<T>, node: &Seeded<T>) {
    for key in 0..COMMON {
        assert_eq!(result.count(&key), node.count(&key), "key {key}");
    }
}

const UP: [usize; NODES] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const DOWN: [usize; NODES] = [8, 7, 6, 5, 4, 3, 2, 1, 0];

#[test]
fn filters() {
    let builder = || CuckooFilter::builder().seed(9);
    let growing = builder().capacity(300).max_capacity(capacity(2));
    let space = builder().capacity(capacity(6)).prefer(Prefer::Space);
    for builder in [
        builder().capacity(capacity(4)),
        builder().capacity(capacity(2)).fingerprint_bits(30),
        growing.false_positive_rate(1e-4),
        space.false_positive_rate(0.01),
    ] {
        let build = || builder.clone().build().expect("a filter");
        let nodes = [(); NODES].map(|()| with_common_keys(build()));
        for _ in 0..10 {
            let result = build();
            unite(&result, &nodes, &[UP, DOWN]);
            assert_exact(&result, &nodes[0]);
            assert_eq!(result.len() as u64, 2 * COMMON + OTHERS);
        }
    }
}

/// Bits of a fingerprint, and slots of a bucket.
const EXPIRING: [(u32, u32); 3] = [(11, 4), (16, 3), (26, 2)];

fn expiring((bits, slots): (u32, u32)) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(NODES as u32);
    let builder = builder.capacity(capacity(slots)).fingerprint_bits(bits);
    let filter = builder.seed(9).build().expect("a filter");
    assert_eq!(filter.bucket_slots(), slots as usize);
    filter
}

#[test]
fn expiring_filters_of_one_age() {
    for layout in EXPIRING {
        let nodes = [(); NODES].map(|()| with_common_keys(expiring(layout)));
        for _ in 0..10 {
            let result = expiring(layout);
            unite(&result, &nodes, &[UP, DOWN]);
            assert_exact(&result, &nodes[0]);
            assert_eq!(result.len() as u64, 2 * COMMON + OTHERS);
        }
    }
}

/// Beside a word that a writer has marked, an old copy may stay beside a younger one, until it expires.
#[test]
fn expiring_filters_of_nine_ages() {
    for layout in EXPIRING {
        let nodes = UP.map(|age| {
            let node = with_common_keys(expiring(layout));
            (0..age).for_each(|_| assert!(node.advance()));
            node
        });
        for order in [UP, DOWN] {
            let result = expiring(layout);
            unite(&result, &nodes, &[order]);
            for _ in 0..NODES {
                assert!(result.advance());
            }
            // The copies that were seen last are left.
            assert_exact(&result, &nodes[0]);
            result.advance();
            assert_eq!(result.len(), 0);
        }
    }
}
