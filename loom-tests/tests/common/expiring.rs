//! Shared by the models of expiring filters.

use guira::model::{Expiring, Item};

/// The law of a lookup of an item that is always live.
pub(crate) const LIVE: &str = "a live item is not found";

/// Looks up an item that is always live.
pub(crate) fn find<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32>(
    filter: &Expiring<SLOTS, E, PHASE_BITS, COUNTER>,
    item: Item,
) -> bool {
    assert!(filter.contains(item), "{LIVE}");
    true
}

/// The age of the youngest copy of `item` at rest.
pub(crate) fn youngest<
    const SLOTS: usize,
    const E: u64,
    const PHASE_BITS: u32,
    const COUNTER: u32,
>(
    filter: &Expiring<SLOTS, E, PHASE_BITS, COUNTER>,
    item: Item,
) -> Option<u64> {
    filter.ages_at_rest(item).first().copied()
}

/// True if the item has a live copy at rest.
pub(crate) fn is_live<
    const SLOTS: usize,
    const E: u64,
    const PHASE_BITS: u32,
    const COUNTER: u32,
>(
    filter: &Expiring<SLOTS, E, PHASE_BITS, COUNTER>,
    item: Item,
) -> bool {
    youngest(filter, item).is_some_and(|age| age <= E)
}

/// The residents of a filter of two buckets with `copies` in `bucket`, and nothing in the other
/// bucket.
pub(crate) fn one(bucket: usize, copies: &[(Item, u64)]) -> [&[(Item, u64)]; 2] {
    let mut residents: [&[_]; 2] = [&[], &[]];
    residents[bucket] = copies;
    residents
}
