//! The bucket word: its slots, and the matching of fingerprints.
//!
//! A [`Word`] is a plain value. Nothing here is atomic; the table owns the
//! atomics and exchanges whole words.
//!
//! ```text
//! packed (10 × 6):   63  60 59      50      ...      19      10 9        0
//!                   [ UMMM ][ slot 5 ]      ...     [ slot 1 ] [  slot 0  ]
//! aligned (15 × 4):  63 62       48   47 46      32   31 30      16   15 14       0
//!                   [U][ slot 3 ]    [M][ slot 2 ]   [M][ slot 1 ]   [M][ slot 0 ]
//! ```
//!
//! * A slot holds a fingerprint, or 0 when it is empty. In a growable layout it holds what the
//!   word's plane does not say of the fingerprint: its upper bits, one less at each level.
//! * `M` is the code of the [`Mark`]. If there is a mark, it is on slot 0: which
//!   fingerprint stands in which slot means nothing, so marking a slot swaps it
//!   with slot 0 in the same exchange, and no bits are needed to say which.
//!   No operation tells others the number of a slot.
//! * `U` says that the last slot, which is empty, holds a reservation's token.
//! * Growable layouts keep the word's phase in the uppermost bits. It says how the slots lie.

mod image;
mod mark;
mod phase;
mod tag;

use super::{
    layout::{Lanes, Layout, Masks},
    low_bits,
};
#[cfg(target_feature = "sse2")]
use safe_arch::{
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, move_mask_i8_m128i, set_i64_m128i,
    set_splat_i16_m128i, set_splat_i32_m128i,
};
use std::{fmt, marker::PhantomData};

pub(crate) use mark::Mark;

/// The bits of a word as they stand in the table: what an exchange compares, and what the fast path
/// of a lookup looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) u64);

/// One bucket: the value of one atomic 64-bit word.
pub(crate) struct Word<L> {
    bits: u64,
    layout: PhantomData<L>,
}

impl<L> Clone for Word<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Word<L> {}

impl<L> PartialEq for Word<L> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<L: Layout> fmt::Debug for Word<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("slots", &self.shown())
            .field("mark", &self.mark())
            .field("reserved", &self.is_reserved())
            .field("phase", &self.phase())
            .finish()
    }
}

impl<L: Layout> Word<L> {
    /// No fingerprint, no mark, no reservation, phase 0.
    pub(crate) const EMPTY: Self = Self::from_bits(0);

