//! When the allocator refuses memory, the filter reports it, stays intact, and grows later.

use crate::limited::{allow, allow_all};
use guira::{CuckooFilter, ExpiringFilter, InsertError, MergeError, SnapshotError};
use std::{io, time::Duration};

/// Inserts items from `next` on until one is refused. Returns the refused item.
fn fill(filter: &CuckooFilter, mut next: u64) -> (u64, InsertError) {
    loop {
        match filter.insert(&next) {
            Ok(()) => next += 1,
            Err(error) => return (next, error),
        }
    }
}

fn assert_whole(filter: &CuckooFilter, items: u64) {
    assert_eq!(filter.len() as u64, items, "no item is lost or added");
    assert!(
        (0..items).all(|item| filter.contains(&item)),
        "false negative"
    );
    assert_eq!(filter.stats().buckets_to_split, 0, "no level has begun");
}

/// A merge needs some KiB for itself. `block` is the number of bytes that the first doubling needs.
fn merge_without_memory(header: &[u8], block: usize) {
    let empty = || CuckooFilter::from_header(header, block).expect("a header");
    let (filter, other) = (empty(), empty());
    let items = 3 * filter.capacity() as u64;
    for item in 0..items {
        other.insert(&item).expect("room");
    }
    allow(block - 1);
    let merged = filter.merge(&other);
    allow_all();
    let Err(MergeError::Insert { merged, error }) = merged else {
        panic!("{merged:?} without memory to grow");
    };
    assert_eq!(error, InsertError::Memory);
    // The items arrive in the order of the other filter's buckets, not at random (DESIGN, section
    // 8).
    assert!(
        merged > filter.capacity() / 3 * 2,
        "{merged} of {}",
        filter.capacity()
    );
    assert_eq!(filter.len(), merged);
    assert_eq!(other.len() as u64, items);

    let filter = empty();
    filter.merge(&other).expect("memory");
    assert!(filter.stats().doublings > 0);
    assert_eq!(filter.len() as u64, items);
    assert!((0..items).all(|item| filter.contains(&item)), "not merged");
}

/// Clones with less memory than the `block` bytes of the copy, and passes each error to `check`. At
/// last the memory suffices: a clone needs some KiB for itself.
fn clone_within<F>(
    block: usize,
    clone: impl Fn() -> Result<F, SnapshotError>,
    check: impl Fn(usize),
) -> F {
    for twentieth in 4..20 {
        allow(block * twentieth / 20);
        let cloned = clone();
        allow_all();
        match cloned.err() {
            Some(SnapshotError::Memory { buckets, .. }) => check(buckets),
            other => panic!("too little memory for the copy: {other:?}"),
        }
    }
    allow(block + (64 << 10));
    let cloned = clone();
    allow_all();
    cloned.expect("memory for the copy")
}

/// Without memory for the copy, `try_clone` returns an error, and the filter stays intact.
fn clone_without_memory() {
    let builder = CuckooFilter::builder().capacity(50_000).seed(1);
    let fixed = builder.clone().build().expect("a filter");
    let growing = builder.max_capacity(400_000).build().expect("a filter");
    growing.try_extend(0..200_000_u64).expect("memory");
    assert!(growing.stats().doublings > 0);
    growing.clear();
    for filter in [fixed, growing] {
        filter.try_extend(0..4_000_u64).expect("room");
        let check = |buckets| {
            assert_eq!(buckets, filter.buckets());
            assert_whole(&filter, 4_000);
        };
        let block = filter.buckets() * 8;
        let clone = clone_within(block, || filter.try_clone(), check);
        assert_eq!(clone.to_bytes(), filter.to_bytes());
    }

    let builder = ExpiringFilter::builder(Duration::from_secs(60)).capacity(50_000);
    let filter = builder.seed(1).build().expect("a filter");
    filter.try_extend(0..2_000_u64).expect("room");
    filter.advance();
    filter.try_extend(2_000..4_000_u64).expect("room");
    let check = |buckets| {
        assert_eq!(buckets, filter.buckets());
        assert_eq!((filter.len(), filter.epoch()), (4_000, 1));
        assert!((0..4_000_u64).all(|item| filter.contains(&item)));
    };
    let block = filter.buckets() * 8;
    let clone = clone_within(block, || filter.try_clone(), check);
    // The ages of epochs go by the clock.
    let at = || Duration::ZERO;
    assert_eq!(clone.to_bytes_at(at), filter.to_bytes_at(at));
}

