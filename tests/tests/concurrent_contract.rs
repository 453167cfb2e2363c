//! The documented promises, while up to 16 threads use nearly full filters of 2 to 16 buckets.
//! `GUIRA_LONG=1` makes the rounds longer.

use crate::common::{
    classes::classes,
    filters::{BITS, slots, tiny},
    round::{Report, Round},
    stress::is_long,
};
use guira::{CuckooFilter, Hashed, InsertError};
use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// The operations of all threads in a round.
fn operations() -> usize {
    if is_long() { 40_000 } else { 15_000 }
}

/// Until a thread removes its own item, the item is contained, counted and removable, whatever
/// other threads do. At rest, `len` and `count` are exact.
#[test]
fn every_thread_finds_its_own_items() {
    for bits in BITS {
        let mut report = Report::default();
        for threads in [2, 3, 8, 16] {
            for (buckets, load) in [(1, 0.9), (2, 0.95), (5, 0.98), (16, 0.95)] {
                for yields in [false, true] {
                    let operations = operations() / threads;
                    let (crowd, seed) = (1.25, threads as u64);
                    let round = Round {
                        bits,
                        counter_bits: 0,
                        buckets,
                        threads,
                        operations,
                        load,
                        crowd,
                        yields,
                        seed,
                    };
                    report += round
                        .owned()
                        .unwrap_or_else(|violation| panic!("{violation}"));
                }
            }
        }
        println!("{bits} bits: {report}");
        assert!(report.relocations > 0);
    }
}

/// Runs `work` in `threads` threads that start together, while two more threads keep relocating
/// residents.
fn race<R: Send>(
    filter: &CuckooFilter,
    others: &[u64],
    threads: usize,
    work: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let (barrier, stop) = (Barrier::new(threads), AtomicBool::new(false));
    thread::scope(|scope| {
        for own in others.chunks(others.len().div_ceil(2)) {
            let stop = &stop;
            scope.spawn(move || {
                for &hash in own.iter().cycle() {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    if filter.insert(&Hashed(hash)).is_ok() {
                        assert!(filter.remove(&Hashed(hash)));
                    }
                }
            });
        }
        let racers: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(thread)
                })
            })
            .collect();
        let results: Vec<_> = racers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        stop.store(true, Ordering::Relaxed);
        results
            .into_iter()
            .map(|result| result.expect("no panic"))
            .collect()
    })
}

/// The number of arenas is limited, because the relocating threads may leave no room for a long
/// time.
const MOST: u64 = 10_000;

/// A filter with half of its slots free, one item to race for, and items for the relocating
/// threads.
fn arena(bits: u32, buckets: usize, seed: u64) -> (CuckooFilter, u64, Vec<u64>) {
    let filter = tiny(bits, buckets);
    let all = classes(&filter, slots(&filter) + 8, seed);
    let free = (slots(&filter) / 8).max(2);
    for &hash in &all[8..slots(&filter) + 8 - free] {
        // If the pair is already full, the item is left out.
        let _ = filter.insert(&Hashed(hash));
    }
    (filter, all[0], all[1..8].to_vec())
}

/// If an item has n copies, exactly n removes return true, no matter how many threads race.
#[test]
fn each_copy_is_removed_exactly_once() {
    for bits in BITS {
        let mut all = 0;
        for seed in 0..MOST {
            if seed >= 60 && all > 60 {
                break;
            }
            let (filter, item, others) = arena(bits, 1 + seed as usize % 16, seed);
            let residents = filter.len();
            let copies = (0..3)
                .take_while(|_| filter.insert(&Hashed(item)).is_ok())
                .count();
            let removes = race(&filter, &others, 4, |_| {
                (0..3).filter(|_| filter.remove(&Hashed(item))).count()
            });
            let removed: usize = removes.iter().sum();
            all += removed;
            assert_eq!(removed, copies, "{bits} bits, seed {seed}: {removes:?}");
            assert_eq!(filter.count(&Hashed(item)), 0, "{bits} bits, seed {seed}");
            assert_eq!(filter.len(), residents, "{bits} bits, seed {seed}");
        }
        assert!(all > 60, "{bits} bits: only {all} copies");
    }
}

