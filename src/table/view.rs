//! How the words of a class are loaded and exchanged: what every operation crosses.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Growth, Table,
    class::{Class, Fingerprints},
    entry::Fingerprint,
    layout::{BaseOf, Layout, Word},
    word::{Base, Bits, Bucket, Hint, Phases},
};
use crate::{
    fault::{self, faulty},
    memory::{Extra, Storage},
    step::Step,
    sync::{self, AtomicU64, Ordering, count_load},
};
use std::{marker::PhantomData, ops::Range};

/// The table for a series of loads, with the address of its words in a register. After a load with
/// Acquire the compiler must assume that any memory has changed, including that address, and would
/// load it again for each word.
pub(crate) struct View<'a, L: Layout> {
    /// Plane 0 of a fixed filter.
    first: &'a [AtomicU64],
    growth: Option<&'a Growth<L>>,
    table: &'a Table<L>,
}

impl<'a, L: Layout> View<'a, L> {
    /// [`Table::growth`]. In a fixed filter the compiler knows that there is none.
    #[inline(always)]
    fn growth(&self) -> Option<&'a Growth<L>> {
        self.growth.filter(|_| L::GROWS)
    }

    /// [`Table::buckets`].
    #[inline(always)]
    pub(crate) fn buckets(&self) -> usize {
        match self.growth() {
            Some(growth) => growth.buckets,
            None => self.first.len(),
        }
    }

    /// The class of the items with this hash.
    #[inline(always)]
    pub(crate) fn class(&self, hash: u64) -> Class {
        let fingerprints = match self.growth() {
            Some(growth) => growth.fingerprints,
            None => const { Fingerprints::new(0) },
        };
        Class::of_hash(hash, fingerprints, self.buckets())
    }

    /// [`Table::hint`].
    #[inline(always)]
    fn hint(&self) -> Hint {
        self.growth().map_or(Hint::FIXED, Growth::hint)
    }

    /// [`Table::base`].
    #[inline(always)]
    fn base(&self) -> BaseOf<L> {
        BaseOf::<L>::of_first(self.growth().map_or(0, |growth| growth.first_level.into()))
    }

    /// Brings the words of a class into the cache, as [`Table::prefetch`] does.
    #[inline(always)]
    pub(crate) fn prefetch(&self, class: Class) {
        let plane = self.plane_of_hint(self.hint(), class.fingerprint);
        plane.prefetch(class.p);
        plane.prefetch(class.q);
    }

    /// [`Table::load`]. Between two levels all words are at the level of the hint, which one comparison
    /// shows.
    #[inline(always)]
    pub(crate) fn load(&self, step: Step, fingerprint: Fingerprint, bucket: usize) -> Word<L> {
        let hint = self.hint();
        let bits = load_bits(step, self.plane_of_hint(hint, fingerprint).atomic(bucket));
        let word = self.table.decode(bits);
        if Word::<L>::is_at_hint(bits, hint) {
            return word;
        }
        self.table.load_from(step, hint, word, fingerprint, bucket)
    }

    /// The words of a class, P before Q, and the hint. If both words are in the phase of the hint, they
    /// count for the class; otherwise they say nothing about it. They are returned as bits, so that the
    /// fast path of a lookup need not decode them.
    #[inline(always)]
    pub(crate) fn load_pair_at_hint(&self, class: Class) -> (Bits, Bits, Hint) {
        let hint = self.hint();
        let plane = self.plane_of_hint(hint, class.fingerprint);
        let p = load_bits(Step::ReadP, plane.atomic(class.p));
        let q = load_bits(Step::ReadQ, plane.atomic(class.q));
        (p, q, hint)
    }

    /// [`Table::load_for_update`].
    #[inline(always)]
    pub(crate) fn load_for_update(&self, fingerprint: Fingerprint, bucket: usize) -> Loaded<'a, L> {
        let hint = self.hint();
        let plane = self.plane_of_hint(hint, fingerprint);
        let loaded = Loaded::<L>::load(plane.atomic(bucket), self.base());
        if Word::<L>::is_at_hint(loaded.bits, hint) {
            return loaded;
        }
        self.table.load_for_update_from(hint, fingerprint, bucket)
    }

    /// [`load_for_update`](Self::load_for_update) for both words of a class, P before Q, and the hint.
    /// Usually both are in the phase of the hint.
    #[inline(always)]
    pub(crate) fn load_pair_for_update(
        &self,
        class: Class,
    ) -> (Loaded<'a, L>, Loaded<'a, L>, Hint) {
        let hint = self.hint();
        let (p, q) = self.load_both_from(hint, class.fingerprint, class.p, class.q);
        (p, q, hint)
    }

    /// Both words of a class, and the hint. The first word is the one that a claim prefers if they are
    /// equally full. Usually both are in the phase of the hint.
    #[inline(always)]
    pub(crate) fn load_pair_for_claim(&self, class: Class) -> (Loaded<'a, L>, Loaded<'a, L>, Hint) {
        let (one, other) = class.in_order_of_claims::<L>();
        let hint = self.hint();
        let (one, other) = self.load_both_from(hint, class.fingerprint, one, other);
        (one, other, hint)
    }

    /// The words of two buckets in the plane of the hint, in this order, and the hint. If both are in the
    /// phase of the hint, they count for `fingerprint`; otherwise they say nothing about it.
    #[inline(always)]
    pub(crate) fn load_both_at_hint(
        &self,
        fingerprint: Fingerprint,
        one: usize,
        other: usize,
    ) -> (Loaded<'a, L>, Loaded<'a, L>, Hint) {
        let hint = self.hint();
        let (plane, base) = (self.plane_of_hint(hint, fingerprint), self.base());
        let load = |bucket| Loaded::<L>::load(plane.atomic(bucket), base);
        (load(one), load(other), hint)
    }

    /// The words of two buckets, in this order.
    #[inline(always)]
    pub(crate) fn load_both_for_update(
        &self,
        fingerprint: Fingerprint,
        one: usize,
        other: usize,
    ) -> (Loaded<'a, L>, Loaded<'a, L>) {
        self.load_both_from(self.hint(), fingerprint, one, other)
    }

    #[inline(always)]
    fn load_both_from(
        &self,
        hint: Hint,
        fingerprint: Fingerprint,
        one: usize,
        other: usize,
    ) -> (Loaded<'a, L>, Loaded<'a, L>) {
        let (plane, base) = (self.plane_of_hint(hint, fingerprint), self.base());
        let load = |bucket| Loaded::<L>::load(plane.atomic(bucket), base);
        let both = (load(one), load(other));
        // A reservation does not hide the phase.
        if Word::<L>::are_at_hint(both.0.bits, both.1.bits, hint) {
            return both;
        }
        let one = self.table.load_for_update_from(hint, fingerprint, one);
        let other = self.table.load_for_update_from(hint, fingerprint, other);
        (one, other)
    }

    /// The plane that counts for `fingerprint` if its words are at the level of the hint. It is computed
    /// without a branch on the fingerprint, which would be unpredictable.
    #[inline(always)]
    pub(super) fn plane_of_hint(&self, hint: Hint, fingerprint: Fingerprint) -> Plane<'a> {
        let Some(growth) = self.growth() else {
            return Plane::of(self.first);
        };
        growth.plane(hint.plane_bits(fingerprint.bits()) >> growth.first_level)
    }
}

