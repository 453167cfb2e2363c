//! A filter of each layout, in each state of growth.

use super::fields::PREFIXES;
use crate::common::filters::GROWABLE_BITS;
use guira::{CuckooFilter, Prefer};

/// The fingerprint sizes of the five fixed layouts, then the seven sizes in [`GROWABLE_BITS`].
pub(crate) const LAYOUTS: [u32; 12] = [10, 12, 15, 20, 30, 11, 13, 14, 18, 19, 27, 33];

/// A filter of the layout for `capacity` items. If the layout can grow, the filter has room for
/// four times that number.
pub(crate) fn filter(bits: u32, capacity: usize) -> CuckooFilter {
    that_grows(bits, capacity, 4)
}

/// A filter of the layout for `capacity` items. If the layout can grow, the filter has room for
/// `times` that number.
pub(crate) fn that_grows(bits: u32, capacity: usize, times: usize) -> CuckooFilter {
    assert!(LAYOUTS.contains(&bits));
    let builder = CuckooFilter::builder().capacity(capacity).seed(0x5eed);
    let builder = builder.fingerprint_bits(bits);
    let builder = match GROWABLE_BITS.contains(&bits) {
        true => builder.max_capacity(times * capacity),
        false => builder,
    };
    builder.build().expect("a filter")
}

/// The layouts of semi-sorted words, each with a rate at which it has the smallest table.
pub(crate) const SEMI_SORTED: [(&str, f64); 5] = [
    ("7x7", 0.025),
    ("8x6", 0.0056),
    ("9x5", 0.0011),
    ("12x4", 0.00013),
    ("17x3", 3e-6),
];

/// A filter of semi-sorted words.
pub(crate) fn semi_sorted(rate: f64, capacity: usize) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(capacity).seed(0x5eed);
    let builder = builder.false_positive_rate(rate).prefer(Prefer::Space);
    let filter = builder.build().expect("a filter");
    assert_ne!(filter.header()[PREFIXES], 0, "{rate}: packed words");
    filter
}

/// Inserts `items`, and returns their number.
pub(crate) fn fill(filter: &CuckooFilter, items: std::ops::Range<usize>) -> usize {
    for item in items.clone() {
        filter
            .insert(&item)
            .expect("the requested number of items fits");
    }
    items.len()
}

/// A small filter in the middle of the doubling after `level`, which contains the items below the
/// returned number. `None` if the layout cannot grow.
pub(crate) fn growing(bits: u32, level: u32) -> Option<(CuckooFilter, usize)> {
    let filter = GROWABLE_BITS.contains(&bits).then(|| {
        let builder = CuckooFilter::builder().capacity(200).max_capacity(4_000);
        builder.fingerprint_bits(bits).seed(0x5eed).build()
    })?;
    let filter = filter.expect("a small filter");
    let mut items = 0;
    while filter.stats().doublings < level || filter.stats().buckets_to_split == 0 {
        items += fill(&filter, items..items + 1);
    }
    items += fill(&filter, items..items + 2);
    let stats = filter.stats();
    assert!(stats.doublings == level && stats.buckets_to_split > 0);
    Some((filter, items))
}
