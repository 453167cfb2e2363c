//! Growth for the models: single splits.

use super::{Item, Model, Small, hop, item};
use crate::{
    raw::{
        crew::Alone,
        moves::{Fill, Hop},
    },
    step::Step,
    table::class::Class,
    table::entry::{Fingerprint, low_bits},
    table::layout::Layout,
    table::word::{Bucket, Phases},
};

/// The highest level of a word in a model. Some bits of each fingerprint are still stored there.
const MAX_LEVEL: u32 = Small::<2, PHASE_BITS>::MAX_LEVEL;

/// Bits of the phase in a model that can grow: as many as a layout has.
pub(super) const PHASE_BITS: u32 = 6;

/// A filter of a few buckets that can grow.
pub type Growing<const SLOTS: usize> = Model<SLOTS, PHASE_BITS>;

impl<const SLOTS: usize> Growing<SLOTS> {
    /// A filter with these items in its buckets that can double `levels` times.
    pub fn growing(residents: &[&[Item]], levels: u32) -> Self {
        Self::with_levels(residents, levels)
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
        let Class { fingerprint, p, q } = item.0;
        Item(Class::of_pair(
            Fingerprint::new(fingerprint.bits() >> 1),
            p,
            q,
        ))
    }

    /// The number of complete levels.
    pub fn level(&self) -> u32 {
        self.0.table.level()
    }

    /// Splits the word of `item` in `bucket` from `level` to the next one.
    pub fn split(&self, item: Item, bucket: usize, level: u32) {
        let table = &self.0.table;
        table.begin_level(level).expect("a few bytes");
        table.split(item.0.fingerprint.low_bits(level), bucket, level);
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

    /// Relocates each item out of the bucket given with it, in this order. Every item except the
    /// first moves into the slot that the one before has left, and `new` into the slot of the last.
    pub fn relocate_path(&self, path: &[(Item, usize)], new: Item) -> bool {
        let hops: Vec<Hop> = path.iter().map(|&(item, from)| hop(item, from)).collect();
        let moved = self
            .0
            .relocate(Alone, hops.into_iter(), Fill::Item(new.entry()));
        if moved {
            self.0.len.add(1);
        }
        moved
    }

    /// The bucket and fingerprint of each item at rest. Panics if lookups would not find a
    /// fingerprint, if a word is frozen, marked or reserved, or if the hint or `len` is wrong.
    pub fn grown_at_rest(&self) -> Vec<(usize, u64)> {
        let table = &self.0.table;
        let (level, max) = (table.level(), table.levels().last());
        let mut found = Vec::new();
        for (plane, bucket, word) in table.words_made() {
            let place = format!("bucket {bucket} of plane {plane}: {word:?}");
            assert!(!word.is_frozen(), "a frozen word is left in {place}");
            assert!(word.is_unmarked(), "a mark is left in {place}");
            assert!(!word.is_reserved(), "a reservation is left in {place}");
            assert!(word.level() >= level, "the hint is {level}, but in {place}");
            assert!(word.level() <= max, "a level beyond the last in {place}");
            for entry in word.residents(table.one_of_plane(plane)) {
                let fingerprint = Small::<SLOTS, PHASE_BITS>::fingerprint(entry);
                let routed = table.load(Step::ReadP, fingerprint, bucket);
                assert!(
                    routed == word,
                    "{fingerprint:?} is looked for elsewhere than in {place}"
                );
                found.push((bucket, fingerprint.bits()));
            }
        }
        assert_eq!(
            self.0.len.copies(),
            found.len(),
            "len and the words disagree: {found:?}"
        );
        found
    }

    /// The copies of `item` at rest.
    pub fn copies_when_grown(&self, item: Item) -> usize {
        let of_item = |&(bucket, fingerprint): &(usize, u64)| {
            fingerprint == item.fingerprint() && (bucket == item.0.p || bucket == item.0.q)
        };
        self.grown_at_rest()
            .iter()
            .filter(|&resident| of_item(resident))
            .count()
    }

    /// The number of splits of the word of `item` in `bucket`.
    pub fn level_of(&self, item: Item, bucket: usize) -> u32 {
        self.0
            .table
            .load_for_update(item.0.fingerprint, bucket)
            .word()
            .level()
    }
}
