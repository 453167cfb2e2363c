//! An expiring filter in the hands of the models.

use super::{Filter, Item, growth::PHASE_BITS as GROWS};
use crate::{
    error::InsertError,
    raw::Now,
    step::Step,
    table::{
        entry::Entry,
        layout::{Lanes, Layout, PackedLayout, TimedLayout, series},
        time::{Epochs, Moment, beginning::Reading},
        word::{Bucket, Mark},
    },
};
use std::time::Duration;

/// 8-bit fingerprints, tags of 2 bits and counters of `COUNTER` bits in `SLOTS` slots; with a phase one more
/// at the next level.
#[derive(Clone, Copy, Debug)]
pub struct Tagged<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32>;

impl<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32> PackedLayout
    for Tagged<SLOTS, E, PHASE_BITS, COUNTER>
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
pub type Expiring<
    const SLOTS: usize,
    const E: u64 = 1,
    const PHASE_BITS: u32 = 0,
    const COUNTER: u32 = 0,
> = Filter<Tagged<SLOTS, E, PHASE_BITS, COUNTER>>;

/// The same with counters that count to four: copies of an item that were seen in one epoch share a slot of
/// their bucket.
pub type ExpiringCounting<const SLOTS: usize, const E: u64 = 1, const PHASE_BITS: u32 = 0> =
    Expiring<SLOTS, E, PHASE_BITS, 2>;

/// An expiring filter of a few buckets that can grow.
pub type GrowingExpiring<const SLOTS: usize, const E: u64 = 1> = Expiring<SLOTS, E, GROWS>;

/// The entry of a copy of `item` that was last seen in the epoch `seen`.
pub(super) fn entry<L: Layout>(item: Item, seen: u64) -> Entry {
    Now::<L>::of(seen, 0).entry(item.0.fingerprint)
}

impl<const SLOTS: usize, const E: u64, const COUNTER: u32> Expiring<SLOTS, E, 0, COUNTER> {
    /// A filter in its epoch `epoch`, in which each bucket holds the given items, last seen in the
    /// given epochs.
    pub fn new(epoch: u64, residents: &[&[(Item, u64)]]) -> Self {
        Self::with_levels(epoch, residents, 0)
    }
}

impl<const SLOTS: usize, const E: u64> GrowingExpiring<SLOTS, E> {
    /// A filter in its epoch `epoch`, in which each bucket holds the given items, last seen in the given
    /// epochs, and which can double `levels` times.
    pub fn growing(epoch: u64, residents: &[&[(Item, u64)]], levels: u32) -> Self {
        Self::with_levels(epoch, residents, levels)
    }
}

impl<const SLOTS: usize, const E: u64, const PHASE_BITS: u32, const COUNTER: u32>
    Expiring<SLOTS, E, PHASE_BITS, COUNTER>
{
    /// E: the age of the oldest live copies.
    pub const OLDEST: u64 = E;

    fn with_levels(epoch: u64, residents: &[&[(Item, u64)]], more: u32) -> Self {
        let Self(raw) = Self::empty(residents.len(), more);
        let filter = Self(raw.with_time(Epochs::new(E).at_epoch(epoch)));
        let of = |&(item, seen): &_| {
            (
                item,
                entry::<Tagged<SLOTS, E, PHASE_BITS, COUNTER>>(item, seen),
            )
        };
        filter.fill(residents, of, |word, entry| word.plus(entry).joined(entry));
        filter
    }

    /// `ExpiringFilter::tick_at`, by a clock that is as many nanoseconds as it says.
    pub fn tick(&self, nanos: u64, clock: impl Fn() -> u64) -> bool {
        let length = Duration::from_nanos(nanos);
        let clock = || Reading::of_caller(Duration::from_nanos(clock()));
        self.0.begin_due_epoch(length, clock).is_some()
    }

    /// A thread was stopped while it withheld the copy of `item` that was last seen in the epoch `seen`.
    #[must_use]
    pub fn withheld(self, item: Item, seen: u64, bucket: usize) -> Self {
        let (entry, table) = (self.whole(item, seen, bucket), &self.0.table);
        let withheld = table.update(Step::Withhold, item.0.fingerprint, bucket, |word| {
            word.with_mark(entry, Mark::Withheld)
        });
        assert!(withheld, "no other thread runs");
        self
    }

    /// A thread was stopped in a move out of `from` of the copy of `item` that was last seen in the epoch
    /// `seen`. The move is decided.
    #[must_use]
    pub fn decided(self, item: Item, seen: u64, from: usize) -> Self {
        let entry = self.whole(item, seen, from);
        self.decide(item.hop(entry, from))
    }
}

impl<L: Layout> Filter<L> {
    /// True if a word without a mark holds a dead copy.
    pub fn holds_dead(&self) -> bool {
        let (now, table) = (self.0.moment(), &self.0.table);
        let is_dead = |(plane, _, word)| now.dead_in(word, table.one_of_plane(plane)).is_some();
        table.words_made().any(is_dead)
    }
}

impl<L: TimedLayout> Filter<L> {
    /// True if a clone that is made now could still end its epoch: no later one has begun in it.
    pub fn clone_can_tick(&self) -> bool {
        let (end, beginning) = self.0.end_and_beginning();
        beginning.is_of(end.epoch())
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// `ExpiringFilter::insert_and_count`.
    ///
    /// # Errors
    ///
    /// As `ExpiringFilter::insert`.
    pub fn insert_and_count(&self, item: Item) -> Result<usize, InsertError> {
        self.0.insert_and_count(item.0)
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

    /// One relocation of a copy of `item` last seen in the epoch `seen`; false if it was given up.
    pub fn relocate_seen(&self, item: Item, seen: u64, from: usize) -> bool {
        self.relocate_entry(item.hop(self.whole(item, seen, from), from))
    }

    /// The entry of a slot with copies of `item` that were last seen in the epoch `seen`, with its counter.
    fn whole(&self, item: Item, seen: u64, bucket: usize) -> Entry {
        let single = entry::<L>(item, seen);
        if L::COUNTER_BITS == 0 {
            return single;
        }
        let word = self.0.table.load(Step::ReadP, item.0.fingerprint, bucket);
        word.without_reservation().like(single).unwrap_or(single)
    }
}
