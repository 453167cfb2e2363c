//! Faults that concurrent cuckoo filters are prone to. Each was found in some implementation. The
//! interleaving is given beside its test.

use crate::common::{
    classes::classes,
    filters::{BITS, slots, tiny},
    stop::Stop,
};
use guira::{CuckooFilter, Hashed};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The minimum number of calls of a law on each filter, and of relocations during them.
const CALLS: usize = 20_000;
const RELOCATIONS: u64 = 20_000;
const PATIENCE: Duration = Duration::from_secs(600);

/// Fills filters, except for three slots, with residents that stay, and calls `law` with one filter
/// after the other. Three threads concurrently insert and remove items of their own. Each leaves
/// its free slot outside the next thread's pair, so that residents have to be relocated.
fn under_relocations(law: impl Fn(&CuckooFilter, u64)) {
    for (bits, buckets) in BITS.into_iter().zip([16, 4, 8, 6, 32]) {
        let filter = tiny(bits, buckets);
        // With some other seeds, the free slots stay outside all pairs.
        let mut all = classes(&filter, slots(&filter) * 3, 4);
        let mut residents: Vec<u64> = all
            .extract_if(.., |hash| filter.insert(&Hashed(*hash)).is_ok())
            .collect();
        let mut others = residents.split_off(residents.len() - 3);
        assert!(others.iter().all(|&hash| filter.remove(&Hashed(hash))));
        // More items that have a path to one of the free slots.
        others.extend(all.into_iter().filter(|&hash| {
            filter
                .insert(&Hashed(hash))
                .is_ok_and(|()| filter.remove(&Hashed(hash)))
        }));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let stopped = Stop(&stop);
            for own in others.chunks(others.len().div_ceil(3)) {
                let (filter, stop) = (&filter, &stop);
                scope.spawn(move || {
                    for &hash in own.iter().cycle() {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        if filter.insert(&Hashed(hash)).is_ok() {
                            assert!(
                                filter.remove(&Hashed(hash)),
                                "an item that was just inserted"
                            );
                        }
                    }
                });
            }
            let (start, mut call) = (Instant::now(), 0);
            while call < CALLS || filter.stats().relocations < RELOCATIONS {
                law(&filter, residents[call % residents.len()]);
                call += 1;
                assert!(
                    start.elapsed() < PATIENCE,
                    "hardly any resident was relocated"
                );
            }
            drop(stopped);
        });
        assert_eq!(filter.len(), residents.len(), "len drifted");
        for &hash in &residents {
            assert_eq!(filter.count(&Hashed(hash)), 1, "at rest");
        }
    }
}

/// ```text
/// A: insert(x): claim fails, both buckets are full
/// B: remove(y) empties a slot of x's bucket
/// A: searches a path, takes the *empty* slot for the victim, "moves" 0
/// C: insert(z) claims the slot
/// A: its last compare-exchange fails, unnoticed; answers Ok
/// ```
///
/// In this filter, a search ends at a bucket with an empty slot, and an insert returns only after a
/// compare-exchange of its fingerprint has succeeded.
#[test]
fn an_insert_that_answered_ok_is_in() {
    for bits in BITS {
        for wanted in [16, 128] {
            let filter = tiny(bits, (wanted / tiny(bits, 1).bucket_slots()).max(2));
            let all = classes(&filter, slots(&filter) + 16, 2);
            let (residents, others) = all.split_at(slots(&filter) * 9 / 10);
            for &hash in residents {
                let _ = filter.insert(&Hashed(hash));
            }
            let before = filter.len();
            thread::scope(|scope| {
                for own in others.chunks(others.len().div_ceil(4)) {
                    let filter = &filter;
                    scope.spawn(move || {
                        for turn in 0..20_000 {
                            let hash = own[turn % own.len()];
                            if filter.insert(&Hashed(hash)).is_ok() {
                                assert!(
                                    filter.contains(&Hashed(hash)),
                                    "{bits} bits: Ok, but absent"
                                );
                                assert!(
                                    filter.remove(&Hashed(hash)),
                                    "{bits} bits: Ok, but not removable"
                                );
                            }
                        }
                    });
                }
            });
            assert_eq!(filter.len(), before, "{bits} bits: len drifted");
        }
    }
}

/// ```text
/// A: contains(x): reads P, x is not there
/// B: relocates x from Q to P
/// A: reads Q, x is no longer there; answers false
/// ```
///
/// In this filter, a move towards P advances the version, which A compares.
#[test]
fn a_resident_is_never_missed() {
    under_relocations(|filter, hash| assert!(filter.contains(&Hashed(hash)), "false negative"));
}

/// ```text
/// A: remove(x): scans P, x is not there
/// B: relocates x from Q to P
/// A: scans Q, x is no longer there; answers false
/// ```
///
/// In this filter, remove returns false only after it has compared the version, too.
#[test]
fn a_remove_of_a_resident_answers_true() {
    under_relocations(|filter, hash| {
        assert!(filter.remove(&Hashed(hash)), "remove missed a resident");
        // Another thread may use the slot for a while, but must free it.
        while filter.insert(&Hashed(hash)).is_err() {
            thread::yield_now();
        }
    });
}

/// ```text
/// A: relocates x: P and Q both hold it for a moment
/// B: count(x): reads P: 1, reads Q: 1; answers 2
/// ```
///
/// In this filter, one of the two words is marked, and both are read twice.
#[test]
fn a_resident_counts_once() {
    under_relocations(|filter, hash| assert_eq!(filter.count(&Hashed(hash)), 1));
}

/// ```text
/// A: relocates x: x stands in both words
/// B: remove(x) takes the one, C: remove(x) takes the other; both answer true
/// A: finishes, and `len` has lost one for good
/// ```
///
/// In this filter, only one of the two copies of a move can be removed. The mover drops the other.
#[test]
fn a_copy_is_removed_once() {
    for bits in BITS {
        let filter = tiny(bits, 4);
        let all = classes(&filter, slots(&filter) + 8, 3);
        let (shared, others) = all.split_at(slots(&filter) - 4);
        let threads = 4;
        let balance: i64 = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread| {
                    let (filter, own) = (&filter, others[thread]);
                    scope.spawn(move || {
                        let mut balance = 0;
                        for turn in 0..40_000 {
                            let hash = shared[turn * (thread + 1) % shared.len()];
                            balance += i64::from(filter.insert(&Hashed(hash)).is_ok());
                            if filter.insert(&Hashed(own)).is_ok() {
                                assert!(filter.remove(&Hashed(own)));
                            }
                            balance -= i64::from(filter.remove(&Hashed(hash)));
                        }
                        balance
                    })
                })
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().expect("no panic"))
                .sum()
        });
        let copies: usize = shared.iter().map(|&hash| filter.count(&Hashed(hash))).sum();
        assert_eq!(copies as i64, balance, "{bits} bits: inserts less removes");
        assert_eq!(filter.len() as i64, balance, "{bits} bits: len");
    }
}

/// ```text
/// A: insert_unique(x), x is in: reads P, x is not there
/// B: relocates x from Q to P, which fills P
/// A: reads Q, x is no longer there; P is full, and no path leads out of it
/// A: answers Full, though x was in all the time
/// ```
///
/// In this filter, `Full` is returned only after a validated count of the class.
#[test]
fn insert_unique_of_a_resident_is_never_full() {
    under_relocations(|filter, hash| assert_eq!(filter.insert_unique(&Hashed(hash)), Ok(false)));
}
