//! What a snapshot restores is the filter that it was taken of, word for word:
//! its own snapshot has the same bytes.
//!
//! The longest capacities take minutes: set `GUIRA_LONG=1` for them.

use super::common::layouts::{LAYOUTS, fill, filter};
use crate::common::{filters::GROWABLE_BITS, stress::is_long};
use guira::CuckooFilter;
use std::mem;

/// Checks that `restored` is what `original` is; the items below `items` are in.
fn assert_same(original: &CuckooFilter, restored: &CuckooFilter, items: usize) {
    assert_eq!(restored.to_bytes(), original.to_bytes());
    assert_eq!(restored.len(), original.len());
    assert_eq!(restored.capacity(), original.capacity());
    assert_eq!(restored.max_capacity(), original.max_capacity());
    assert_eq!(restored.buckets(), original.buckets());
    assert_eq!(restored.memory_usage(), original.memory_usage());
    assert_eq!(restored.stats().doublings, original.stats().doublings);
    assert_eq!(restored.hasher().seed(), original.hasher().seed());
    assert_eq!(
        restored.stats().buckets_to_split > 0,
        original.stats().buckets_to_split > 0,
        "both are between two sizes, or both are not"
    );
    let lost = (0..items).find(|item| !restored.contains(item));
    assert_eq!(lost, None, "an item was lost");
}

fn assert_round_trip(original: &CuckooFilter, items: usize) {
    let restored = CuckooFilter::from_bytes(&original.to_bytes()).expect("a snapshot");
    assert_same(original, &restored, items);
    assert_same(original, &original.clone(), items);
}

#[test]
fn every_layout_at_every_capacity_and_load() {
    let long = is_long().then_some(10_000_000);
    for capacity in [1, 2, 3, 10, 100, 1_000, 10_000].into_iter().chain(long) {
        for bits in LAYOUTS {
            let filter = filter(bits, capacity);
            let mut items = 0;
            for full in [0, capacity / 2, capacity] {
                items += fill(&filter, items..full);
                assert_round_trip(&filter, items);
            }
        }
    }
}

#[test]
fn a_million_items() {
    for bits in [10, 15, 30, 11, 14, 27] {
        let filter = filter(bits, 1_000_000);
        let items = fill(&filter, 0..1_000_000);
        assert_round_trip(&filter, items);
    }
}

/// At each size of the filter: when a doubling has just begun, in the middle of
/// it, and when it is complete.
#[test]
fn growing_filters() {
    for bits in GROWABLE_BITS {
        let filter = filter(bits, 3_000);
        let (mut items, mut growing, mut grown) = (0, 0, 0);
        let mut before = (0, 0);
        while items < filter.max_capacity() {
            items += fill(&filter, items..items + 1);
            let stats = filter.stats();
            let now = (stats.doublings, stats.buckets_to_split.div_ceil(200));
            if now != mem::replace(&mut before, now) {
                assert_round_trip(&filter, items);
                growing += usize::from(stats.buckets_to_split > 0);
                grown += usize::from(stats.buckets_to_split == 0);
            }
        }
        assert!(growing >= 3 && grown >= 1, "{bits}: {growing}, {grown}");
        filter.finish_growth();
        assert_round_trip(&filter, items);
    }
}

/// A filter that is reset takes its first size again, and so does its snapshot.
#[test]
fn a_filter_that_was_reset() {
    let mut filter = filter(14, 1_000);
    let new = filter.to_bytes();
    fill(&filter, 0..4_000);
    assert_ne!(filter.to_bytes().len(), new.len());
    filter.reset();
    assert_eq!(filter.to_bytes(), new);
}
