//! Filters in a certain state, made in the same way each time.

use super::stop::{Act, Filter};
use guira::{CuckooFilter, Stats, model::Step};
use std::sync::Arc;

/// A filter with the items from 0 to `items` - 1, inserted one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) grows: bool,
    pub(crate) items: u64,
}

impl Stage {
    /// The capacity of the filter that does not grow; the other one grows beyond it.
    pub(crate) const FIXED_CAPACITY: usize = 4_500;

    /// By the thread that calls it: which words an insert sweeps depends on it.
    pub(crate) fn build(self) -> Filter {
        let filter = empty(self.grows);
        for item in 0..self.items {
            filter.insert(&item).expect("room");
        }
        filter
    }

    /// The state in which the next insert does what `is_it` looks for: in the filter
    /// before and after it, and in its steps.
    fn verge(grows: bool, is_it: impl Fn(&Stats, &Stats, &[Step]) -> bool) -> Self {
        let filter = empty(grows);
        let mut items = 0;
        loop {
            let before = filter.stats();
            let steps = insert(items).steps(&filter);
            if is_it(&before, &filter.stats(), &steps) {
                return Self { grows, items };
            }
            items += 1;
        }
    }

    /// The next insert moves two residents. A snapshot of it has three chunks.
    pub(crate) fn fixed() -> Self {
        Self::verge(false, |_, _, steps| moves(steps) == 2)
    }

    /// The same in a filter that has doubled.
    pub(crate) fn grown() -> Self {
        Self::verge(true, |_, after, steps| {
            after.doublings > 0 && after.buckets_to_split == 0 && moves(steps) == 2
        })
    }

    /// Between two levels, where the lower one is not the first, and the next insert moves a
    /// resident.
    pub(crate) fn midway() -> Self {
        Self::verge(true, |before, after, steps| {
            let growing = before.buckets_to_split > 0 && after.buckets_to_split > 0;
            before.doublings > 0 && growing && moves(steps) > 0
        })
    }

    /// The next insert begins a level.
    pub(crate) fn begin() -> Self {
        Self::verge(true, |before, after, _| {
            before.buckets_to_split == 0 && after.buckets_to_split > 0
        })
    }

    /// The next insert completes a level.
    pub(crate) fn end() -> Self {
        Self::verge(true, |_, _, steps| steps.contains(&Step::Complete))
    }
}

fn empty(grows: bool) -> Filter {
    let builder = match grows {
        false => CuckooFilter::builder()
            .capacity(Stage::FIXED_CAPACITY)
            .fingerprint_bits(15),
        true => CuckooFilter::builder()
            .capacity(300)
            .max_capacity(20_000)
            .false_positive_rate(0.02)
            .fingerprint_bits(17),
    };
    Arc::new(builder.seed(7).build().expect("a small filter"))
}

pub(crate) fn insert(item: u64) -> Act {
    Act::new(move |filter| filter.insert(&item).expect("room"))
}

pub(crate) fn insert_unique(item: u64) -> Act {
    Act::new(move |filter| {
        filter.insert_unique(&item).expect("room");
    })
}

pub(crate) fn remove(item: u64) -> Act {
    Act::new(move |filter| assert!(filter.remove(&item)))
}

fn moves(steps: &[Step]) -> usize {
    let moves = steps.iter().filter(|&&step| step == Step::Deliver);
    moves.count()
}
