//! The words of a filter, and the only owner of their atomics.
//!
//! A bucket is addressed by its index and a fingerprint: in a growable filter
//! the fingerprint decides which of the bucket's words, one for each plane, is
//! the one that counts ([`crate::table::grow`]). A fixed filter has one plane, and the
//! fingerprint is not looked at.

pub(crate) mod grow;
pub(crate) mod layout;
pub(crate) mod word;

use crate::{
    fault::{self, Fault},
    step::Step,
    sync::{self, AtomicU64, Ordering},
    table::grow::Planes,
    table::layout::Layout,
    table::word::Word,
};

/// The buckets of one filter.
pub(crate) struct Table<L> {
    pub(crate) planes: Planes<L>,
}

/// A word as a writer read it, kept for the compare-exchange to come.
pub(crate) struct Loaded<'a, L> {
    atomic: &'a AtomicU64,
    /// The word as it stands in the table.
    raw: Word<L>,
    /// The word with its reservation dropped: what writers compute with.
    pub(crate) word: Word<L>,
}

impl<L> Clone for Loaded<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Loaded<'_, L> {}

impl<'a, L: Layout> Loaded<'a, L> {
    /// A writer's load.
    ///
    /// Acquire: pairs with the Release of every exchange, so that whoever sees
    /// a step sees all that came before it.
    #[inline(always)]
    pub(crate) fn load(atomic: &'a AtomicU64) -> Self {
        let order = fault::order(Step::LoadForUpdate, Ordering::Acquire);
        let raw = Word::<L>::from_bits(sync::load_for_update(atomic, order));
        Self {
            atomic,
            raw,
            word: raw.without_reservation(),
        }
    }

    /// Exchanges the whole word for `new` if it still is as it was loaded.
    ///
    /// AcqRel: Release pairs with the Acquire of a reader's and a writer's load;
    /// Acquire hands on what the word's earlier writers released. Relaxed on
    /// failure: the caller loads again.
    #[inline(always)]
    pub(crate) fn replace(self, step: Step, new: Word<L>) -> bool {
        let order = fault::order(step, Ordering::AcqRel);
        let owner = matches!(step, Step::Reserve | Step::Confirm | Step::Cancel);
        let new = if fault::is(Fault::ReservationKept) && !owner {
            new.with_reservation_of(self.raw)
        } else {
            new
        };
        let (raw, new) = if fault::is(Fault::PhaseIgnored) && self.raw.is_in_phase(new) {
            // Relaxed: done wrong on purpose, it only has to be a recent phase.
            let now = Word::<L>::from_bits(self.atomic.load(Ordering::Relaxed));
            (self.raw.with_phase_of(now), new.with_phase_of(now))
        } else {
            (self.raw, new)
        };
        self.atomic
            .compare_exchange(raw.bits(), new.bits(), order, Ordering::Relaxed)
            .is_ok()
    }

    /// True if the word has not been made by a split yet: it has no level.
    #[inline]
    pub(crate) fn is_unmade(self) -> bool {
        self.raw == Word::EMPTY
    }

    /// True if another thread's reservation stands in the word.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self.raw.is_reserved()
    }

    /// The same place after it was exchanged for `raw`.
    #[inline]
    pub(crate) fn now(self, raw: Word<L>) -> Self {
        Self {
            raw,
            word: raw.without_reservation(),
            ..self
        }
    }
}

/// How a reader loads a word in the step `step`.
#[inline(always)]
fn loads<L: Layout>(step: Step) -> impl Fn(&AtomicU64) -> Word<L> {
    move |atomic| {
        count_load();
        // Acquire: pairs with the Release of the exchange that wrote the word (PROOF,
        // section 7: ReadP, ReadQ and the second reads).
        Word::from_bits(atomic.load(fault::order(step, Ordering::Acquire)))
    }
}

/// The table for a row of loads, with the place of its words at hand: after a
/// load with Acquire the compiler must take it that anything in memory has
/// changed, that place as well, and would load it again for each word.
pub(crate) struct View<'a, L> {
    first: &'a [AtomicU64],
    planes: &'a Planes<L>,
}

impl<'a, L: Layout> View<'a, L> {
    /// Buckets of a plane: of the whole table, unless it has grown.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        self.first.len()
    }

    /// [`Table::load`].
    #[inline(always)]
    pub(crate) fn load(&self, step: Step, fingerprint: u64, bucket: usize) -> Word<L> {
        self.planes
            .route(self.first, fingerprint, bucket, loads(step))
    }

    /// The lower and then the higher word, and the hint whose phase says whether they
    /// are those that count: [`Planes::load_pair_at_hint`].
    #[inline(always)]
    pub(crate) fn load_pair_at_hint(
        &self,
        fingerprint: u64,
        p: usize,
        q: usize,
    ) -> (Word<L>, Word<L>, Word<L>) {
        let (p, q) = ((p, loads(Step::ReadP)), (q, loads(Step::ReadQ)));
        self.planes.load_pair_at_hint(self.first, fingerprint, p, q)
    }

    /// [`Table::load_for_update`].
    #[inline(always)]
    pub(crate) fn load_for_update(&self, fingerprint: u64, bucket: usize) -> Loaded<'a, L> {
        self.planes
            .route_for_update(self.first, fingerprint, bucket)
    }

    /// [`load_for_update`](Self::load_for_update) for both buckets of a pair, in this order.
    #[inline(always)]
    pub(crate) fn load_pair_for_update(
        &self,
        fingerprint: u64,
        one: usize,
        other: usize,
    ) -> (Loaded<'a, L>, Loaded<'a, L>) {
        self.planes
            .route_pair_for_update(self.first, fingerprint, one, other)
    }
}

impl<L: Layout> Table<L> {
    /// `buckets` empty buckets that can double `levels` times; `None` if there
    /// is no memory for them.
    pub(crate) fn new(buckets: usize, levels: u32) -> Option<Self> {
        Some(Self {
            planes: Planes::new(buckets, levels)?,
        })
    }

    /// Buckets of a plane: of the whole table, unless it has grown.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        self.planes.buckets()
    }

    /// The table for a row of loads.
    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_, L> {
        View {
            first: self.planes.first(),
            planes: &self.planes,
        }
    }

    /// A reader's load.
    ///
    /// Acquire: pairs with the Release of every exchange, so that whoever sees
    /// the effect of a relocation's step sees all that came before it.
    #[inline(always)]
    pub(crate) fn load(&self, step: Step, fingerprint: u64, bucket: usize) -> Word<L> {
        self.view().load(step, fingerprint, bucket)
    }

    /// A writer's load: of a word that is not frozen.
    #[inline(always)]
    pub(crate) fn load_for_update(&self, fingerprint: u64, bucket: usize) -> Loaded<'_, L> {
        self.view().load_for_update(fingerprint, bucket)
    }

    /// Prepares the bucket again and again until `change` gives up or its word
    /// has been exchanged for what `change` made of it. True if exchanged.
    #[inline]
    pub(crate) fn update(
        &self,
        step: Step,
        fingerprint: u64,
        bucket: usize,
        mut change: impl FnMut(Word<L>) -> Option<Word<L>>,
    ) -> bool {
        loop {
            let loaded = self.load_for_update(fingerprint, bucket);
            let Some(new) = change(loaded.word) else {
                return false;
            };
            if loaded.replace(step, new) {
                return true;
            }
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

#[cfg(test)]
mod tests;
