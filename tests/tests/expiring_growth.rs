//! Expiring filters that grow: each item has its time, whatever splits carry it where.

use crate::common::stop::Stop;
use guira::{BuildError, ExpiringFilter, InsertError};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

const TTL: Duration = Duration::from_secs(3600);

/// Whole fingerprints of 23 bits: of a few thousand items no two are of one class.
const BITS: u32 = 23;

/// A stream of the most items that a filter is for, from the beginning on, at an even pace.
#[test]
fn no_item_is_refused_up_to_the_maximal_capacity() {
    let mut of_one_slot = 0;
    for (seed, capacity) in (0..100).flat_map(|seed| [(seed, 1), (seed, 10), (seed, 100)]) {
        let epochs = [1, 5, 12, 13][seed as usize % 4];
        let most = 60 * capacity;
        let builder = ExpiringFilter::builder(TTL).epochs(epochs).seed(seed);
        let builder = builder.capacity(capacity).max_capacity(most);
        let rate = if seed % 8 < 4 { 0.01 } else { 1e-6 };
        let filter = builder.false_positive_rate(rate).build().expect("a filter");
        of_one_slot += u32::from(filter.bucket_slots() == 1);
        let before = filter.capacity();
        let mut next = 0;
        for epoch in 1..=3 * epochs as usize {
            while next < most * epoch / epochs as usize {
                if let Err(error) = filter.insert(&next) {
                    panic!("{error} at {next} of {most}, seed {seed}: {filter:?}");
                }
                next += 1;
            }
            filter.advance();
        }
        // A table of a few buckets may have room for all from the beginning.
        let doublings = filter.stats().doublings;
        assert!(before < most || capacity == 1, "{before} of {most}");
        assert!(
            doublings > 0 || capacity == 1,
            "{doublings}, seed {seed}: {filter:?}"
        );
        assert!(filter.max_capacity() == most && filter.capacity() <= most);
    }
    assert!(of_one_slot > 40, "{of_one_slot}");
}

/// The filter is measured at each size, filled to its capacity.
#[test]
fn the_rate_is_kept_at_every_size() {
    const PROBES: u64 = 200_000;
    for (rate, most) in [(0.01, 64_000), (0.001, 16_000)] {
        let builder = ExpiringFilter::builder(TTL).epochs(12).seed(3);
        let builder = builder.capacity(1_000).max_capacity(most);
        let filter = builder.false_positive_rate(rate).build().expect("a filter");
        let (mut item, mut sizes) = (0_u64, 0);
        loop {
            let doublings = filter.stats().doublings;
            // What is in the filter when a TTL and one and a half epochs have passed.
            let standing = filter.capacity() as u64 * 9 / 8;
            while item < standing && filter.stats().doublings == doublings {
                filter.insert(&item).expect("it grows");
                item += 1;
            }
            let probes = 1 << 40..(1 << 40) + PROBES;
            let found = probes.filter(|probe| filter.contains(probe)).count() as f64;
            let expected = rate * PROBES as f64;
            assert!(
                found <= expected + 5.0 * expected.sqrt(),
                "{found} at {doublings} doublings, {rate}"
            );
            assert!(filter.false_positive_rate() <= rate);
            sizes += 1;
            if filter.capacity() == most {
                break;
            }
            while filter.stats().doublings == doublings {
                filter.insert(&item).expect("it grows");
                item += 1;
            }
        }
        assert!(sizes >= 3, "{sizes} sizes from 1000 to {most}");
    }
}

/// All threads add all items, while the filter grows and epochs begin.
#[test]
fn one_call_adds_each_item_while_the_filter_grows() {
    const ITEMS: u32 = 30_000;
    let builder = ExpiringFilter::builder(TTL).epochs(13).seed(0);
    let builder = builder.capacity(200).max_capacity(200_000);
    let filter = &builder.fingerprint_bits(BITS).build().expect("a filter");
    let added = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            scope.spawn(move || {
                for item in 0..ITEMS {
                    // In another order, near by.
                    let item = item ^ thread;
                    let first = filter.insert_unique(&item).expect("it grows");
                    added.fetch_add(first.into(), Ordering::Relaxed);
                    assert!(filter.contains(&item), "{item}");
                    if item % 2_500 == 0 && thread == 0 {
                        filter.advance();
                    }
                }
            });
        }
    });
    assert!(filter.epoch() <= 13, "nothing has expired");
    // A few items are of one class with others.
    let added = added.load(Ordering::Relaxed);
    assert!(
        (ITEMS as usize - 20..=ITEMS as usize).contains(&added),
        "{added}"
    );
    assert!((0..ITEMS).all(|item| filter.contains(&item)));
    assert!(filter.stats().doublings >= 6);
}

