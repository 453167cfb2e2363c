//! The bucket word: its contents, and how they change.
//!
//! A word is a plain value. Nothing here is atomic; the table owns the atomics and exchanges whole
//! words.
//!
//! The trait [`Bucket`] describes the contents of a word: fingerprints, a [`Mark`] on at most one of
//! them, and a reservation. Words of a growable filter also have a [`phase`]. The order of slots has
//! no meaning, so no operation exposes the number of a slot. [`packed`] and [`semi`] are two
//! encodings of the contents in 64 bits.

pub(crate) mod lanes;
mod mark;
pub(crate) mod packed;
mod pair;
mod phase;
pub(crate) mod semi;

use super::entry::{Entry, Fingerprint};
use std::fmt::Debug;

pub(crate) use mark::Mark;
pub(crate) use pair::{Minus, Pair};
pub(crate) use phase::{Base, Based, Hint, Phases};

/// The bits of a word as they are in the table, with a phase that counts from the first level. Exchanges
/// compare them, and the fast path of a lookup searches them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) u64);

/// The contents of one bucket, which one atomic 64-bit word stores.
///
/// Parameters and results are whole fingerprints and entries, even if a word stores only a part of
/// them. Writers pass the entry that they add or remove; readers pass a fingerprint, whatever its tag.
/// A word *holds* the entries in its slots without a mark.
pub(crate) trait Bucket: Copy + PartialEq + Debug {
    /// No fingerprint, no mark, no reservation, phase 0. Its representation is 0.
    const EMPTY: Self;

    /// Decodes a word, as a snapshot has it. A word from an untrusted source must be an
    /// [image](Self::is_image).
    fn unpack(bits: u64) -> Self;

    /// Encodes the word, as a snapshot has it.
    fn pack(self) -> u64;

    /// Decodes a word of the table that has this hint.
    #[inline(always)]
    fn decode(bits: Bits, hint: Hint) -> Self {
        Self::unpack(hint.without_base(bits))
    }

    /// Encodes a word of the table that has this hint.
    #[inline(always)]
    fn encode(self, hint: Hint) -> Bits {
        hint.with_base(self.pack())
    }

    /// The number of slots of this word.
    fn slots(self) -> usize;

    // Entries. The word must not be reserved.

    /// True if it holds `entry`.
    fn holds(self, entry: Entry) -> bool;

    /// The number of slots without a mark that hold `entry`.
    fn count(self, entry: Entry) -> usize;

    /// True if it holds a copy like this single one, whatever the counter.
    #[inline(always)]
    fn has(self, single: Entry) -> bool {
        self.holds(single)
    }

    /// The entry, with its counter, in a slot that [`has`](Self::has) such copies.
    #[inline]
    fn like(self, single: Entry) -> Option<Entry> {
        self.holds(single).then_some(single)
    }

    /// The number of copies of `fingerprint` that it holds.
    #[inline(always)]
    fn copies(self, fingerprint: Fingerprint) -> usize {
        self.count(Entry::untagged(fingerprint))
    }

    /// True if there is an empty slot.
    fn has_vacancy(self) -> bool;

    /// The number of occupied slots.
    fn occupied(self) -> u32;

    /// True if it has more occupied slots than the other word.
    ///
    /// This is a heuristic, with one exception: a full word is always fuller than any other. Among
    /// words at different levels, only a full word is fuller.
    fn is_fuller_than(self, other: Self) -> bool;

    /// The word with `entry`; the same word if it is full.
    fn plus(self, entry: Entry) -> Self;

    /// The word without one `entry`; the same word if it holds none. In a counting filter, one copy
    /// goes, whatever the counter.
    fn minus(self, entry: Entry) -> Self;

    /// The entries that it holds. The low bits that it does not store are taken from `one`, a
    /// fingerprint that belongs to the same plane.
    fn residents(self, one: Fingerprint) -> impl Iterator<Item = Entry>;

    /// The contents of each slot for display, with 0 for an empty one: the marked entry first, and a
    /// token last.
    fn shown(self) -> Vec<u64>;

    // The mark.

    /// The mark, if any.
    fn mark(self) -> Option<Mark>;

