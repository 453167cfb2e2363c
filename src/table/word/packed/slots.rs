//! Where the slots of a word lie, and what is in them.

use super::{Bucket, Mark, Packed, Phases};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::lanes::{Lanes, Masks, PackedLayout, deposit},
};

impl<L: PackedLayout> Packed<L> {
    /// How the slots of this word lie.
    #[inline(always)]
    pub(super) fn lanes(self) -> &'static Lanes {
        &L::LEVELS[self.level() as usize]
    }

    /// What this word stores of an entry: all but the bits that its plane says.
    #[inline(always)]
    pub(super) fn stored(self, entry: Entry) -> u64 {
        entry.bits() >> self.level()
    }

    /// [`stored`](Self::stored) of an entry that comes in. It is never 0, which would be an
    /// empty slot.
    #[inline(always)]
    pub(super) fn number_of(self, entry: Entry) -> u64 {
        let stored = self.stored(entry);
        debug_assert!(stored != 0 && stored <= self.lanes().largest);
        stored
    }

    /// The top bit of every slot that is 0.
    ///
    /// Adding `LOWS` carries into a slot's top bit unless its lower bits are
    /// all 0, and never out of the slot, as both summands have a 0 there. So
    /// the result is exact for each slot, which the shorter
    /// `(x - ONES) & !x & TOPS` is only for the lowest one (Warren, *Hacker's
    /// Delight*, 2nd ed., §6-1).
    #[inline(always)]
    pub(super) fn empty_slots(self) -> u64 {
        self.used_slots() ^ self.lanes().tops
    }

    /// The top bit of every slot that is not 0.
    #[inline(always)]
    pub(super) fn used_slots(self) -> u64 {
        Self::used(self.bits, self.lanes())
    }

    /// The top bit of every unmarked slot that holds `entry`.
    /// The word must not be reserved.
    #[inline(always)]
    pub(super) fn unmarked_matches(self, entry: Entry) -> u64 {
        debug_assert!(!self.is_reserved());
        let lanes = self.lanes();
        let different = self.bits ^ (self.stored(entry) * lanes.ones);
        let matches = Self::used(different, lanes) ^ lanes.tops;
        if self.bits & L::MARK == 0 {
            matches
        } else {
            matches & !lanes.largest
        }
    }

    /// Bit 0 of the lowest slot whose top bit is given: multiplying by it brings a fingerprint
    /// there. 0 if no slot is given.
    #[inline(always)]
    pub(super) fn place(self, tops: u64) -> u64 {
        Self::place_in(self.lanes(), tops)
    }

    /// What slot `slot` holds.
    pub(super) fn slot(self, slot: usize) -> u64 {
        let lanes = self.lanes();
        self.bits >> (lanes.distance * slot as u32) & lanes.largest
    }

    /// The entry in slot `slot`. The low bits that the word does not store are taken from `one`.
    #[inline(always)]
    pub(super) fn entry_in(self, slot: usize, one: Fingerprint) -> Entry {
        let level = self.level();
        Entry::new(self.slot(slot) << level | one.low_bits(level))
    }

    /// The bits of slot 0 that hold what the word stores of a fingerprint.
    #[inline(always)]
    pub(super) fn stored_of_fingerprint(self) -> u64 {
        self.lanes().largest >> (L::TAG_BITS + L::COUNTER_BITS)
    }

    /// The bits of slot 0 that hold what the word stores of a single copy: all but the counter.
    #[inline(always)]
    pub(super) fn stored_of_single(self) -> u64 {
        self.lanes().largest >> L::COUNTER_BITS
    }

    /// The word with `number` in slot `slot`.
    pub(super) fn set(self, slot: usize, number: u64) -> Self {
        let lanes = self.lanes();
        let shift = lanes.distance * slot as u32;
        Self::from_bits(self.bits & !(lanes.largest << shift) | number << shift)
    }

    /// The word with `number`, which is at `place`, in slot 0, and at `place` what was there.
    #[inline(always)]
    pub(super) fn with_first(self, number: u64, place: u64) -> Self {
        // If slot 0 is the place, nothing changes.
        let different = number ^ self.slot(0);
        Self::from_bits(self.bits ^ (different * (place ^ 1)))
    }

    /// The bits of a mark.
    pub(super) const fn code(mark: Mark) -> u64 {
        deposit(mark as u64, L::MARK)
    }

    /// The word without its reservation.
    #[cold]
    #[inline(never)]
    pub(super) fn reservation_dropped(self) -> Self {
        Self::from_bits(self.bits & !L::RESERVED).set(self.slots() - 1, 0)
    }
}
