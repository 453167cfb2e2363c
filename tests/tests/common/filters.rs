//! Tiny filters of each layout.

use guira::CuckooFilter;

/// The fingerprint sizes of fixed filters, each with a layout of its own.
pub(crate) const BITS: [u32; 5] = [10, 12, 15, 20, 30];

/// The fingerprint sizes of filters that can grow. No fixed layout has one of these sizes, so the
/// size identifies the layout. The filters begin with 4, 4, 3, 3, 2, 2 and 1 slots.
pub(crate) const GROWABLE_BITS: [u32; 7] = [11, 13, 14, 18, 19, 27, 33];

/// The bits of fingerprints and of counters of fixed filters with counters, each with a layout of its
/// own.
#[cfg_attr(
    guira_faults,
    allow(dead_code, reason = "counters have tests of their own")
)]
pub(crate) const COUNTING: [(u32, u32); 6] = [(8, 4), (11, 4), (16, 4), (26, 4), (12, 8), (22, 8)];

/// The same of filters that can grow. They begin with 3, 3, 2, 2 and 1 slots.
pub(crate) const GROWABLE_COUNTING: [(u32, u32); 5] = [(13, 4), (14, 4), (18, 4), (17, 8), (28, 8)];

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
    with_buckets(builder, buckets)
}

/// The same with counters: fingerprints and counters have these bits.
pub(crate) fn tiny_counting((bits, counter_bits): (u32, u32), buckets: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().fingerprint_bits(bits).seed(0);
    let builder = builder.counter_bits(counter_bits);
    if GROWABLE_COUNTING.contains(&(bits, counter_bits)) {
        let (capacity, max) = GROWING;
        let builder = builder.capacity(capacity).max_capacity(max);
        return builder.build().expect("a small filter");
    }
    with_buckets(builder, buckets)
}

fn with_buckets(builder: guira::Builder, buckets: usize) -> CuckooFilter {
    (1..)
        .map(|capacity| builder.clone().capacity(capacity).build())
        .map(|filter| filter.expect("a small filter"))
        .find(|filter| filter.buckets() >= buckets)
        .expect("more capacity needs more buckets")
}

/// The most copies of one item that fit, at rest at a level.
pub(crate) fn most_copies(filter: &CuckooFilter) -> usize {
    (2 * filter.bucket_slots()) << filter.counter_bits()
}

/// The number of slots of the whole filter, at rest at a level.
pub(crate) fn slots(filter: &CuckooFilter) -> usize {
    filter.buckets() * filter.bucket_slots()
}
