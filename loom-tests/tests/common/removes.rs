//! Removes during moves and splits, in fixed and in growing filters.

use guira::model::{Item, Model};
use guira_loom_tests::{Q, Scenario};

pub(crate) const PRESENT: &str = "remove of a present item is false";
pub(crate) const ONCE: &str = "removed and left do not add up";

/// The number of copies of an item in a filter at rest.
type Left<const PHASE_BITS: u32> = fn(&Model<2, PHASE_BITS>, Item) -> usize;

/// One thread removes the item once more than there are `copies`, while two other threads run the
/// closures.
pub(crate) fn one_remove_too_many<const PHASE_BITS: u32>(
    scenario: Scenario<Model<2, PHASE_BITS>>,
    item: Item,
    copies: usize,
    left: Left<PHASE_BITS>,
    first: impl Fn(&Model<2, PHASE_BITS>) + Send + Sync + 'static,
    second: impl Fn(&Model<2, PHASE_BITS>) + Send + Sync + 'static,
) -> Scenario<Model<2, PHASE_BITS>> {
    scenario
        .thread(move |filter| {
            (0..=copies)
                .map(|_| usize::from(filter.remove(item)))
                .sum::<usize>()
        })
        .thread(move |filter| {
            first(filter);
            0_usize
        })
        .thread(move |filter| {
            second(filter);
            0_usize
        })
        .law(move |filter, results| {
            assert_eq!(results[0] + left(filter, item), copies, "{ONCE}");
            assert_eq!(results[0], copies, "{PRESENT}");
        })
        .mains(&[0])
        .large()
        .outcomes(&[[copies, 0, 0]])
}

/// The item is in P. One thread inserts it once more and removes it, and another one removes it,
/// too. At every moment there is a copy. A reader that loads Q before P sees Q without the second
/// copy and P without the first.
pub(crate) fn second_copy<const PHASE_BITS: u32>(
    scenario: Scenario<Model<2, PHASE_BITS>>,
    item: Item,
    left: Left<PHASE_BITS>,
) -> Scenario<Model<2, PHASE_BITS>> {
    scenario
        .thread(move |filter| {
            filter.insert_into(item, Q);
            filter.remove(item)
        })
        .thread(move |filter| filter.remove(item))
        .law(move |filter, results| {
            assert_eq!(results, [1, 1], "{PRESENT}");
            assert_eq!(left(filter, item), 0, "{ONCE}");
        })
        .outcomes(&[[1, 1]])
}

/// One thread removes the only copy of the item and inserts it again. A second thread
/// calls `meanwhile`. A third thread removes the item, too.
pub(crate) fn remove_and_reinsert<const PHASE_BITS: u32>(
    scenario: Scenario<Model<2, PHASE_BITS>>,
    item: Item,
    left: Left<PHASE_BITS>,
    meanwhile: impl Fn(&Model<2, PHASE_BITS>) + Send + Sync + 'static,
) -> Scenario<Model<2, PHASE_BITS>> {
    scenario
        .thread(move |filter| {
            let removed = filter.remove(item);
            assert!(filter.insert(item), "there is room");
            removed
        })
        .thread(move |filter| {
            meanwhile(filter);
            0_usize
        })
        .thread(move |filter| filter.remove(item))
        .law(move |filter, results| {
            let removed = results[0] + results[2];
            assert_eq!(removed + left(filter, item), 2, "{ONCE}");
            assert!(removed > 0, "{PRESENT}");
        })
        .mains(&[0])
        .outcomes(&[[0, 0, 1], [1, 0, 0], [1, 0, 1]])
}
