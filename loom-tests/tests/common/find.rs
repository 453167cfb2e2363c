//! A lookup that must find its item.

use guira::model::{Item, Model};

/// The message if the law is broken.
pub(crate) const LAW: &str = "false negative";

/// Looks up an item that is always present.
pub(crate) fn find<const SLOTS: usize, const PHASE_BITS: u32>(
    filter: &Model<SLOTS, PHASE_BITS>,
    item: Item,
) -> bool {
    assert!(filter.contains(item), "{LAW}");
    true
}
