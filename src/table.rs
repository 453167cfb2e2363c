//! The array of bucket words, and the only owner of their atomics.

use crate::{
    fault::{self, Event, Fault},
    layout::Layout,
    sync::{self, AtomicU64, Ordering},
    word::Word,
};
use std::marker::PhantomData;

/// The buckets of one filter.
pub(crate) struct Table<L> {
    words: Box<[AtomicU64]>,
    layout: PhantomData<L>,
}

/// A word as a writer read it, kept for the compare-exchange to come.
#[derive(Clone, Copy)]
pub(crate) struct Prepared<L> {
    pub(crate) bucket: usize,
    /// The word as it stands in the table.
    raw: Word<L>,
    /// The word with its reservation dropped: what writers compute with.
    pub(crate) word: Word<L>,
}

impl<L: Layout> Prepared<L> {
    /// True if another thread's reservation stands in the word.
    #[inline]
    pub(crate) fn is_reserved(&self) -> bool {
        self.raw.is_reserved()
    }

    /// The same place after it was exchanged for `raw`.
    #[inline]
    pub(crate) fn now(self, raw: Word<L>) -> Self {
        Self { raw, ..self }
    }
}

impl<L: Layout> Table<L> {
    /// `buckets` empty words; `None` if there is no memory for them.
    pub(crate) fn new(buckets: usize) -> Option<Self> {
        Some(Self { words: sync::zeroed(buckets)?, layout: PhantomData })
    }

    pub(crate) fn buckets(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// A reader's load.
    ///
    /// Acquire: pairs with the Release of every exchange, so that whoever sees
    /// the effect of a relocation's step sees all earlier steps (DESIGN, I2).
    #[inline(always)]
    pub(crate) fn load(&self, event: Event, bucket: usize) -> Word<L> {
        count_load();
        Word::from_bits(self.words[bucket].load(fault::order(event, Ordering::Acquire)))
    }

    /// A writer's load.
    ///
    /// Acquire: as for [`load`](Self::load).
    #[inline(always)]
    pub(crate) fn prepare(&self, bucket: usize) -> Prepared<L> {
        let order = fault::order(Event::Prepare, Ordering::Acquire);
        let raw = Word::<L>::from_bits(sync::load_for_update(&self.words[bucket], order));
        Prepared { bucket, raw, word: raw.without_reservation() }
    }

    /// Exchanges the whole word for `new` if it still is as it was prepared.
    ///
    /// AcqRel: Release pairs with the Acquire of [`load`](Self::load) and
    /// [`prepare`](Self::prepare); Acquire continues what the word's earlier
    /// writers released. Relaxed on failure: the caller prepares again.
    #[inline(always)]
    pub(crate) fn replace(&self, event: Event, prepared: Prepared<L>, new: Word<L>) -> bool {
        let order = fault::order(event, Ordering::AcqRel);
        let owner = matches!(event, Event::Reserve | Event::Confirm | Event::Cancel);
        let new = if fault::is(Fault::ReservationKept) && !owner {
            new.with_reservation_of(prepared.raw)
        } else {
            new
        };
        self.words[prepared.bucket]
            .compare_exchange(prepared.raw.bits(), new.bits(), order, Ordering::Relaxed)
            .is_ok()
    }

    /// Prepares `bucket` again and again until `change` gives up or its word
    /// has been exchanged for what `change` made of it. True if exchanged.
    #[inline]
    pub(crate) fn update(
        &self,
        event: Event,
        bucket: usize,
        mut change: impl FnMut(Word<L>) -> Option<Word<L>>,
    ) -> bool {
        loop {
            let prepared = self.prepare(bucket);
            let Some(new) = change(prepared.word) else { return false };
            if self.replace(event, prepared, new) {
                return true;
            }
        }
    }

    /// Empties every bucket.
    pub(crate) fn clear(&mut self) {
        for word in &mut self.words {
            // Relaxed: `&mut self` excludes every other thread.
            word.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) fn count_load() {}

#[cfg(test)]
pub(crate) use loads::count_load;

/// Counts the loads of lookups, for the test of their wait-freedom.
#[cfg(test)]
pub(crate) mod loads {
    use std::cell::Cell;

    thread_local!(static LOADS: Cell<usize> = const { Cell::new(0) });

    pub(crate) fn count_load() {
        LOADS.set(LOADS.get() + 1);
    }

    /// The loads of this thread while `f` ran.
    pub(crate) fn during<R>(f: impl FnOnce() -> R) -> (R, usize) {
        let before = LOADS.get();
        let result = f();
        (result, LOADS.get() - before)
    }
}
