//! An allocator that refuses: the filter says so, stays whole, and grows later.
//!
//! The limit holds for the whole process, so nothing else is in it, not even the test
//! harness.

mod common {
    pub(crate) mod limited;
}

use common::limited::{allow, allow_all};
use guira::{CuckooFilter, InsertError, MergeError};

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

fn main() {
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
    println!("test a_filter_without_memory_to_grow_stays_whole_and_grows_later ... ok");
}
