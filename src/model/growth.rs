//! Growth for the models: single splits.

use super::{Filter, Item, Model, Small, item};
use crate::{
    raw::{crew::Alone, moves::Fill},
    table::{
        class::Class,
        entry::{Fingerprint, low_bits},
        layout::Layout,
        word::{Bucket, Phases},
    },
};

/// The highest level of a word in a model. Some bits of each fingerprint are still stored there.
const MAX_LEVEL: u32 = Small::<2, PHASE_BITS>::MAX_LEVEL;

/// Bits of the phase in a model that can grow: as many as a layout has.
pub(super) const PHASE_BITS: u32 = 6;

/// A filter of a few buckets that can grow.
pub type Growing<const SLOTS: usize> = Model<SLOTS, PHASE_BITS>;

impl<L: Layout> Filter<L> {
    /// The number of complete levels.
    pub fn level(&self) -> u32 {
        self.0.table.level()
    }

    /// True if the level after `level` has begun, and is not complete.
    pub fn is_growing(&self, level: u32) -> bool {
        self.0.table.is_growing(level)
    }

    /// Splits the word of `item` in `bucket` from `level` to the next one.
    pub fn split(&self, item: Item, bucket: usize, level: u32) {
        self.begin_level(level);
        let plane = item.0.fingerprint.low_bits(level);
        self.0.table.split(plane, bucket, level);
    }

    /// Begins the level after `level`, unless it has begun.
    pub fn begin_level(&self, level: u32) {
        self.0.table.begin_level(level).expect("a few bytes");
    }

    /// Splits a word of `level` in the part where the thread with this number works, and advances the
    /// split pointer.
    pub fn split_run(&self, level: u32, thread: usize) {
        self.0.table.split_run(level, thread);
    }

    /// `CuckooFilter::finish_growth`.
    pub fn finish_growth(&self) {
        self.0.table.finish_level();
    }

    /// The number of splits of the word of `item` in `bucket`.
    pub fn level_of(&self, item: Item, bucket: usize) -> u32 {
        let word = self.0.table.load_for_update(item.0.fingerprint, bucket);
        word.word().level()
    }
}

impl<const SLOTS: usize> Growing<SLOTS> {
    /// A filter with these items in its buckets that can double `levels` times.
    pub fn growing(residents: &[&[Item]], levels: u32) -> Self {
        let filter = Self::empty(residents.len(), levels);
        filter.fill(residents, |item| (*item, item.entry()), Bucket::plus);
        filter
    }

    /// The `nth` item of the pair `a` and `b`, of `buckets`, whose fingerprint ends in the `count`
    /// bits `low`.
    pub fn item_ending(
        buckets: usize,
        (a, b): (usize, usize),
        low: u64,
        count: u32,
        nth: usize,
    ) -> Item {
        item(buckets, a, b, nth, |fingerprint| {
            low_bits(fingerprint, count) == low && fingerprint >> MAX_LEVEL != 0
        })
    }

    /// The item that a reader would see in slot 0 if it read a word of level 1 as one of level 0.
    /// The word contains only `item`.
    pub fn mistaken_for(item: Item) -> Item {
        let fingerprint = Fingerprint::new(item.fingerprint() >> 1);
        Item(Class {
            fingerprint,
            ..item.0
        })
    }

    /// Relocates each item out of the bucket given with it, in this order. Every item except the
    /// first moves into the slot that the one before has left, and `new` into the slot of the last.
    pub fn relocate_path(&self, path: &[(Item, usize)], new: Item) -> bool {
        let hops = path
            .iter()
            .map(|&(item, from)| item.hop(item.entry(), from))
            .collect::<Vec<_>>();
        let moved = self
            .0
            .relocate(Alone, hops.into_iter(), Fill::Item(new.entry()));
        if moved {
            self.0.len.add(1);
        }
        moved
    }
}
