//! A lookup that must find its item.

use guira::model::{Item, Model};

/// What the law says when it is broken.
pub(crate) const LAW: &str = "false negative";

/// Looks for an item that is present all the time.
pub(crate) fn find<const SLOTS: usize, const PHASE_BITS: u32>(
    filter: &Model<SLOTS, PHASE_BITS>,
    item: Item,
) -> bool {
    assert!(filter.contains(item), "{LAW}");
    true
}
