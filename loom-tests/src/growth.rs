//! Shared by the models of growth: small filters that can double.

use crate::{P, Q, Scenario};
use guira::model::{Growing, Item};

/// A scenario of growth.
pub type Growth = Scenario<Growing<2>>;

/// The message about a word that is used before it is allocated.
pub const UNMADE: &str = "a segment is published before";

/// The `nth` item of the pair (P, Q) whose fingerprint ends in the three bits `low`, which decide
/// its direction in the first three splits.
#[must_use]
pub fn ending(low: u64, nth: usize) -> Item {
    Growing::<2>::item_ending(2, (P, Q), low, 3, nth)
}

/// A filter with `items` in `bucket` and an empty other bucket. It can double `levels` times, and
/// more. A control may lead a thread past the existing words. That thread should reach a block that
/// is not [published](UNMADE), and not run past the last block.
#[must_use]
pub fn growing(bucket: usize, items: &[Item], levels: u32) -> Growing<2> {
    let mut residents: [&[Item]; 2] = [&[], &[]];
    residents[bucket] = items;
    Growing::growing(&residents, levels + 2)
}

/// Splits both words of an item from `level`, in the order of `buckets`.
pub fn split(filter: &Growing<2>, item: Item, buckets: &[usize], level: u32) {
    for &bucket in buckets {
        filter.split(item, bucket, level);
    }
}

/// Four items that fill their pair, for a filter that can double twice.
#[must_use]
pub fn residents() -> [Item; 4] {
    [0b000, 0b001, 0b010, 0b011].map(|low| ending(low, 0))
}

/// The filter that the [`residents`] fill.
#[must_use]
pub fn full() -> Growing<2> {
    let [a, b, c, d] = residents();
    Growing::growing(&[&[a, b], &[c, d]], 2)
}

/// Begins and completes the first `levels` levels.
pub fn complete_levels(filter: &Growing<2>, levels: u32) {
    for level in 0..levels {
        filter.begin_level(level);
        filter.finish_growth();
    }
}
