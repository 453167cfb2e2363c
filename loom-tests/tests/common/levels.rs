//! A call, while a thread completes levels.

use guira::model::Item;
use guira_loom_tests::growth::{Growth, complete_levels};

/// Adds to a scenario the thread that completes the first `levels` levels, and the law. The only
/// other thread must find one copy of the item.
pub(crate) fn while_levels_complete(scenario: Growth, item: Item, levels: u32) -> Growth {
    scenario
        .thread(move |filter| {
            complete_levels(filter, levels);
            0_usize
        })
        .law(move |filter, _| {
            assert_eq!(filter.copies_at_rest(item), 1, "copies at rest");
            assert_eq!(filter.level(), levels, "the levels are complete");
        })
        .large()
        .outcomes(&[[1, 0]])
}