    /// The word with the given representation.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        let () = L::CHECKED;
        Self {
            bits,
            layout: PhantomData,
        }
    }

    /// The word's representation.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        self.bits
    }

    /// How the slots of this word lie.
    #[inline(always)]
    pub(crate) fn lanes(self) -> &'static Lanes {
        &L::LEVELS[self.level() as usize]
    }

    /// Slots of this word.
    #[inline(always)]
    pub(crate) fn slots(self) -> usize {
        self.lanes().slots
    }

    /// What this word stores of a fingerprint: all but the bits that its plane says.
    #[inline(always)]
    fn stored(self, fingerprint: u64) -> u64 {
        fingerprint >> self.level()
    }

    // Matching. The broadcast fingerprint is xored in, so that equal slots
    // become 0; `empty_slots` then finds the zero slots.

    /// What the fast path of a lookup asks: are both words settled, which is to say quiet and in the
    /// phase of `hint`; and does any slot of either hold `fingerprint`. If they are not settled, the
    /// second answer says nothing: a control bit can hide a match, a token can look like one, and at
    /// another level a slot says something else.
    ///
    /// The caller combines the answers, so that neither is branched on here.
    #[inline(always)]
    pub(crate) fn match_settled(p: Bits, q: Bits, fingerprint: u64, hint: Self) -> (bool, bool) {
        let (p, q) = (Self::from_bits(p.0), Self::from_bits(q.0));
        let matches = Self::either_matches(p, q, fingerprint, hint);
        (Self::both_settled(p, q, hint), matches)
    }

    /// True if both words are quiet and in the phase of `hint`, which has no control bits.
    #[inline(always)]
    fn both_settled(p: Self, q: Self, hint: Self) -> bool {
        ((p.bits ^ hint.bits) | (q.bits ^ hint.bits)) & (L::PHASE | L::CONTROL) == 0
    }

    /// True if any slot of either word holds `fingerprint`, if both words are settled.
    #[inline(always)]
    fn either_matches(p: Self, q: Self, fingerprint: u64, hint: Self) -> bool {
        #[cfg(target_feature = "sse2")]
        if !L::GROWS && matches!(L::LEVELS[0].distance, 16 | 32) {
            return Self::either_matches_in_vector(p, q, fingerprint);
        }
        let lanes = hint.lanes();
        let broadcast = hint.stored(fingerprint) * lanes.ones;
        let (p, q) = (p.bits ^ broadcast, q.bits ^ broadcast);
        if const { !L::GROWS && L::LEVELS[0].distance > L::LEVELS[0].bits } {
            Self::either_matches_in_lanes(p, q)
        } else {
            // In each word exact for its lowest slot that is 0, and there is none without one
            // (Warren, *Hacker's Delight*, 2nd ed., §6-1).
            let zero = |bits: u64| bits.wrapping_sub(lanes.ones) & !bits;
            (zero(p) | zero(q)) & lanes.tops != 0
        }
    }

    /// [`either_matches`](Self::either_matches) for lanes of 16 or 32 bits: one vector
    /// compare for the slots of both words.
    #[cfg(target_feature = "sse2")]
    #[inline(always)]
    fn either_matches_in_vector(p: Self, q: Self, fingerprint: u64) -> bool {
        let words = set_i64_m128i(q.bits as i64, p.bits as i64);
        let equal = match L::LEVELS[0].distance {
            16 => cmp_eq_mask_i16_m128i(words, set_splat_i16_m128i(fingerprint as i16)),
            _ => cmp_eq_mask_i32_m128i(words, set_splat_i32_m128i(fingerprint as i32)),
        };
        move_mask_i8_m128i(equal) != 0
    }

    /// True if any slot of either word is 0, for slots with a control bit above each.
    /// To subtract 1 from a slot with this bit set clears the bit if the slot is 0, and
    /// borrows from no other bit beyond the slot.
    #[inline(always)]
    fn either_matches_in_lanes(p: u64, q: u64) -> bool {
        let ones = L::LEVELS[0].ones;
        let above = ones << L::LEVELS[0].bits;
        ((p | above) - ones) & ((q | above) - ones) & above != above
    }

    /// The top bit of every slot that is 0.
    ///
    /// Adding `LOWS` carries into a slot's top bit unless its lower bits are
    /// all 0, and never out of the slot, as both summands have a 0 there. So
    /// the result is exact for each slot, which the shorter
    /// `(x - ONES) & !x & TOPS` is only for the lowest one (Warren, *Hacker's
    /// Delight*, 2nd ed., §6-1).
    #[inline(always)]
    fn empty_slots(self) -> u64 {
        self.used_slots() ^ self.lanes().tops
    }

    /// The top bit of every slot that is not 0.
    #[inline(always)]
    fn used_slots(self) -> u64 {
        Self::used(self.bits, self.lanes())
    }

    /// The top bit of every slot of `bits` that is not 0.
    #[inline(always)]
    const fn used(bits: u64, lanes: &Lanes) -> u64 {
        (((bits & lanes.lows) + lanes.lows) | bits) & lanes.tops
    }

    /// The top bit of every unmarked slot that holds `fingerprint`.
    /// The word must not be reserved.
    #[inline(always)]
    fn unmarked_matches(self, fingerprint: u64) -> u64 {
        debug_assert!(!self.is_reserved());
        let lanes = self.lanes();
        let different = self.bits ^ (self.stored(fingerprint) * lanes.ones);
        let matches = Self::used(different, lanes) ^ lanes.tops;
        if self.bits & L::MARK == 0 {
            matches
        } else {
            matches & !lanes.largest
        }
    }

    /// True if a slot holds `fingerprint` without a mark.
    #[inline]
    pub(crate) fn holds(self, fingerprint: u64) -> bool {
        self.unmarked_matches(fingerprint) != 0
    }

    /// How many slots hold `fingerprint` without a mark.
    #[inline]
    pub(crate) fn count(self, fingerprint: u64) -> usize {
        self.unmarked_matches(fingerprint).count_ones() as usize
    }

    /// True if there is an empty slot. The word must not be reserved.
    #[inline(always)]
    pub(crate) fn has_vacancy(self) -> bool {
        debug_assert!(!self.is_reserved());
        self.empty_slots() != 0
    }

    /// True if more slots are used than in the other word. Neither must be reserved.
    ///
    /// Compares the used slots as numbers, not how many there are: that is the
    /// same as long as slots are used from the lowest on, which removes disturb,
    /// and a full word is fuller than any other in any case. To count them takes longer
    /// (DESIGN, section 13). Of words at different levels only a full one is fuller.
    #[inline(always)]
    pub(crate) fn is_fuller_than(self, other: Self) -> bool {
        debug_assert!(!self.is_reserved() && !other.is_reserved());
        if self.is_in_phase(other) {
            self.used_slots() > other.used_slots()
        } else {
            !self.has_vacancy()
        }
    }

    /// The word with `fingerprint` in its lowest empty slot; the same word if it
    /// is full. It must not be reserved.
    #[inline(always)]
    pub(crate) fn plus(self, fingerprint: u64) -> Self {
        debug_assert!(!self.is_reserved());
        let place = self.place(self.empty_slots());
        Self::from_bits(self.bits | (self.number_of(fingerprint) * place))
    }

    /// The word without the lowest unmarked slot that holds `fingerprint`; the
    /// same word if there is none. It must not be reserved.
    #[inline(always)]
    pub(crate) fn minus(self, fingerprint: u64) -> Self {
        let place = self.place(self.unmarked_matches(fingerprint));
        Self::from_bits(self.bits ^ (self.stored(fingerprint) * place))
    }

    /// Bit 0 of the lowest slot of which the top bit is given: multiplying by it
    /// brings a fingerprint there. 0 if no slot is given.
    #[inline(always)]
    fn place(self, tops: u64) -> u64 {
        (tops & tops.wrapping_neg()) >> (self.lanes().bits - 1)
    }

    /// The fingerprints that have no mark. The word must not be reserved. Their low bits, which
    /// it does not store, are those of `one`, a fingerprint that belongs into it.
    pub(crate) fn residents(self, one: u64) -> impl Iterator<Item = u64> {
        debug_assert!(!self.is_reserved());
        let (first, level) = (usize::from(self.mark().is_some()), self.level());
        let low = low_bits(one, level);
        (first..self.slots())
            .map(move |slot| self.slot(slot))
            .filter(|&stored| stored != 0)
            .map(move |stored| stored << level | low)
    }

    // Slots. Their numbers are an internal matter of the word.

    /// What slot `slot` holds.
    fn slot(self, slot: usize) -> u64 {
        let lanes = self.lanes();
        self.bits >> (lanes.distance * slot as u32) & lanes.largest
    }

    /// The word with `number` in slot `slot`.
    fn set(self, slot: usize, number: u64) -> Self {
        let lanes = self.lanes();
        let shift = lanes.distance * slot as u32;
        Self::from_bits(self.bits & !(lanes.largest << shift) | number << shift)
    }

    /// [`stored`](Self::stored) of a fingerprint that comes in. It is never 0, which would be an
    /// empty slot.
    #[inline(always)]
    fn number_of(self, fingerprint: u64) -> u64 {
        let stored = self.stored(fingerprint);
        debug_assert!(stored != 0 && stored <= self.lanes().largest);
        stored
    }

    /// What is in each slot, 0 if that is empty: what is marked first, and a token last. Only to be
    /// looked at.
    pub(crate) fn shown(self) -> Vec<u64> {
        (0..self.slots()).map(|slot| self.slot(slot)).collect()
    }

    /// How many slots are not empty. The word must not be reserved.
    #[inline(always)]
    pub(crate) fn occupied(self) -> u32 {
        self.used_slots().count_ones()
    }
}

#[cfg(test)]
mod tests;