/// A reader's load of a word in the step `step`.
#[inline(always)]
pub(super) fn load_bits(step: Step, atomic: &AtomicU64) -> Bits {
    count_load();
    // Acquire: pairs with the Release of the exchange that wrote the word (PROOF,
    // section 16: ReadP, ReadQ and the second reads).
    Bits(atomic.load(fault::order(step, Ordering::Acquire)))
}

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

    #[inline(always)]
    fn exchange(self, step: Step, new: Bits) -> bool {
        // AcqRel: Release pairs with the Acquire of readers' and writers' loads; Acquire passes on what
        // the word's earlier writers released. Relaxed on failure, because the caller loads again.
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

/// The words of plane 0, or of the successive planes that a doubling adds.
pub(crate) struct Planes<P: Storage> {
    pub(crate) words: P::Words,
    /// The number of words of all earlier planes.
    before: usize,
}

impl<P: Storage> Planes<P> {
    /// The words of plane 0.
    pub(super) fn first(words: P::Words) -> Self {
        Self { words, before: 0 }
    }

    /// The words that a doubling adds: as many as there are before them.
    pub(super) fn added(words: P::Words) -> Self {
        Self {
            before: words.len(),
            words,
        }
    }
}

/// The words of one plane.
#[derive(Clone, Copy)]
pub(super) struct Plane<'a> {
    words: &'a [AtomicU64],
    /// The first word of the plane.
    start: usize,
}

