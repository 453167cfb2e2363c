//! Scans of an expiring filter in use. One thread refreshes the permanent items in each epoch.

use super::{
    patience::patiently,
    report::{Report, joined},
};
use crate::common::stop::Stop;
use guira::ExpiringFilter;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const WRITERS: u64 = 3;

/// The number of epochs that may begin during a scan, so that permanent items are still live in it.
const EPOCHS: u64 = 9;

/// Inserts its own items and removes them, again and again.
fn churn(filter: &ExpiringFilter, items: std::ops::Range<u64>, stop: &AtomicBool) -> u64 {
    let _stop = Stop(stop);
    let mut operations = 0;
    while !stop.load(Ordering::Relaxed) {
        for item in items.clone() {
            let epoch = filter.epoch();
            let inserted = patiently(|| filter.insert(&item));
            assert_eq!(inserted, Ok(()), "there is room below the capacity");
            // If the call was slow, the item may have expired.
            let (found, removed) = (filter.contains(&item), filter.remove(&item));
            let in_time = filter.epoch() <= epoch + u64::from(filter.epochs());
            assert!(found && removed || !in_time, "an own item is lost");
            operations += 3;
        }
    }
    operations
}

/// Copies the filter by one of several methods.
fn copy(filter: &ExpiringFilter, kind: u64) -> ExpiringFilter {
    let into = || ExpiringFilter::from_header(&filter.header(), usize::MAX).expect("a header");
    match kind {
        0 => ExpiringFilter::from_bytes(&filter.to_bytes()).expect("a snapshot"),
        1 => filter.clone(),
        2 => {
            let into = into();
            into.merge(filter).expect("room for all");
            into
        }
        3 => {
            let into = into();
            into.union_with(filter).expect("room for all");
            into
        }
        _ => {
            assert_ne!(filter.digest(), 0);
            filter.clone()
        }
    }
}

pub(crate) fn round(filter: &ExpiringFilter, capacity: usize, lasts: Duration) -> Report {
    let stays = 0..capacity as u64 * 9 / 10;
    let each = capacity as u64 / 40;
    for item in stays.clone() {
        filter
            .insert_unique(&item)
            .expect("room below the capacity");
    }
    let (stop, start) = (AtomicBool::new(false), Instant::now());
    let mut report = Report::default();
    thread::scope(|scope| {
        let (stop, stays) = (&stop, &stays);
        let _stop = Stop(stop);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let first = stays.end + writer * each;
                scope.spawn(move || churn(filter, first..first + each, stop))
            })
            .collect();
        let keeper = scope.spawn(move || {
            let _stop = Stop(stop);
            let mut operations = 0;
            while !stop.load(Ordering::Relaxed) {
                for item in stays.clone() {
                    let refreshed = patiently(|| filter.refresh(&item));
                    assert_eq!(refreshed, Ok(true), "{item} stays");
                    operations += 1;
                }
                filter.advance();
            }
            operations
        });
        while start.elapsed() < lasts && !stop.load(Ordering::Relaxed) {
            let (epoch, kind) = (filter.epoch(), report.scans % 5);
            let copy = copy(filter, kind);
            if filter.epoch() <= epoch + EPOCHS {
                let lost = stays.clone().find(|item| !copy.contains(item));
                assert_eq!(lost, None, "kind {kind}");
                report.scans += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
        report.operations = joined(writers) + keeper.join().expect("no violation");
    });
    for item in stays {
        assert!(filter.contains(&item), "{item} is lost");
    }
    let stats = filter.stats();
    report.relocations = stats.relocations;
    report
}
