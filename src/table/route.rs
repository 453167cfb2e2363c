//! Routing: which word counts for a fingerprint and a bucket.

use super::{
    Levels, Table,
    entry::{Fingerprint, low_bits},
    layout::{Layout, Word},
    view::{Loaded, load_bits},
    word::{Hint, Phases},
};
use crate::{
    fault::{faulty, when_faulty},
    memory::Storage,
    step::Step,
    sync::{self, AtomicU64},
};

impl<L: Layout> Table<L> {
    /// A reader's load of the word that counts for `fingerprint` in `bucket`.
    ///
    /// Acquire: pairs with the Release of every exchange, so that a thread that sees the effect of a
    /// relocation's step also sees everything before it.
    #[inline(always)]
    pub(crate) fn load(&self, step: Step, fingerprint: Fingerprint, bucket: usize) -> Word<L> {
        self.view().load(step, fingerprint, bucket)
    }

    /// A writer's load of that word, which is not frozen.
    #[inline(always)]
    pub(crate) fn load_for_update(&self, fingerprint: Fingerprint, bucket: usize) -> Loaded<'_, L> {
        self.view().load_for_update(fingerprint, bucket)
    }

    /// Loads the bucket repeatedly until `change` gives up, or until its word has been exchanged for
    /// the result of `change`. Returns true if the word was exchanged.
    #[inline]
    pub(crate) fn update(
        &self,
        step: Step,
        fingerprint: Fingerprint,
        bucket: usize,
        mut change: impl FnMut(Word<L>) -> Option<Word<L>>,
    ) -> bool {
        loop {
            let loaded = self.load_for_update(fingerprint, bucket);
            let Some(new) = change(loaded.word()) else {
                return false;
            };
            if loaded.replace(step, new) {
                return true;
            }
        }
    }

    /// Prefetches a word. While a level is being split, that is the word that counted before, or the
    /// one that counts now.
    #[inline(always)]
    pub(crate) fn prefetch(&self, fingerprint: Fingerprint, bucket: usize) {
        self.view()
            .plane_of_hint(self.hint(), fingerprint)
            .prefetch(bucket);
    }

    /// Continues from `seen`, a word in the plane of the hint, while a level is being split. It goes
    /// from plane to plane, with at most one load plus one for each level above the hint.
    ///
    /// Nearly all words are at the level of the hint or at the next one. Which of the two is
    /// unpredictable, so the plane is computed without a branch.
    #[cold]
    pub(super) fn load_from(
        &self,
        step: Step,
        hint: Hint,
        seen: Word<L>,
        fingerprint: Fingerprint,
        bucket: usize,
    ) -> Word<L> {
        let is_ahead = seen.level() > hint.level();
        when_faulty!(HintTrustsWords, self.trust(seen));
        if is_ahead {
            // Another process may have completed the level. This call continues with the hint that it has
            // read, which is right, only slower.
            self.see_level();
        }
        let mut plane = self.plane_at(hint.level(), fingerprint);
        let mut word = seen;
        if is_ahead {
            if self.is_stuck(plane, word) {
                return word;
            }
            plane = self.plane_at(hint.level() + 1, fingerprint);
        }
        loop {
            let Some(atomic) = self.reached(plane, bucket) else {
                return word;
            };
            word = self.decode(load_bits(step, atomic));
            if self.plane_at(word.level(), fingerprint) == plane || self.is_stuck(plane, word) {
                return word;
            }
            let Some(next) = self.next_plane(fingerprint, plane) else {
                return word;
            };
            plane = next;
        }
    }

    /// [`load_from`](Self::load_from) for a writer, which first completes the split of a frozen
    /// word.
    ///
    /// In a filter that processes share, a way may lead nowhere. It then ends at its last word, here and
    /// in [`load_from`](Self::load_from): a remove waits until both find the same.
    #[cold]
    pub(super) fn load_for_update_from(
        &self,
        hint: Hint,
        fingerprint: Fingerprint,
        bucket: usize,
    ) -> Loaded<'_, L> {
        let load = |plane| Loaded::<L>::load(self.atomic(plane, bucket), self.base());
        let mut plane = self.plane_at(hint.level(), fingerprint);
        let mut loaded = load(plane);
        if loaded.word().level() > hint.level() {
            self.see_level();
        }
        loop {
            let frozen = loaded.word().is_frozen();
            if faulty!(frozen, FrozenIgnored => false) {
                if self.is_stuck(plane, loaded.word()) {
                    return loaded;
                }
                self.complete_split(plane, bucket, loaded);
            } else if self.plane_at(loaded.word().level(), fingerprint) == plane {
                return loaded;
            } else {
                let next = self.next_plane(fingerprint, plane);
                match next.filter(|&next| self.reached(next, bucket).is_some()) {
                    Some(next) => plane = next,
                    // As it is, though it counts for other fingerprints.
                    None => return loaded,
                }
            }
            loaded = load(plane);
        }
    }

    /// The word to which another word has led; `None` if a filter that processes share can have no such
    /// word: its words are untrusted.
    #[inline(always)]
    fn reached(&self, plane: u64, bucket: usize) -> Option<&AtomicU64> {
        if L::Storage::SHARED && !self.has_plane(plane) {
            return None;
        }
        Some(self.atomic(plane, bucket))
    }

    /// True if the plane has begun, to a thread that a word has led there.
    pub(super) fn has_plane(&self, plane: u64) -> bool {
        let Some(progress) = self.progress() else {
            return true;
        };
        let number = plane.checked_ilog2().map_or(0, |k| k as usize + 1);
        let has_begun = progress.has_begun(number);
        if !has_begun {
            self.leads_nowhere();
        }
        has_begun
    }

    /// The words of a filter that processes share lead nowhere. In a model all of them are right.
    #[cold]
    fn leads_nowhere(&self) {
        if sync::IN_MODEL {
            panic!("a segment is published before a word of it is made");
        }
    }

    /// True if the word is frozen, and no split of it can end: in a filter that processes share, its
    /// words are untrusted.
    #[inline(always)]
    fn is_stuck(&self, plane: u64, word: Word<L>) -> bool {
        if !L::Storage::SHARED || !word.is_frozen() {
            return false;
        }
        let Levels { first, more } = self.levels();
        let can_end = (first..first + more).contains(&word.level())
            && plane < self.planes_at(word.level()) as u64
            && self.has_plane(plane | self.planes_at(word.level()) as u64);
        !can_end
    }

    /// The hint of this process rises to the level of a word, which is wrong.
    #[cfg(any(guira_loom, guira_faults, guira_shuttle))]
    fn trust(&self, seen: Word<L>) {
        let (level, last) = (seen.level(), self.levels().last());
        let hint = Hint::new(level.min(last), self.first_level());
        if let Some(growth) = self.growth() {
            growth.raise_hint(hint);
        }
    }

    /// If processes share the filter, this one learns how far it has grown.
    #[inline(always)]
    fn see_level(&self) {
        if L::Storage::SHARED {
            self.level();
        }
    }

    #[inline(always)]
    pub(super) fn atomic(&self, plane: u64, bucket: usize) -> &AtomicU64 {
        self.touch(plane, bucket);
        self.plane(plane).atomic(bucket)
    }

    /// Reports the use of a word to the memory that processes share, in a model.
    #[inline(always)]
    fn touch(&self, _plane: u64, _bucket: usize) {
        #[cfg(guira_loom)]
        if let Some(progress) = self.progress().filter(|_| _plane != 0) {
            progress.touch(_plane, _bucket);
        }
    }

    /// The next plane of a fingerprint that moved from `plane` at a later split: the fingerprint's low
    /// bits up to its next bit that is set.
    /// `None`, in a filter that processes share, if there is no such bit.
    #[inline(always)]
    fn next_plane(&self, fingerprint: Fingerprint, plane: u64) -> Option<u64> {
        let bits = fingerprint.bits() >> self.first_level();
        let length = u64::BITS - plane.leading_zeros();
        let further = bits >> length;
        if L::Storage::SHARED && further == 0 {
            self.leads_nowhere();
            return None;
        }
        Some(low_bits(bits, length + further.trailing_zeros() + 1))
    }
}
