//! An expiring filter in the hands of the models.

mod growing;

use super::{Item, hop, snapshot};
use crate::{
    error::InsertError,
    raw::{RawFilter, frontier::Frontiers, lower::DIFFERENCE, moves::Fill},
    step::Step,
    table::{
        Levels,
        entry::Entry,
        layout::{Lanes, Layout, PackedLayout, Word, series},
        time::{Epochs, Moment, Now, beginning::Reading},
        word::{Bucket, Mark, Phases},
    },
};
pub use growing::GrowingExpiring;
use std::time::Duration;

/// 8-bit fingerprints, tags of 2 bits and counters of `COUNTER` bits in `SLOTS` slots; with a phase one more
/// at the next level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tagged<const SLOTS: usize, const PHASE_BITS: u32, const COUNTER: u32 = 0>;

impl<const SLOTS: usize, const PHASE_BITS: u32, const COUNTER: u32> PackedLayout
    for Tagged<SLOTS, PHASE_BITS, COUNTER>
{
    const LEVELS: &'static [Lanes] = match PHASE_BITS {
        0 => &[Lanes::new(10 + COUNTER, SLOTS, 10 + COUNTER)],
        // One slot more from level 1 on.
        _ => &series(
            10 + COUNTER,
            5 + COUNTER,
            (9 + COUNTER) * (SLOTS as u32 + 1),
        ),
    };
    const PHASE_BITS: u32 = PHASE_BITS;
    const TAG_BITS: u32 = 2;
    const COUNTER_BITS: u32 = COUNTER;
    type Time = Epochs;
    // Without counters each copy is a slot.
    type Counted = crate::table::counted::SlotOrRepeat;
    type Kind = crate::memory::CanGrow;
}

/// An expiring filter of a few buckets with `SLOTS` slots each; one with a phase can grow. A copy is
/// live in the epoch in which it was last seen and in the next `E` ones, and dead in the epochs after
/// them; then its tag repeats.
pub struct Expiring<
    const SLOTS: usize,
    const E: u64 = 1,
    const PHASE_BITS: u32 = 0,
    const COUNTER: u32 = 0,
>(RawFilter<Tagged<SLOTS, PHASE_BITS, COUNTER>>);

/// The same with counters that count to four: copies of an item that were seen in one epoch share a slot of
/// their bucket.
pub type ExpiringCounting<const SLOTS: usize, const E: u64 = 1, const PHASE_BITS: u32 = 0> =
    Expiring<SLOTS, E, PHASE_BITS, 2>;

impl<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32> std::fmt::Debug
    for Expiring<SLOTS, E, PHASE_BITS, COUNTER>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.0.table.words_made();
        f.debug_list().entries(words).finish()
    }
}

impl<const SLOTS: usize, const E: u64, const COUNTER: u32> Expiring<SLOTS, E, 0, COUNTER> {
    /// A filter in its epoch `epoch`, in which each bucket holds the given items, last seen in the
    /// given epochs.
    pub fn new(epoch: u64, residents: &[&[(Item, u64)]]) -> Self {
        Self::with_levels(epoch, residents, 0)
    }
}

