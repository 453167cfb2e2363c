//! The caller begins an epoch, and any thread may sweep it at any time. Results do not depend on
//! when the sweep happens.

use crate::common::stop::Stop;
use guira::ExpiringFilter;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

const TTL: Duration = Duration::from_secs(60);

/// The fingerprint sizes, each with a layout of its own, and the number of epochs at which a copy
/// that two sweeps miss would become live again.
const LAYOUTS: [(u32, u32); 4] = [(9, 5), (11, 13), (16, 13), (26, 13)];

fn filter(bits: u32, epochs: u32, capacity: usize) -> ExpiringFilter {
    let builder = ExpiringFilter::builder(TTL)
        .epochs(epochs)
        .capacity(capacity);
    let builder = builder.fingerprint_bits(bits).seed(1);
    builder.build().expect("a filter")
}

#[test]
fn a_filter_that_was_reset_is_empty_and_swept() {
    for (bits, epochs) in LAYOUTS {
        let mut filter = filter(bits, epochs, 1_000);
        filter.try_extend(0..100_u32).expect("room");
        assert!(filter.begin_epoch() && !filter.is_swept());
        filter.reset();
        assert_eq!((filter.len(), filter.epoch()), (0, 1));
        assert!(filter.is_swept(), "nothing is dead");
        assert!((0..100_u32).all(|item| !filter.contains(&item)));
    }
}

/// Both words of the item are full of unswept copies, and all other words are empty.
#[test]
fn an_insert_relocates_nothing_dead() {
    for (bits, epochs) in LAYOUTS {
        for unique in [false, true] {
            let filter = filter(bits, epochs, 1_000);
            while filter.insert(&7).is_ok() {}
            (0..epochs).for_each(|_| assert!(filter.advance()));
            assert_eq!(filter.count(&7), 2 * filter.bucket_slots());
            assert!(filter.begin_epoch());
            let inserted = match unique {
                true => filter.insert_unique(&7),
                false => filter.insert(&7).map(|()| true),
            };
            assert_eq!((inserted, filter.count(&7)), (Ok(true), 1));
            assert_eq!(filter.stats().relocations, 0, "{bits} bits, {unique}");
        }
    }
}

#[test]
fn what_is_dead_stays_until_somebody_sweeps() {
    for (bits, epochs) in LAYOUTS {
        let filter = filter(bits, epochs, 1_000);
        (0..500_u64).for_each(|item| filter.insert(&item).expect("there is room"));
        let held = |epoch| (0..500_u64).all(|item| filter.contains(&item) == (epoch <= epochs));
        for epoch in 1..=epochs + 1 {
            assert!(filter.begin_epoch() && !filter.is_swept());
            assert_eq!(filter.epoch(), u64::from(epoch));
            assert!(epoch > epochs || held(epoch), "epoch {epoch}");
            // The sweep happens as late as possible.
            if epoch <= epochs {
                assert!(filter.sweep() && filter.is_swept() && !filter.sweep());
            }
        }
        let found = (0..500_u64).filter(|item| filter.contains(item)).count();
        assert_eq!((found, filter.len()), (0, 500));
        assert!(filter.sweep());
        assert_eq!(filter.len(), 0);
    }
}

/// Like `advance`, which has swept the epoch before.
#[test]
fn an_epoch_that_nobody_swept_is_swept_before_the_next_one() {
    for (bits, epochs) in LAYOUTS {
        let filter = filter(bits, epochs, 1_000);
        (0..500_u64).for_each(|item| filter.insert(&item).expect("there is room"));
        // The tags wrap around twice.
        for epoch in 1..=3 * epochs {
            assert!(filter.begin_epoch());
            let found = (0..500_u64).any(|item| filter.contains(&item));
            assert_eq!(found, epoch <= epochs, "epoch {epoch} of {epochs}");
        }
        assert_eq!(filter.len(), 0);
    }
}

#[test]
fn an_epoch_is_due_by_the_clock_of_tick() {
    let filter = filter(11, 12, 100);
    let second = Duration::from_secs;
    assert!(!filter.begin_due_epoch_at(|| second(100)));
    assert!(!filter.begin_due_epoch_at(|| second(104)));
    assert!(filter.begin_due_epoch_at(|| second(105)));
    assert_eq!(filter.epoch_age_at(second(107)), Some(second(2)));
    assert!(!filter.tick_at(|| second(109)) && !filter.is_swept());
    assert!(filter.tick_at(|| second(110)) && filter.is_swept());
    assert!(filter.begin_due_epoch_at(|| second(115)) && !filter.is_swept());
    assert_eq!(filter.epoch(), 3);
}