/// Sweeps in a thread of their own leave nothing dead, in whichever plane it is.
#[test]
fn sweeps_beside_growth_leave_nothing_dead() {
    for seed in 0..20 {
        let builder = ExpiringFilter::builder(TTL).epochs(2).seed(seed);
        let builder = builder.capacity(50).max_capacity(50_000);
        let filter = &builder.build().expect("a filter");
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let stopping = Stop(stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    filter.begin_epoch();
                    filter.sweep();
                }
            });
            for item in 0..8_000_u32 {
                match filter.insert(&item) {
                    Ok(()) | Err(InsertError::Full | InsertError::Contended) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            drop(stopping);
        });
        for _ in 0..4 {
            filter.advance();
        }
        assert_eq!(filter.len(), 0, "{seed}");
        assert!(filter.is_swept());
    }
}

#[test]
fn filters_that_cannot_be_are_refused() {
    let builder = || ExpiringFilter::builder(TTL).capacity(1_000);
    let refused = builder().max_capacity(999).build().err();
    let expected = BuildError::MaxCapacity {
        asked: 999,
        capacity: 1_000,
    };
    assert_eq!(refused, Some(expected));
    let refused = builder().max_capacity(100_000).false_positive_rate(1e-8);
    assert!(matches!(
        refused.build(),
        Err(BuildError::RateOfFingerprint { .. })
    ));
    // One that would hardly grow is fixed.
    let fixed = builder().max_capacity(1_100).build().expect("a filter");
    assert_eq!((fixed.capacity(), fixed.max_capacity()), (1_100, 1_100));
    assert_eq!(fixed.header()[15], 0);
    let clone = ExpiringFilter::from_bytes(&fixed.to_bytes()).expect("a snapshot");
    assert_eq!((clone.capacity(), clone.max_capacity()), (1_100, 1_100));
}

#[test]
fn a_filter_that_could_grow_is_small_again_when_it_is_reset() {
    let builder = ExpiringFilter::builder(TTL)
        .capacity(100)
        .max_capacity(100_000);
    let mut filter = builder.build().expect("a filter");
    let (memory, capacity) = (filter.memory_usage(), filter.capacity());
    for item in 0..20_000_u32 {
        filter.insert(&item).expect("it grows");
    }
    assert!(filter.memory_usage() > 20 * memory && filter.capacity() > 10 * capacity);
    filter.reset();
    assert_eq!(
        (filter.memory_usage(), filter.capacity()),
        (memory, capacity)
    );
    assert!(filter.is_empty() && filter.insert_unique(&1) == Ok(true));
}

/// A filter that undoes its doublings keeps each item, with its time, and counts on.
#[test]
fn a_filter_that_shrinks_keeps_its_items_and_their_times() {
    let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6);
    let builder = builder
        .seed(1)
        .fingerprint_bits(BITS)
        .capacity(1_000)
        .max_capacity(50_000);
    let mut filter = builder.build().unwrap();
    assert!(!filter.shrink_to_fit());
    filter.try_extend(0..100_u32).unwrap();
    for _ in 0..3 {
        filter.advance();
    }
    filter.try_extend(100..40_000_u32).unwrap();
    let grown = filter.memory_usage();
    for item in 200..40_000_u32 {
        assert!(filter.remove(&item));
    }
    assert!(filter.shrink_to_fit());
    assert!(filter.memory_usage() < grown / 8);
    assert_eq!(
        (filter.len(), filter.slots_in_use(), filter.epoch()),
        (200, 200, 3)
    );
    let found = |filter: &ExpiringFilter, items: std::ops::Range<u32>| {
        filter.contains_iter(items).filter(|&found| found).count()
    };
    let mut seen = Vec::new();
    for _ in 3..11 {
        seen.push([found(&filter, 0..100), found(&filter, 100..200)]);
        filter.advance();
    }
    // They were seen in the epochs 0 and 3, and live for 6 epochs after these.
    let expected: Vec<_> = (3..11)
        .map(|epoch| {
            [
                if epoch <= 6 { 100 } else { 0 },
                if epoch <= 9 { 100 } else { 0 },
            ]
        })
        .collect();
    assert_eq!(seen, expected);
    assert!(filter.is_empty());
}
