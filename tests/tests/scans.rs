//! A scan costs no insert and no memory: beside snapshots, merges, digests and clears an insert finds
//! room as it does without them, and a filter doubles no earlier.

use guira::{Builder, CuckooFilter, Prefer};
use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// A writer that does something before it takes each piece.
struct Slow<F>(F);

impl<F: FnMut(usize)> Write for Slow<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn builder() -> Builder {
    CuckooFilter::builder().seed(1)
}

/// Takes a snapshot into a writer that stands still at half of the buckets and fills the filter up.
fn stands_still(name: &str, builder: Builder, capacity: usize) {
    let filter = builder.build().expect("a filter");
    let before = capacity / 10;
    for item in 0..before {
        filter.insert(&item).expect("room");
    }
    let half = filter.to_bytes().len() / 2;
    let (mut written, mut next, mut bytes) = (0, before, Vec::new());
    let mut slow = Slow(|length| {
        let was_before = written <= half;
        written += length;
        if was_before && written > half {
            while next < capacity && filter.insert(&next).is_ok() {
                next += 1;
            }
        }
    });
    filter
        .write_to(Tee(&mut slow, &mut bytes))
        .expect("a vector takes all bytes");
    assert_ne!(next, before, "{name}: it stood still");
    assert!(
        next >= capacity * 95 / 100,
        "{name}: the first refusal was at {next} of {capacity}"
    );
    assert!((0..next).all(|item| filter.contains(&item)), "{name}");
    let copy = CuckooFilter::from_bytes(&bytes).expect("a snapshot");
    for item in 0..before {
        let (in_copy, most) = (copy.count(&item), filter.count(&item));
        assert!(
            (1..=most).contains(&in_copy),
            "{name}: {item}, {in_copy} times"
        );
    }
    assert!(
        (before..=next).contains(&copy.len()),
        "{name}: {}",
        copy.len()
    );
}

/// Writes to both, to the first one first.
struct Tee<'a, A, B>(&'a mut A, &'a mut B);

impl<A: Write, B: Write> Write for Tee<'_, A, B> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes)?;
        self.1.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const CAPACITY: usize = 150_000;

#[test]
fn a_writer_that_stands_still_refuses_no_insert_with_long_fingerprints() {
    let long = builder().capacity(CAPACITY).fingerprint_bits(30);
    stands_still("30 bits", long, CAPACITY);
}

#[test]
fn a_writer_that_stands_still_refuses_no_insert_of_a_growing_filter() {
    let growing = builder().capacity(300).max_capacity(CAPACITY);
    stands_still("growing", growing.false_positive_rate(1e-4), CAPACITY);
}

#[test]
fn a_writer_that_stands_still_refuses_no_insert_at_the_default_rate() {
    stands_still("default", builder().capacity(CAPACITY), CAPACITY);
}

#[test]
fn a_writer_that_stands_still_refuses_no_insert_in_semi_sorted_words() {
    let space = builder().capacity(CAPACITY).prefer(Prefer::Space);
    stands_still("space", space.false_positive_rate(0.01), CAPACITY);
}

/// A filter that has doubled 5 times, with `percent` percent of the items with which it would double
/// again, and these items.
fn grown(percent: u64) -> (CuckooFilter, VecDeque<u64>) {
    let builder = builder().capacity(300).max_capacity(1_000_000);
    let fill = |items: u64| {
        let filter = builder.clone().build().expect("a filter");
        for item in 0..items {
            filter.insert(&item).expect("it grows");
        }
        filter
    };
    let filter = fill(0);
    let mut items = 0;
    while filter.stats().doublings < 5 || filter.stats().buckets_to_split == 0 {
        filter.insert(&items).expect("it grows");
        items += 1;
    }
    let items = items * percent / 100;
    let filter = fill(items);
    assert_eq!(
        (filter.stats().doublings, filter.stats().buckets_to_split),
        (5, 0)
    );
    (filter, (0..items).collect())
}

/// Replaces `times` items, the oldest first.
fn replace(filter: &CuckooFilter, items: &mut VecDeque<u64>, times: usize, next: &mut u64) {
    for _ in 0..times {
        let old = items.pop_front().expect("items");
        filter.remove(&old);
        filter
            .insert(&*next)
            .expect("room for as many items as before");
        items.push_back(*next);
        *next += 1;
    }
}

