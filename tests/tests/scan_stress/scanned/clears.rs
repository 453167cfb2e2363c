//! Clears a filter while other threads use it.

use super::{
    patience::patiently,
    report::{Report, joined},
    snapshots::like,
};
use crate::common::stop::Stop;
use guira::CuckooFilter;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const WRITERS: u64 = 3;

/// Inserts its own items and removes the remaining ones, again and again.
fn churn(filter: &CuckooFilter, items: std::ops::Range<u64>, stop: &AtomicBool) -> u64 {
    let _stop = Stop(stop);
    let mut operations = 0;
    while !stop.load(Ordering::Relaxed) {
        for item in items.clone() {
            let inserted = patiently(|| filter.insert(&item));
            assert_eq!(inserted, Ok(()), "there is room below the capacity");
        }
        for item in items.clone() {
            // A clear may have removed the item already.
            filter.remove(&item);
        }
        operations += 2 * (items.end - items.start);
    }
    operations
}

/// One thread inserts items and clears the filter. Then all of them are absent, except for items
/// whose class another writer uses.
pub(crate) fn round(filter: &CuckooFilter, capacity: usize, lasts: Duration) -> Report {
    let each = capacity as u64 / (WRITERS + 1) - 1;
    let empty = filter.digest();
    let mut passing = HashClasses::of(filter);
    passing.add(each..(WRITERS + 1) * each);
    let lone: Vec<u64> = (0..each).filter(|&item| !passing.has(item)).collect();
    assert!(!lone.is_empty(), "an item in a class of its own");
    let (stop, start) = (AtomicBool::new(false), Instant::now());
    let mut report = Report::default();
    thread::scope(|scope| {
        let stop = &stop;
        let _stop = Stop(stop);
        let writers: Vec<_> = (1..=WRITERS)
            .map(|writer| {
                let own = writer * each..(writer + 1) * each;
                scope.spawn(move || churn(filter, own, stop))
            })
            .collect();
        while start.elapsed() < lasts && !stop.load(Ordering::Relaxed) {
            for item in &lone {
                let inserted = patiently(|| filter.insert(item));
                assert_eq!(inserted, Ok(()), "there is room below the capacity");
                assert!(filter.contains(item), "no other thread clears");
            }
            filter.clear();
            for item in &lone {
                assert_eq!(filter.count(item), 0, "{item} is left");
            }
            report.scans += 1;
            report.operations += 3 * lone.len() as u64;
        }
        stop.store(true, Ordering::Relaxed);
        report.operations += joined(writers);
    });
    filter.clear();
    assert_eq!((filter.len(), filter.digest()), (0, empty));
    let stats = filter.stats();
    assert_eq!(stats.failed_inserts, 0);
    report.relocations = stats.relocations;
    report.doublings = u64::from(stats.doublings);
    report
}

/// Finds the items whose class other items share.
struct HashClasses(CuckooFilter);

impl HashClasses {
    fn of(filter: &CuckooFilter) -> Self {
        Self(like(filter))
    }

    fn add(&mut self, items: std::ops::Range<u64>) {
        for item in items {
            self.0.insert(&item).expect("room below the capacity");
        }
    }

    fn has(&self, item: u64) -> bool {
        self.0.contains(&item)
    }
}
