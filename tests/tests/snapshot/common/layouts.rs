//! A filter of each layout, in each state of growth.

use guira::{BuildError, CuckooFilter};

/// The fingerprint sizes: first those of fixed filters, each of which stands for a layout.
pub(crate) const LAYOUTS: [u32; 11] = [10, 12, 15, 20, 30, 11, 13, 14, 18, 19, 27];

/// Those of filters that can grow: numbers that no fixed layout has, so that a number says which it
/// is. They begin with 4, 4, 3, 3, 2 and 2 slots.
pub(crate) const GROWABLE: [u32; 6] = [11, 13, 14, 18, 19, 27];

/// A filter of the layout for so many items; for four times as many, by and by,
/// if the layout can grow.
pub(crate) fn filter(bits: u32, capacity: usize) -> Result<CuckooFilter, BuildError> {
    assert!(LAYOUTS.contains(&bits));
    let builder = CuckooFilter::builder()
        .capacity(capacity)
        .fingerprint_bits(bits)
        .seed(0x5eed);
    if GROWABLE.contains(&bits) {
        builder.max_capacity(4 * capacity).build()
    } else {
        builder.build()
    }
}

/// Inserts `items`, and says how many.
pub(crate) fn fill(filter: &CuckooFilter, items: std::ops::Range<usize>) -> usize {
    for item in items.clone() {
        filter
            .insert(&item)
            .expect("as many items fit as were asked for");
    }
    items.len()
}

/// A small filter in the middle of the doubling after `level`, for layouts that can grow: with the
/// items below the number that comes with it.
pub(crate) fn growing(bits: u32, level: u32) -> Option<(CuckooFilter, usize)> {
    let filter = GROWABLE.contains(&bits).then(|| {
        let builder = CuckooFilter::builder().capacity(200).max_capacity(4_000);
        builder.fingerprint_bits(bits).seed(0x5eed).build()
    })?;
    let filter = filter.expect("a small filter");
    let mut items = 0;
    while filter.stats().level < level || filter.stats().buckets_to_split == 0 {
        items += fill(&filter, items..items + 1);
    }
    items += fill(&filter, items..items + 2);
    let stats = filter.stats();
    assert!(stats.level == level && stats.buckets_to_split > 0);
    Some((filter, items))
}