/// Without memory for the smaller table, `shrink_to_fit` leaves the filter unchanged.
fn shrink_without_memory() {
    let builder = CuckooFilter::builder().capacity(5_000).seed(1);
    let builder = builder.max_capacity(80_000);
    let mut filter = builder.build().expect("a filter");
    let block = filter.buckets() * 8;
    filter.try_extend(0..60_000_u64).expect("memory");
    for item in 4_000..60_000_u64 {
        assert!(filter.remove(&item));
    }
    filter.finish_growth();
    let before = (filter.buckets(), filter.memory_usage(), filter.to_bytes());
    for bytes in [0, 64, block - 1] {
        allow(bytes);
        let shrunk = filter.shrink_to_fit();
        allow_all();
        assert!(!shrunk, "with {bytes} bytes left");
        let after = (filter.buckets(), filter.memory_usage(), filter.to_bytes());
        assert!(after == before, "with {bytes} bytes left");
        assert_whole(&filter, 4_000);
    }
    assert!(filter.shrink_to_fit());
    assert_eq!(filter.buckets() * 8, block);
    assert_whole(&filter, 4_000);
}

/// A writer that calls a function for each piece.
struct CallEach<F>(F);

impl<F: FnMut()> io::Write for CallEach<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An insert that has to read chunks for a scan returns an error if it gets no memory for them. The
/// refused item fits after the scan has ended.
fn a_scan_that_is_in_the_way_is_named() {
    let filter = CuckooFilter::builder().capacity(20_000).seed(1).build();
    let filter = filter.expect("a filter");
    filter.try_extend(0..20_000_u32).expect("room");
    let mut refused = Vec::new();
    let mut inserts = 20_000..40_000_u32;
    let writer = CallEach(|| {
        for item in inserts.by_ref().take(300) {
            allow(0);
            let inserted = filter.insert(&item);
            allow_all();
            if inserted == Err(InsertError::BlockedByScan) {
                return refused.push(item);
            }
        }
    });
    filter.write_to(writer).expect("a writer that takes all");
    assert!(!refused.is_empty());
    assert!(InsertError::BlockedByScan.is_transient());
    for item in 0..20_000_u32 {
        assert!(filter.remove(&item));
    }
    for item in refused {
        assert_eq!(filter.insert(&item), Ok(()));
    }
}

/// A filter begins no level because of a scan that inserts have no memory to help.
fn a_scan_that_is_in_the_way_makes_no_filter_double() {
    let builder = CuckooFilter::builder().capacity(20_000).seed(1);
    let builder = builder.max_capacity(80_000);
    let full = builder.clone().build().expect("a filter");
    let mut items = 0_u32;
    while full.stats().buckets_to_split == 0 {
        full.insert(&items).expect("it grows");
        items += 1;
    }
    let filter = builder.build().expect("a filter");
    let items = items / 100 * 98;
    filter.try_extend(0..items).expect("room");
    let (buckets, mut refused) = (filter.buckets(), 0);
    let mut old = 0..items;
    let writer = CallEach(|| {
        for item in old.by_ref().take(1_000) {
            assert!(filter.remove(&item));
            allow(0);
            let inserted = filter.insert(&(items + item));
            allow_all();
            if inserted.is_err() {
                assert_eq!(inserted, Err(InsertError::BlockedByScan));
                refused += 1;
            }
        }
    });
    filter.write_to(writer).expect("a writer that takes all");
    assert!(refused > 0);
    assert_eq!(filter.buckets(), buckets);
}

pub(crate) fn run() {
    a_scan_that_is_in_the_way_is_named();
    a_scan_that_is_in_the_way_makes_no_filter_double();
    let filter = CuckooFilter::builder()
        .capacity(20_000)
        .max_capacity(200_000)
        .seed(1)
        .build()
        .unwrap();
    let (buckets, capacity) = (filter.buckets(), filter.capacity());
    let block = buckets * 8;

    // As long as the memory does not suffice, the insert reports it and changes nothing. In
    // addition to the words, the block needs some 200 bytes.
    let (mut items, mut refused) = (0, None);
    for bytes in [0, 64, block - 1, block, block + 8, block + 64] {
        allow(bytes);
        let (next, error) = fill(&filter, items);
        allow_all();
        assert_eq!(error, InsertError::Memory, "with {bytes} bytes left");
        assert!(
            refused.is_none_or(|refused| refused == next),
            "the same item is refused"
        );
        (items, refused) = (next, Some(next));
        assert!(
            items as usize >= capacity,
            "the filter holds its capacity at its first size"
        );
        assert_whole(&filter, items);
        assert_eq!((filter.buckets(), filter.capacity()), (buckets, capacity));
    }

    // The filter is usable at its current size: a remove makes room.
    allow(0);
    for item in 0..100 {
        assert!(filter.remove(&item));
        let unique = filter.insert_unique(&item);
        assert_eq!(unique, Ok(true), "the remove has made room for an item");
    }
    allow_all();
    assert_whole(&filter, items);

    // With memory again the filter grows, and all items are still in it.
    let (end, error) = fill(&filter, items);
    assert_eq!(error, InsertError::Full, "at the largest size");
    assert!(end >= 200_000, "{end}");
    assert_whole(&filter, end);
    assert!(filter.buckets() >= 4 * buckets);
    merge_without_memory(&filter.header(), block);
    clone_without_memory();
    shrink_without_memory();
    println!("test a_filter_without_memory_to_grow_stays_whole_and_grows_later ... ok");
}
