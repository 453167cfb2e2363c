//! The copies beyond the first one of each slot, which only slots with counters have.
//!
//! A filter grows by the number of slots in use, whatever the number of copies.

use super::{RawFilter, len::Len};
use crate::{
    memory::{Extra, Heap, Kind},
    table::{
        layout::{Layout, Word},
        word::Bucket,
    },
};

/// The number of repeats. Each filter with counters has memory of its own.
pub(crate) type Repeats<K> = Len<Heap, K>;

/// How many differences decide by majority. A thread that is preempted within one of them can find
/// any number, and it is not preempted within two of them (see [`Len::is_at_least`]).
const LOOKS: usize = 3;

impl<L: Layout> RawFilter<L> {
    /// The number of slots in use. Concurrent operations may be counted or not.
    #[inline]
    pub(crate) fn in_use(&self) -> usize {
        self.in_use_beside(|| {})
    }

    /// [`in_use`](Self::in_use); `others` run between the two sums: in tests.
    #[inline(always)]
    fn in_use_beside(&self, others: impl FnOnce()) -> usize {
        let copies = self.len.sum();
        others();
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
        self.is_in_use_beside(slots, || {})
    }

    fn is_in_use_beside(&self, slots: usize, mut others: impl FnMut()) -> bool {
        if self.repeats.get().is_none() {
            return self.len.is_at_least(slots);
        }
        let enough = (0..LOOKS).filter(|_| self.in_use_beside(&mut others) >= slots);
        enough.count() > LOOKS / 2
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
        if new.uses_slots_of(old)
            && let Some(repeats) = self.repeats.get()
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

    /// These repeats have expired.
    pub(super) fn forget_repeats(&self, expired: u64) {
        if let Some(repeats) = self.repeats.get()
            && expired > 0
        {
            repeats.subtract(expired);
            self.len.subtract(expired);
        }
    }

    /// There are no items any more.
    pub(crate) fn reset_counts(&mut self) {
        self.len.reset();
        self.repeats = Extra::made(|| Len::new(self.table.words()));
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
pub(super) fn count<W: Bucket, K: Kind>(repeats: &Repeats<K>, old: W, new: W) {
    let more = new.repeats().wrapping_sub(old.repeats());
    if more != 0 {
        repeats.add(more);
    }
}

#[cfg(test)]
mod tests;
