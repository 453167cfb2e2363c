//! Tiny filters of each layout.

use guira::CuckooFilter;

/// The fingerprint sizes, each of which stands for a layout.
pub(crate) const BITS: [u32; 5] = [10, 12, 15, 20, 30];

/// Those of the layouts that can grow.
pub(crate) const GROWABLE_BITS: [u32; 6] = [9, 11, 14, 18, 27, 28];

/// What such a filter grows to: the smallest that begins with a part of it.
const GROWN: usize = 5_000;

/// A filter of `buckets` buckets, or of the next larger number that the builder
/// makes; one that can grow has some hundreds. Empty, so that its capacity does not matter to the tests that fill it
/// to the brim.
pub(crate) fn tiny(bits: u32, buckets: usize) -> CuckooFilter {
    (0..)
        .map(|capacity| {
            let mut builder = CuckooFilter::builder()
                .capacity(capacity)
                .fingerprint_bits(bits);
            if GROWABLE_BITS.contains(&bits) {
                builder = builder.max_capacity(GROWN).false_positive_rate(0.5);
            }
            builder.seed(0).build().expect("a small filter")
        })
        .find(|filter| filter.buckets() >= buckets)
        .expect("more capacity needs more buckets")
}

/// Slots of the whole filter.
pub(crate) fn slots(filter: &CuckooFilter) -> usize {
    filter.buckets() * filter.bucket_slots()
}
