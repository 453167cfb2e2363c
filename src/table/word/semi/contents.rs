//! What a semi-sorted word holds, taken apart, and what the operations make of it.
//!
//! No operation here names a slot: what comes or goes moves the others. The marked fingerprint is
//! in lane 0, and all others are in order, the empty slots first.

mod lanes;
mod packing;
mod pair;

use super::{Heads, SemiSorted, TOKENS};
use crate::table::{
    entry::{Entry, Fingerprint},
    word::{Bits, Bucket, Mark, Phases},
};
use lanes::low;
use std::{fmt, marker::PhantomData};

/// The fingerprints of a word, its mark, and its reservation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contents<L> {
    /// The raw bits of each slot, in lanes.
    raws: u64,
    /// The prefix of each slot, in lanes as wide.
    prefixes: u64,
    /// The number of the set of the prefixes, without that of a marked fingerprint. All sets have
    /// the same numbers with a 0 more, so the number changes only if an unmarked prefix is added or
    /// removed.
    set: u64,
    /// The mark on lane 0.
    mark: Option<Mark>,
    /// The token of the reservation. In the lanes its slot is an empty one.
    token: Option<u16>,
    layout: PhantomData<L>,
}

impl<L: SemiSorted> fmt::Debug for Contents<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("slots", &self.shown())
            .field("mark", &self.mark)
            .field("reserved", &self.is_reserved())
            .finish()
    }
}

impl<L: SemiSorted> Bucket for Contents<L> {
    const EMPTY: Self = Self {
        raws: 0,
        prefixes: 0,
        set: 0,
        mark: None,
        token: None,
        layout: PhantomData,
    };

    /// A word of a snapshot may be invalid; what it holds is not used, because
    /// [`is_image`](Self::is_image) refuses it.
    #[inline(always)]
    fn unpack(bits: u64) -> Self {
        Self::from_bits(bits).unwrap_or(Self::EMPTY)
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        self.bits()
    }

    #[inline(always)]
    fn slots(self) -> usize {
        L::SLOTS
    }

    // Fingerprints.

    #[inline]
    fn holds(self, entry: Entry) -> bool {
        self.unmarked_matches(entry) != 0
    }

    #[inline]
    fn count(self, entry: Entry) -> usize {
        self.unmarked_matches(entry).count_ones() as usize
    }

    #[inline]
    fn occupied(self) -> u32 {
        Self::used(self.raws | self.prefixes).count_ones()
    }

    #[inline(always)]
    fn has_vacancy(self) -> bool {
        debug_assert!(!self.is_reserved());
        (self.raws | self.prefixes) >> self.first() & L::LANE == 0
    }

    #[inline(always)]
    fn is_fuller_than(self, other: Self) -> bool {
        debug_assert!(!self.is_reserved() && !other.is_reserved());
        Self::used(self.raws | self.prefixes) > Self::used(other.raws | other.prefixes)
    }

    #[inline(always)]
    fn plus(self, entry: Entry) -> Self {
        debug_assert!(entry != Entry::EMPTY);
        if self.has_vacancy() {
            self.put(entry)
        } else {
            self
        }
    }

    #[inline(always)]
    fn minus(self, entry: Entry) -> Self {
        debug_assert!(!self.is_reserved());
        let found = self.unmarked_matches(entry);
        if found == 0 {
            self
        } else {
            self.taken(found & found.wrapping_neg())
        }
    }

    fn residents(self, _one: Fingerprint) -> impl Iterator<Item = Entry> {
        (usize::from(!self.is_unmarked())..L::SLOTS)
            .map(move |lane| self.entry(lane))
            .filter(|&entry| entry != Entry::EMPTY)
    }

    fn shown(self) -> Vec<u64> {
        let first = usize::from(!self.is_unmarked());
        let marked = (0..first).map(|lane| self.entry(lane).bits());
        // The largest first, as words that are packed have their empty slots last.
        let others = (first..L::SLOTS).rev().map(|lane| self.entry(lane).bits());
        let mut shown: Vec<u64> = marked.chain(others).collect();
        if let (Some(token), Some(last)) = (self.token, shown.last_mut()) {
            *last = token.into();
        }
        shown
    }

