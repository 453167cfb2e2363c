//! The sum is exact at rest, however threads and shards fall together.

use super::*;
use crate::memory::{CanGrow, Fixed, Heap};
use crate::table::counted::SlotOrRepeat;
use std::thread;

/// That of a fixed filter.
type Len = super::Len<Heap, Fixed, ()>;

/// That of a filter that grows.
type Growing<C = ()> = super::Len<Heap, CanGrow, C>;

const TABLES: [usize; 4] = [2, 512, 5 * 512, 1 << 27];

#[test]
fn the_sum_of_all_threads_is_exact_at_rest() {
    for buckets in TABLES {
        let len = Len::new(buckets);
        thread::scope(|scope| {
            for thread in 1..=16_u64 {
                let len = &len;
                scope.spawn(move || {
                    for _ in 0..1000 {
                        len.add(thread + 1);
                        len.subtract(1);
                    }
                });
            }
        });
        assert_eq!(len.slots(), 1000 * (1..=16).sum::<usize>(), "{buckets}");
    }
}

/// One thread adds, another one on another shard subtracts: shards wrap, the
/// sum does not.
#[test]
fn a_shard_may_wrap_below_zero() {
    for buckets in TABLES {
        let len = Len::new(buckets);
        thread::scope(|scope| {
            scope.spawn(|| len.add(5));
        });
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| len.add(1));
                scope.spawn(|| len.subtract(1));
            }
        });
        thread::scope(|scope| {
            scope.spawn(|| len.subtract(3));
        });
        assert_eq!(len.slots(), 2, "{buckets}");
    }
}

#[test]
fn a_remove_that_is_counted_before_its_insert_shows_no_huge_sum() {
    for buckets in TABLES {
        let len = Len::new(buckets);
        len.subtract(1);
        assert_eq!(len.slots(), 0, "{buckets}");
        len.add(1);
        len.add(1);
        assert_eq!(len.slots(), 1, "{buckets}");
    }
}