impl<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32>
    Expiring<SLOTS, E, PHASE_BITS, COUNTER>
{
    /// E: the age of the oldest live copies.
    pub const OLDEST: u64 = E;

    fn with_levels(epoch: u64, residents: &[&[(Item, u64)]], more: u32) -> Self {
        let levels = Levels { first: 0, more };
        #[cfg_attr(not(guira_loom), expect(unused_mut))]
        let mut raw = RawFilter::<Tagged<SLOTS, PHASE_BITS, COUNTER>>::new(residents.len(), levels)
            .expect("a few bytes");
        #[cfg(guira_loom)]
        {
            raw.frontiers.unused = true;
        }
        let raw = raw.with_time(Epochs::new(Self::OLDEST).at_epoch(epoch));
        for (bucket, items) in residents.iter().enumerate() {
            for &(item, seen) in *items {
                assert!(item.buckets().contains(&bucket), "{item:?} in {bucket}");
                let entry = Self::entry(item, seen);
                let mut more = 0;
                let put = raw
                    .table
                    .update(Step::Claim, item.0.fingerprint, bucket, |word| {
                        let new = || word.plus(entry).joined(entry);
                        let new = word.has_vacancy().then(new)?;
                        more = new.repeats() - word.repeats();
                        Some(new)
                    });
                assert!(put, "bucket {bucket} is full");
                raw.len.add(1 - more);
                raw.len.add_repeats(more);
            }
        }
        Self(raw)
    }

    /// The same filter, which is merged into others.
    #[must_use]
    pub fn scanned(mut self) -> Self {
        self.0.frontiers = Frontiers::new(self.0.frontiers.chunk_buckets());
        self
    }

    /// `ExpiringFilter::merge`: true if all live copies were.
    pub fn merge(&self, other: &Self) -> bool {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned");
        let mut merged = 0;
        let insert = &mut |copies: &[_]| self.0.insert_copies(copies, &mut merged);
        other.0.scan_copies(&|_| (), insert).is_ok()
    }

    /// `ExpiringFilter::union_with`: how many copies were added or made younger. `None` if there was no
    /// room.
    pub fn union_with(&self, other: &Self) -> Option<usize> {
        #[cfg(guira_loom)]
        assert!(!other.0.frontiers.unused, "say scanned");
        let mut changed = 0;
        let of_other = |class, age| other.0.present_for_union(class, age);
        let raise = &mut |copies: &[_]| {
            let singles = other.0.find_singles(copies);
            self.0
                .raise_copies(&of_other, singles, copies, &mut changed)
        };
        let raised = other.0.scan_copies(&|_| (), raise);
        raised.is_ok().then_some(changed)
    }

    /// `ExpiringFilter::difference_with`.
    pub fn difference_with(&self, other: &Self) {
        snapshot::lower_all(&self.0, &other.0, DIFFERENCE);
    }

    /// What an intersection does for one item, if the other filter has `there` live copies.
    pub fn lower(&self, item: Item, there: usize) {
        snapshot::lower(&self.0, item, there);
    }

    /// `ExpiringFilter::tick_at`, by a clock that is as many nanoseconds as it says.
    pub fn tick(&self, nanos: u64, clock: impl Fn() -> u64) -> bool {
        let length = Duration::from_nanos(nanos);
        let clock = || Reading::of_caller(Duration::from_nanos(clock()));
        self.0.begin_due_epoch(length, clock).is_some()
    }

    /// True if a clone that is made now could still end its epoch: no later one has begun in it.
    pub fn clone_can_tick(&self) -> bool {
        let (end, beginning) = self.0.end_and_beginning();
        beginning.is_of(end.epoch())
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.0.moment().epoch()
    }

    /// `ExpiringFilter::contains`.
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(item.0)
    }

    /// `ExpiringFilter::insert`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert`.
    pub fn insert(&self, item: Item) -> Result<(), InsertError> {
        self.0.insert(item.0)
    }

    /// `ExpiringFilter::insert_and_count`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert`.
    pub fn insert_and_count(&self, item: Item) -> Result<usize, InsertError> {
        self.0.insert_and_count(item.0)
    }

    /// `ExpiringFilter::insert_unique`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert_unique`.
    pub fn insert_unique(&self, item: Item) -> Result<bool, InsertError> {
        self.0.insert_unique(item.0)
    }

    /// `ExpiringFilter::refresh`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::refresh`.
    pub fn refresh(&self, item: Item) -> Result<bool, InsertError> {
        self.0.refresh(item.0)
    }

    /// `ExpiringFilter::insert_or_refresh`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert_or_refresh`.
    pub fn insert_or_refresh(&self, item: Item) -> Result<bool, InsertError> {
        self.0.insert_or_refresh(item.0)
    }

    /// `ExpiringFilter::remove`.
    pub fn remove(&self, item: Item) -> bool {
        self.0.remove(item.0)
    }

    /// `ExpiringFilter::count`.
    pub fn count(&self, item: Item) -> usize {
        self.0.count(item.0)
    }

    /// `ExpiringFilter::advance`.
    pub fn advance(&self) -> bool {
        self.0.advance()
    }

    /// `ExpiringFilter::begin_epoch`.
    pub fn begin_epoch(&self) -> bool {
        self.0.begin_epoch().is_some()
    }

    /// `ExpiringFilter::sweep`.
    pub fn sweep(&self) -> bool {
        self.0.sweep()
    }

    /// A write sweeps a piece: true if that was the last thing to do in this epoch.
    pub fn sweep_piece(&self) -> bool {
        let now = self.0.moment();
        !self.0.is_swept() && self.0.sweep_piece(now)
    }

    /// `ExpiringFilter::is_swept`.
    pub fn is_swept(&self) -> bool {
        self.0.is_swept()
    }

    /// True if a word without a mark holds a dead copy.
    pub fn holds_dead(&self) -> bool {
        let (now, table) = (self.0.moment(), &self.0.table);
        let mut words = table.words_made();
        words.any(|(plane, _, word)| {
            let one = table.one_of_plane(plane);
            Moment::<Word<Tagged<SLOTS, PHASE_BITS, COUNTER>>>::dead_in(now, word, one).is_some()
        })
    }

    /// A thread was stopped while it withheld the copy of `item` that was last seen in the epoch `seen`.
    #[must_use]
    pub fn withheld(self, item: Item, seen: u64, bucket: usize) -> Self {
        let entry = self.whole(item, seen, bucket);
        let withheld = self
            .0
            .table
            .update(Step::Withhold, item.0.fingerprint, bucket, |word| {
                word.with_mark(entry, Mark::Withheld)
            });
        assert!(withheld, "no other thread runs");
        self
    }

    /// A thread was stopped in a move out of `from` of the copy of `item` that was last seen in the epoch
    /// `seen`. The move is decided.
    #[must_use]
    pub fn decided(self, item: Item, seen: u64, from: usize) -> Self {
        let (fingerprint, hop) = (item.0.fingerprint, hop(item, from));
        let (entry, table) = (self.whole(item, seen, from), &self.0.table);
        let shadowed = table.update(Step::Shadow, fingerprint, hop.to, |word| {
            word.plus_marked(entry, Mark::Shadow)
        });
        let decided = table.update(Step::Decide, fingerprint, from, |word| {
            word.with_mark(entry, Mark::Trailing)
        });
        assert!(shadowed && decided, "no other thread runs");
        self
    }

    /// The entry of a copy of `item` that was last seen in the epoch `seen`.
    fn entry(item: Item, seen: u64) -> Entry {
        let then = Now::new(seen, Self::OLDEST);
        Moment::<Word<Tagged<SLOTS, PHASE_BITS, COUNTER>>>::entry(then, item.0.fingerprint)
    }

    /// One relocation of a copy of `item` last seen in the epoch `seen`; false if it was given up.
    pub fn relocate(&self, item: Item, seen: u64, from: usize) -> bool {
        let mut hop = hop(item, from);
        hop.entry = self.whole(item, seen, from);
        self.0.move_resident(hop, false, Fill::Hole).is_some()
    }

    /// The entry of a slot with copies of `item` that were last seen in the epoch `seen`, with its counter.
    fn whole(&self, item: Item, seen: u64, bucket: usize) -> Entry {
        let single = Self::entry(item, seen);
        if COUNTER == 0 {
            return single;
        }
        let word = self.0.table.load(Step::ReadP, item.0.fingerprint, bucket);
        word.without_reservation().like(single).unwrap_or(single)
    }

    /// Bucket, fingerprint and age of all copies at rest, live or dead: panics if a mark, a
    /// reservation or a wrong `len` is left.
    pub fn at_rest(&self) -> Vec<(usize, u64, u64)> {
        let (now, table) = (self.0.moment(), &self.0.table);
        let (mut found, mut slots) = (Vec::new(), 0);
        for (plane, bucket, word) in table.words_made() {
            let place = format!("bucket {bucket} of plane {plane}: {word:?}");
            assert!(!word.is_frozen(), "a frozen word is left in {place}");
            assert!(word.is_unmarked(), "a mark is left in {place}");
            assert!(!word.is_reserved(), "a reservation is left in {place}");
            for entry in word.residents(table.one_of_plane(plane)) {
                let age = Moment::<Word<Tagged<SLOTS, PHASE_BITS, COUNTER>>>::age(now, entry);
                let fingerprint =
                    <Tagged<SLOTS, PHASE_BITS, COUNTER> as Layout>::fingerprint(entry);
                let routed = table.load(Step::ReadP, fingerprint, bucket);
                assert!(
                    routed == word,
                    "{fingerprint:?} is looked for elsewhere than in {place}"
                );
                let copies = Word::<Tagged<SLOTS, PHASE_BITS, COUNTER>>::copies_of(entry);
                slots += 1;
                found.extend(std::iter::repeat_n(
                    (bucket, fingerprint.bits(), age),
                    copies,
                ));
            }
        }
        assert_eq!(
            self.0.len.copies(),
            found.len(),
            "len and the words disagree"
        );
        assert_eq!(
            self.0.len.slots(),
            slots,
            "the slots in use and the words disagree"
        );
        found
    }

    /// The ages of the copies of `item` at rest, the youngest one first.
    pub fn ages_at_rest(&self, item: Item) -> Vec<u64> {
        let of_item = |&(bucket, fingerprint, _): &(usize, u64, u64)| {
            fingerprint == item.fingerprint() && item.buckets().contains(&bucket)
        };
        let mut ages: Vec<u64> = self
            .at_rest()
            .into_iter()
            .filter(of_item)
            .map(|(.., age)| age)
            .collect();
        ages.sort_unstable();
        ages
    }
}
