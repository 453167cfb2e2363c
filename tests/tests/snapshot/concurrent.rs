//! Snapshots while other threads insert, remove and relocate. Each can be restored, and holds every
//! item that was present all the time.
//!
//! `GUIRA_SNAPSHOTS=1000` takes 1000 snapshots of each kind instead of 200.

use super::common::{fields::HEADER, words::copies};
use guira::{CuckooFilter, InsertError};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

const THREADS: usize = 4;

/// The number of concurrent snapshots. The frontier has places for 7.
const AT_ONCE: usize = 10;

fn snapshots() -> usize {
    let number = std::env::var("GUIRA_SNAPSHOTS").map(|number| number.parse());
    number.map_or(200, |number| number.expect("GUIRA_SNAPSHOTS is a number"))
}

/// The items of a thread that removes and inserts them. Permanent items have lower numbers.
fn churning(thread: usize, item: usize) -> usize {
    (thread + 1) << 32 | item
}

/// The events of a thread.
#[derive(Default)]
struct Churned {
    replaced: usize,
    /// Inserts that found no room and were repeated.
    full: usize,
}

/// Inserts an item. Returns how often there was no room before, because a preempted relocation can
/// leave no room in two buckets.
fn insert_in_the_end(filter: &CuckooFilter, item: usize) -> usize {
    let mut full = 0;
    while let Err(error) = filter.insert(&item) {
        let expected = [InsertError::Full, InsertError::Contended];
        assert!(expected.contains(&error), "{error}");
        full += 1;
        thread::yield_now();
    }
    full
}

/// Removes and inserts items of its own until `stop` is set, and at least a thousand times. Their
/// number stays the same.
fn churn(filter: &CuckooFilter, thread: usize, items: usize, stop: &AtomicBool) -> Churned {
    let mut random = SmallRng::seed_from_u64(thread as u64);
    let mut churned = Churned::default();
    let mut next = items;
    let mut present: Vec<usize> = (0..items).collect();
    while !stop.load(Ordering::Relaxed) || churned.replaced < 1_000 {
        for _ in 0..100 {
            let item = &mut present[random.random_range(0..items)];
            assert!(filter.remove(&churning(thread, *item)), "{item} was in");
            *item = next;
            next += 1;
            churned.full += insert_in_the_end(filter, churning(thread, *item));
            churned.replaced += 1;
        }
    }
    for item in &present {
        assert!(filter.contains(&churning(thread, *item)), "{item} is in");
    }
    churned
}

/// Checks that the snapshot can be restored, holds all items below `permanent`, and has the length
/// of its number of fingerprints.
fn check(bytes: &[u8], permanent: usize) -> CuckooFilter {
    let restored = CuckooFilter::from_bytes(bytes).expect("a snapshot that can be read");
    let lost = (0..permanent).find(|item| !restored.contains(item));
    assert_eq!(lost, None, "an item is not in the snapshot");
    assert_eq!(restored.len(), copies(&restored.to_bytes()).len());
    restored
}

/// Runs `snapshots` while all threads remove and insert items in a filter that holds its capacity.
fn while_churning(filter: &CuckooFilter, snapshots: impl Fn(usize)) {
    let capacity = filter.capacity();
    let churned = capacity / 10 / THREADS;
    let permanent = capacity - churned * THREADS;
    for item in 0..permanent {
        filter.insert(&item).expect("room");
    }
    for (thread, item) in
        (0..THREADS).flat_map(|thread| (0..churned).map(move |item| (thread, item)))
    {
        filter.insert(&churning(thread, item)).expect("room");
    }
    assert!(filter.load_factor() > 0.92, "{}", filter.load_factor());
    let (stop, start) = (AtomicBool::new(false), Barrier::new(THREADS + 1));
    let churned = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (stop, start) = (&stop, &start);
                scope.spawn(move || {
                    start.wait();
                    churn(filter, thread, churned, stop)
                })
            })
            .collect();
        start.wait();
        // The threads end even if a snapshot is wrong.
        let result = panic::catch_unwind(AssertUnwindSafe(|| snapshots(permanent)));
        stop.store(true, Ordering::Relaxed);
        let churned = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        let churned = churned.reduce(|a, b| Churned {
            replaced: a.replaced + b.replaced,
            full: a.full + b.full,
        });
        result.unwrap_or_else(|panic| panic::resume_unwind(panic));
        churned.expect("threads")
    });
    let relocations = filter.stats().relocations;
    println!(
        "{} replaced, {relocations} relocations, {} full",
        churned.replaced, churned.full
    );
    assert!(
        churned.replaced > 1_000 && relocations > 1_000,
        "the threads were at work"
    );
    assert_eq!(filter.len(), capacity, "as many items as before");
    check(&filter.to_bytes(), permanent);
}

