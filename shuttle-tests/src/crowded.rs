//! Filters with almost no room, fixed and growing, and writers that keep them full.

use crate::items::hash;
use guira::{Builder, CuckooFilter, Hashed};
use std::hash::BuildHasher;

/// The message if a lookup does not find an item of its own thread.
pub const MISSED: &str = "an item is not found";
/// The message if a remove does not find an item of its own thread.
pub const NOT_REMOVED: &str = "remove of a present item is false";

/// A filter with residents, and hashes that are not in it.
#[derive(Debug)]
pub struct Filled {
    /// The filter.
    pub filter: CuckooFilter,
    /// Hashes that are in the filter once.
    pub residents: Vec<u64>,
    /// Hashes that are not in the filter.
    pub newcomers: Vec<u64>,
}

/// A filter of 8 buckets of 3 slots, with two empty slots.
#[must_use]
pub fn fixed() -> Filled {
    let filter = CuckooFilter::from_bytes(&eight_buckets(builder().seed(0)));
    let filter = filter.expect("what FORMAT.md says");
    fill(filter, |filter| filter.len() + 2 >= 8 * 3)
}

/// The same with 3 slots in a bucket, for any hasher.
#[must_use]
pub fn builder() -> Builder {
    CuckooFilter::builder().capacity(2).fingerprint_bits(20)
}

/// The snapshot of an empty filter with 8 buckets. The builder would use 2 or 16 for this
/// capacity.
#[must_use]
pub fn eight_buckets<S: BuildHasher + 'static>(builder: Builder<S>) -> Vec<u8> {
    let filter = builder.build().expect("a small filter");
    assert_eq!(filter.bucket_slots(), 3, "the laws expect 3 slots");
    snapshot(&filter.to_bytes(), 8, 0)
}

/// A filter that has doubled from 4 buckets of 4 slots to 8 of 5 slots, and is doubling to 16 of 6
/// slots.
#[must_use]
pub fn grown() -> Filled {
    fill(growable(4, 2), |filter| {
        let stats = filter.stats();
        stats.doublings == 1 && stats.buckets_to_split > 0
    })
}

/// An empty filter with 11 bits and 4 slots that can double `levels` times. The builder makes no
/// filter that small.
fn growable(buckets: u64, levels: u8) -> CuckooFilter {
    const BITS: u32 = 11;
    let builder = CuckooFilter::builder().capacity(2).max_capacity(20);
    let builder = builder.fingerprint_bits(BITS).seed(0);
    let mut bytes = builder.build().expect("a small filter").to_bytes();
    bytes[14] = levels;
    let empty = u64::from(2 * (40 - BITS)) << 58; // the phase of the first level
    let bytes = snapshot(&bytes, buckets, empty);
    CuckooFilter::from_bytes(&bytes).expect("what FORMAT.md says")
}

/// The snapshot of an empty filter with this number of buckets, which may be less than the builder
/// uses (docs/FORMAT.md). The rest of the header is that of `other`.
fn snapshot(other: &[u8], buckets: u64, empty: u64) -> Vec<u8> {
    let mut bytes = other[..64].to_vec();
    bytes[16..24].copy_from_slice(&buckets.to_le_bytes());
    bytes.extend([0; 8]); // the doublings
    for _ in 0..buckets / 2 {
        // A chunk is a tag and two words.
        bytes.extend([0, empty, empty].map(u64::to_le_bytes).as_flattened());
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn fill(filter: CuckooFilter, enough: impl Fn(&CuckooFilter) -> bool) -> Filled {
    let mut residents = Vec::new();
    let mut hashes = (0..64).map(hash);
    while !enough(&filter) {
        let hash = hashes.next().expect("enough hashes");
        if filter.insert(&Hashed(hash)).is_ok() {
            residents.push(hash);
        }
    }
    let newcomers = hashes.take(6).collect();
    Filled {
        filter,
        residents,
        newcomers,
    }
}

/// Removes its own items and inserts them and others, back and forth, and returns the remaining
/// items. Of the item `kept`, a second copy is inserted and one is removed.
pub fn churn(filter: &CuckooFilter, own: [u64; 2], new: [u64; 2], kept: u64) -> Vec<u64> {
    let mut left = Vec::new();
    for (own, new) in own.into_iter().zip(new) {
        if filter.insert(&Hashed(kept)).is_ok() {
            assert!(filter.remove(&Hashed(kept)), "{NOT_REMOVED}");
        }
        assert!(filter.remove(&Hashed(own)), "{NOT_REMOVED}");
        for hash in [new, own] {
            if filter.insert(&Hashed(hash)).is_ok() {
                assert!(filter.contains(&Hashed(hash)), "{MISSED}");
                left.push(hash);
            }
        }
    }
    left
}
