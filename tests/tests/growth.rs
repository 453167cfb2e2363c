//! A filter that doubles while threads use it keeps all promises.
//!
//! `GUIRA_LONG=1` grows to 10 million items instead of 1 million.

// Paths, because `mutants` includes this file by one.
#[path = "growth/capacity.rs"]
mod capacity;
#[path = "growth/wide.rs"]
mod wide;

use crate::common::stress::is_long;
use guira::{BuildError, CuckooFilter, Hashed, InsertError};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// More threads than the cores of a small machine.
const THREADS: u64 = 4;

fn growable(a: usize, b: usize, rate: f64, seed: u64) -> CuckooFilter {
    CuckooFilter::builder()
        .capacity(a)
        .max_capacity(b)
        .false_positive_rate(rate)
        .seed(seed)
        .build()
        .unwrap_or_else(|error| panic!("{a} to {b} at {rate}: {error}"))
}

/// Inserts two copies of each item below `items`. All copies must fit.
fn insert_twice(filter: &CuckooFilter, items: u64, seed: u64) {
    for item in 0..items {
        for _ in 0..2 {
            let inserted = filter.insert(&item);
            let stats = filter.stats();
            assert_eq!(inserted, Ok(()), "{item}, seed {seed}: {stats:?}");
        }
    }
    assert_eq!(filter.len() as u64, 2 * items);
}

fn items_in_the_end() -> u64 {
    if is_long() { 10_000_000 } else { 1_000_000 }
}

/// Asserts that the measured share of absent items that are found is as expected. The tolerance is
/// five standard deviations of the number found.
fn assert_rate(filter: &CuckooFilter, expected: f64, place: &str) {
    let lookups = (200.0 / expected).clamp(1e5, 4e6);
    let absent = (0..lookups as u64).map(|item| item | 1 << 60);
    let found = absent.filter(|item| filter.contains(item)).count() as f64;
    let most = lookups * expected + 5.0 * (lookups * expected).sqrt() + 1.0;
    assert!(
        found <= most,
        "{place}: {found} of {lookups}, expected {expected}"
    );
}

#[test]
fn nothing_is_lost_while_four_threads_make_it_grow() {
    let rate = 0.001;
    let end = items_in_the_end();
    let filter = growable(1_000, end as usize, rate, 3);
    let start = filter.buckets();
    // Every fourth item of a thread is removed a little later.
    let stays = |item: u64| !(item / THREADS).is_multiple_of(4);
    thread::scope(|scope| {
        for worker in 0..THREADS {
            let filter = &filter;
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(worker);
                for item in (worker..end).step_by(THREADS as usize) {
                    filter.insert(&item).expect("it grows");
                    let old = random.random_range(0..=item / THREADS) * THREADS + worker;
                    if stays(old) {
                        assert!(filter.contains(&old), "false negative of {old} at {item}");
                    }
                    let late = item.checked_sub(400 * THREADS);
                    if let Some(late) = late.filter(|&late| !stays(late)) {
                        assert!(filter.contains(&late), "false negative of {late} at {item}");
                        assert!(filter.remove(&late), "own remove of {late} at {item}");
                    }
                }
            });
        }
    });
    let tail = |item: u64| item + 400 * THREADS >= end;
    let present = (0..end).filter(|&item| stays(item) || tail(item));
    assert_eq!(filter.len(), present.clone().count(), "len at rest");
    for item in present {
        assert!(filter.contains(&item), "false negative of {item} at rest");
    }
    assert!(
        filter.buckets() >= 64 * start,
        "{} buckets",
        filter.buckets()
    );
    assert_rate(&filter, rate, "at the end");
}

#[test]
fn every_level_is_as_computed() {
    for (a, b, rate) in [
        (1_000, 64_000, 0.03),
        (1_000, 200_000, 0.01),
        (5_000, 300_000, 0.001),
        (300, 60_000, 0.0001),
    ] {
        let filter = growable(a, b, rate, 5);
        let (start, bytes) = (filter.buckets(), filter.memory_usage());
        let (mut level, mut capacity, mut next) = (0, filter.capacity(), 0_u64);
        assert!(capacity >= a && filter.max_capacity() == b);
        loop {
            let place = format!("{a} to {b} at {rate}, level {level}");
            // Up to its capacity, the filter keeps its size and its rate.
            while next < capacity as u64 {
                filter.insert(&next).expect(&place);
                next += 1;
            }
            assert!(
                filter.false_positive_rate() <= rate,
                "{place}: promised rate"
            );
            assert_rate(&filter, rate, &place);
            let words = start << level;
            assert_eq!(
                filter.buckets(),
                words,
                "{place}: it grew before it was full"
            );
            let stats = filter.stats();
            assert_eq!(
                (stats.doublings, stats.buckets_to_split),
                (level, 0),
                "{place}"
            );
            assert_eq!(stats.memory_usage, filter.memory_usage());
            // Each level adds the header of a block to the words, and each 64 KiB of words add
            // counters. The first level adds a list of 32 pointers.
            let computed = bytes + (words - start) * 8;
            let overhead = filter.memory_usage() - computed;
            assert!(
                overhead <= 256 * level as usize + 16 * 128 + 32 * size_of::<usize>(),
                "{place}: {overhead} bytes of overhead"
            );
            let load = next as f64 / (words * filter.bucket_slots()) as f64;
            assert!((stats.load_factor - load).abs() < 1e-9, "{place}");
            if capacity == b {
                break;
            }
            // Items are inserted one by one, until the next level is complete.
            while filter.stats().doublings == level {
                filter.insert(&next).expect(&place);
                next += 1;
                assert!(filter.buckets() == words || filter.buckets() == 2 * words);
            }
            level += 1;
            assert!(filter.capacity() > capacity, "{place}");
            capacity = filter.capacity();
        }
    }
}

