//! A word that a writer has loaded, and the exchange of that word.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    layout::{BaseOf, Layout, Word},
    word::{Base, Bits, Bucket},
};
use crate::{
    fault::{self, faulty},
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use std::marker::PhantomData;

/// A word as a writer has loaded it, kept for a later compare-exchange.
#[derive(Clone, Copy)]
pub(crate) struct Loaded<'a, L: Layout> {
    atomic: &'a AtomicU64,
    /// The bits of the word in the table, which an exchange compares.
    pub(crate) bits: Bits,
    base: BaseOf<L>,
    layout: PhantomData<L>,
}

impl<'a, L: Layout> Loaded<'a, L> {
    /// A writer's load.
    ///
    /// Acquire: pairs with the Release of every exchange, so that a thread that sees a step also sees
    /// everything before it.
    #[inline(always)]
    pub(crate) fn load(atomic: &'a AtomicU64, base: BaseOf<L>) -> Self {
        let order = fault::order(Step::LoadForUpdate, Ordering::Acquire);
        let bits = Bits(sync::load_for_update(atomic, order));
        Self {
            atomic,
            bits,
            base,
            layout: PhantomData,
        }
    }

    /// The word without its reservation, with which writers compute.
    #[inline(always)]
    pub(crate) fn word(self) -> Word<L> {
        self.word_in_table().without_reservation()
    }

    /// Exchanges the whole word for `new` if it has not changed since it was loaded.
    #[inline(always)]
    pub(crate) fn replace(self, step: Step, new: Word<L>) -> bool {
        self.replace_bits(step, self.encode(new))
    }

    /// [`replace`](Self::replace) with the bits of the new word.
    #[inline(always)]
    pub(crate) fn replace_bits(self, step: Step, new: Bits) -> bool {
        faulty!(
            self.exchange(step, new),
            in Exchange => wrong::replace(self, step, self.decode(new))
        )
    }

    /// AcqRel: Release pairs with the Acquire of readers' and writers' loads; Acquire passes on what
    /// the word's earlier writers released. Relaxed on failure, because the caller loads again.
    #[inline(always)]
    fn exchange(self, step: Step, new: Bits) -> bool {
        let order = fault::order(step, Ordering::AcqRel);
        self.atomic
            .compare_exchange(self.bits.0, new.0, order, Ordering::Relaxed)
            .is_ok()
    }

    /// True if the word still has these bits, by a load like that of a writer.
    #[inline(always)]
    pub(crate) fn is_same_now(self) -> bool {
        Self::load(self.atomic, self.base).bits == self.bits
    }

    /// True if the word has not been created by a split yet. Such words are above the first level.
    #[inline]
    pub(crate) fn is_unmade(self) -> bool {
        self.bits.0 == 0
    }

    /// True if another thread's reservation is in the word.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self.word_in_table().is_reserved()
    }

    /// The token of the reservation in the word, if it has one.
    pub(crate) fn token(self) -> Option<u64> {
        self.word_in_table().token()
    }

    /// The same place after it was exchanged for `new`.
    #[inline]
    pub(crate) fn replaced_by(self, new: Word<L>) -> Self {
        self.replaced_by_bits(self.encode(new))
    }

    /// [`replaced_by`](Self::replaced_by) with the bits of the new word.
    #[inline]
    pub(crate) fn replaced_by_bits(self, bits: Bits) -> Self {
        Self { bits, ..self }
    }

    /// The word with its reservation, if it has one.
    #[inline]
    pub(crate) fn word_in_table(self) -> Word<L> {
        self.decode(self.bits)
    }

    /// A word of this table.
    #[inline(always)]
    pub(crate) fn decode(self, bits: Bits) -> Word<L> {
        Word::<L>::unpack(self.base.add_to(bits))
    }

    /// The bits of a word of this table.
    #[inline(always)]
    pub(crate) fn encode(self, word: Word<L>) -> Bits {
        self.base.subtract_from(word.pack())
    }
}
