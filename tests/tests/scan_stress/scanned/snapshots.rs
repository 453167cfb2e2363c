//! Snapshots, clones, merges, digests and unions of a filter in use.

use super::{
    patience::patiently,
    report::{Report, joined},
};
use crate::common::stop::Stop;
use guira::CuckooFilter;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use std::{
    io::{self, Write},
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const WRITERS: u64 = 4;
const SCANNERS: u64 = 2;

/// A vector that yields to other threads between two pieces.
struct Slow(Vec<u8>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        thread::yield_now();
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn like(filter: &CuckooFilter) -> CuckooFilter {
    CuckooFilter::from_header(&filter.header(), usize::MAX).expect("a header of a filter")
}

/// The items of one writer, and whether each is in the filter.
pub(crate) struct Own {
    items: Vec<u64>,
    is_in: Vec<bool>,
    random: SmallRng,
}

impl Own {
    pub(crate) fn new(items: Vec<u64>) -> Self {
        let is_in = vec![false; items.len()];
        let random = SmallRng::seed_from_u64(items[0]);
        Self {
            items,
            is_in,
            random,
        }
    }

    /// Removes or inserts an item, checks the results, and returns the number of calls. Most
    /// removed items are inserted again at once, so that the filter stays nearly full.
    pub(crate) fn change(&mut self, filter: &CuckooFilter) -> u64 {
        let index = self.random.random_range(0..self.is_in.len());
        let item = self.items[index];
        let mut calls = 0;
        if self.is_in[index] {
            assert!(filter.contains(&item), "the item of this writer is found");
            assert!(filter.remove(&item), "the item of this writer is removed");
            calls += 2;
        }
        let comes = !self.is_in[index] || self.random.random_ratio(7, 8);
        if comes {
            let inserted = patiently(|| filter.insert(&item));
            assert_eq!(inserted, Ok(()), "there is room below the capacity");
            assert!(
                filter.contains(&item),
                "the item of this writer is found at once"
            );
            calls += 2;
        }
        self.is_in[index] = comes;
        calls
    }

    /// Inserts all items, so that the filter becomes full, and then changes some until `stop` is
    /// set.
    fn run(mut self, filter: &CuckooFilter, stop: &AtomicBool) -> u64 {
        let mut operations = 0;
        for (item, is_in) in self.items.iter().zip(&mut self.is_in) {
            let inserted = patiently(|| filter.insert(item));
            assert_eq!(inserted, Ok(()), "there is room below the capacity");
            *is_in = true;
            operations += 1;
        }
        while !stop.load(Ordering::Relaxed) {
            operations += self.change(filter);
        }
        for (item, is_in) in self.items.into_iter().zip(self.is_in) {
            assert!(
                !is_in || filter.remove(&item),
                "the item of this writer is removed"
            );
        }
        operations
    }
}

/// Copies the filter by one of several methods. The caller checks the contents.
fn copy(filter: &CuckooFilter, kind: u32, stays: &Range<u64>) -> CuckooFilter {
    let into = || like(filter);
    match kind {
        0 => CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot"),
        1 => {
            let mut slow = Slow(Vec::new());
            filter.write_to(&mut slow).expect("a vector takes all");
            CuckooFilter::from_bytes(&slow.0).expect("a snapshot")
        }
        2 => filter.clone(),
        3 => {
            let into = into();
            into.merge(filter).expect("room for all");
            into
        }
        4 => {
            assert_ne!(filter.digest(), 0);
            filter.clone()
        }
        _ => {
            // Some items are already present, and two threads unite the same filters.
            let into = into();
            for item in stays.clone().step_by(3) {
                into.insert(&item).expect("room");
            }
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| into.union_with(filter).expect("room for all"));
                }
            });
            into
        }
    }
}

/// A fifth of the capacity is permanent. The other items are removed and inserted.
pub(crate) fn round(filter: &CuckooFilter, capacity: usize, lasts: Duration) -> Report {
    let stays = 0..capacity as u64 / 5;
    // A merge may find an item twice, and needs room for both copies.
    let each = capacity as u64 * 3 / 4 / WRITERS;
    let own = |writer: u64| {
        let start = stays.end + writer * each;
        (start..start + each).collect()
    };
    // A copy that is being moved, removed or inserted may be found in both of its buckets.
    let passing = like(filter);
    for item in stays.end..stays.end + WRITERS * each {
        passing.insert(&item).expect("room below the capacity");
    }
    for item in stays.clone() {
        filter.insert(&item).expect("room below the capacity");
    }
    let most = |item| 2 * (filter.count(&item) + passing.count(&item));
    let most: Vec<usize> = stays.clone().map(most).collect();
    let (stop, start, before) = (AtomicBool::new(false), Instant::now(), filter.stats());
    let mut report = thread::scope(|scope| {
        let (stop, most, stays) = (&stop, &most, &stays);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let own = Own::new(own(writer));
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    own.run(filter, stop)
                })
            })
            .collect();
        let scanners: Vec<_> = (0..SCANNERS)
            .map(|scanner| {
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    let mut scans = 0;
                    while start.elapsed() < lasts && !stop.load(Ordering::Relaxed) {
                        let kind = (scans + scanner) as u32 % 6;
                        let copy = copy(filter, kind, stays);
                        for (item, &most) in stays.clone().zip(most) {
                            let count = copy.count(&item);
                            let is_right = (1..=most).contains(&count);
                            assert!(is_right, "kind {kind}: {item}: {count} of {most}");
                        }
                        scans += 1;
                    }
                    scans
                })
            })
            .collect();
        let scans = joined(scanners);
        stop.store(true, Ordering::Relaxed);
        Report {
            operations: joined(writers),
            scans,
            ..Report::default()
        }
    });
    assert_eq!(
        filter.len() as u64,
        stays.end,
        "at rest only what stays is left"
    );
    let after = filter.stats();
    assert_eq!(after.failed_inserts, 0);
    report.relocations = after.relocations - before.relocations;
    report.doublings = u64::from(after.doublings);
    report
}
