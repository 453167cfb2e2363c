//! Which word counts for a fingerprint and a bucket.

use super::{Planes, Stretch, low_bits};
use crate::{
    fault::{self, Fault},
    sync::{self, AtomicU64},
    table::Loaded,
    table::layout::Layout,
    table::word::Word,
};
use std::ops::Range;

/// The words of one plane.
#[derive(Clone, Copy)]
pub(super) struct Plane<'a> {
    words: &'a [AtomicU64],
    /// The first word of the plane.
    start: usize,
}

impl<'a> Plane<'a> {
    /// All of `words`.
    #[inline(always)]
    fn of(words: &'a [AtomicU64]) -> Self {
        Self { words, start: 0 }
    }

    /// The plane with this number, of `buckets` words.
    #[inline(always)]
    fn within(stretch: &'a Stretch, plane: u64, buckets: usize) -> Self {
        Self {
            words: &stretch.words,
            start: plane as usize * buckets - stretch.before,
        }
    }

    #[inline(always)]
    fn atomic(self, bucket: usize) -> &'a AtomicU64 {
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

impl<L: Layout> Planes<L> {
    /// The word that counts for `fingerprint` in `bucket`, read by `load`. Between
    /// two levels all words are at the level of the hint: a comparison shows it.
    #[inline(always)]
    pub(crate) fn route(
        &self,
        first: &[AtomicU64],
        fingerprint: u64,
        bucket: usize,
        load: impl Fn(&AtomicU64) -> Word<L>,
    ) -> Word<L> {
        let hint = self.hint();
        let word = load(self.plane_of_hint(first, hint, fingerprint).atomic(bucket));
        if word.is_in_phase(hint) {
            return word;
        }
        self.route_from(hint, fingerprint, bucket, load)
    }

    /// A level is being swept: from plane to plane, with one load and one for each level
    /// above the hint, at most.
    #[cold]
    fn route_from(
        &self,
        hint: Word<L>,
        fingerprint: u64,
        bucket: usize,
        load: impl Fn(&AtomicU64) -> Word<L>,
    ) -> Word<L> {
        let mut plane = fingerprint & hint.bits();
        loop {
            let word = load(self.atomic(plane, bucket));
            if low_bits(fingerprint, word.level()) == plane {
                return word;
            }
            plane = next_plane(fingerprint, plane);
        }
    }

    /// The words of both buckets, in this order, that count for `fingerprint` if both
    /// are in the phase of the hint, which comes with them. In any phase a fingerprint
    /// that is found in them is there.
    #[inline(always)]
    pub(crate) fn load_pair_at_hint(
        &self,
        first: &[AtomicU64],
        fingerprint: u64,
        (p, load_p): (usize, impl Fn(&AtomicU64) -> Word<L>),
        (q, load_q): (usize, impl Fn(&AtomicU64) -> Word<L>),
    ) -> (Word<L>, Word<L>, Word<L>) {
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        (load_p(plane.atomic(p)), load_q(plane.atomic(q)), hint)
    }

    /// Brings a word into the cache: while a level is being swept, the one that
    /// counted before it or the one that counts now.
    #[inline(always)]
    pub(crate) fn prefetch(&self, fingerprint: u64, bucket: usize) {
        self.plane_of_hint(&self.first.words, self.hint(), fingerprint)
            .prefetch(bucket);
    }

    /// The plane that counts for `fingerprint` if its words are at the level of the
    /// hint. Without a branch that depends on the fingerprint: nobody could foresee it.
    #[inline(always)]
    fn plane_of_hint<'a>(
        &'a self,
        first: &'a [AtomicU64],
        hint: Word<L>,
        fingerprint: u64,
    ) -> Plane<'a> {
        if L::PHASE_BITS == 0 {
            return Plane::of(first);
        }
        let plane = fingerprint & hint.bits();
        // The length of the plane's number is the number of its block.
        let number = (plane << 1 | 1).ilog2();
        let block = self.growth.blocks[number as usize].get();
        debug_assert!(
            plane == 0 || block.is_some(),
            "a block is published before a word of it is made"
        );
        let stretch = block.map_or(&self.first, |block| &block.stretch);
        Plane::within(stretch, plane, first.len())
    }

    /// [`route`](Self::route) for a writer, who completes the split of a frozen
    /// word before it goes on.
    #[inline(always)]
    pub(crate) fn route_for_update<'a>(
        &'a self,
        first: &'a [AtomicU64],
        fingerprint: u64,
        bucket: usize,
    ) -> Loaded<'a, L> {
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        let loaded = Loaded::load(plane.atomic(bucket));
        if loaded.word.is_in_phase(hint) {
            return loaded;
        }
        self.route_from_for_update(hint, fingerprint, bucket)
    }

    /// [`route_from`](Self::route_from) for a writer.
    #[cold]
    fn route_from_for_update(
        &self,
        hint: Word<L>,
        fingerprint: u64,
        bucket: usize,
    ) -> Loaded<'_, L> {
        let mut plane = fingerprint & hint.bits();
        loop {
            let loaded = Loaded::load(self.atomic(plane, bucket));
            if loaded.word.is_frozen() && !fault::is(Fault::FrozenIgnored) {
                self.complete_split(plane, bucket, loaded);
            } else if low_bits(fingerprint, loaded.word.level()) == plane {
                return loaded;
            } else {
                plane = next_plane(fingerprint, plane);
            }
        }
    }

    /// [`route_for_update`](Self::route_for_update) for the words of both buckets, in
    /// this order.
    #[inline(always)]
    pub(crate) fn route_pair_for_update<'a>(
        &'a self,
        first: &'a [AtomicU64],
        fingerprint: u64,
        one: usize,
        other: usize,
    ) -> (Loaded<'a, L>, Loaded<'a, L>) {
        let hint = self.hint();
        let plane = self.plane_of_hint(first, hint, fingerprint);
        let pair = (
            Loaded::load(plane.atomic(one)),
            Loaded::load(plane.atomic(other)),
        );
        if Word::both_in_phase(pair.0.word, pair.1.word, hint) {
            return pair;
        }
        let one = self.route_from_for_update(hint, fingerprint, one);
        (one, self.route_from_for_update(hint, fingerprint, other))
    }

    #[inline(always)]
    pub(super) fn atomic(&self, plane: u64, bucket: usize) -> &AtomicU64 {
        self.plane(plane).atomic(bucket)
    }

    #[inline(always)]
    pub(super) fn plane(&self, plane: u64) -> Plane<'_> {
        let stretch = match plane.checked_ilog2() {
            None => &self.first,
            Some(level) => {
                let block = self.block(level);
                let block = block.expect("a block is published before a word of it is made");
                &block.stretch
            }
        };
        Plane::within(stretch, plane, self.buckets())
    }
}

/// The next plane on the way of a fingerprint that went from `plane` at a later
/// split: cut just above its next bit that is set.
#[inline(always)]
const fn next_plane(fingerprint: u64, plane: u64) -> u64 {
    let length = u64::BITS - plane.leading_zeros();
    low_bits(
        fingerprint,
        length + (fingerprint >> length).trailing_zeros() + 1,
    )
}
