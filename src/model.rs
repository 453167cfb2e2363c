//! The protocol for the models: the library's own code on tables of a few buckets, with access to
//! every step. Exists only under `cfg(guira_loom)`, `cfg(guira_shuttle)` and `cfg(guira_faults)`.
#![expect(private_bounds, reason = "the layouts of the models are their own")]

use crate::{
    error::InsertError,
    raw::RawFilter,
    raw::moves::Fill,
    raw::moves::Hop,
    stats::Stats,
    table::Levels,
    table::class::{Class, alternate},
    table::entry::{Entry, Fingerprint},
    table::layout::{Lanes, Layout, PackedLayout, Word, semi_sorted, series},
    table::time::Timeless,
    table::word::Bucket,
};

mod counting;
mod expiring;
mod growth;
mod midway;
#[cfg(all(guira_loom, feature = "shared"))]
mod processes;
mod snapshot;
#[cfg(not(any(guira_loom, guira_shuttle)))]
mod watched;

pub use crate::fault::{Fault, limit_attempts, refuse_memory, weaken};
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub use crate::fault::{unwatch, watch};
pub use crate::step::Step;
#[cfg(guira_loom)]
pub use crate::trace::{Access, end_trace, start_trace};
pub use counting::Counting;
pub use expiring::{Expiring, ExpiringCounting, GrowingExpiring};
pub use growth::Growing;
#[cfg(all(guira_loom, feature = "shared"))]
pub use processes::{
    ExpiringProcess, ExpiringProcesses, GrowingProcess, GrowingProcesses, Process, Processes,
    STEPS, STEPS_OF_PATH, STEPS_OF_WITHHOLD, Withholds,
};
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub use watched::{Memory, Watched, WordShown};

/// Fingerprints of 8 bits in `SLOTS` slots. With a phase, words have one more slot from level 1 on.
/// The words are packed or semi-sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Small<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool = false>;

impl<const SLOTS: usize, const PHASE_BITS: u32> PackedLayout for Small<SLOTS, PHASE_BITS> {
    const LEVELS: &'static [Lanes] = match PHASE_BITS {
        0 => &[Lanes::new(8, SLOTS, 8)],
        // One more slot from level 1 on.
        _ => &series(8, 3, 7 * (SLOTS as u32 + 1)),
    };
    const PHASE_BITS: u32 = PHASE_BITS;
    type Time = Timeless;
    type Counted = ();
    type Kind = crate::memory::CanGrow;
}

// The number of fingerprints is that of packed words, so the items are the same.
semi_sorted!(Small<2, 0, true>: 6 raw bits x 2, 4 prefixes, 10 sets);

/// A filter of a few buckets with two slots each, whose words are semi-sorted.
pub type SemiSorted = Model<2, 0, true>;

/// A fingerprint and its pair of buckets.
#[derive(Clone, Copy, Debug)]
pub struct Item(Class);

impl Item {
    /// The fingerprint.
    pub fn fingerprint(self) -> u64 {
        self.0.fingerprint.bits()
    }

    /// The entry of the item in a filter without time.
    fn entry(self) -> Entry {
        self.0.untagged()
    }

    /// The lower bucket of the pair, and the higher one.
    pub fn buckets(self) -> [usize; 2] {
        [self.0.p, self.0.q]
    }
}

/// Inserts an item into one of its buckets.
fn put<L: Layout>(raw: &RawFilter<L>, item: Item, bucket: usize) {
    let claim = |word: Word<L>| word.has_vacancy().then(|| word.plus(item.entry()));
    let inserted = raw
        .table
        .update(Step::Claim, item.0.fingerprint, bucket, claim);
    assert!(inserted, "bucket {bucket} is full");
    raw.len.add(1);
}

/// A filter of a few buckets with `SLOTS` slots each. With a phase, it can grow.
pub struct Model<const SLOTS: usize, const PHASE_BITS: u32 = 0, const SEMI_SORTED: bool = false>(
    RawFilter<Small<SLOTS, PHASE_BITS, SEMI_SORTED>>,
)
where
    Small<SLOTS, PHASE_BITS, SEMI_SORTED>: Layout;

impl<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool> std::fmt::Debug
    for Model<SLOTS, PHASE_BITS, SEMI_SORTED>
where
    Small<SLOTS, PHASE_BITS, SEMI_SORTED>: Layout,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.0.table.words_made();
        f.debug_list().entries(words).finish()
    }
}

impl<const SLOTS: usize, const SEMI_SORTED: bool> Model<SLOTS, 0, SEMI_SORTED>
where
    Small<SLOTS, 0, SEMI_SORTED>: Layout,
{
    /// A filter in which each bucket holds the given items.
    pub fn new(residents: &[&[Item]]) -> Self {
        Self::with_levels(residents, 0)
    }
}

impl<const SLOTS: usize> Model<SLOTS> {
    /// The `nth` item whose pair is the buckets `a` and `b`, of `buckets`.
    pub fn item(buckets: usize, a: usize, b: usize, nth: usize) -> Item {
        item(buckets, a, b, nth, |_| true)
    }
}