/// When threads race to add an absent item, exactly one adds it, and the others find it. `Full` is
/// returned to all of them, or to the threads that were too early.
#[test]
fn insert_unique_has_one_winner() {
    for bits in BITS {
        let mut won = 0;
        for seed in 0..MOST {
            if seed >= 16 && won > 64 {
                break;
            }
            let (filter, item, others) = arena(bits, 1 + seed as usize % 16, seed);
            for round in 0..8 {
                let answers = race(&filter, &others, 5, |_| filter.insert_unique(&Hashed(item)));
                let winners = answers.iter().filter(|&&answer| answer == Ok(true)).count();
                let count = filter.count(&Hashed(item));
                let what = format!("{bits} bits, seed {seed}, round {round}: {answers:?}");
                assert!(winners <= 1, "{what}");
                assert_eq!(count, winners, "{what}");
                if winners == 0 {
                    // `Contended`: another call in the middle of a relocation.
                    let expected = [InsertError::Full, InsertError::Contended].map(Err);
                    let is_refused = |answer| expected.contains(answer);
                    assert!(answers.iter().all(is_refused), "{what}");
                }
                won += winners;
                assert_eq!(filter.remove(&Hashed(item)), winners == 1, "{what}");
            }
        }
        assert!(won > 64, "{bits} bits: only {won} rounds had a winner");
    }
}

/// When inserts of one item race, the number of copies is the number of `Ok` results.
#[test]
fn every_insert_adds_one_copy() {
    for bits in BITS {
        let mut all = 0;
        for seed in 0..MOST {
            if seed >= 60 && all > 20 {
                break;
            }
            let (filter, item, others) = arena(bits, 2 + seed as usize % 15, seed);
            let residents = filter.len();
            let inserts = race(&filter, &others, 4, |_| {
                (0..3)
                    .filter(|_| filter.insert(&Hashed(item)).is_ok())
                    .count()
            });
            let inserted: usize = inserts.iter().sum();
            all += inserted;
            assert_eq!(
                filter.count(&Hashed(item)),
                inserted,
                "{bits} bits, seed {seed}"
            );
            assert_eq!(
                filter.len(),
                residents + inserted,
                "{bits} bits, seed {seed}"
            );
        }
        assert!(all > 20, "{bits} bits: only {all} copies");
    }
}

/// `Full` changes nothing. The filter is full from the start, so every insert fails.
#[test]
fn a_full_filter_refuses_all_and_loses_none() {
    for bits in BITS {
        let filter = tiny(bits, 6);
        let all = classes(&filter, slots(&filter) * 3, 7);
        // Copies of one class fill the slots to which no other item has a path.
        let mut copies = vec![0; all.len()];
        for (class, &hash) in all.iter().enumerate() {
            copies[class] = usize::from(filter.insert(&Hashed(hash)).is_ok());
        }
        for (class, &hash) in all.iter().enumerate() {
            while filter.insert(&Hashed(hash)).is_ok() {
                copies[class] += 1;
            }
        }
        let len = filter.len();
        assert_eq!(len, copies.iter().sum::<usize>());
        thread::scope(|scope| {
            for thread in 0..4 {
                let (filter, all) = (&filter, &all);
                scope.spawn(move || {
                    for turn in 0..2_000 {
                        let hash = all[(turn * 7 + thread) % all.len()];
                        let error = filter.insert(&Hashed(hash)).expect_err("a full filter");
                        let expected = [InsertError::Full, InsertError::TooManyCopies];
                        assert!(expected.contains(&error), "{bits} bits: {error}");
                    }
                });
            }
        });
        assert_eq!(filter.len(), len, "{bits} bits");
        for (&hash, copies) in all.iter().zip(copies) {
            assert_eq!(filter.count(&Hashed(hash)), copies, "{bits} bits");
        }
    }
}

/// A batch gives the results of its operations one by one.
#[test]
fn batches_of_many_threads_do_not_disturb_each_other() {
    for bits in BITS {
        let filter = CuckooFilter::builder()
            .capacity(4_000)
            .fingerprint_bits(bits)
            .seed(3);
        let filter = filter.build().expect("a filter");
        thread::scope(|scope| {
            for thread in 0..8_u64 {
                let filter = &filter;
                scope.spawn(move || {
                    let items: Vec<u64> = (0..500).map(|item| thread * 1_000_000 + item).collect();
                    let mut answers = vec![false; items.len()];
                    for _ in 0..20 {
                        filter.insert_batch(&items).expect("4 000 items fit");
                        filter.contains_batch(&items, &mut answers);
                        assert!(
                            answers.iter().all(|&found| found),
                            "{bits} bits: false negative"
                        );
                        filter.remove_batch(&items, &mut answers);
                        assert!(
                            answers.iter().all(|&removed| removed),
                            "{bits} bits: not removed"
                        );
                    }
                });
            }
        });
        assert!(filter.is_empty(), "{bits} bits: {} left", filter.len());
    }
}
