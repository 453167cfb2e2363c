//! Counters: in a counting filter each slot says how many copies it stands for.
//!
//! A slot holds an *entry*: a fingerprint, a tag if copies expire, and above that the number of
//! *repeats*, which are the copies beyond the first one. So the entry of a *single* copy is as in other
//! filters, and an empty slot is 0. Moves and searches handle whole entries; a move carries all copies of
//! a slot, and all of them expire at once.
//!
//! An insert adds a repeat to an unmarked slot of its single that has room, and a remove takes one away.
//! Under a mark only a remove changes the repeats.

use super::{Bucket, Mark, Packed, Phases, tag::Places};
use crate::table::{
    entry::Entry,
    word::{
        Bits, Hint, Minus,
        lanes::{Lanes, Masks, PackedLayout, fingerprint_of, single_of},
    },
};
use std::hint::select_unpredictable;

#[cfg(target_feature = "sse2")]
use safe_arch::{
    cmp_eq_mask_i16_m128i, cmp_eq_mask_i32_m128i, move_mask_i8_m128i, set_i64_m128i,
    set_splat_i64_m128i, zeroed_m128i,
};

impl<L: PackedLayout> Packed<L> {
    /// True if any slot of either word holds copies like this single, if both words are settled.
    #[inline(always)]
    pub(super) fn either_has(p: Bits, q: Bits, single: Entry, hint: Hint) -> bool {
        let stored = Self::stored_at(hint, single);
        Self::either_stores(p, q, stored, Self::counters_at(hint))
    }