/// A snapshot does not record how far the sweep had progressed. The first inserts find out, each by
/// reading a bounded number of words.
#[test]
fn a_doubling_goes_on_in_a_restored_filter() {
    const MOST: usize = 512 + 8;
    let filter = growable(20_000, 1_000_000, 0.001, 3);
    let mut items = 0_u64..;
    let mut insert = |filter: &CuckooFilter| {
        filter
            .insert(&items.next().expect("numbers"))
            .expect("room");
        filter.stats()
    };
    let doubling = loop {
        let stats = insert(&filter);
        let half = filter.buckets() / 4;
        if stats.doublings == 2 && (1..half).contains(&stats.buckets_to_split) {
            break stats;
        }
    };
    let restored = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot");
    let mut before = restored.stats();
    assert!(before.buckets_to_split > doubling.buckets_to_split + MOST);
    let mut inserts = 0;
    while before.doublings == 2 {
        let after = insert(&restored);
        inserts += 1;
        if after.doublings == 2 {
            assert!(after.buckets_to_split <= before.buckets_to_split);
            assert!(before.buckets_to_split - after.buckets_to_split <= MOST);
        }
        before = after;
    }
    // Each insert splits up to 8 words, as if the filter had not been restored in between.
    assert!(inserts < doubling.buckets_to_split, "{inserts} inserts");
    assert_eq!(restored.stats().doublings, 3);
}

/// Crafted keys, all with the same two buckets, for a hash that is known.
#[test]
fn crafted_keys_do_not_make_it_grow() {
    let filter = growable(1_000, 1_000_000, 0.001, 1);
    let buckets = filter.buckets();
    // The low bits form the fingerprint. They are equal except for the highest ones, so there are
    // few classes.
    let refused = (0..1_000_u64)
        .filter(|key| filter.insert(&Hashed((key % 8) << 29 | 0xff)).is_err())
        .count();
    assert!(refused > 500, "{refused}");
    assert_eq!(filter.buckets(), buckets, "it does not grow at a low load");
    assert_eq!(filter.len(), 1_000 - refused);
    // Other items are refused only if both their buckets are those of the crafted keys, which
    // happens once in thousands.
    let harmed = (0..1_000_u64).filter(|item| filter.insert(item).is_err());
    assert!(harmed.count() <= 2, "hardly any other item is refused");
}

#[test]
fn finish_growth_completes_a_level() {
    let filter = growable(1_000, 100_000, 0.01, 1);
    let mut items = 0_u64;
    while filter.stats().buckets_to_split == 0 {
        filter.insert(&items).expect("it grows");
        items += 1;
    }
    let (before, stats) = (filter.capacity(), filter.stats());
    assert_eq!(stats.doublings, 0);
    assert!(stats.buckets_to_split <= filter.buckets() / 2);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| filter.finish_growth());
        }
    });
    let stats = filter.stats();
    assert_eq!((stats.doublings, stats.buckets_to_split), (1, 0));
    assert!(filter.capacity() > before);
    assert!((0..items).all(|item| filter.contains(&item)));
    assert_eq!(filter.len() as u64, items);
    filter.finish_growth();
    assert_eq!(
        filter.stats().doublings,
        1,
        "there is nothing more to finish"
    );
}

