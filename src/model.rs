//! The protocol for the models: the library's own code on tables of a few buckets, with access to
//! every step. Exists only under `cfg(guira_loom)`, `cfg(guira_shuttle)` and `cfg(guira_faults)`.
#![expect(private_bounds, reason = "the layouts of the models are their own")]

use crate::{
    error::InsertError,
    raw::{
        RawFilter,
        moves::{Fill, Hop},
    },
    stats::Stats,
    table::{
        Levels,
        class::{Class, alternate},
        entry::{Entry, Fingerprint},
        layout::{Lanes, Layout, PackedLayout, Word, semi_sorted, series},
        time::{Moment, Timeless},
        word::{Bucket, Phases},
    },
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
pub struct Small<const SLOTS: usize, const PHASE_BITS: u32, const SEMI_SORTED: bool = false>;

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

/// A filter of a few buckets with `SLOTS` slots each. With a phase, it can grow.
pub type Model<const SLOTS: usize, const PHASE_BITS: u32 = 0, const SEMI_SORTED: bool = false> =
    Filter<Small<SLOTS, PHASE_BITS, SEMI_SORTED>>;

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

    /// The move of a copy with this entry out of the bucket `from`.
    fn hop(self, entry: Entry, from: usize) -> Hop {
        let Class { p, q, .. } = self.0;
        let to = if from == p { q } else { p };
        Hop { entry, from, to }
    }
}

/// A filter of a few buckets, in a layout of the models.
pub struct Filter<L: Layout>(RawFilter<L>);

impl<L: Layout> std::fmt::Debug for Filter<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.0.table.words_made();
        f.debug_list().entries(words).finish()
    }
}

impl<L: Layout> Filter<L> {
    /// An empty filter that can double `more` times, and in which nothing is scanned.
    fn empty(buckets: usize, more: u32) -> Self {
        let levels = Levels { first: 0, more };
        Self::unscanned(RawFilter::new(buckets, levels).expect("a few bytes"))
    }

    /// The filter, whose moves do not look for scans: that would only multiply the interleavings.
    #[cfg_attr(not(guira_loom), expect(unused_mut))]
    fn unscanned(mut raw: RawFilter<L>) -> Self {
        #[cfg(guira_loom)]
        {
            raw.frontiers.unused = true;
        }
        Self(raw)
    }

    /// Adds these residents of each bucket, as `plus` adds their entries to a word.
    fn fill<T>(
        &self,
        residents: &[&[T]],
        of: impl Fn(&T) -> (Item, Entry),
        plus: impl Fn(Word<L>, Entry) -> Word<L>,
    ) {
        for (bucket, items) in residents.iter().enumerate() {
            for (item, entry) in items.iter().map(&of) {
                let put = self.put(item, bucket, |word| plus(word, entry));
                assert!(put, "bucket {bucket} is full");
            }
        }
    }

    /// Inserts copies of an item into one of its buckets. False if that is full.
    fn put(&self, item: Item, bucket: usize, plus: impl Fn(Word<L>) -> Word<L>) -> bool {
        assert!(item.buckets().contains(&bucket), "{item:?} in {bucket}");
        let (table, mut more) = (&self.0.table, (0, 0));
        let put = table.update(Step::Claim, item.0.fingerprint, bucket, |word| {
            let new = word.has_vacancy().then(|| plus(word))?;
            let slots = new.occupied() - word.occupied();
            more = (slots.into(), new.repeats() - word.repeats());
            Some(new)
        });
        if put {
            self.0.len.add(more.0);
            self.0.len.add_repeats(more.1);
        }
        put
    }