#[test]
fn a_slow_writer_does_not_make_a_filter_double() {
    for percent in [51, 82] {
        let (filter, mut items) = grown(percent);
        let buckets = filter.buckets();
        let (mut next, mut pieces) = (1 << 32, 0);
        let mut slow = Slow(|_| {
            pieces += 1;
            replace(&filter, &mut items, 3_000, &mut next);
        });
        filter.write_to(&mut slow).expect("all bytes");
        assert!(
            pieces > 10,
            "{percent} %: it was written in {pieces} pieces"
        );
        assert_eq!(filter.buckets(), buckets, "{percent} %");
        assert!(items.iter().all(|item| filter.contains(item)));
    }
}

/// Scans the filter again and again while two threads replace items.
fn beside_writers(scan: impl Fn(&CuckooFilter)) {
    const SCANS: usize = 100;
    let (filter, mut items) = grown(82);
    let buckets = filter.buckets();
    let done = AtomicBool::new(false);
    let half = items.split_off(items.len() / 2);
    thread::scope(|scope| {
        for (worker, mut items) in [items, half].into_iter().enumerate() {
            let (filter, done) = (&filter, &done);
            scope.spawn(move || {
                let mut next = (worker as u64 + 1) << 32;
                while !done.load(Ordering::Relaxed) {
                    replace(filter, &mut items, 100, &mut next);
                }
            });
        }
        for _ in 0..SCANS {
            scan(&filter);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(filter.buckets(), buckets);
    assert_eq!(filter.stats().failed_inserts, 0);
}

#[test]
fn snapshots_do_not_make_a_filter_double() {
    beside_writers(|filter| assert!(!filter.to_bytes().is_empty()));
}

#[test]
fn digests_do_not_make_a_filter_double() {
    beside_writers(|filter| assert_ne!(filter.digest(), 0));
}

#[test]
fn merges_do_not_make_the_other_filter_double() {
    beside_writers(|filter| {
        let into = CuckooFilter::from_header(&filter.header(), 1 << 26).expect("a header");
        into.merge(filter).expect("room");
    });
}

#[test]
fn clears_do_not_make_a_filter_double() {
    beside_writers(CuckooFilter::clear);
}

/// The writers are the thread of the scan itself, before each chunk that it reads.
///
/// Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test scans`.
#[cfg(guira_faults)]
mod before_each_chunk {
    use super::{grown, replace};
    use guira::{
        CuckooFilter,
        model::{Step, unwatch, watch},
    };
    use std::{cell::Cell, rc::Rc, sync::Arc};

    fn check(scan: impl Fn(&CuckooFilter)) {
        for percent in [51, 82] {
            let (filter, mut items) = grown(percent);
            let (filter, chunks) = (Arc::new(filter), Rc::new(Cell::new(0)));
            let (of_watcher, counter, mut next) = (filter.clone(), chunks.clone(), 1 << 32);
            watch(move |step| {
                if step == Step::Enter {
                    counter.set(counter.get() + 1);
                    replace(&of_watcher, &mut items, 3_000, &mut next);
                }
            });
            let buckets = filter.buckets();
            scan(&filter);
            unwatch();
            // The inserts read the others.
            assert!(chunks.get() > 1, "{percent} %: {} chunks", chunks.get());
            assert_eq!(filter.buckets(), buckets, "{percent} %");
            assert_eq!(filter.stats().failed_inserts, 0, "{percent} %");
        }
    }

    #[test]
    fn a_snapshot_does_not_make_a_filter_double() {
        check(|filter| assert!(!filter.to_bytes().is_empty()));
    }

    #[test]
    fn a_digest_does_not_make_a_filter_double() {
        check(|filter| assert_ne!(filter.digest(), 0));
    }

    #[test]
    fn a_merge_does_not_make_the_other_filter_double() {
        check(|filter| {
            let into = CuckooFilter::from_header(&filter.header(), 1 << 26).expect("a header");
            into.merge(filter).expect("room");
        });
    }

    #[test]
    fn a_clear_does_not_make_a_filter_double() {
        check(CuckooFilter::clear);
    }
}
