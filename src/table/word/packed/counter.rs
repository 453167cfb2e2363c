//! Counters: in a counting filter each slot says how many copies it stands for.
//!
//! A slot holds an *entry*: a fingerprint, and above that the number of *repeats*, which are the copies
//! beyond the first one. So an entry without repeats is the fingerprint alone, as in other filters, and
//! an empty slot is 0. Moves and searches handle whole entries; a move carries all copies of a slot.
//!
//! An insert adds a repeat to an unmarked slot of its class that has room, and a remove takes one away.
//! Under a mark only a remove changes the repeats.

use super::{Bits, Bucket, Mark, Minus, Packed, Phases};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{
        Hint,
        lanes::{Lanes, Masks, PackedLayout, fingerprint_of},
    },
};
use std::hint::select_unpredictable;

#[cfg(target_feature = "sse2")]
use safe_arch::{
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, move_mask_i8_m128i, set_i64_m128i,
    set_splat_i64_m128i, zeroed_m128i,
};

impl<L: PackedLayout> Packed<L> {
    /// True if any slot of either word holds `fingerprint`, if both words are settled.
    #[inline(always)]
    pub(super) fn either_has(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> bool {
        let places = Self::places_at(hint);
        let broadcast = Self::stored_at(hint, Entry::untagged(fingerprint)) * places.ones;
        #[cfg(target_feature = "sse2")]
        if !L::HAS_PHASE && matches!(L::LEVELS[0].distance, 16 | 32) {
            let words = set_i64_m128i(q.0 as i64, p.0 as i64);
            let different = (words ^ set_splat_i64_m128i(broadcast as i64))
                & set_splat_i64_m128i(places.fingerprints as i64);
            let equal = match L::LEVELS[0].distance {
                16 => cmp_eq_mask_i16_m128i(different, zeroed_m128i()),
                _ => cmp_eq_mask_i32_m128i(different, zeroed_m128i()),
            };
            return move_mask_i8_m128i(equal) != 0;
        }
        // As in `either_matches`: in each word exact for its lowest slot that is 0.
        let zero = |word: Bits| {
            let different = (word.0 ^ broadcast) & places.fingerprints;
            different.wrapping_sub(places.ones) & !different
        };
        (zero(p) | zero(q)) & places.tops != 0
    }

    /// The top bit of each unmarked fingerprint that is `fingerprint`. The word must not be reserved.
    #[inline(always)]
    pub(super) fn unmarked_with(self, fingerprint: Fingerprint) -> u64 {
        debug_assert!(!self.is_reserved());
        let found = self.with_fingerprint(fingerprint);
        if self.is_unmarked() {
            found
        } else {
            found & !self.lanes().largest
        }
    }

    /// The top bit of each fingerprint whose counter is not at its maximum.
    ///
    /// In each slot by itself: adding 1 to a counter of all ones carries into the bit above.
    #[inline(always)]
    pub(super) fn with_room(self) -> u64 {
        let places = self.places();
        let full = ((self.bits & places.tags) + places.tag_ones) & places.above;
        places.tops & !(full >> (L::TAG_BITS + 1))
    }

    /// The question of an insert: returns the first word in which an unmarked slot of the class has
    /// room, with the copy added, and whether that is `other`.
    #[inline(always)]
    pub(super) fn counted_in_either(
        one: Bits,
        other: Bits,
        entry: Entry,
        hint: Hint,
    ) -> Option<(bool, Bits)> {
        let fingerprint = fingerprint_of::<L>(entry);
        // For a new item this is the end. Without a match there is no slot, marked or not.
        let alike = Self::are_at_hint(one, other, hint);
        if alike && !Self::either_has(one, other, fingerprint, hint) {
            return None;
        }
        Self::counted_in_first(one, other, fingerprint, hint)
    }

    /// [`counted_in_either`](Self::counted_in_either) for a class that is probably present. It is not
    /// inlined, so that inserts of new items do not set up its constants.
    #[inline(never)]
    fn counted_in_first(
        one: Bits,
        other: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
    ) -> Option<(bool, Bits)> {
        let [one, other] = [one, other].map(|bits| Self::decode(bits, hint).without_reservation());
        let found = |word: Self| word.unmarked_with(fingerprint) & word.with_room();
        let in_one = found(one);
        let (in_other, into, tops) = match in_one {
            0 => (true, other, found(other)),
            _ => (false, one, in_one),
        };
        let repeat = (tops & tops.wrapping_neg()) << 1;
        (tops != 0).then(|| (in_other, Self::from_bits(into.bits + repeat).encode(hint)))
    }

    /// The number of copies of `fingerprint` in unmarked slots.
    pub(super) fn counted(self, fingerprint: Fingerprint) -> usize {
        let matches = self.unmarked_with(fingerprint);
        let top = self.lanes().bits - L::TAG_BITS - 1;
        let copies = |slot: usize| {
            let is_match = matches >> (self.lanes().distance * slot as u32 + top) & 1 != 0;
            let entry = self.entry_in(slot, fingerprint);
            if is_match { Self::copies_of(entry) } else { 0 }
        };
        (0..self.slots()).map(copies).sum()
    }

    /// The question of a remove: the first of two settled words with a slot of `fingerprint`, less one copy.
    #[inline(always)]
    pub(super) fn uncounted_in_first(
        p: Bits,
        q: Bits,
        fingerprint: Fingerprint,
        hint: Hint,
    ) -> Minus {
        let places = Self::places_at(hint);
        let stored = Self::stored_at(hint, Entry::untagged(fingerprint));
        let [of_p, of_q] = [p, q].map(|bits| places.with_stored(bits.0, stored));
        let in_p = of_p != 0;
        let (from, tops) = select_unpredictable(in_p, (p, of_p), (q, of_q));
        match tops {
            0 => Minus::Nothing,
            _ => Minus::Taken {
                in_p,
                new: Bits(Self::less_one(from.0, &places.lanes, stored, tops)),
            },
        }
    }

    /// The word without one copy of `fingerprint`; the same word if it holds none.
    #[inline(always)]
    pub(super) fn minus_counted(self, fingerprint: Fingerprint) -> Self {
        let stored = self.stored(Entry::untagged(fingerprint));
        let tops = self.unmarked_with(fingerprint);
        Self::from_bits(Self::less_one(self.bits, self.lanes(), stored, tops))
    }

    /// The word less one copy of a fingerprint, from the lowest of the slots whose top bits are given.
    /// Slots hold `stored` of that fingerprint.
    #[inline(always)]
    fn less_one(bits: u64, lanes: &Lanes, stored: u64, tops: u64) -> u64 {
        let top = tops & tops.wrapping_neg();
        // The counter is just above the fingerprint. It is 0, or one repeat goes.
        let repeat = top << 1;
        let has_repeats = bits & repeat.wrapping_mul(L::LAST_TAG) != 0;
        let place = top >> (lanes.bits - L::TAG_BITS - 1);
        let only = stored * place;
        bits - select_unpredictable(has_repeats, repeat, only)
    }

    /// The marked word less one copy of its entry: K if that was the last one.
    pub(super) fn minus_counted_marked(self) -> Self {
        debug_assert!(!self.is_unmarked());
        let repeat = self.stored_of_fingerprint() + 1;
        match self.slot(0) >= repeat {
            true => Self::from_bits(self.bits - repeat),
            false => self.remarked(Mark::Killed),
        }
    }

    /// The word, where the copies in unmarked slots of `fingerprint` occupy as few slots as possible.
    #[cold]
    pub(super) fn with_slots_joined(self, fingerprint: Fingerprint) -> Self {
        let matches = self.unmarked_with(fingerprint);
        let (distance, mut left) = (self.lanes().distance, self.counted(fingerprint));
        let (mut word, mut rest) = (self, matches);
        while rest != 0 {
            let slot = (rest.trailing_zeros() / distance) as usize;
            rest &= rest - 1;
            let copies = left.min(Self::COPIES_OF_SLOT);
            left -= copies;
            let stored = match copies {
                0 => 0,
                _ => self.stored(Self::entry_of(fingerprint, copies)),
            };
            word = word.set(slot, stored);
        }
        word
    }
}

#[cfg(test)]
mod tests;
