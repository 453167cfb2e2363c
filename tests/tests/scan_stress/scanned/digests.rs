//! Digests of a filter that is nearly full, in which few items come and go.

use super::{
    report::{Report, Stop},
    snapshots::Own,
};
use guira::CuckooFilter;
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

const WRITERS: u64 = 4;
const EACH: u64 = 2;

/// All sums that a scan may find: each item that comes and goes may be in neither of its buckets, in
/// one of them, or in both.
fn sums(filter: &CuckooFilter, items: impl Iterator<Item = u64>) -> HashSet<u128> {
    let digest = filter.digest();
    items.fold(HashSet::from([digest]), |sums, item| {
        filter.insert(&item).expect("room below the capacity");
        let adds = filter.digest().wrapping_sub(digest);
        assert!(filter.remove(&item));
        let times = [0, 1, 2].map(|times: u128| adds.wrapping_mul(times));
        let with = |sum: u128| times.map(|adds| sum.wrapping_add(adds));
        sums.into_iter().flat_map(with).collect()
    })
}

pub(crate) fn round(filter: &CuckooFilter, capacity: usize, lasts: Duration) -> Report {
    let stay = capacity as u64 - WRITERS * EACH;
    for item in 0..stay {
        filter.insert(&item).expect("room below the capacity");
    }
    let sums = sums(filter, stay..stay + WRITERS * EACH);
    let (stop, start, before) = (AtomicBool::new(false), Instant::now(), filter.stats());
    let mut report = Report::default();
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        let stop = &stop;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let first = stay + writer * EACH;
                let mut own = Own::new(first..first + EACH);
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    let mut operations = 0;
                    while !stop.load(Ordering::Relaxed) {
                        operations += own.change(filter);
                    }
                    operations
                })
            })
            .collect();
        while start.elapsed() < lasts && !stop.load(Ordering::Relaxed) {
            let digest = filter.digest();
            assert!(
                sums.contains(&digest),
                "no sum of what may be in: {digest:x}"
            );
            report.scans += 1;
        }
        stop.store(true, Ordering::Relaxed);
        let operations = writers
            .into_iter()
            .map(|it| it.join().expect("no violation"));
        report.operations = operations.sum();
    });
    let after = filter.stats();
    assert_eq!(after.failed_inserts, 0);
    report.relocations = after.relocations - before.relocations;
    report.doublings = u64::from(after.doublings - before.doublings);
    report
}
