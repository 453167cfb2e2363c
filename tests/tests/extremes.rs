//! The smallest filters, the largest filter, very many threads, and a filter that is dropped while
//! other threads use it.
//!
//! Counters have 64 bits, and callers cannot overflow them. The version of a stripe wraps after
//! 2^52 relocations, which affects only a lookup that was paused for exactly that number. The
//! shards of `len` wrap by design, and a counter of `stats` would start at 0 again. The unit tests
//! in `src/raw/version` and `src/raw/len` cover the first two. The level of a word cannot wrap: its
//! models have the fault `PhaseWraps`.
//!
//! The largest filter maps 16 GiB, and uses some hundred KiB of them:
//!
//! ```text
//! cargo test --release -p guira-tests --test all extremes:: -- --ignored
//! ```

use crate::common::filters::BITS;
use guira::{CuckooFilter, InsertError};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The fingerprint sizes of filters that can grow. No fixed layout has one of these sizes, so the
/// size identifies the layout.
const GROWABLE_BITS: [u32; 6] = [11, 13, 14, 18, 19, 27];

fn filter(bits: u32, capacity: usize) -> CuckooFilter {
    let mut builder = CuckooFilter::builder()
        .capacity(capacity)
        .fingerprint_bits(bits)
        .seed(3);
    if GROWABLE_BITS.contains(&bits) {
        builder = builder.max_capacity(capacity);
    }
    builder.build().expect("a small filter")
}

#[test]
fn the_smallest_filters_do_everything() {
    for bits in BITS.into_iter().chain(GROWABLE_BITS) {
        for capacity in [1, 2, 3] {
            let filter = filter(bits, capacity);
            let items = || 0..capacity as u64;
            for item in items() {
                assert!(!filter.contains(&item) || item > 0, "{bits}, {capacity}");
                assert_eq!(filter.insert(&item), Ok(()), "{bits}, {capacity}");
            }
            assert_eq!(filter.len(), capacity);
            let copy = CuckooFilter::from_bytes(&filter.to_bytes()).expect("its own bytes");
            for filter in [&filter, &copy, &filter.clone()] {
                let mut found = vec![false; capacity];
                filter.contains_batch(&items().collect::<Vec<_>>(), &mut found);
                assert!(found.iter().all(|&found| found), "{bits}, {capacity}");
                // After these items, further ones fit only until the filter is full.
                let fitted = (100..1_000_u64).filter(|item| filter.insert(item).is_ok());
                let fitted: Vec<u64> = fitted.collect();
                let slots = filter.buckets() * filter.bucket_slots();
                assert!(fitted.len() + capacity <= slots, "{bits}, {capacity}");
                assert_eq!(filter.insert(&7_777_u64), Err(InsertError::Full));
                assert!(
                    items()
                        .chain(fitted.iter().copied())
                        .all(|item| filter.contains(&item))
                );
                assert!(items().chain(fitted).all(|item| filter.remove(&item)));
                assert!(filter.is_empty());
            }
        }
    }
}

/// A hundred threads share a filter. On few cores, most of them are preempted in the middle of an
/// operation.
#[test]
fn a_hundred_threads_share_a_filter() {
    const THREADS: usize = 100;
    const ROUNDS: usize = 200;
    for (bits, max) in [(15, None), (14, Some(40_000))] {
        let mut builder = CuckooFilter::builder()
            .capacity(2_000)
            .fingerprint_bits(bits);
        if let Some(max) = max {
            builder = builder.max_capacity(max).false_positive_rate(0.02);
        }
        let filter = builder.seed(5).build().expect("a filter");
        let barrier = Barrier::new(THREADS);
        let winners = [const { AtomicUsize::new(0) }; ROUNDS];
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (filter, barrier, winners) = (&filter, &barrier, &winners);
                scope.spawn(move || {
                    barrier.wait();
                    for (round, winners) in winners.iter().enumerate() {
                        let own = [0, 1].map(|item| (thread, round, item));
                        for item in &own {
                            filter.insert(item).expect("room");
                        }
                        // All threads insert one item in each round.
                        match filter.insert_unique(&(usize::MAX, round, 0)) {
                            Ok(won) => winners.fetch_add(won.into(), Ordering::Relaxed),
                            Err(error) => panic!("{error}"),
                        };
                        assert!(own.iter().all(|item| filter.contains(item)));
                        // A fixed filter does not have room for all items.
                        let leave = if max.is_some() { 1 } else { 0 };
                        assert!(own[leave..].iter().all(|item| filter.remove(item)));
                    }
                });
            }
        });
        let kept = if max.is_some() { THREADS * ROUNDS } else { 0 };
        let winners = winners.map(AtomicUsize::into_inner);
        assert!(winners.iter().all(|&won| won <= 1), "{winners:?}");
        let winners: usize = winners.iter().sum();
        assert!((ROUNDS * 9 / 10..=ROUNDS).contains(&winners), "{winners}");
        assert_eq!(filter.len(), kept + winners, "{bits} bits");
        assert_eq!(filter.stats().doublings > 0, max.is_some());
    }
}

/// The last owner frees the filter. It works until then.
#[test]
fn a_filter_lives_as_long_as_its_last_owner() {
    let filter = Arc::new(
        CuckooFilter::builder()
            .capacity(100)
            .max_capacity(100_000)
            .build()
            .expect("a filter"),
    );
    let weak = Arc::downgrade(&filter);
    let threads: Vec<_> = (0..8_usize)
        .map(|thread| {
            let filter = Arc::clone(&filter);
            thread::spawn(move || {
                // The last threads still work long after the first ones have dropped the filter.
                let items = (0..500 * (thread + 1)).map(|item| (thread, item));
                for item in items.clone() {
                    filter.insert(&item).expect("it grows");
                }
                items.clone().all(|item| filter.remove(&item))
            })
        })
        .collect();
    drop(filter);
    for thread in threads {
        assert!(thread.join().expect("no panic"));
    }
    assert!(weak.upgrade().is_none());
}

/// With 2^33 slots, neither the numbers of slots nor of bytes fit into 32 bits.
#[test]
#[cfg(target_pointer_width = "64")]
#[ignore = "maps 16 GiB"]
fn a_filter_of_2_to_the_33_slots() {
    const SLOTS: usize = 1 << 33;
    // At this capacity the number of buckets is slightly above a power of two.
    let filter = filter(15, 8_160_437_862);
    let slots = filter.buckets() * filter.bucket_slots();
    assert!((SLOTS..SLOTS + SLOTS / 1000).contains(&slots), "{slots}");
    assert!(filter.memory_usage() >= 8 * filter.buckets());

    for item in 0..10_000_u64 {
        filter.insert(&item).expect("the filter is almost empty");
    }
    assert_eq!(filter.len(), 10_000);
    assert!((0..10_000_u64).all(|item| filter.contains(&item)));
    // At this load, each lookup is a false positive with a probability of one in a million.
    let found = (10_000..20_000_u64).filter(|item| filter.contains(item));
    assert_eq!(found.count(), 0);
    for item in 0..10_000_u64 {
        assert_eq!(filter.count(&item), 1);
        assert!(filter.remove(&item));
        assert!(!filter.contains(&item), "a class of its own");
    }
    assert!(filter.is_empty());

    // The number of copies of a class is limited by the slots of its pair.
    let copies = (0..).take_while(|_| filter.insert(&0_u64).is_ok()).count();
    assert_eq!(copies, 2 * filter.bucket_slots());
    assert_eq!(filter.insert_unique(&1_u64), Ok(true));
}
