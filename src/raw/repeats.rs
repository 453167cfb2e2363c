//! The copies beyond the first one of each slot, which only slots with counters have.
//!
//! A filter grows by the number of slots in use, whatever the number of copies.

use super::{RawFilter, counter, len::Len};
use crate::{
    memory::{Extra, Heap},
    table::{
        layout::{Layout, Word},
        word::Bucket,
    },
};

/// The number of repeats. Each filter with counters has memory of its own.
pub(crate) type Repeats = Len<Heap>;

/// How many low differences in a row show that few slots are in use. As in
/// [`Len::is_at_least`], a stopped thread can make one of them low.
const LOOKS: usize = 3;

impl<L: Layout> RawFilter<L> {
    /// The number of slots in use. Concurrent operations may be counted or not.
    #[inline]
    pub(crate) fn in_use(&self) -> usize {
        let copies = self.len.sum();
        copies - self.repeats_at_most(copies)
    }

    /// The number of repeats, but not more than `copies`.
    #[inline(always)]
    fn repeats_at_most(&self, copies: usize) -> usize {
        self.repeats
            .get()
            .map_or(0, |repeats| repeats.sum().min(copies))
    }

    /// True if this number of slots is in use. Concurrent operations may be counted or not.
    pub(super) fn is_in_use(&self, slots: usize) -> bool {
        match self.repeats.get() {
            None => self.len.is_at_least(slots),
            Some(_) => (0..LOOKS).any(|_| self.in_use() >= slots),
        }
    }

    /// Counts the repeats by which `new` differs from the word `old` that it has replaced.
    pub(super) fn note_repeats(&self, old: Word<L>, new: Word<L>) {
        if let Some(repeats) = self.repeats.get() {
            count(repeats, old, new);
        }
    }

    /// Counts a copy that was added to the word `old`, if it has no slot of its own.
    #[inline(always)]
    pub(super) fn note_added(&self, old: Word<L>, new: Word<L>) {
        if let Some(repeats) = self.repeats.get()
            && new.uses_slots_of(old)
        {
            repeats.add(1);
        }
    }

    /// Counts a copy that was taken from the word `old`, if its slot is still in use.
    #[inline(always)]
    pub(super) fn note_taken(&self, old: Word<L>, new: Word<L>) {
        if let Some(repeats) = self.repeats.get()
            && new.uses_slots_of(old)
        {
            repeats.subtract(1);
        }
    }

    /// There are no items any more.
    pub(crate) fn reset_counts(&mut self) {
        self.len.reset();
        self.repeats = Extra::made(|| counter::<L, _>(self.table.buckets(), &self.table));
    }

    /// The filter has this number of words now.
    pub(super) fn grow_counts(&self) {
        let words = self.table.words();
        self.len.grow(words);
        if let Some(repeats) = self.repeats.get() {
            repeats.grow(words);
        }
    }
}

/// Counts the repeats by which `new` differs from the word `old` that it has replaced.
pub(super) fn count<W: Bucket>(repeats: &Repeats, old: W, new: W) {
    let more = new.repeats().wrapping_sub(old.repeats());
    if more != 0 {
        repeats.add(more);
    }
}
