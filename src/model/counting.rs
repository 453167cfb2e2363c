//! A filter with counters in the hands of the models.

use super::{Item, hop, snapshot};
use crate::{
    error::InsertError,
    raw::{
        RawFilter,
        frontier::Frontiers,
        moves::{Fill, Hop},
    },
    step::Step,
    table::{
        Levels,
        entry::Entry,
        layout::{Lanes, Layout, PackedLayout, Word, series},
        time::Timeless,
        word::{Bucket, Mark, Phases},
    },
};

/// Fingerprints of 8 bits and counters of 2 bits in `SLOTS` slots; with a phase one more at the next
/// level.
#[derive(Clone, Copy, Debug)]
struct WithCounter<const SLOTS: usize, const PHASE_BITS: u32>;

impl<const SLOTS: usize, const PHASE_BITS: u32> PackedLayout for WithCounter<SLOTS, PHASE_BITS> {
    const LEVELS: &'static [Lanes] = match PHASE_BITS {
        0 => &[Lanes::new(10, SLOTS, 10)],
        // One slot more from level 1 on.
        _ => &series(10, 5, 9 * (SLOTS as u32 + 1)),
    };
    const PHASE_BITS: u32 = PHASE_BITS;
    const COUNTER_BITS: u32 = 2;
    type Time = Timeless;
    type Counted = crate::table::counted::SlotOrRepeat;
    type Kind = crate::memory::CanGrow;
}

/// A filter of a few buckets with `SLOTS` slots each, whose counters count to four; one with a phase
/// can grow.
pub struct Counting<const SLOTS: usize, const PHASE_BITS: u32 = 0>(
    RawFilter<WithCounter<SLOTS, PHASE_BITS>>,
);

impl<const SLOTS: usize, const PHASE_BITS: u32> std::fmt::Debug for Counting<SLOTS, PHASE_BITS> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.0.table.words_made();
        f.debug_list().entries(words).finish()
    }
}

impl<const SLOTS: usize, const PHASE_BITS: u32> Counting<SLOTS, PHASE_BITS> {
    /// A filter in which each bucket holds the given items, each with a number of copies in one slot.
    /// With a phase it can double twice.
    pub fn new(residents: &[&[(Item, usize)]]) -> Self {
        let more = if PHASE_BITS == 0 { 0 } else { 2 };
        let levels = Levels { first: 0, more };
        #[cfg_attr(not(guira_loom), expect(unused_mut))]
        let mut raw = RawFilter::<WithCounter<SLOTS, PHASE_BITS>>::new(residents.len(), levels)
            .expect("a few bytes");
        #[cfg(guira_loom)]
        {
            raw.frontiers.unused = true;
        }
        let filter = Self(raw);
        for (bucket, items) in residents.iter().enumerate() {
            for &(item, copies) in *items {
                filter.put(item, copies, bucket);
            }
        }
        filter
    }

    /// The same filter, whose snapshots scan a bucket at a time.
    #[must_use]
    pub fn scanned(mut self) -> Self {
        self.0.frontiers = Frontiers::new(1);
        self
    }

    fn entry(item: Item, copies: usize) -> Entry {
        Word::<WithCounter<SLOTS, PHASE_BITS>>::entry_of(item.entry(), copies)
    }