#[test]
fn a_filter_that_was_restored_is_swept() {
    let filter = filter(11, 5, 100);
    filter.insert("old").expect("there is room");
    (0..7).for_each(|_| assert!(filter.begin_epoch()));
    filter.insert("new").expect("there is room");
    assert!(!filter.is_swept());
    let copy = ExpiringFilter::from_bytes(&filter.to_bytes()).expect("a filter");
    assert!(copy.is_swept() && copy.contains("new"));
    assert_eq!((copy.epoch(), copy.len()), (7, 1));
}

/// A search for room meets words with dead copies. It must not move them, because it could move
/// them past a sweep.
#[test]
fn dead_copies_make_room_before_they_are_swept() {
    for (bits, epochs) in LAYOUTS {
        let filter = filter(bits, epochs, 10_000);
        let old = filter.capacity() / 20;
        (0..old).for_each(|item| filter.insert(&item).expect("there is room"));
        assert!(filter.advance());
        let full = (old..).find(|item| filter.insert(item).is_err());
        let full = full.expect("the filter becomes full");
        (0..epochs).for_each(|_| assert!(filter.begin_epoch()));
        assert_eq!((filter.len(), filter.is_swept()), (full, false));
        let more = (full..).find(|item| filter.insert(item).is_err());
        let more = more.expect("the filter becomes full") - full;
        assert!(more > old / 2, "{more} of {old} with {bits} bits");
    }
}

const CAPACITY: usize = 20_000;

/// Performs one of the operations in `kinds` on a random item.
fn operate(filter: &ExpiringFilter, random: &mut SmallRng, kinds: Range<u32>) -> u64 {
    let item = random.random_range(0..4 * CAPACITY as u64);
    let there_is_room = "the filter has room";
    match random.random_range(kinds) {
        0 | 1 => filter.insert_or_refresh(&item).expect(there_is_room).into(),
        2 => filter.refresh(&item).expect(there_is_room).into(),
        3 => filter.remove(&item).into(),
        4 => filter.count(&item) as u64,
        _ => filter.insert_unique(&item).expect(there_is_room).into(),
    }
}

/// The promise that a program with replicas relies on: if one thread decides what happens, every
/// replica holds the same. One filter is swept at once. `beside` is swept as `sweeps` decides
/// before each operation.
fn hold_the_same(beside: &ExpiringFilter, kinds: Range<u32>, mut sweeps: impl FnMut()) {
    let epochs = beside.epochs();
    let at_once = filter(beside.fingerprint_bits(), epochs, CAPACITY);
    let [mut one, mut other] = [(); 2].map(|()| SmallRng::seed_from_u64(epochs.into()));
    // Half of the operations add, so this number of items is live at a time.
    let per_epoch = 2 * CAPACITY / epochs as usize;
    for epoch in 0..4 * epochs {
        assert!(at_once.advance() && beside.begin_epoch());
        for nth in 0..per_epoch {
            sweeps();
            let answer = operate(&at_once, &mut one, kinds.clone());
            let found = operate(beside, &mut other, kinds.clone());
            assert_eq!(found, answer, "operation {nth} of epoch {epoch}");
        }
        assert_eq!(beside.digest(), at_once.digest(), "epoch {epoch}");
    }
}

#[test]
fn a_sweep_at_any_time_changes_no_answer() {
    for (bits, epochs) in LAYOUTS {
        let beside = filter(bits, epochs, CAPACITY);
        let mut random = SmallRng::seed_from_u64(bits.into());
        // Sweeps occur in two of three epochs, at a random time.
        let rare = f64::from(epochs) / 2.0 / CAPACITY as f64;
        hold_the_same(&beside, 0..8, || {
            if random.random_bool(rare) {
                beside.sweep();
            }
        });
    }
}

/// All operations except refreshes. A refresh that meets a sweep that has stopped in its word adds
/// a copy.
///
/// The operations of an epoch wait for a sweep that has begun in it. One that stops under its mark in a
/// word for two epochs makes all others leave that word, and its dead copies seem to be live again.
#[test]
fn a_sweep_by_another_thread_changes_no_answer() {
    for (bits, epochs) in LAYOUTS {
        let beside = filter(bits, epochs, CAPACITY);
        let (ends, begun) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    begun.store(beside.epoch(), Ordering::Relaxed);
                    if !beside.sweep() {
                        thread::yield_now();
                    }
                }
            });
            let _ends = Stop(&ends);
            hold_the_same(&beside, 3..8, || {
                while begun.load(Ordering::Relaxed) < beside.epoch() {
                    thread::yield_now();
                }
            });
        });
    }
}
