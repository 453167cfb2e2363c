//! A small filter in the middle of a doubling.

use super::layouts::{GROWABLE, fill};
use guira::CuckooFilter;

/// The smallest filter between two sizes, for layouts that can grow: with the items
/// below the number that comes with it.
pub(crate) fn growing(bits: u32) -> Option<(CuckooFilter, usize)> {
    let filter = GROWABLE.contains(&bits).then(|| {
        let builder = CuckooFilter::builder().capacity(100).max_capacity(4_000);
        builder.fingerprint_bits(bits).seed(0x5eed).build()
    })?;
    let filter = filter.expect("a small filter");
    let mut items = 0;
    while filter.stats().buckets_to_split == 0 {
        items += fill(&filter, items..items + 1);
    }
    items += fill(&filter, items..items + 9);
    assert!(filter.stats().buckets_to_split > 0);
    Some((filter, items))
}
