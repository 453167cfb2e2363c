//! Packed words: each slot is a fixed number of bits of the word.
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
//! * `M` is the code of the [`Mark`]. If there is a mark, it is on slot 0, so no bits are needed to
//!   say which slot is marked. The order of the slots has no meaning: marking a fingerprint swaps it
//!   with slot 0 in the same exchange.
//! * `U` says that the last slot, which is empty, holds a reservation's token.
//! * Growable layouts keep the word's phase in the uppermost bits. It says how the slots lie.
//! * In an expiring layout the uppermost bits of a slot are a [`tag`], the same number at all levels.
//!   In a counting layout they are a [`counter`], which may be above a tag.
//!
//! What comes goes to the lowest empty slot, and of several equal fingerprints the lowest one goes
//! or is marked.

mod counter;
mod pair;
mod phase;
mod slots;
pub(crate) mod tag;

use super::{Bucket, Mark, Phases};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::lanes::{Masks, PackedLayout, single_of},
};
use std::{fmt, marker::PhantomData};

/// A word whose slots lie as the layout says.
pub(crate) struct Packed<L> {
    bits: u64,
    layout: PhantomData<L>,
}

impl<L> Clone for Packed<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Packed<L> {}

impl<L> PartialEq for Packed<L> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}

impl<L: PackedLayout> fmt::Debug for Packed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("slots", &self.shown())
            .field("mark", &self.mark())
            .field("reserved", &self.is_reserved())
            .field("phase", &self.phase())
            .finish()
    }
}

impl<L: PackedLayout> Packed<L> {
    #[inline(always)]
    const fn from_bits(bits: u64) -> Self {
        let () = L::CHECKED;
        Self {
            bits,
            layout: PhantomData,
        }
    }
}

impl<L: PackedLayout> Bucket for Packed<L> {
    const EMPTY: Self = Self::from_bits(0);

    #[inline(always)]
    fn unpack(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        self.bits
    }

    #[inline(always)]
    fn slots(self) -> usize {
        self.lanes().slots
    }

    #[inline]
    fn holds(self, entry: Entry) -> bool {
        self.unmarked_matches(entry) != 0
    }

    #[inline]
    fn count(self, entry: Entry) -> usize {
        self.unmarked_matches(entry).count_ones() as usize
    }

    #[inline(always)]
    fn has(self, single: Entry) -> bool {
        if L::COUNTS {
            self.unmarked_with(single) != 0
        } else {
            self.holds(single)
        }
    }

    #[inline]
    fn like(self, single: Entry) -> Option<Entry> {
        if L::COUNTS {
            self.unmarked_like(single)
        } else {
            self.holds(single).then_some(single)
        }
    }

    #[inline]
    fn copies(self, fingerprint: Fingerprint) -> usize {
        if L::COUNTS {
            self.counted(Entry::untagged(fingerprint))
        } else {
            self.count(Entry::untagged(fingerprint))
        }
    }

    #[inline(always)]
    fn has_vacancy(self) -> bool {
        debug_assert!(!self.is_reserved());
        self.empty_slots() != 0
    }

    #[inline(always)]
    fn occupied(self) -> u32 {
        self.used_slots().count_ones()
    }

    /// Compares the used slots as numbers, instead of counting them. The result is the same while
    /// slots are used from the lowest on, which removes disturb. A full word is fuller than any
    /// other in any case. To count them takes longer (`docs/decisions.md`).
    #[inline(always)]
    fn is_fuller_than(self, other: Self) -> bool {
        debug_assert!(!self.is_reserved() && !other.is_reserved());
        if self.is_in_phase(other) {
            self.used_slots() > other.used_slots()
        } else {
            !self.has_vacancy()
        }
    }

    #[inline(always)]
    fn plus(self, entry: Entry) -> Self {
        debug_assert!(!self.is_reserved());
        let place = self.place(self.empty_slots());
        Self::from_bits(self.bits | (self.number_of(entry) * place))
    }

    #[inline(always)]
    fn minus(self, entry: Entry) -> Self {
        if L::COUNTS {
            return self.minus_counted(single_of::<L>(entry));
        }
        let place = self.place(self.unmarked_matches(entry));
        Self::from_bits(self.bits ^ (self.stored(entry) * place))
    }

    fn residents(self, one: Fingerprint) -> impl Iterator<Item = Entry> {
        debug_assert!(!self.is_reserved());
        let (first, level) = (usize::from(self.mark().is_some()), self.level());
        let low = one.low_bits(level);
        (first..self.slots())
            .map(move |slot| self.slot(slot))
            .filter(|&stored| stored != 0)
            .map(move |stored| Entry::new(stored << level | low))
    }

    fn shown(self) -> Vec<u64> {
        (0..self.slots()).map(|slot| self.slot(slot)).collect()
    }

    // The mark on slot 0.

    fn mark(self) -> Option<Mark> {
        let bits = self.bits & L::MARK;
        Mark::ALL.into_iter().find(|&mark| bits == Self::code(mark))
    }

    fn mark_of(self, fingerprint: Fingerprint) -> Option<Mark> {
        let stored = self.slot(0) & self.stored_of_fingerprint();
        if stored == self.stored(Entry::untagged(fingerprint)) {
            self.mark()
        } else {
            None
        }
    }

    fn marked_entry(self, one: Fingerprint) -> Entry {
        debug_assert!(!self.is_unmarked());
        self.entry_in(0, one)
    }

    #[inline]
    fn is_marked(self, mark: Mark, entry: Entry) -> bool {
        if self.bits & L::MARK != Self::code(mark) {
            return false;
        }
        let different = self.slot(0) ^ self.stored(entry);
        if L::COUNTS {
            different & self.stored_of_single() == 0
        } else {
            different == 0
        }
    }