    /// `CuckooFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item.0)
    }

    /// `CuckooFilter::count`.
    pub fn count(&self, item: Item) -> usize {
        self.0.count(item.0)
    }

    /// `CuckooFilter::insert`. True if there was room.
    pub fn insert(&self, item: Item) -> bool {
        self.try_insert(item).is_ok()
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
        let put = self.put(item, bucket, |word| word.plus(item.entry()));
        assert!(put, "bucket {bucket} is full");
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

    /// `CuckooFilter::stats`: relocations and lookups.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Makes one move. False if it was given up.
    fn relocate_entry(&self, hop: Hop) -> bool {
        #[cfg(all(guira_loom, feature = "shared"))]
        if let Some(crew) = self.0.crew() {
            let line = crew.take_line().expect("a line");
            let (line, first) = (line.for_moves(), crate::raw::crew::Hand::First);
            return self
                .0
                .move_by(&line, first, hop, false, Fill::Hole)
                .is_some();
        }
        self.0.move_resident(hop, false, Fill::Hole).is_some()
    }

    /// The items at rest, once for each copy: bucket, fingerprint, and age in a filter with time. Panics
    /// if lookups would not find a copy, if a word is frozen, marked or reserved, or if the hint or a
    /// count is wrong.
    pub fn at_rest(&self) -> Vec<(usize, u64, u64)> {
        let copies = self.slots_at_rest().into_iter();
        let each = |(bucket, fingerprint, age, copies)| {
            std::iter::repeat_n((bucket, fingerprint, age), copies)
        };
        copies.flat_map(each).collect()
    }

    /// The slots at rest: bucket, fingerprint, age and copies.
    fn slots_at_rest(&self) -> Vec<(usize, u64, u64, usize)> {
        let (now, table) = (self.0.moment(), &self.0.table);
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
                let fingerprint = L::fingerprint(entry);
                let routed = table.load(Step::ReadP, fingerprint, bucket);
                assert!(
                    routed == word,
                    "{fingerprint:?} is looked for elsewhere than in {place}"
                );
                let (age, copies) = (now.age(entry), Word::<L>::copies_of(entry));
                found.push((bucket, fingerprint.bits(), age, copies));
            }
        }
        let copies = found.iter().map(|slot| slot.3).sum::<usize>();
        assert_eq!(
            self.0.len.copies(),
            copies,
            "len and the words disagree: {found:?}"
        );
        assert_eq!(
            self.0.len.slots(),
            found.len(),
            "the slots in use and the words disagree: {found:?}"
        );
        found
    }

    /// The ages of the copies of `item` at rest, the youngest one first.
    pub fn ages_at_rest(&self, item: Item) -> Vec<u64> {
        let is_of_item = |&(bucket, fingerprint, _): &(usize, u64, u64)| {
            fingerprint == item.fingerprint() && item.buckets().contains(&bucket)
        };
        let copies = self.at_rest().into_iter().filter(is_of_item);
        let mut ages: Vec<u64> = copies.map(|(.., age)| age).collect();
        ages.sort_unstable();
        ages
    }

    /// The copies of `item` at rest.
    pub fn copies_at_rest(&self, item: Item) -> usize {
        self.ages_at_rest(item).len()
    }
}

impl<const SLOTS: usize, const SEMI_SORTED: bool> Model<SLOTS, 0, SEMI_SORTED>
where
    Small<SLOTS, 0, SEMI_SORTED>: Layout,
{
    /// A filter in which each bucket holds the given items.
    pub fn new(residents: &[&[Item]]) -> Self {
        let filter = Self::empty(residents.len(), 0);
        filter.fill(residents, |item| (*item, item.entry()), Bucket::plus);
        filter
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
    /// Relocates a copy of `item`. False if the move was given up.
    pub fn relocate(&self, item: Item, from: usize) -> bool {
        self.relocate_entry(item.hop(item.entry(), from))
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
        let (raw, outline) = (&self.0, Fill::Outline(first.entry()));
        let [last, first] =
            [(last, middle), (first, from)].map(|(item, from)| item.hop(item.entry(), from));
        let moved = raw.move_resident(last, false, outline).is_some()
            && raw
                .move_resident(first, true, Fill::Item(new.entry()))
                .is_some();
        if moved {
            raw.len.add(1);
        }
        moved
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
