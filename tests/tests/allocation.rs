//! An allocator that refuses: the filter says so, stays whole, and grows later.
//!
//! The limit holds for the whole process, so nothing else is in it, not even the test
//! harness.

mod common {
    pub(crate) mod limited;
}

use common::limited::{allow, allow_all};
use guira::{CuckooFilter, ExpiringFilter, InsertError, MemoryError, MergeError};
use std::{io, time::Duration};

/// Inserts from `next` on, until one is refused; the first that is.
fn fill(filter: &CuckooFilter, mut next: u64) -> (u64, InsertError) {
    loop {
        match filter.insert(&next) {
            Ok(()) => next += 1,
            Err(error) => return (next, error),
        }
    }
}

fn assert_whole(filter: &CuckooFilter, items: u64) {
    assert_eq!(filter.len() as u64, items, "nothing is lost, nothing added");
    assert!(
        (0..items).all(|item| filter.contains(&item)),
        "false negative"
    );
    assert_eq!(filter.stats().buckets_to_split, 0, "no level has begun");
}

/// A merge needs some KiB for itself; `block` are the bytes that the first doubling needs.
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
    // They come in the order of the other one's buckets, not at random (DESIGN, section 8).
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

/// Clones with less memory than the `block` bytes of the copy, and `check`s each error. Then with
/// enough: a clone needs some KiB for itself.
fn clone_within<F>(
    block: usize,
    clone: impl Fn() -> Result<F, MemoryError>,
    check: impl Fn(MemoryError),
) -> F {
    for twentieth in 4..20 {
        allow(block * twentieth / 20);
        let cloned = clone();
        allow_all();
        check(cloned.err().expect("too little memory for the copy"));
    }
    allow(block + (64 << 10));
    let cloned = clone();
    allow_all();
    cloned.expect("memory for the copy")
}

/// Without memory for the copy `try_clone` returns an error, and the filter stays whole.
fn clone_without_memory() {
    let builder = CuckooFilter::builder().capacity(50_000).seed(1);
    let fixed = builder.clone().build().expect("a filter");
    let growing = builder.max_capacity(400_000).build().expect("a filter");
    growing.try_extend(0..200_000_u64).expect("memory");
    assert!(growing.stats().doublings > 0);
    growing.clear();
    for filter in [fixed, growing] {
        filter.try_extend(0..4_000_u64).expect("room");
        let check = |error: MemoryError| {
            assert_eq!(error.buckets, filter.buckets());
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
    let check = |error: MemoryError| {
        assert_eq!(error.buckets, filter.buckets());
        assert_eq!((filter.len(), filter.epoch()), (4_000, 1));
        assert!((0..4_000_u64).all(|item| filter.contains(&item)));
    };
    let block = filter.buckets() * 8;
    let clone = clone_within(block, || filter.try_clone(), check);
    assert_eq!(clone.to_bytes(), filter.to_bytes());
}

/// Without memory for the smaller table `shrink_to_fit` leaves the filter as it is.
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

/// An insert that has to read chunks for a scan, and gets no memory for them, says so. What was
/// refused fits when the scan has ended.
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

fn main() {
    a_scan_that_is_in_the_way_is_named();
    let filter = CuckooFilter::builder()
        .capacity(20_000)
        .max_capacity(200_000)
        .seed(1)
        .build()
        .unwrap();
    let (buckets, capacity) = (filter.buckets(), filter.capacity());
    let block = buckets * 8;

    // No amount of memory short of what is needed makes the insert do anything
    // else but report it. Besides the words the block needs some 200 bytes.
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

    // It is usable at its present size: what leaves makes room.
    allow(0);
    for item in 0..100 {
        assert!(filter.remove(&item));
        let unique = filter.insert_unique(&item);
        assert_eq!(unique, Ok(true), "the room of an item is there again");
    }
    allow_all();
    assert_whole(&filter, items);

    // With memory again it grows, and no item was harmed.
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