#[test]
fn fixed_filter() {
    let filter = CuckooFilter::builder()
        .capacity(50_000)
        .fingerprint_bits(15)
        .seed(1)
        .build()
        .expect("a filter");
    while_churning(&filter, |permanent| {
        for _ in 0..snapshots() {
            check(&filter.to_bytes(), permanent);
        }
    });
}

/// A snapshot that waits after its first chunk, until all others have reached the same point.
struct Together<'a> {
    bytes: Vec<u8>,
    met: bool,
    all: &'a Barrier,
}

impl Write for Together<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The header and the level come before the first chunk.
        if !self.met && self.bytes.len() > HEADER {
            self.met = true;
            self.all.wait();
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// There are more snapshots than places in the frontier, so relocations pause for the additional
/// ones.
#[test]
fn several_snapshots_at_once() {
    let filter = CuckooFilter::builder()
        .capacity(20_000)
        .fingerprint_bits(15)
        .seed(1)
        .build()
        .expect("a filter");
    let all = Barrier::new(AT_ONCE);
    while_churning(&filter, |permanent| {
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    for _ in 0..(snapshots() / AT_ONCE).max(1) {
                        let mut snapshot = Together {
                            bytes: Vec::new(),
                            met: false,
                            all: &all,
                        };
                        filter.write_to(&mut snapshot).expect("a vector");
                        assert!(
                            snapshot.met,
                            "no snapshot ends before the last one has begun"
                        );
                        check(&snapshot.bytes, permanent);
                        assert!(filter.clone().contains(&0));
                    }
                });
            }
        });
    });
}

/// A filter that was restored in the middle of a doubling grows to its full size, and loses
/// nothing.
fn goes_on(restored: &CuckooFilter, permanent: usize) {
    let level = restored.stats().doublings;
    // Items that no thread has inserted.
    let more = (restored.len()..restored.max_capacity()).map(|item| churning(THREADS, item));
    for item in more.clone() {
        restored
            .insert(&item)
            .expect("the filter continues to grow");
    }
    assert!(restored.stats().doublings > level);
    assert!(more.clone().all(|item| restored.contains(&item)));
    check(&restored.to_bytes(), permanent);
}

/// Snapshots are taken while a filter grows from its first size to its last.
#[test]
fn growing_filter() {
    let (mut taken, mut between) = (0, 0);
    for round in 0.. {
        // Some snapshots must be taken during a doubling.
        if taken >= snapshots() && between > 0 {
            break;
        }
        let filter = CuckooFilter::builder()
            .capacity(2_000)
            .max_capacity(32_000)
            .false_positive_rate(0.03)
            .fingerprint_bits(14)
            .seed(round)
            .build()
            .expect("a filter");
        assert_eq!(filter.stats().doublings, 0);
        let permanent = filter.capacity();
        for item in 0..permanent {
            filter.insert(&item).expect("room");
        }
        let max = filter.max_capacity();
        let share = (max - permanent) / THREADS;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let filter = &filter;
                    scope.spawn(move || {
                        for item in 0..share {
                            let insert = |item| insert_in_the_end(filter, churning(thread, item));
                            insert(item);
                            // Every third item is removed a while later.
                            if item % 3 == 0 && item > 30 {
                                let earlier = item - 30;
                                assert!(filter.remove(&churning(thread, earlier)));
                                insert(earlier);
                            }
                        }
                    })
                })
                .collect();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                // A doubling is short, so every other snapshot waits for one.
                if taken % 2 == 0 && filter.stats().buckets_to_split == 0 {
                    thread::yield_now();
                    continue;
                }
                let restored = check(&filter.to_bytes(), permanent);
                taken += 1;
                if restored.stats().buckets_to_split > 0 {
                    between += 1;
                    if between <= 5 {
                        goes_on(&restored, permanent);
                    }
                }
            }
        });
        assert!(
            filter.stats().doublings >= 3,
            "round {round}: {:?}",
            filter.stats()
        );
        let restored = check(&filter.to_bytes(), permanent);
        assert_eq!(restored.len(), permanent + THREADS * share);
        assert_eq!(restored.to_bytes(), filter.to_bytes());
    }
}