    /// True if any slot of either word has `stored` in these places, if both words are settled.
    #[inline(always)]
    pub(super) fn either_stores(p: Bits, q: Bits, stored: u64, places: &Places) -> bool {
        let broadcast = stored * places.ones;
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

    /// The top bit below the counter of each unmarked slot with copies like this single. The word must not be
    /// reserved.
    #[inline(always)]
    pub(super) fn unmarked_with(self, single: Entry) -> u64 {
        debug_assert!(!self.is_reserved());
        let found = self.counters().with_stored(self.bits, self.stored(single));
        if self.is_unmarked() {
            found
        } else {
            found & !self.lanes().largest
        }
    }

    /// The top bit below each counter that is not at its maximum.
    ///
    /// In each slot by itself: adding 1 to a counter of all ones carries into the bit above.
    #[inline(always)]
    pub(super) fn with_room(self) -> u64 {
        let places = self.counters();
        let full = ((self.bits & places.tags) + places.tag_ones) & places.above;
        places.tops & !(full >> (L::COUNTER_BITS + 1))
    }

    /// The question of an insert: returns the first word in which an unmarked slot of the entry's single
    /// has room, with the copy added, and whether that is `other`.
    #[inline(always)]
    pub(super) fn counted_in_either(
        one: Bits,
        other: Bits,
        entry: Entry,
        hint: Hint,
    ) -> Option<(bool, Bits)> {
        let single = single_of::<L>(entry);
        // For a new item this is the end. Without a match there is no slot, marked or not.
        let alike = Self::are_at_hint(one, other, hint);
        if alike && !Self::either_has(one, other, single, hint) {
            return None;
        }
        Self::counted_in_first(one, other, single, hint)
    }

    /// [`counted_in_either`](Self::counted_in_either) for a class that is probably present. It is not
    /// inlined, so that inserts of new items do not set up its constants.
    #[inline(never)]
    fn counted_in_first(one: Bits, other: Bits, single: Entry, hint: Hint) -> Option<(bool, Bits)> {
        let [one, other] = [one, other].map(|bits| Self::decode(bits, hint).without_reservation());
        let found = |word: Self| word.unmarked_with(single) & word.with_room();
        let in_one = found(one);
        let (in_other, into, tops) = match in_one {
            0 => (true, other, found(other)),
            _ => (false, one, in_one),
        };
        let repeat = (tops & tops.wrapping_neg()) << 1;
        (tops != 0).then(|| (in_other, Self::from_bits(into.bits + repeat).encode(hint)))
    }

    /// The number of copies like this single in unmarked slots.
    pub(super) fn counted(self, single: Entry) -> usize {
        let top = self.lanes().bits - L::COUNTER_BITS - 1;
        self.copies_in(self.unmarked_with(single) >> top)
    }

    /// The number of copies in the slots whose bits 0 are given.
    #[inline(always)]
    pub(super) fn copies_in(self, slots: u64) -> usize {
        let lanes = self.lanes();
        lanes.sum_of_slots(self.copies_by_slot(slots, lanes)) as usize
    }

    /// The number of copies in each slot whose bit 0 is given. A branch would be unpredictable.
    #[inline(always)]
    pub(super) fn copies_by_slot(self, slots: u64, lanes: &Lanes) -> u64 {
        let counters = self.bits >> (lanes.bits - L::COUNTER_BITS);
        slots + (counters & (slots * L::MOST_REPEATS))
    }

    /// The whole entry of the lowest unmarked slot with copies like this single.
    pub(super) fn unmarked_like(self, single: Entry) -> Option<Entry> {
        let one = fingerprint_of::<L>(single);
        self.entries(self.unmarked_with(single), one).next()
    }

    /// The word with one more copy of this single: in an unmarked slot of such copies, or else in an empty
    /// slot. `None` if there is no room.
    pub(super) fn plus_single(self, single: Entry) -> Option<Self> {
        let tops = self.unmarked_with(single) & self.with_room();
        if tops != 0 {
            let repeat = (tops & tops.wrapping_neg()) << 1;
            return Some(Self::from_bits(self.bits + repeat));
        }
        self.has_vacancy().then(|| self.plus(single))
    }

    /// The marked word, where one copy under the mark is now a single like those of `entry`, and the others
    /// have no mark. `None` if there is no room for it.
    pub(super) fn with_one_of_marked_renewed(self, entry: Entry) -> Option<Self> {
        let less = self.minus_counted_marked();
        let without = match less.mark() {
            Some(Mark::Killed) => less.without_marked(),
            _ => less.unmarked(),
        };
        without.plus_single(single_of::<L>(entry))
    }

    /// The question of a remove: the first of two settled words with copies like this single, less one.
    #[inline(always)]
    pub(super) fn uncounted_in_first(p: Bits, q: Bits, single: Entry, hint: Hint) -> Minus {
        let places = Self::counters_at(hint);
        let stored = Self::stored_at(hint, single);
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

    /// The word without one copy like this single; the same word if it holds none.
    #[inline(always)]
    pub(super) fn minus_counted(self, single: Entry) -> Self {
        let stored = self.stored(single);
        let tops = self.unmarked_with(single);
        Self::from_bits(Self::less_one(self.bits, self.lanes(), stored, tops))
    }

    /// The word less one copy of a single, from the lowest of the slots whose top bits are given. Slots
    /// hold `stored` of that single.
    #[inline(always)]
    fn less_one(bits: u64, lanes: &Lanes, stored: u64, tops: u64) -> u64 {
        let top = tops & tops.wrapping_neg();
        // The counter is just above. It is 0, or one repeat goes.
        let repeat = top << 1;
        let has_repeats = bits & repeat.wrapping_mul(L::MOST_REPEATS) != 0;
        let place = top >> (lanes.bits - L::COUNTER_BITS - 1);
        let only = stored * place;
        bits - select_unpredictable(has_repeats, repeat, only)
    }

    /// The marked word less one copy of its entry: K if that was the last one.
    pub(super) fn minus_counted_marked(self) -> Self {
        debug_assert!(!self.is_unmarked());
        let repeat = self.stored_of_single() + 1;
        match self.slot(0) >= repeat {
            true => Self::from_bits(self.bits - repeat),
            false => self.remarked(Mark::Killed),
        }
    }

    /// The word, where the copies like this single in unmarked slots occupy as few slots as possible.
    #[cold]
    pub(super) fn with_slots_joined(self, single: Entry) -> Self {
        let matches = self.unmarked_with(single);
        let (distance, mut left) = (self.lanes().distance, self.counted(single));
        let (mut word, mut rest) = (self, matches);
        while rest != 0 {
            let slot = (rest.trailing_zeros() / distance) as usize;
            rest &= rest - 1;
            let copies = left.min(Self::COPIES_OF_SLOT);
            left -= copies;
            let stored = match copies {
                0 => 0,
                _ => self.stored(Self::entry_of(single, copies)),
            };
            word = word.set(slot, stored);
        }
        word
    }
}

#[cfg(test)]
mod tests;
