//! A scan costs no insert and no memory. During snapshots, merges, digests and clears, an insert
//! finds room as usual, and a filter doubles no earlier.

use guira::{Builder, CuckooFilter, Prefer};
use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// A writer that calls a function before it takes each piece.
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

/// Takes a snapshot with a writer that pauses at half of the buckets and fills the filter.
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
    assert_ne!(next, before, "{name}: the writer paused");
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

/// Writes to both writers, to the first one first.
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
fn a_writer_that_stands_still_refuses_no_insert() {
    let fixed = builder().capacity(CAPACITY);
    let growing = builder().capacity(300).max_capacity(CAPACITY);
    let space = fixed.clone().prefer(Prefer::Space);
    for (name, builder) in [
        ("default", fixed.clone()),
        ("30 bits", fixed.fingerprint_bits(30)),
        ("growing", growing.false_positive_rate(1e-4)),
        ("space", space.false_positive_rate(0.01)),
    ] {
        stands_still(name, builder, CAPACITY);
    }
}

/// A filter that has doubled 5 times, with `percent` percent of the items at which it would double
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

/// Replaces `times` items, oldest first.
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

/// Repeats a scan while two threads replace items.
fn beside_writers(name: &str, scan: fn(&CuckooFilter)) {
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
        for _ in 0..100 {
            scan(&filter);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(filter.buckets(), buckets, "{name}");
    assert_eq!(filter.stats().failed_inserts, 0, "{name}");
}

/// Scans of each kind, by name. None changes the filter's own room.
type Scan = (&'static str, fn(&CuckooFilter));

const SCANS: [Scan; 4] = [
    ("snapshot", |filter| assert!(!filter.to_bytes().is_empty())),
    ("digest", |filter| assert_ne!(filter.digest(), 0)),
    ("merge", |filter| {
        let into = CuckooFilter::from_header(&filter.header(), 1 << 26).expect("a header");
        into.merge(filter).expect("room");
    }),
    ("clear", CuckooFilter::clear),
];

#[test]
fn scans_beside_writers_do_not_make_a_filter_double() {
    for (name, scan) in SCANS {
        beside_writers(name, scan);
    }
}

/// The scanning thread itself writes, before each chunk that it reads.
///
/// Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test scans`.
#[cfg(guira_faults)]
mod before_each_chunk {
    use super::{SCANS, grown, replace};
    use guira::{
        CuckooFilter, ExpiringFilter,
        model::{Growing, Step, unwatch, watch},
    };
    use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

    fn check(name: &str, scan: fn(&CuckooFilter)) {
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
            // Inserts read the other chunks.
            assert!(
                chunks.get() > 1,
                "{name}, {percent} %: {} chunks",
                chunks.get()
            );
            assert_eq!(filter.buckets(), buckets, "{name}, {percent} %");
            assert_eq!(filter.stats().failed_inserts, 0, "{name}, {percent} %");
        }
    }

    #[test]
    fn scans_do_not_make_a_filter_double() {
        for (name, scan) in SCANS {
            check(name, scan);
        }
    }

    /// The filter doubles in the middle of a clone, which begins again.
    #[test]
    fn a_clone_that_begins_again_holds_all() {
        let (filter, items) = grown(82);
        let doublings = filter.stats().doublings;
        let filter = Arc::new(filter);
        let (of_watcher, mut chunks) = (filter.clone(), 0);
        watch(move |step| {
            chunks += u32::from(step == Step::Enter);
            if step == Step::Enter && chunks == 20 {
                for item in 1_u64 << 32.. {
                    of_watcher.insert(&item).expect("it grows");
                    if of_watcher.stats().doublings > doublings {
                        break;
                    }
                }
                of_watcher.finish_growth();
            }
        });
        let clone = CuckooFilter::clone(&filter);
        unwatch();
        assert_eq!(filter.stats().doublings, doublings + 1, "it has happened");
        assert_eq!(clone.stats().doublings, doublings + 1);
        assert!(items.iter().all(|item| clone.contains(item)));
        assert_eq!(clone.digest(), filter.digest());
    }

    /// While a scan reads its last chunk, another thread finds that its planes do not suffice, and
    /// begins another pass. An item then moves out of that chunk.
    #[test]
    fn a_scan_that_has_its_last_chunk_looks_for_another_pass() {
        let moves = Growing::<2>::item_ending(4, (0, 3), 1, 1, 0);
        let is_split = Growing::<2>::item_ending(4, (1, 2), 1, 1, 0);
        let filter = Growing::<2>::growing(&[&[], &[], &[is_split], &[moves]], 1);
        let filter = Rc::new(filter.scanned_by(2));
        let (of_watcher, mut words) = (filter.clone(), 0);
        watch(move |step| {
            words += u32::from(step == Step::Scan);
            if step == Step::Scan && words == 4 {
                of_watcher.begin_level(0);
                of_watcher.split(is_split, 2, 0);
                assert!(of_watcher.help(1), "another pass begins");
                assert!(of_watcher.relocate(moves, 3));
            }
        });
        let copies = filter.scan([moves, is_split]);
        unwatch();
        assert_eq!(copies, [1, 1]);
    }

    /// An epoch begins in the other filter after a union has read a chunk.
    #[test]
    fn what_has_aged_since_a_chunk_was_read_is_united() {
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(3);
        let other = builder.capacity(100).seed(1).build();
        let other = Arc::new(other.expect("a filter"));
        (0..2).for_each(|_| other.insert(&7).expect("room"));
        let into = ExpiringFilter::from_header(&other.header(), 1 << 26).expect("a header");
        let (of_watcher, mut begun) = (other.clone(), false);
        watch(move |step| {
            if step == Step::Observe && !begun {
                begun = true;
                assert!(of_watcher.advance());
            }
        });
        into.union_with(&other).expect("room");
        unwatch();
        assert_eq!((other.epoch(), into.count(&7)), (1, 2));
    }

    /// A chunk is read, and then all its items die, before they are merged.
    #[test]
    fn what_has_died_since_a_chunk_was_read_is_not_merged() {
        const EPOCHS: u32 = 3;
        let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(EPOCHS);
        let filter = builder.capacity(10_000).seed(1).build();
        let filter = Arc::new(filter.expect("a filter"));
        (0..8_000).for_each(|item| filter.insert(&item).expect("room"));
        let into = || ExpiringFilter::from_header(&filter.header(), 1 << 26).expect("a header");
        let all = into();
        all.merge(&filter).expect("room");
        assert_eq!(all.len(), 8_000);
        let of_watcher = filter.clone();
        let (mut before, mut is_read, mut begun) = (Step::Enter, false, false);
        watch(move |step| {
            is_read |= before == Step::Scan && step == Step::RereadEpoch;
            before = step;
            if is_read && step == Step::ReadEpoch && !begun {
                begun = true;
                (0..=EPOCHS).for_each(|_| assert!(of_watcher.advance()));
            }
        });
        let into = into();
        into.merge(&filter).expect("room");
        unwatch();
        assert_eq!(filter.epoch(), u64::from(EPOCHS) + 1, "it has happened");
        assert_eq!(into.len(), 0);
    }

    /// The older ones of two kinds of items die while chunks are scanned. The digest is that of the
    /// items that are left at the end, by their age at the end.
    #[test]
    fn a_digest_counts_ages_at_its_end() {
        const EPOCHS: u32 = 3;
        for (bits, dies_before) in [(11, 1), (16, 2), (26, 3)] {
            let builder = ExpiringFilter::builder(Duration::from_secs(60)).epochs(EPOCHS);
            let builder = builder.capacity(10_000).fingerprint_bits(bits).seed(1);
            let filter = Arc::new(builder.build().expect("a filter"));
            (0..4_000).for_each(|item| filter.insert(&item).expect("room"));
            (1..EPOCHS).for_each(|_| assert!(filter.advance()));
            (4_000..8_000).for_each(|item| filter.insert(&item).expect("room"));
            assert!(filter.advance() && filter.len() == 8_000, "all are live");
            let (of_watcher, chunks) = (filter.clone(), Rc::new(Cell::new(0)));
            let counter = chunks.clone();
            watch(move |step| {
                if step == Step::Enter {
                    counter.set(counter.get() + 1);
                    if counter.get() == dies_before + 1 {
                        assert!(of_watcher.advance());
                    }
                }
            });
            let digest = filter.digest();
            unwatch();
            assert!(chunks.get() > dies_before + 1, "{} chunks", chunks.get());
            assert_eq!(filter.len(), 4_000, "the older ones are dead");
            assert_eq!(digest, filter.digest(), "{bits} bits");
        }
    }
}
