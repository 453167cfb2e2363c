//! The mark on slot 0, and the reservation in the last slot.

use super::Word;
use crate::table::layout::{Layout, Masks, deposit};

/// What a relocation is doing with the fingerprint in slot 0.
///
/// The letters are those of the protocol in `docs/DESIGN.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Mark {
    /// O: a copy being brought in, by a mover that may yet have to give way.
    Outline = 1,
    /// S: a copy being brought in, for a move that may be decided at any time.
    Shadow = 2,
    /// T: the original of a decided move, about to be erased.
    Trailing = 3,
    /// D: the copy of a decided move, live, held until the original is gone.
    Delivered = 4,
    /// K: a copy under S, D or W that a remove has taken.
    Killed = 5,
    /// W: a copy that its setter is about to empty because it is dead, or to give a younger tag.
    /// Until then it is a copy as any other. Only in expiring filters.
    Withheld = 6,
}

impl Mark {
    pub(super) const ALL: [Mark; 6] = [
        Mark::Outline,
        Mark::Shadow,
        Mark::Trailing,
        Mark::Delivered,
        Mark::Killed,
        Mark::Withheld,
    ];
}

impl<L: Layout> Word<L> {
    /// The mark on slot 0, if any.
    pub(crate) fn mark(self) -> Option<Mark> {
        let bits = self.bits & L::MARK;
        Mark::ALL.into_iter().find(|&mark| bits == Self::code(mark))
    }

    /// The mark on slot 0, if slot 0 holds `fingerprint`, whatever its tag.
    pub(crate) fn mark_of(self, fingerprint: u64) -> Option<Mark> {
        if L::fingerprint(self.slot(0)) == self.stored(fingerprint) {
            self.mark()
        } else {
            None
        }
    }

    /// What slot 0 holds, if it is marked: of an expiring filter, where this is the whole entry.
    pub(crate) fn marked_entry(self) -> u64 {
        debug_assert!(!self.is_unmarked());
        self.slot(0)
    }

    /// True if slot 0 holds `fingerprint` under `mark`; in an expiring filter, this entry.
    #[inline]
    pub(crate) fn is_marked(self, mark: Mark, fingerprint: u64) -> bool {
        self.bits & L::MARK == Self::code(mark) && self.slot(0) == self.stored(fingerprint)
    }

    /// True if neither word is marked.
    #[inline]
    pub(crate) fn both_unmarked(p: Self, q: Self) -> bool {
        (p.bits | q.bits) & L::MARK == 0
    }

    /// True if there is no mark.
    #[inline]
    pub(crate) fn is_unmarked(self) -> bool {
        self.bits & L::MARK == 0
    }

    const fn code(mark: Mark) -> u64 {
        deposit(mark as u64, L::MARK)
    }

    /// The unmarked word with slot `slot` brought to slot 0 and marked.
    pub(crate) fn with_mark(self, slot: usize, mark: Mark) -> Self {
        debug_assert!(self.is_unmarked() && !self.is_reserved());
        let (first, marked) = (self.slot(0), self.slot(slot));
        self.set(slot, first).set(0, marked).remarked(mark)
    }

    /// The word with the mark on slot 0 replaced.
    #[inline]
    pub(crate) fn remarked(self, mark: Mark) -> Self {
        Self::from_bits(self.bits & !L::MARK | Self::code(mark))
    }

    /// The word with slot 0's mark taken off and its fingerprint left.
    #[inline]
    pub(crate) fn unmarked(self) -> Self {
        Self::from_bits(self.bits & !L::MARK)
    }

    /// The word with slot 0 unmarked and emptied.
    #[inline]
    pub(crate) fn without_marked(self) -> Self {
        self.unmarked().without(0)
    }

    // The reservation.

    /// True if the last slot holds a reservation's token.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self.bits & L::RESERVED != 0
    }

    /// The word as everybody but the reservation's owner sees it: the slot of
    /// the token is empty.
    #[inline(always)]
    pub(crate) fn without_reservation(self) -> Self {
        // A branch, foreseen, is faster here than arithmetic that a writer's
        // exchange would have to wait for.
        if self.is_reserved() {
            self.reservation_dropped()
        } else {
            self
        }
    }

    #[cold]
    #[inline(never)]
    fn reservation_dropped(self) -> Self {
        Self::from_bits(self.bits & !L::RESERVED).without(self.slots() - 1)
    }

    /// The word with a reservation under `token`, of which as many bits are kept as a slot has;
    /// the last slot is emptied for it into `vacancy`. The word must not be reserved.
    pub(crate) fn with_reservation(self, vacancy: usize, token: u64) -> Self {
        debug_assert!(!self.is_reserved() && self.slot(vacancy) == 0);
        let last = self.slots() - 1;
        let displaced = self.slot(last);
        let word = self.set(vacancy, displaced);
        let word = word.set(last, token & self.lanes().largest);
        Self::from_bits(word.bits | L::RESERVED)
    }
}
