//! What the models of expiring filters have in common.

use guira::model::{Expiring, Item};

/// A lookup of an item that is live all the time.
pub(crate) const LIVE: &str = "a live item is not found";

/// Looks for an item that is live all the time.
pub(crate) fn find<const SLOTS: usize, const E: u64>(
    filter: &Expiring<SLOTS, E>,
    item: Item,
) -> bool {
    assert!(filter.contains(item), "{LIVE}");
    true
}

/// The age of the youngest copy of `item` at rest.
pub(crate) fn youngest<const SLOTS: usize, const E: u64>(
    filter: &Expiring<SLOTS, E>,
    item: Item,
) -> Option<u64> {
    filter.ages_at_rest(item).first().copied()
}

/// True if the item has a live copy at rest.
pub(crate) fn is_live<const SLOTS: usize, const E: u64>(
    filter: &Expiring<SLOTS, E>,
    item: Item,
) -> bool {
    youngest(filter, item).is_some_and(|age| age <= E)
}

/// The residents of a filter of two buckets that has `copies` in `bucket`, and nothing in the
/// other one.
pub(crate) fn one(bucket: usize, copies: &[(Item, u64)]) -> [&[(Item, u64)]; 2] {
    let mut residents: [&[_]; 2] = [&[], &[]];
    residents[bucket] = copies;
    residents
}