/// Between the reading of two shards others insert on the one that is read, and remove
/// on the one to come.
#[test]
fn one_low_sum_does_not_say_that_there_are_few() {
    let len = Len::new(1 << 27);
    let shards = len.shards();
    // Relaxed, here and below: all in one thread.
    shards[0].slots.fetch_add(120, Ordering::Relaxed);
    let busy = |times: usize| {
        let mut reads = 0;
        move || {
            // The first shard is not in this list, and is read before it.
            let (sum, read) = (reads / (shards.len() + 1), reads % (shards.len() + 1));
            reads += 1;
            let between = read == 2 && sum < times;
            for _ in 0..if between { 112 } else { 0 } {
                shards[0].slots.fetch_add(1, Ordering::Relaxed);
                shards[1].slots.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    assert_eq!(len.slots_beside(busy(1)), 8);
    assert!(len.uses_at_least_beside(120, busy(SUMS - 1)));
    assert!(len.uses_at_least(120) && !len.uses_at_least(121));
}

#[test]
fn shards_never_take_up_more_than_half_of_the_table() {
    assert_eq!(Len::new(511).bytes(), size_of::<First<()>>());
    for buckets in (1..200).map(|pages| pages * 512) {
        assert!(Len::new(buckets).bytes() <= 8 * buckets / 2, "{buckets}");
    }
}

/// Each thread counts in the shard that it falls on.
#[test]
fn the_counters_of_all_threads_are_added_up_and_outlast_a_reset() {
    for buckets in TABLES {
        let mut len = Len::new(buckets);
        thread::scope(|scope| {
            for path in 1..=20 {
                let len = &len;
                scope.spawn(move || {
                    len.add(1);
                    len.counters().relocated(path);
                    len.counters().failed();
                    len.counters().retried();
                    len.counters().conservative();
                });
            }
        });
        let stats = len.stats();
        assert_eq!((stats.relocations, stats.longest_path), (210, 20));
        assert_eq!((stats.failed_inserts, stats.retried_lookups), (20, 20));
        assert_eq!(stats.conservative_lookups, 20);
        len.reset();
        assert_eq!((len.slots(), len.stats()), (0, stats), "{buckets}");
    }
}

#[test]
fn a_filter_that_takes_the_items_of_another_keeps_its_counters() {
    fn check<K: Kind>(words: usize, other_words: usize) {
        let [mut len, other] = [words, other_words].map(super::Len::<Heap, K, ()>::new);
        len.add(100);
        len.counters().relocated(7);
        len.counters().failed();
        other.add(50);
        other.counters().relocated(3);
        other.counters().retried();
        len.replace(other);
        let stats = len.stats();
        assert_eq!((len.slots(), stats.failed_inserts), (50, 1));
        assert_eq!((stats.relocations, stats.longest_path), (10, 7));
        assert_eq!(stats.retried_lookups, 1, "{words}, {other_words}");
    }
    for (words, other_words) in [(2, 2), (LARGE, 2), (2, LARGE), (LARGE, LARGE)] {
        check::<CanGrow>(words, other_words);
        check::<Fixed>(words, other_words);
    }
}

#[test]
fn the_number_of_shards_follows_the_table() {
    let shards = |bytes: usize| Len::new(bytes / 8).shards().len();
    let sizes = [4, 8, 64, 511, 512, 1 << 14, 1 << 15, 1 << 20].map(|kib| shards(kib << 10));
    assert_eq!(sizes, [0, 2, 16, 16, 32, 32, 64, 64]);
}

#[test]
fn thread_numbers_differ_and_stay() {
    let numbers: std::collections::HashSet<usize> = thread::scope(|scope| {
        let numbers = || [thread_number(), thread_number()];
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(numbers)).collect();
        let numbers = threads.into_iter().map(|thread| thread.join().unwrap());
        numbers
            .inspect(|[first, again]| assert_eq!(first, again))
            .map(|[it, _]| it)
            .collect()
    });
    assert_eq!(numbers.len(), 20);
    assert!(!numbers.contains(&0));
}

/// Threads add and remove while the shards are allocated.
#[test]
fn a_filter_that_grows_gets_its_shards_when_it_is_large() {
    let len = Growing::<()>::new(2);
    let small = len.bytes();
    assert_eq!(small, size_of::<First<()>>());
    len.grow(LARGE - 1);
    assert_eq!(len.bytes(), small);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for item in 0..2_000 {
                    len.add(2);
                    if item == 1_000 {
                        len.grow(LARGE);
                    }
                    len.subtract(1);
                }
            });
        }
    });
    assert_eq!(len.slots(), 8_000);
    assert_eq!(len.bytes(), small + FEW * size_of::<ShardOf<()>>());
    let mut len = len;
    len.reset();
    assert_eq!((len.slots(), len.bytes()), (0, small));
    assert_eq!(
        Growing::<()>::new(LARGE).bytes(),
        small + FEW * size_of::<ShardOf<()>>()
    );
}

/// Slots and repeats are counted by themselves, in the first shard and in the others.
#[test]
fn copies_are_slots_and_repeats() {
    use SlotOrRepeat::{Repeat, Slot};
    for words in [2, LARGE] {
        let mut len = Growing::<SlotOrRepeat>::new(words);
        let numbers = |len: &Growing<SlotOrRepeat>| (len.slots(), len.copies() - len.slots());
        for copy in [Slot, Repeat, Slot, Repeat, Repeat] {
            len.count().add(copy);
        }
        assert_eq!(numbers(&len), (2, 3), "{words}");
        len.count().subtract(Repeat);
        len.count().subtract(Slot);
        assert_eq!(numbers(&len), (1, 2), "{words}");
        len.add(1);
        len.share(Repeat);
        len.share(Slot);
        assert_eq!(numbers(&len), (1, 3), "{words}");
        len.add_repeats(4);
        len.subtract_repeats(1);
        len.add_repeats(0);
        assert_eq!(numbers(&len), (1, 6), "{words}");
        let other = Growing::<SlotOrRepeat>::new(LARGE);
        other.count().add(Slot);
        other.count().add(Repeat);
        len.replace(other);
        assert_eq!(numbers(&len), (1, 1), "{words}");
        len.reset();
        assert_eq!(numbers(&len), (0, 0), "{words}");
    }
}
