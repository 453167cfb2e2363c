//! A filter with counters in the hands of the models.

use super::{Filter, Item};
use crate::{
    raw::moves::Hop,
    table::{
        entry::Entry,
        layout::{Lanes, PackedLayout, Word, series},
        time::Timeless,
        word::Bucket,
    },
};

/// Fingerprints of 8 bits and counters of 2 bits in `SLOTS` slots; with a phase one more at the next
/// level.
#[derive(Clone, Copy, Debug)]
pub struct WithCounter<const SLOTS: usize, const PHASE_BITS: u32>;

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
pub type Counting<const SLOTS: usize, const PHASE_BITS: u32 = 0> =
    Filter<WithCounter<SLOTS, PHASE_BITS>>;

impl<const SLOTS: usize, const PHASE_BITS: u32> Counting<SLOTS, PHASE_BITS> {
    /// A filter in which each bucket holds the given items, each with a number of copies in one slot.
    /// With a phase it can double twice.
    pub fn new(residents: &[&[(Item, usize)]]) -> Self {
        let more = if PHASE_BITS == 0 { 0 } else { 2 };
        let of = |&(item, copies): &_| (item, Self::entry(item, copies));
        let filter = Self::empty(residents.len(), more);
        filter.fill(residents, of, Bucket::plus);
        filter
    }

    /// The entry of a slot with copies of the item.
    fn entry(item: Item, copies: usize) -> Entry {
        Word::<WithCounter<SLOTS, PHASE_BITS>>::entry_of(item.entry(), copies)
    }

    fn hop(item: Item, copies: usize, from: usize) -> Hop {
        item.hop(Self::entry(item, copies), from)
    }

    /// Relocates a slot of `item` that has `copies` copies. False if the move was given up.
    pub fn relocate(&self, item: Item, copies: usize, from: usize) -> bool {
        self.relocate_entry(Self::hop(item, copies, from))
    }

    /// Decides a move of a slot of `item` that has `copies` copies: S in the destination, T in the source.
    #[must_use]
    pub fn decided(self, item: Item, copies: usize, from: usize) -> Self {
        self.decide(Self::hop(item, copies, from))
    }

    /// Completes that move in few exchanges, as `Model::take_and_replace` does: removes take all copies
    /// that are left, and `copies` copies are put into the slot of T. Returns the number of copies that
    /// were taken.
    pub fn take_and_replace(&self, item: Item, copies: usize, from: usize) -> usize {
        self.take_and_put(Self::hop(item, copies, from))
    }

    /// The number of slots with copies of the item at rest.
    pub fn slots_of(&self, item: Item) -> usize {
        let slots = self.slots_at_rest().into_iter();
        let of_item = slots.filter(|&(bucket, fingerprint, ..)| {
            fingerprint == item.fingerprint() && item.buckets().contains(&bucket)
        });
        of_item.count()
    }
}