/// A published size is never wrong: to each thread, the size only increases.
#[test]
fn level_and_capacity_only_rise() {
    let filter = growable(1_000, 200_000, 0.01, 9);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for worker in 0..2_u64 {
            let (filter, done) = (&filter, &done);
            scope.spawn(move || {
                for item in (worker..200_000).step_by(2) {
                    filter.insert(&item).expect("it grows");
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let mut last = (0, 0, 0);
        // Reads at least once more, after all inserts have ended.
        loop {
            let is_last = done.load(Ordering::Relaxed) == 2;
            let stats = filter.stats();
            let now = (stats.doublings, filter.capacity(), filter.buckets());
            assert!(
                now.0 >= last.0 && now.1 >= last.1 && now.2 >= last.2,
                "{now:?} after {last:?}"
            );
            assert!(stats.buckets_to_split <= filter.buckets());
            let rate = filter.false_positive_rate();
            assert!(rate > 0.0 && rate <= 0.01, "{rate}");
            last = now;
            if is_last {
                break;
            }
            thread::yield_now();
        }
    });
    assert_eq!(filter.len(), 200_000);
}

#[test]
fn errors_say_what_can_be_met() {
    let builder = |a, b, rate| {
        let builder = CuckooFilter::builder().capacity(a).max_capacity(b);
        builder.false_positive_rate(rate)
    };
    let error = builder(1_000, 999, 0.01).build().unwrap_err();
    assert_eq!(
        error,
        BuildError::MaxCapacity {
            asked: 999,
            capacity: 1_000
        }
    );
    assert_eq!(
        error.to_string(),
        "max_capacity 999 is less than the capacity, 1000"
    );

    let mut random = StdRng::seed_from_u64(5);
    let (mut refused, mut built) = (0, 0);
    for _ in 0..2_000 {
        let a = 2_f64.powf(random.random_range(0.0..16.0)) as usize;
        let b = (a * 2_f64.powf(random.random_range(0.0..14.0)) as usize).clamp(a, 1 << 24);
        let rate = 10_f64.powf(random.random_range(-7.5..-1.0));
        let filter = builder(a, b, rate).build().expect("each rate allows it");
        assert!(filter.capacity() >= a && filter.max_capacity() == b);
        assert!(filter.false_positive_rate() <= rate, "{a} to {b} at {rate}");

        let bits = random.random_range(10..24);
        let build = |a, b, rate| builder(a, b, rate).fingerprint_bits(bits).build();
        match build(a, b, rate) {
            Ok(filter) => {
                built += 1;
                assert!(filter.capacity() >= a && filter.max_capacity() == b);
                assert!(filter.false_positive_rate() <= rate, "{a} to {b} at {rate}");
            }
            Err(
                error @ BuildError::Growth {
                    asked,
                    max_capacity,
                    min,
                    ..
                },
            ) => {
                refused += 1;
                assert_eq!((asked, max_capacity), (a, b));
                assert!(
                    error.to_string().contains(&format!("at least {min}")),
                    "{error}"
                );
                assert!(min > a, "{error}");
                let named = build(min, max_capacity, rate);
                assert!(named.is_ok(), "{error}, but then: {}", named.unwrap_err());
            }
            Err(error) => assert!(
                matches!(error, BuildError::RateOfFingerprint { .. }),
                "{a} to {b} at {rate}: {error}"
            ),
        }
    }
    assert!(
        refused > 20 && built > 200,
        "{refused} were refused, and {built} built: too few to say anything"
    );
}

#[test]
fn reset_gives_the_memory_back() {
    let mut filter = growable(1_000, 100_000, 0.01, 1);
    let (bytes, buckets, capacity) = (filter.memory_usage(), filter.buckets(), filter.capacity());
    for round in 0..3 {
        for item in 0..50_000_u64 {
            filter.insert(&item).expect("it grows");
        }
        assert!(filter.memory_usage() > 16 * bytes, "round {round}");
        filter.reset();
        assert_eq!(filter.memory_usage(), bytes, "round {round}");
        assert_eq!((filter.buckets(), filter.capacity()), (buckets, capacity));
        assert_eq!((filter.len(), filter.stats().doublings), (0, 0));
        assert!(!(0..50_000_u64).any(|item| filter.contains(&item)));
    }
}

#[test]
fn too_many_copies_are_refused_alone() {
    let filter = growable(1_000, 100_000, 0.01, 1);
    for item in 0..1_200_u64 {
        filter.insert(&item).expect("there is room");
    }
    let (buckets, slots) = (filter.buckets(), filter.bucket_slots());
    let copies = (0..2 * slots + 20)
        .filter(|_| filter.insert("copy").is_ok())
        .count();
    assert_eq!(copies, 2 * slots);
    assert_eq!(filter.insert("copy"), Err(InsertError::TooManyCopies));
    assert_eq!(filter.count("copy"), 2 * slots);
    assert_eq!(filter.insert("another"), Ok(()));
    assert_eq!(filter.buckets(), buckets, "it does not grow for copies");
    assert!(filter.stats().failed_inserts > 0);
    assert!((0..1_200_u64).all(|item| filter.contains(&item)));
    for _ in 0..2 * slots {
        assert!(filter.remove("copy"));
    }
    assert!(!filter.remove("copy"));
}