    // The mark on lane 0.

    #[inline]
    fn mark(self) -> Option<Mark> {
        self.mark
    }

    #[inline(always)]
    fn is_unmarked(self) -> bool {
        self.mark.is_none()
    }

    #[inline]
    fn both_unmarked(p: Self, q: Self) -> bool {
        p.is_unmarked() && q.is_unmarked()
    }

    fn mark_of(self, fingerprint: Fingerprint) -> Option<Mark> {
        self.mark
            .filter(|_| self.entry(0) == Entry::untagged(fingerprint))
    }

    fn marked_entry(self, _one: Fingerprint) -> Entry {
        debug_assert!(!self.is_unmarked());
        self.entry(0)
    }

    #[inline]
    fn is_marked(self, mark: Mark, entry: Entry) -> bool {
        self.mark.filter(|_| self.entry(0) == entry) == Some(mark)
    }

    fn with_mark(self, entry: Entry, mark: Mark) -> Option<Self> {
        debug_assert!(!self.is_reserved());
        let found = self.unmarked_matches(entry);
        let is_free = self.is_unmarked() && found != 0;
        is_free.then(|| {
            let rest = self.taken(found & found.wrapping_neg());
            rest.with_first(entry).remarked(mark)
        })
    }

    fn plus_marked(self, entry: Entry, mark: Mark) -> Option<Self> {
        debug_assert!(entry != Entry::EMPTY);
        let is_free = self.is_unmarked() && self.has_vacancy();
        is_free.then(|| self.with_first(entry).remarked(mark))
    }

    fn marked_instead(self, entry: Entry, mark: Mark) -> Self {
        debug_assert!(!self.is_unmarked() && entry != Entry::EMPTY);
        self.with_first(entry).remarked(mark)
    }

    #[inline]
    fn remarked(self, mark: Mark) -> Self {
        Self {
            mark: Some(mark),
            ..self
        }
    }

    #[inline]
    fn unmarked(self) -> Self {
        if self.is_unmarked() {
            return self;
        }
        match self.entry(0) {
            // Only words that no thread of this package has written have a mark on nothing.
            Entry::EMPTY => self.without_marked(),
            entry => self.without_marked().put(entry),
        }
    }

    #[inline]
    fn without_marked(self) -> Self {
        debug_assert!(!self.is_unmarked());
        let unmarked = Self { mark: None, ..self };
        unmarked.with_first(Entry::EMPTY)
    }

    // The reservation.

    #[inline(always)]
    fn is_reserved(self) -> bool {
        self.token.is_some()
    }

    #[inline(always)]
    fn without_reservation(self) -> Self {
        Self {
            token: None,
            ..self
        }
    }

    fn with_reservation(self, token: u64) -> Option<Self> {
        debug_assert!(token < TOKENS);
        self.has_vacancy().then_some(Self {
            token: Some(token as u16),
            ..self
        })
    }

    fn token(self) -> Option<u64> {
        self.token.map(u64::from)
    }

    // Snapshots.

    #[inline(always)]
    fn image(bits: u64) -> u64 {
        if bits >> L::SHIFT < L::MARKED {
            // Quiet: it is at rest.
            return bits;
        }
        let rest = Self::unpack(bits).without_reservation();
        let rest = match rest.mark {
            Some(Mark::Trailing | Mark::Killed) => rest.without_marked(),
            _ => rest.unmarked(),
        };
        rest.pack()
    }

    #[inline(always)]
    fn is_image(bits: u64) -> bool {
        Self::quiet(Bits(bits)).is_some_and(Self::is_in_order)
    }
}

/// Filters with such words do not grow.
impl<L: SemiSorted> Phases for Contents<L> {}