impl<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool>
    Model<SLOTS, PHASE_BITS, SEMI_SORTED>
where
    Small<SLOTS, PHASE_BITS, SEMI_SORTED>: Layout,
{
    fn with_levels(residents: &[&[Item]], levels: u32) -> Self {
        #[cfg_attr(not(guira_loom), expect(unused_mut))]
        let mut raw = RawFilter::<Small<SLOTS, PHASE_BITS, SEMI_SORTED>>::new(
            residents.len(),
            Levels {
                first: 0,
                more: levels,
            },
        )
        .expect("a few bytes");
        #[cfg(guira_loom)]
        {
            raw.frontiers.unused = true;
        }
        for (bucket, items) in residents.iter().enumerate() {
            for item in *items {
                assert!(
                    item.0.p == bucket || item.0.q == bucket,
                    "{item:?} in bucket {bucket}"
                );
                put(&raw, *item, bucket);
            }
        }
        Self(raw)
    }

    /// `CuckooFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item.0)
    }

    /// The number of lookups that returned true without proof.
    pub fn conservative_lookups(&self) -> u64 {
        self.0.stats().conservative_lookups
    }

    /// `CuckooFilter::stats`: relocations and lookups.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// `CuckooFilter::count`.
    pub fn count(&self, item: Item) -> usize {
        self.0.count(item.0)
    }

    /// `CuckooFilter::insert`.
    pub fn insert(&self, item: Item) -> bool {
        self.0.insert(item.0).is_ok()
    }

    /// `CuckooFilter::insert`, with its error.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert`.
    pub fn try_insert(&self, item: Item) -> Result<(), InsertError> {
        self.0.insert(item.0)
    }

    /// As `CuckooFilter::insert`, if `bucket` is the emptier one.
    pub fn insert_into(&self, item: Item, bucket: usize) {
        put(&self.0, item, bucket);
    }

    /// `CuckooFilter::insert_unique`.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert_unique`.
    pub fn insert_unique(&self, item: Item) -> Result<bool, InsertError> {
        self.0.insert_unique(item.0)
    }

    /// `CuckooFilter::remove`.
    pub fn remove(&self, item: Item) -> bool {
        self.0.remove(item.0)
    }

    /// Relocates a copy of `item`. False if the move was given up.
    pub fn relocate(&self, item: Item, from: usize) -> bool {
        self.0
            .move_resident(hop(item, from), false, Fill::Hole)
            .is_some()
    }

    /// Two relocations: first `last` moves out of `middle`, then `first` into the slot that it
    /// left, and `new` into the slot of `first`.
    pub fn relocate_chain(
        &self,
        first: Item,
        from: usize,
        last: Item,
        middle: usize,
        new: Item,
    ) -> bool {
        let shadow = Fill::Outline(first.entry());
        let moved = self
            .0
            .move_resident(hop(last, middle), false, shadow)
            .is_some()
            && self
                .0
                .move_resident(hop(first, from), true, Fill::Item(new.entry()))
                .is_some();
        if moved {
            self.0.len.add(1);
        }
        moved
    }
}

impl<const SLOTS: usize, const SEMI_SORTED: bool> Model<SLOTS, 0, SEMI_SORTED>
where
    Small<SLOTS, 0, SEMI_SORTED>: Layout,
{
    /// The items at rest. Panics if a mark, a reservation or a wrong `len` is left.
    pub fn at_rest(&self) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        for bucket in 0..self.0.table.buckets() {
            let word = self.0.table.load(Step::ReadP, Fingerprint::NONE, bucket);
            assert!(
                word.is_unmarked(),
                "a mark is left in bucket {bucket}: {word:?}"
            );
            assert!(
                !word.is_reserved(),
                "a reservation is left in bucket {bucket}: {word:?}"
            );
            let residents = word.residents(Fingerprint::NONE);
            found.extend(residents.map(|entry| (bucket, entry.bits())));
        }
        assert_eq!(
            self.0.len.copies(),
            found.len(),
            "len and the words disagree"
        );
        found
    }

    /// The copies of `item` at rest.
    pub fn copies_at_rest(&self, item: Item) -> usize {
        let of_item = |&(bucket, fingerprint): &(usize, u64)| {
            fingerprint == item.fingerprint() && (bucket == item.0.p || bucket == item.0.q)
        };
        self.at_rest()
            .iter()
            .filter(|&resident| of_item(resident))
            .count()
    }
}

fn hop(item: Item, from: usize) -> Hop {
    let to = if from == item.0.p { item.0.q } else { item.0.p };
    Hop {
        entry: item.entry(),
        from,
        to,
    }
}

/// The `nth` item of a pair whose fingerprint satisfies `wanted`.
fn item(buckets: usize, a: usize, b: usize, nth: usize, wanted: impl Fn(u64) -> bool) -> Item {
    let fingerprint = (1..=255)
        .filter(|&fingerprint| wanted(fingerprint))
        .map(Fingerprint::new)
        .filter(|&fingerprint| alternate(fingerprint, a, buckets) == b)
        .nth(nth)
        .expect("a fingerprint with this pair");
    Item(Class::of_resident(fingerprint, a, buckets))
}
