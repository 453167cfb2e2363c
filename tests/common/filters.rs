//! Tiny filters of each layout.

use guira::CuckooFilter;

/// The fingerprint sizes, each of which stands for a layout.
pub(crate) const BITS: [u32; 5] = [10, 12, 15, 20, 30];

/// A filter of `buckets` buckets, or of the next larger number that the builder
/// makes. Empty, so that its capacity does not matter to the tests that fill it
/// to the brim.
pub(crate) fn tiny(bits: u32, buckets: usize) -> CuckooFilter {
    (0..)
        .map(|capacity| {
            let builder = CuckooFilter::builder()
                .capacity(capacity)
                .fingerprint_bits(bits);
            builder.seed(0).build().expect("a small filter")
        })
        .find(|filter| filter.buckets() >= buckets)
        .expect("more capacity needs more buckets")
}

/// Slots of the whole filter.
pub(crate) fn slots(filter: &CuckooFilter) -> usize {
    filter.buckets() * filter.bucket_slots()
}