impl<'a> Plane<'a> {
    /// A plane of all of `words`.
    #[inline(always)]
    pub(super) fn of(words: &'a [AtomicU64]) -> Self {
        Self { words, start: 0 }
    }

    /// The plane with this number, of `buckets` words.
    #[inline(always)]
    pub(super) fn within<P: Storage>(planes: &'a Planes<P>, plane: u64, buckets: usize) -> Self {
        Self {
            words: &planes.words,
            start: plane as usize * buckets - planes.before,
        }
    }

    #[inline(always)]
    pub(super) fn atomic(self, bucket: usize) -> &'a AtomicU64 {
        &self.words[self.start + bucket]
    }

    #[inline(always)]
    pub(super) fn prefetch(self, bucket: usize) {
        sync::prefetch(self.words, self.start + bucket);
    }

    /// The words of these buckets.
    pub(super) fn row(self, buckets: Range<usize>) -> &'a [AtomicU64] {
        &self.words[self.start..][buckets]
    }
}

impl<L: Layout> Growth<L> {
    /// The level that all words have reached, according to the hint.
    #[inline(always)]
    pub(super) fn hint(&self) -> Hint {
        // Acquire: pairs with the Release of `complete_level`.
        let order = fault::order(Step::Hint, Ordering::Acquire);
        Hint::of_bits(self.hint.load(order))
    }

    /// A plane. The thread has seen that its segment is published.
    #[inline(always)]
    pub(super) fn plane(&self, plane: u64) -> Plane<'_> {
        // The bit length of the plane's number is the number of its segment. A filter has fewer than 2^31
        // planes.
        let number = ((plane as u32) << 1 | 1).ilog2();
        Plane::within(self.segments.planes(number as usize), plane, self.buckets)
    }
}

impl<L: Layout> Table<L> {
    /// The table for a series of loads.
    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_, L> {
        View {
            first: if L::GROWS { &[] } else { self.first() },
            growth: self.growth(),
            table: self,
        }
    }

    /// The state of the growth. `None` in a fixed filter: the compiler knows that.
    #[inline(always)]
    pub(super) fn growth(&self) -> Option<&Growth<L>> {
        match L::GROWS {
            true => self.growth.get().map(|growth| &**growth),
            false => None,
        }
    }

    /// Plane 0.
    #[inline(always)]
    pub(super) fn first(&self) -> &[AtomicU64] {
        match (self.first.get(), self.growth.get()) {
            (Some(first), _) => first,
            (None, Some(growth)) => &growth.segments.planes(0).words,
            (None, None) => &[],
        }
    }

    #[inline(always)]
    pub(super) fn plane(&self, plane: u64) -> Plane<'_> {
        match self.growth() {
            Some(growth) => growth.plane(plane),
            None => Plane::of(self.first()),
        }
    }
}
