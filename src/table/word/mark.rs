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

    /// The word with its lowest `fingerprint` marked; `None` if it holds none, or has a mark already.
    /// In an expiring filter it is this entry. The word must not be reserved.
    #[inline]
    pub(crate) fn with_mark(self, fingerprint: u64, mark: Mark) -> Option<Self> {
        if !self.is_unmarked() {
            return None;
        }
        let place = self.place(self.unmarked_matches(fingerprint));
        let stored = self.stored(fingerprint);
        (place != 0).then(|| self.with_first(stored, place).remarked(mark))
    }

    /// The word with `fingerprint` under `mark` in its lowest empty slot; `None` if there is none, or
    /// a mark already. The word must not be reserved.
    pub(crate) fn plus_marked(self, fingerprint: u64, mark: Mark) -> Option<Self> {
        debug_assert!(!self.is_reserved());
        if !self.is_unmarked() {
            return None;
        }
        let place = self.place(self.empty_slots());
        let number = self.number_of(fingerprint);
        let with = Self::from_bits(self.bits | (number * place));
        (place != 0).then(|| with.with_first(number, place).remarked(mark))
    }

    /// The marked word with `fingerprint` under `mark` in place of what is marked.
    pub(crate) fn marked_instead(self, fingerprint: u64, mark: Mark) -> Self {
        debug_assert!(!self.is_unmarked());
        self.set(0, self.number_of(fingerprint)).remarked(mark)
    }

    /// The word with `number`, which is at `place`, in slot 0, and at `place` what was there.
    #[inline(always)]
    fn with_first(self, number: u64, place: u64) -> Self {
        // If slot 0 is the place, nothing changes.
        let different = number ^ self.slot(0);
        Self::from_bits(self.bits ^ (different * (place ^ 1)))
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
        self.unmarked().set(0, 0)
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
        Self::from_bits(self.bits & !L::RESERVED).set(self.slots() - 1, 0)
    }

    /// The word with a reservation under `token`, of which as many bits are kept as a slot has;
    /// `None` if there is no empty slot for it. The last slot is emptied for it into the lowest
    /// empty one. The word must not be reserved.
    #[inline]
    pub(crate) fn with_reservation(self, token: u64) -> Option<Self> {
        debug_assert!(!self.is_reserved());
        let (vacancy, last) = (self.place(self.empty_slots()), self.slots() - 1);
        let displaced = self.slot(last) * vacancy;
        let word = Self::from_bits(self.bits | displaced | L::RESERVED);
        (vacancy != 0).then(|| word.set(last, token & self.lanes().largest))
    }

    /// The token of the reservation, if there is one, for a negative control.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    pub(crate) fn token(self) -> Option<u64> {
        self.is_reserved().then(|| self.slot(self.slots() - 1))
    }
}