    /// The mark, if it is on a copy of `fingerprint`.
    fn mark_of(self, fingerprint: Fingerprint) -> Option<Mark>;

    /// The marked entry. The low bits that the word does not store are taken from `one`, a fingerprint
    /// that belongs to the same plane.
    fn marked_entry(self, one: Fingerprint) -> Entry;

    /// True if `entry` has the mark `mark`. In a counting filter, whatever the counter: a remove
    /// changes it under the mark.
    fn is_marked(self, mark: Mark, entry: Entry) -> bool;

    /// True if neither word is marked.
    fn both_unmarked(p: Self, q: Self) -> bool;

    /// True if there is no mark.
    fn is_unmarked(self) -> bool;

    /// The word with one `entry` marked; `None` if it holds none, or has a mark already. It
    /// must not be reserved.
    fn with_mark(self, entry: Entry, mark: Mark) -> Option<Self>;

    /// The word with `entry` added under `mark`; `None` if it has no empty slot, or a mark already.
    /// It must not be reserved.
    fn plus_marked(self, entry: Entry, mark: Mark) -> Option<Self>;

    /// The marked word with the marked entry replaced by `entry` under `mark`.
    fn marked_instead(self, entry: Entry, mark: Mark) -> Self;

    /// The word with the mark replaced.
    fn remarked(self, mark: Mark) -> Self;

    /// The word with the mark removed and its entry kept.
    fn unmarked(self) -> Self;

    /// The marked word less one copy of its entry: [`Mark::Killed`] if that was the last one.
    #[inline(always)]
    fn minus_marked(self) -> Self {
        self.remarked(Mark::Killed)
    }

    /// The word with the mark and its entry removed.
    fn without_marked(self) -> Self;

    // Counters. Without them, an entry is one copy.

    /// The most copies that one slot holds.
    const COPIES_OF_SLOT: usize = 1;

    /// The number of copies that the entry stands for.
    #[inline(always)]
    fn copies_of(_entry: Entry) -> usize {
        1
    }

    /// The entry of `copies` copies like those of this one, but of at most
    /// [`COPIES_OF_SLOT`](Self::COPIES_OF_SLOT).
    #[inline(always)]
    fn entry_of(like: Entry, _copies: usize) -> Entry {
        like
    }

    /// True if an unmarked slot has room for another copy like this single one.
    #[inline(always)]
    fn has_counter(self, _single: Entry) -> bool {
        false
    }

    /// True if a copy that was added to `other`, or taken from it, changed a counter only. The words
    /// must not be reserved.
    #[inline(always)]
    fn uses_slots_of(self, other: Self) -> bool {
        self.occupied() == other.occupied()
    }

    /// The number of copies, marked or not, beyond the first one of each slot.
    #[inline(always)]
    fn repeats(self) -> u64 {
        0
    }

    /// The word, where unmarked copies like those of `entry` occupy as few slots as possible.
    #[inline(always)]
    fn joined(self, _entry: Entry) -> Self {
        self
    }

    /// The marked word, where one copy under the mark is now a single one like those of `entry`, and the
    /// others have no mark. `None` if there is no room for it.
    #[inline(always)]
    fn with_one_renewed(self, entry: Entry) -> Option<Self> {
        Some(self.without_marked().plus(entry))
    }

    // The reservation.

    /// True if there is a reservation.
    fn is_reserved(self) -> bool;

    /// The word as all threads but the reservation's owner see it: the slot of the token is empty.
    fn without_reservation(self) -> Self;

    /// The word with a reservation under `token`; `None` if it has no empty slot. It must not be
    /// reserved.
    fn with_reservation(self, token: u64) -> Option<Self>;

    /// The token of the reservation, if any.
    fn token(self) -> Option<u64>;

    // Snapshots.

    /// The word as a snapshot keeps it, without operations in progress. Outlined, shadowed, delivered
    /// and withheld copies become residents; trailing and killed copies are removed; a split has not
    /// begun.
    fn image(bits: u64) -> u64;

    /// True if the word is a possible result of [`image`](Self::image). Words of snapshots from
    /// untrusted sources are checked with it.
    fn is_image(bits: u64) -> bool;
}
