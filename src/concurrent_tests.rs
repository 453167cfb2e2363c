//! Each operation next to the others, on filters so small that Miri can run them.
//!
//! Miri (`ci/miri.sh`) checks every access for undefined behaviour and data races, and emulates weak
//! memory: a load may return an older value. Loom explores the protocol with its own atomics; here
//! the library runs with those of the standard library, its allocations and its dependencies.

use crate::{CuckooFilter, ExpiringFilter};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

const THREADS: u32 = 3;

/// An item that only `thread` uses.
fn own(thread: u32, item: u32) -> u32 {
    1000 * (thread + 1) + item
}

/// Runs `work` in [`THREADS`] threads, and `beside` in this one.
fn together(work: impl Fn(u32) + Sync, beside: impl FnOnce()) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
        beside();
    });
}

#[test]
fn a_fixed_filter_keeps_its_promises() {
    let filter = CuckooFilter::builder()
        .capacity(40)
        .fingerprint_bits(30)
        .seed(7)
        .build()
        .unwrap();
    filter.insert(&0).unwrap();
    let winners = AtomicUsize::new(0);
    let work = |thread| {
        for item in 0..6 {
            filter.insert(&own(thread, item)).unwrap();
            assert!(filter.contains(&own(thread, item)));
        }
        for shared in 1..4 {
            let won = filter.insert_unique(&shared).unwrap();
            // Relaxed: the end of the threads orders it.
            winners.fetch_add(won.into(), Ordering::Relaxed);
        }
        for item in 0..3 {
            assert!(filter.remove(&own(thread, item)));
        }
        assert!(filter.contains(&0));
    };
    together(work, || {
        for _ in 0..2 {
            let restored = CuckooFilter::from_bytes(&filter.to_bytes()).unwrap();
            assert!(restored.contains(&0));
            assert_eq!(filter.count(&0), 1);
        }
    });
    assert_eq!(winners.into_inner(), 3, "one winner for each shared item");
    assert_eq!(filter.len(), 1 + 3 + 3 * THREADS as usize);
    assert!((0..THREADS).all(|thread| (3..6).all(|item| filter.contains(&own(thread, item)))));
}

#[test]
fn a_growing_filter_keeps_its_promises() {
    let filter = CuckooFilter::builder()
        .capacity(8)
        .max_capacity(1000)
        .seed(7)
        .build()
        .unwrap();
    let items = 50;
    let work = |thread| {
        for item in 0..items {
            filter.insert(&own(thread, item)).unwrap();
            assert!(filter.contains(&own(thread, item / 2)));
        }
        assert!(filter.remove(&own(thread, 0)));
    };
    let copy = CuckooFilter::from_header(&filter.header(), 1 << 20).unwrap();
    together(work, || copy.merge(&filter).unwrap());
    assert!(filter.stats().doublings > 0, "{:?}", filter.stats());
    assert_eq!(filter.len() as u32, THREADS * (items - 1));
    let restored = CuckooFilter::from_bytes(&filter.to_bytes()).unwrap();
    for thread in 0..THREADS {
        assert!((1..items).all(|item| restored.contains(&own(thread, item))));
    }
    together(
        |thread| {
            filter.insert(&own(thread, items)).unwrap();
        },
        || filter.clear(),
    );
    assert!((0..THREADS).all(|thread| (1..items).all(|item| !filter.contains(&own(thread, item)))));
}

#[test]
fn an_expiring_filter_keeps_its_promises() {
    let filter = ExpiringFilter::builder(Duration::from_secs(60))
        .epochs(2)
        .capacity(40)
        .fingerprint_bits(26)
        .seed(7)
        .build()
        .unwrap();
    filter.insert(&1).unwrap();
    let work = |thread| {
        for item in 0..4 {
            assert!(filter.insert_unique(&own(thread, item)).unwrap());
            assert!(filter.contains(&own(thread, item)));
            filter.insert_or_refresh(&2).unwrap();
        }
    };
    together(work, || {
        assert!(filter.advance());
        assert!(filter.contains(&1), "live for two more epochs");
        let restored = ExpiringFilter::from_bytes(&filter.to_bytes()).unwrap();
        assert!(restored.contains(&1));
    });
    assert!(filter.contains(&2), "just refreshed");
    for _ in 0..3 {
        filter.advance();
    }
    assert!(!filter.contains(&1) && !filter.contains(&2));
    assert!(filter.is_empty(), "all copies are swept");
}
