//! A call, while threads split words and move the item.

use guira::model::Item;
use guira_loom_tests::growth::{Growth, split};

/// The law of an item that was neither added nor removed.
const AT_REST: &str = "copies at rest";

/// Adds to a scenario the thread that splits the word of a bucket, and the law. The only other
/// thread must find one copy of the item.
pub(crate) fn while_a_word_is_split(scenario: Growth, item: Item, bucket: usize) -> Growth {
    scenario
        .thread(move |filter| {
            filter.split(item, bucket, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(item), 1, "{AT_REST}"))
        .outcomes(&[[1, 0]])
}

/// Adds to a scenario the threads that move the item and split its words, and the law. The only
/// other thread may find the item twice if the move is in progress at that time.
pub(crate) fn while_moved_and_split(
    scenario: Growth,
    item: Item,
    from: usize,
    buckets: &'static [usize],
) -> Growth {
    scenario
        .thread(move |filter| filter.relocate(item, from))
        .thread(move |filter| {
            split(filter, item, buckets, 0);
            0_usize
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(item), 1, "{AT_REST}"))
        .large()
        .outcomes(&[[1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]])
}
