//! Moves that no other thread prevents.

use guira::model::{Item, Model};
use guira_loom_tests::other;

/// Moves the item out of `from` and back, `times` times in total.
pub(crate) fn relocate_times<const SLOTS: usize, const PHASE_BITS: u32>(
    filter: &Model<SLOTS, PHASE_BITS>,
    item: Item,
    mut from: usize,
    times: usize,
) -> usize {
    for _ in 0..times {
        assert!(
            filter.relocate(item, from),
            "nothing is in the way of the move"
        );
        from = other(from);
    }
    times
}
