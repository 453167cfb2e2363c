//! Tiny filters of each layout.

use guira::CuckooFilter;

/// The fingerprint sizes of fixed filters, each with a layout of its own.
pub(crate) const BITS: [u32; 5] = [10, 12, 15, 20, 30];

/// The fingerprint sizes of filters that can grow. No fixed layout has one of these sizes, so the
/// size identifies the layout. The filters begin with 4, 4, 3, 3, 2, 2 and 1 slots.
pub(crate) const GROWABLE_BITS: [u32; 7] = [11, 13, 14, 18, 19, 27, 33];

/// The initial and the maximal capacity of a growing filter.
const GROWING: (usize, usize) = (300, 5_000);

/// A filter of `buckets` buckets, or of the next larger number that the builder makes. A filter
/// that can grow has some hundreds of slots. The filter is empty, and its capacity does not matter
/// to tests that fill it completely.
pub(crate) fn tiny(bits: u32, buckets: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().fingerprint_bits(bits).seed(0);
    if GROWABLE_BITS.contains(&bits) {
        let (capacity, max) = GROWING;
        let builder = builder.capacity(capacity).max_capacity(max);
        return builder.build().expect("a small filter");
    }
    (1..)
        .map(|capacity| builder.clone().capacity(capacity).build())
        .map(|filter| filter.expect("a small filter"))
        .find(|filter| filter.buckets() >= buckets)
        .expect("more capacity needs more buckets")
}

/// The number of slots of the whole filter, at rest at a level.
pub(crate) fn slots(filter: &CuckooFilter) -> usize {
    filter.buckets() * filter.bucket_slots()
}
