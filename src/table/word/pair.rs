//! What the fast paths ask of both words of a class, which they pass as they are in the table.

use super::{Bits, Hint, Phases};
use crate::table::entry::{Entry, Fingerprint};
use std::hint::select_unpredictable;

/// The result of [`Pair::minus_in_first`].
pub(crate) enum Minus {
    /// One copy is removed, from P or from Q.
    Taken { in_p: bool, new: Bits },
    /// Neither holds the entry.
    Nothing,
    /// One of the words has a mark, or needs a slower search: nothing is known of the entry.
    Marked,
}

/// The questions about two words of a table that has the given hint.
///
/// A word is *settled* if it is quiet and in the phase of the hint.
pub(crate) trait Pair: Phases {
    /// The question of a lookup. Returns whether both words are settled, and whether any slot of either
    /// holds `fingerprint`. The second answer is meaningful only if both words are settled. Otherwise a
    /// control bit can hide a match, a token can look like one, and slots of another level differ.
    ///
    /// The caller combines the answers, so this function does not branch on them.
    fn match_settled(p: Bits, q: Bits, fingerprint: Fingerprint, hint: Hint) -> (bool, bool);

    /// The question of an insert: returns the emptier word with `entry` added, and whether that is
    /// `other`. Returns `None` if both words are full. The words may be reserved; the result has no
    /// reservation.
    ///
    /// If both words are in the phase of the hint, this is faster.
    fn plus_in_emptier(one: Bits, other: Bits, entry: Entry, hint: Hint) -> Option<(bool, Bits)>;

    /// The question of a remove: finds the first word that holds `entry`, and removes one copy. The
    /// words may be reserved; the result has no reservation.
    ///
    /// If both words are settled, this is faster.
    fn minus_in_first(p: Bits, q: Bits, entry: Entry, hint: Hint) -> Minus;

    /// [`is_fuller_than`](super::Bucket::is_fuller_than) of two settled words.
    #[inline(always)]
    fn is_fuller_at_hint(one: Bits, other: Bits, hint: Hint) -> bool {
        Self::decode(one, hint).is_fuller_than(Self::decode(other, hint))
    }

    /// [`plus_in_emptier`](Self::plus_in_emptier) by the contents of each word.
    #[cold]
    #[inline(never)]
    fn plus_by_contents(one: Bits, other: Bits, entry: Entry, hint: Hint) -> Option<(bool, Bits)> {
        let [one, other] = [one, other].map(|bits| Self::decode(bits, hint).without_reservation());
        let in_other = one.is_fuller_than(other);
        let into = select_unpredictable(in_other, other, one);
        let new = into.plus(entry);
        (new != into).then(|| (in_other, new.encode(hint)))
    }

    /// [`minus_in_first`](Self::minus_in_first) by the contents of each word.
    #[cold]
    #[inline(never)]
    fn minus_by_contents(p: Bits, q: Bits, entry: Entry, hint: Hint) -> Minus {
        let [p, q] = [p, q].map(|bits| Self::decode(bits, hint).without_reservation());
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
                new: new.encode(hint),
            },
        }
    }
}