    /// Puts copies of an item into a slot of their own.
    fn put(&self, item: Item, copies: usize, bucket: usize) {
        assert!(item.buckets().contains(&bucket), "{item:?} in {bucket}");
        let claim = |word: Word<WithCounter<SLOTS, PHASE_BITS>>| {
            word.has_vacancy()
                .then(|| word.plus(Self::entry(item, copies)))
        };
        let put = self
            .0
            .table
            .update(Step::Claim, item.0.fingerprint, bucket, claim);
        assert!(put, "bucket {bucket} is full");
        self.0.len.add(1);
        self.0.len.add_repeats(copies as u64 - 1);
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

    /// `CuckooFilter::insert`.
    ///
    /// # Errors
    ///
    /// As `CuckooFilter::insert`.
    pub fn try_insert(&self, item: Item) -> Result<(), InsertError> {
        self.0.insert(item.0)
    }

    /// True if the first level after the smallest one has begun.
    pub fn has_grown(&self) -> bool {
        self.0.table.level() > 0 || self.0.table.is_growing(0)
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

    /// Relocates a slot of `item` that has `copies` copies. False if the move was given up.
    pub fn relocate(&self, item: Item, copies: usize, from: usize) -> bool {
        let hop = Hop {
            entry: Self::entry(item, copies),
            ..hop(item, from)
        };
        self.0.move_resident(hop, false, Fill::Hole).is_some()
    }

    /// Decides a move of a slot of `item` that has `copies` copies: S in the destination, T in the source.
    #[must_use]
    pub fn decided(self, item: Item, copies: usize, from: usize) -> Self {
        let (fingerprint, hop) = (item.0.fingerprint, hop(item, from));
        let (entry, table) = (Self::entry(item, copies), &self.0.table);
        let shadowed = table.update(Step::Shadow, fingerprint, hop.to, |word| {
            word.plus_marked(entry, Mark::Shadow)
        });
        let held = self.0.versions.of(item.0).advance();
        let decided = table.update(Step::Decide, fingerprint, from, |word| {
            word.with_mark(entry, Mark::Trailing)
        });
        assert!(shadowed && !held && decided, "no other thread runs");
        self
    }

    /// Completes that move in few exchanges, as `Model::take_and_replace` does: removes take all copies
    /// that are left, and `copies` copies are put into the slot of T. Returns the number of copies that
    /// were taken.
    pub fn take_and_replace(&self, item: Item, copies: usize, from: usize) -> usize {
        let (fingerprint, hop) = (item.0.fingerprint, hop(item, from));
        let (entry, table) = (Self::entry(item, copies), &self.0.table);
        let mut taken = 0;
        table.update(Step::Kill, fingerprint, hop.to, |word| {
            let is_left = word.is_marked(Mark::Shadow, entry);
            let left = word.marked_entry(item.0.fingerprint);
            taken = match is_left {
                true => Word::<WithCounter<SLOTS, PHASE_BITS>>::copies_of(left),
                false => 0,
            };
            let one = Self::entry(item, 1);
            is_left.then(|| word.marked_instead(one, Mark::Killed))
        });
        table.update(Step::Erase, fingerprint, from, |word| {
            assert!(word.is_marked(Mark::Trailing, entry), "the own T");
            Some(word.unmarked())
        });
        table.update(Step::Settle, fingerprint, hop.to, |word| {
            assert!(word.is_marked(Mark::Killed, entry), "the own K");
            Some(word.without_marked())
        });
        self.0.len.add(1);
        self.0.len.subtract(u64::from(taken > 0));
        self.0.len.add_repeats(copies as u64 - 1);
        self.0.len.subtract_repeats(taken.saturating_sub(1) as u64);
        taken
    }

    /// Splits the word of `item` in `bucket` from `level` to the next one.
    pub fn split(&self, item: Item, bucket: usize, level: u32) {
        let table = &self.0.table;
        table.begin_level(level).expect("a few bytes");
        table.split(item.0.fingerprint.low_bits(level), bucket, level);
    }

    /// As `CuckooFilter::union_with`. True if there was room.
    pub fn union_with(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned");
        let mut added = 0;
        let of_other = |class, age| other.0.present_for_union(class, age);
        let raise = &mut |copies: &[_]| {
            let singles = other.0.find_singles(copies);
            self.0.raise_copies(&of_other, singles, copies, &mut added)
        };
        other.0.scan_copies(&|_| (), raise).is_ok()
    }

    /// What an intersection does for one item, if the other filter has `there` copies.
    pub fn lower(&self, item: Item, there: usize) {
        snapshot::lower(&self.0, item, there);
    }

    /// As `CuckooFilter::write_to`. Returns the number of copies of the item in the snapshot.
    pub fn scan(&self, item: Item) -> usize {
        #[cfg(guira_loom)]
        assert!(!self.0.frontiers.unused, "say scanned");
        let image = self.0.image();
        let (buckets, size) = (self.0.table.buckets(), self.0.frontiers.chunk_buckets());
        let planes = image.len() / buckets;
        let mut copies = 0;
        for (chunk, words) in image.chunks(size * planes).enumerate() {
            let of_chunk = chunk * size..chunk * size + words.len() / planes;
            let of_item = self.0.table.copies_in(of_chunk, words);
            copies += of_item
                .filter(|(class, _)| *class == item.0)
                .map(|(_, entry)| Word::<WithCounter<SLOTS, PHASE_BITS>>::copies_of(entry))
                .sum::<usize>();
        }
        copies
    }

    /// The copies in each slot of the item at rest. Panics if a mark, a reservation, a frozen word or
    /// a wrong count is left.
    pub fn slots_at_rest(&self, item: Item) -> Vec<usize> {
        let table = &self.0.table;
        let (mut all, mut slots, mut of_item) = (0, 0, Vec::new());
        for (plane, bucket, word) in table.words_made() {
            let place = format!("bucket {bucket} of plane {plane}: {word:?}");
            assert!(!word.is_frozen(), "a frozen word is left in {place}");
            assert!(word.is_unmarked(), "a mark is left in {place}");
            assert!(!word.is_reserved(), "a reservation is left in {place}");
            for entry in word.residents(table.one_of_plane(plane)) {
                let copies = Word::<WithCounter<SLOTS, PHASE_BITS>>::copies_of(entry);
                let fingerprint = WithCounter::<SLOTS, PHASE_BITS>::fingerprint(entry);
                let routed = table.load(Step::ReadP, fingerprint, bucket);
                assert!(routed == word, "lookups do not read {place}");
                all += copies;
                slots += 1;
                if fingerprint == item.0.fingerprint && item.buckets().contains(&bucket) {
                    of_item.push(copies);
                }
            }
        }
        assert_eq!(self.0.len.copies(), all, "len and the words disagree");
        assert_eq!(
            self.0.len.slots(),
            slots,
            "the slots in use and the words disagree"
        );
        of_item
    }

    /// The copies of the item at rest.
    pub fn copies_at_rest(&self, item: Item) -> usize {
        self.slots_at_rest(item).iter().sum()
    }
}
