//! The bucket word: what it holds, and what becomes of it.
//!
//! A word is a plain value. Nothing here is atomic; the table owns the atomics and exchanges whole
//! words.
//!
//! What a word holds and how that is written in 64 bits are two things. [`Bucket`] is the first
//! one: fingerprints, at most one of them with a [`Mark`], and a reservation. In a growable filter a
//! word has a phase as well: [`phase`]. The order of the slots has no meaning, so no operation tells others the number of a
//! slot. [`packed`] and [`semi`] are two ways to write it.

pub(crate) mod lanes;
mod mark;
pub(crate) mod packed;
mod phase;
pub(crate) mod semi;

use super::entry::{Entry, Fingerprint};
use std::{fmt::Debug, hint::select_unpredictable};

pub(crate) use mark::Mark;
pub(crate) use phase::Phases;

/// The bits of a word as they are in the table: what an exchange compares, and what the fast path
/// of a lookup looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits(pub(crate) u64);

/// What [`Bucket::minus_in_first`] makes of two words.
pub(crate) enum Minus {
    /// A copy goes: of P or else of Q.
    Taken { in_p: bool, new: Bits },
    /// Neither holds the entry.
    Nothing,
    /// A mark, or else what takes longer to look at: it is not said what the words hold.
    Marked,
}

/// One bucket: what one atomic 64-bit word stands for.
///
/// Fingerprints and entries are whole ones, whatever a word stores of them. Writers name the entry
/// that they put or take, and readers ask for a fingerprint, whatever its tag. What a word *holds*
/// stands there without a mark.
pub(crate) trait Bucket: Copy + PartialEq + Debug {
    /// No fingerprint, no mark, no reservation, phase 0. Its representation is 0.
    const EMPTY: Self;

    /// The word with the given representation: one of a table. (One from outside is first to be an
    /// [image](Self::is_image).)
    fn unpack(bits: u64) -> Self;

    /// The word's representation.
    fn pack(self) -> u64;

    /// Slots of this word.
    fn slots(self) -> usize;

    /// What the fast path of a lookup asks: whether both words are settled, and whether any slot of
    /// either holds `fingerprint`. A word is settled if it is quiet and in the phase of `hint`. If
    /// a word is not settled, the second answer says nothing. A control bit can hide a match, a
    /// token can look like one, and at another level a slot has another meaning.
    ///
    /// The caller combines the answers, so that neither is branched on here.
    fn match_settled(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Self) -> (bool, bool);

    /// What an insert asks: into which word `entry` goes, true for `other`, which is the emptier
    /// one, and that word with it. `None` if both are full. The words may be reserved; what comes is
    /// without that.
    #[inline(always)]
    fn plus_in_emptier(one: Bits, other: Bits, entry: Entry) -> Option<(bool, Bits)> {
        plus_in_emptier::<Self>(one, other, entry)
    }

    /// What a remove asks: the first word that holds `entry`, without one of it. The words may be
    /// reserved; what comes is without that.
    #[inline(always)]
    fn minus_in_first(p: Bits, q: Bits, entry: Entry) -> Minus {
        let [p, q] = [p, q].map(|bits| Self::unpack(bits.0).without_reservation());
        if !(p.is_unmarked() && q.is_unmarked()) {
            return Minus::Marked;
        }
        let (of_p, of_q) = (p.minus(entry), q.minus(entry));
        let in_p = of_p != p;
        let (from, new) = select_unpredictable(in_p, (p, of_p), (q, of_q));
        match new == from {
            true => Minus::Nothing,
            false => Minus::Taken {
                in_p,
                new: Bits(new.pack()),
            },
        }
    }

    // Entries. The word must not be reserved.

    /// True if it holds `entry`.
    fn holds(self, entry: Entry) -> bool;

    /// How often it holds `entry`.
    fn count(self, entry: Entry) -> usize;

    /// True if there is an empty slot.
    fn has_vacancy(self) -> bool;

    /// How many slots are not empty.
    fn occupied(self) -> u32;

    /// True if more slots are used than in the other word.
    ///
    /// A heuristic, except that a full word is certainly fuller than any other. Among words at
    /// different levels only a full one is fuller.
    fn is_fuller_than(self, other: Self) -> bool;

    /// The word with `entry`; the same word if it is full.
    fn plus(self, entry: Entry) -> Self;

    /// The word without one `entry`; the same word if it holds none.
    fn minus(self, entry: Entry) -> Self;

    /// The entries that it holds. Their low bits, which it does not store, are those of `one`, a
    /// fingerprint that belongs into it.
    fn residents(self, one: Fingerprint) -> impl Iterator<Item = Entry>;

    /// What is in each slot, 0 if that is empty: what is marked first, and a token last. Only to be
    /// looked at.
    fn shown(self) -> Vec<u64>;

    // The mark.

    /// The mark, if any.
    fn mark(self) -> Option<Mark>;

    /// The mark, if it is on a copy of `fingerprint`.
    fn mark_of(self, fingerprint: Fingerprint) -> Option<Mark>;

    /// The entry that is marked, in a filter that cannot grow.
    fn marked_entry(self) -> Entry;

    /// True if `entry` is under `mark`.
    fn is_marked(self, mark: Mark, entry: Entry) -> bool;

    /// True if neither word is marked.
    fn both_unmarked(p: Self, q: Self) -> bool;

    /// True if there is no mark.
    fn is_unmarked(self) -> bool;

    /// The word with one `entry` marked; `None` if it holds none, or has a mark already. It
    /// must not be reserved.
    fn with_mark(self, entry: Entry, mark: Mark) -> Option<Self>;

    /// The word with `entry` under `mark` beside what is there; `None` if there is no empty
    /// slot, or a mark already. It must not be reserved.
    fn plus_marked(self, entry: Entry, mark: Mark) -> Option<Self>;

    /// The marked word with `entry` under `mark` in place of what is marked.
    fn marked_instead(self, entry: Entry, mark: Mark) -> Self;

    /// The word with the mark replaced.
    fn remarked(self, mark: Mark) -> Self;

    /// The word with the mark taken off and its entry left.
    fn unmarked(self) -> Self;

    /// The word without the mark and its entry.
    fn without_marked(self) -> Self;

    // The reservation.

    /// True if there is a reservation.
    fn is_reserved(self) -> bool;

    /// The word as everybody but the reservation's owner sees it: the slot of the token is empty.
    fn without_reservation(self) -> Self;

    /// The word with a reservation under `token`; `None` if there is no empty slot for it. It must
    /// not be reserved.
    fn with_reservation(self, token: u64) -> Option<Self>;

    /// The token of the reservation, if there is one, for a negative control.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn token(self) -> Option<u64>;

    // Snapshots.

    /// The word as a snapshot keeps it: at rest. Outlines, shadows and delivered copies become
    /// residents, and so do withheld ones; what trails or is killed goes; a split has not begun.
    fn image(bits: Bits) -> Bits;

    /// True if the word is one that [`image`](Self::image) may give: a snapshot has been read from
    /// outside.
    fn is_image(bits: Bits) -> bool;
}

/// [`Bucket::plus_in_emptier`] by way of what the words hold.
#[inline(always)]
fn plus_in_emptier<W: Bucket>(one: Bits, other: Bits, entry: Entry) -> Option<(bool, Bits)> {
    let [one, other] = [one, other].map(|bits| W::unpack(bits.0).without_reservation());
    let in_other = one.is_fuller_than(other);
    let into = select_unpredictable(in_other, other, one);
    let new = into.plus(entry);
    (new != into).then(|| (in_other, Bits(new.pack())))
}

#[cfg(test)]
mod tests;