    #[inline]
    fn both_unmarked(p: Self, q: Self) -> bool {
        (p.bits | q.bits) & L::MARK == 0
    }

    #[inline]
    fn is_unmarked(self) -> bool {
        self.bits & L::MARK == 0
    }

    #[inline]
    fn with_mark(self, entry: Entry, mark: Mark) -> Option<Self> {
        if !self.is_unmarked() {
            return None;
        }
        let place = self.place(self.unmarked_matches(entry));
        let stored = self.stored(entry);
        (place != 0).then(|| self.with_first(stored, place).remarked(mark))
    }

    fn plus_marked(self, entry: Entry, mark: Mark) -> Option<Self> {
        debug_assert!(!self.is_reserved());
        if !self.is_unmarked() {
            return None;
        }
        let place = self.place(self.empty_slots());
        let number = self.number_of(entry);
        let with = Self::from_bits(self.bits | (number * place));
        (place != 0).then(|| with.with_first(number, place).remarked(mark))
    }

    fn marked_instead(self, entry: Entry, mark: Mark) -> Self {
        debug_assert!(!self.is_unmarked());
        self.set(0, self.number_of(entry)).remarked(mark)
    }

    #[inline]
    fn remarked(self, mark: Mark) -> Self {
        Self::from_bits(self.bits & !L::MARK | Self::code(mark))
    }

    #[inline]
    fn unmarked(self) -> Self {
        Self::from_bits(self.bits & !L::MARK)
    }

    #[inline]
    fn without_marked(self) -> Self {
        self.unmarked().set(0, 0)
    }

    #[inline(always)]
    fn minus_marked(self) -> Self {
        if L::COUNTS {
            self.minus_counted_marked()
        } else {
            self.remarked(Mark::Killed)
        }
    }

    // Counters.

    const COPIES_OF_SLOT: usize = 1 << L::COUNTER_BITS;

    #[inline(always)]
    fn copies_of(entry: Entry) -> usize {
        match L::COUNTS {
            true => 1 + (entry.bits() >> L::SINGLE_BITS) as usize,
            false => 1,
        }
    }

    #[inline(always)]
    fn entry_of(like: Entry, copies: usize) -> Entry {
        if !L::COUNTS {
            return like;
        }
        let repeats = (copies as u64).saturating_sub(1).min(L::MOST_REPEATS);
        Entry::new(single_of::<L>(like).bits() | repeats << L::SINGLE_BITS)
    }

    #[inline(always)]
    fn uses_slots_of(self, other: Self) -> bool {
        (self.bits ^ other.bits) & self.places().fingerprints == 0
    }

    #[inline]
    fn has_counter(self, single: Entry) -> bool {
        L::COUNTS && self.unmarked_with(single) & self.with_room() != 0
    }

    #[inline]
    fn repeats(self) -> u64 {
        if !L::COUNTS {
            return 0;
        }
        let counter = |slot| self.slot(slot) >> (self.lanes().bits - L::COUNTER_BITS);
        (0..self.slots()).map(counter).sum()
    }

    #[inline(always)]
    fn joined(self, entry: Entry) -> Self {
        if L::COUNTS {
            self.with_slots_joined(single_of::<L>(entry))
        } else {
            self
        }
    }

    #[inline(always)]
    fn with_one_renewed(self, single: Entry) -> Option<Self> {
        match L::COUNTS {
            true => self.with_one_of_marked_renewed(single),
            false => Some(self.without_marked().plus(single)),
        }
    }

    // The reservation in the last slot.

    #[inline]
    fn is_reserved(self) -> bool {
        self.bits & L::RESERVED != 0
    }

    #[inline(always)]
    fn without_reservation(self) -> Self {
        // A predicted branch is faster here than arithmetic that a writer's exchange would have to
        // wait for.
        if self.is_reserved() {
            self.reservation_dropped()
        } else {
            self
        }
    }

    /// Of the token as many bits are kept as a slot has. The last slot is emptied for it into the
    /// lowest empty one.
    #[inline]
    fn with_reservation(self, token: u64) -> Option<Self> {
        debug_assert!(!self.is_reserved());
        let (vacancy, last) = (self.place(self.empty_slots()), self.slots() - 1);
        let displaced = self.slot(last) * vacancy;
        let word = Self::from_bits(self.bits | displaced | L::RESERVED);
        (vacancy != 0).then(|| word.set(last, token & self.lanes().largest))
    }

    fn token(self) -> Option<u64> {
        self.is_reserved().then(|| self.slot(self.slots() - 1))
    }

    // Snapshots.

    fn image(bits: u64) -> u64 {
        let word = Self::unpack(bits).without_reservation();
        let word = match word.mark() {
            Some(Mark::Outline | Mark::Shadow | Mark::Delivered | Mark::Withheld) => {
                word.unmarked()
            }
            Some(Mark::Trailing | Mark::Killed) => word.without_marked(),
            None => word,
        };
        word.bits & !Self::FROZEN
    }

    #[inline(always)]
    fn is_image(bits: u64) -> bool {
        let word = Self::unpack(bits);
        let lanes = word.lanes();
        let at_rest = bits & !(lanes.payload | L::PHASE & !Self::FROZEN) == 0;
        // Bits that a slot may still lose: its fingerprint is not 0 without them. A tag by itself is no
        // copy.
        let lost = (1_u64 << L::LAST_LEVEL.saturating_sub(word.level())) - 1;
        let lasting = word.stored_of_fingerprint() & !lost;
        at_rest && Self::used(bits & (lasting * lanes.ones), lanes) == word.used_slots()
    }
}

#[cfg(test)]
mod tests;
