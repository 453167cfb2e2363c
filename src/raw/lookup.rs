//! contains and count.
//!
//! | promise | no false negative; `contains` is wait-free; `count` is the number at one moment, during moves |
//! |---|---|
//! | how | DESIGN, section 4, "contains" |
//! | why | PROOF, section 5 (L1, L2, L9), section 8, section 15 (L10) |
//! | checked by | lookup, attempts, count, growth_lookup, expire_lookup |
//! | break it | `cargo xtask break ContainsNoValidate` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Now, RawFilter,
    attempts::Attempts,
    copies::{copies, holds_copy},
    version::Stripes,
};
use crate::{
    fault::{self, faulty},
    step::Step,
    sync,
    table::{
        class::Class,
        entry::Fingerprint,
        layout::{Layout, Word},
        time::{Moment, Time},
        view::View,
        word::{Bits, Bucket, Hint, Pair, Phases},
    },
};

/// The number of attempts of a lookup. If the last one is inconclusive, the lookup returns true.
pub(super) const ATTEMPTS: usize = 8;

/// A filter for a series of lookups, with the addresses of its words and versions in registers.
pub(crate) struct Lookups<'a, L: Layout> {
    pub(super) raw: &'a RawFilter<L>,
    pub(super) view: View<'a, L>,
    pub(super) stripes: Stripes<'a>,
}

impl<L: Layout> Lookups<'_, L> {
    /// True if the class is present. Wait-free; writes only counters, and only in rare cases.
    #[inline(always)]
    pub(crate) fn contains(&self, class: Class) -> bool {
        faulty!(self.look_up(class), in Lookup => wrong::contains(self.raw, class))
    }

    /// If both words are settled and the version is unchanged, the comparison is the answer. This
    /// condition nearly always holds, so its branch is predicted. There is no branch on the answer.
    #[inline(always)]
    fn look_up(&self, class: Class) -> bool {
        let Class { fingerprint, p, q } = class;
        let time = &self.raw.time;
        let now = time.now();
        let version = self.stripes.of(class).observe();
        let (in_p, in_q, hint) = self.view.load_pair_at_hint(class);
        let (settled, found) = now.match_settled(in_p, in_q, fingerprint, hint);
        if settled & version.validate() & time.is_still(now) {
            found
        } else if !L::EXPIRES {
            self.raw
                .look_up_beside_writers(fingerprint, p, q, in_p, in_q)
        } else {
            self.raw.look_up_again(fingerprint, p, q)
        }
    }
}

impl<L: Layout> RawFilter<L> {
    /// [`Lookups::contains`] for one lookup.
    #[inline(always)]
    pub(crate) fn contains(&self, class: Class) -> bool {
        self.lookups().contains(class)
    }

    /// [`contains`](Self::contains) by hash. It is not inlined, so the compiler saves only registers
    /// that the code of this layout uses.
    #[inline(never)]
    pub(crate) fn contains_hash(&self, hash: u64) -> bool {
        self.contains(self.class(hash))
    }

    /// The filter for a series of lookups.
    #[inline(always)]
    pub(crate) fn lookups(&self) -> Lookups<'_, L> {
        Lookups {
            raw: self,
            view: self.table.view(),
            stripes: self.versions.at_hand(),
        }
    }

    /// Continues a lookup that met marked or reserved words, words in another phase, or a relocation
    /// of the same pair.
    ///
    /// The class is passed in parts, which fit into registers. A whole class would be stored to memory
    /// on the fast path.
    #[cold]
    fn look_up_beside_writers(
        &self,
        fingerprint: Fingerprint,
        p: usize,
        q: usize,
        in_p: Bits,
        in_q: Bits,
    ) -> bool {
        // A match in quiet words is a copy, whatever has moved. (Words that are being split may be at
        // another level than the hint, or may not count for this fingerprint.)
        if !L::GROWS {
            let (quiet, found) = Word::<L>::match_settled(in_p, in_q, fingerprint, Hint::FIXED);
            if quiet && found {
                return true;
            }
        }
        let splitting = !Word::<L>::are_at_hint(in_p, in_q, self.table.hint());
        let class = Class { fingerprint, p, q };
        self.look_up_in_attempts(class, splitting, Self::try_look_up)
    }

    /// [`look_up_beside_writers`](Self::look_up_beside_writers) in an expiring filter. It reads all
    /// words again: keeping fewer values for the rare case makes the fast path faster.
    #[cold]
    fn look_up_again(&self, fingerprint: Fingerprint, p: usize, q: usize) -> bool {
        let splitting = L::GROWS && self.table.is_between_levels();
        let class = Class { fingerprint, p, q };
        self.look_up_in_attempts(class, splitting, Self::try_look_up)
    }

    /// Makes the attempts after the first one. The words may be ahead of the hint.
    fn look_up_in_attempts(
        &self,
        class: Class,
        splitting: bool,
        attempt: impl Fn(&Self, Class) -> Option<bool>,
    ) -> bool {
        // Splits are not disturbances, so this attempt is not counted.
        if splitting && let Some(present) = attempt(self, class) {
            return present;
        }
        self.counters().retried();
        for _ in 1 + usize::from(splitting)..fault::attempts(ATTEMPTS) {
            if let Some(present) = attempt(self, class) {
                return present;
            }
        }
        // The error is one-sided: an unproven `true` is at worst a false positive.
        self.counters().conservative();
        true
    }

    /// One attempt; `None` if the words changed during it.
    fn try_look_up(&self, class: Class) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q) = self.load_pair(class);
        // Checks both words, because a branch between them would be unpredictable.
        if holds_copy::<L>(p, fingerprint, now) | holds_copy::<L>(q, fingerprint, now) {
            return Some(true);
        }
        let marked = p.mark_of(fingerprint).is_some() || q.mark_of(fingerprint).is_some();
        // Without a mark of the class, checking the version and the time is enough.
        let unchanged = !marked || self.unchanged(class, p, q);
        if !(unchanged && version.validate() && self.time.is_still(now)) {
            return None;
        }
        copies::<L>(p, q, fingerprint, now).map(|copies| copies > 0)
    }

    /// The number of live copies of the class at one moment during the call, if only moves of them
    /// overlap the call (PROOF, section 11).
    pub(crate) fn count(&self, class: Class) -> usize {
        // As of an absent class, if it cannot be known.
        self.count_by(class, |now| now).unwrap_or(0)
    }

    /// [`count`](Self::count), of the copies that are live by what `by` makes of the moment. `None` if the
    /// words do not fit together, which only words of other programs never do.
    #[inline]
    pub(super) fn count_by(&self, class: Class, by: impl Fn(Now<L>) -> Now<L>) -> Option<usize> {
        let mut attempts = Attempts::default();
        loop {
            let copies = faulty!(
                self.try_count(class, &by),
                in Lookup => wrong::try_count(self, class, &by)
            );
            if copies.is_some() || attempts.was_last(self) {
                return copies;
            }
            sync::yield_in_model();
        }
    }

    /// One attempt; `None` if the words changed during it.
    #[inline]
    pub(super) fn try_count(
        &self,
        class: Class,
        by: impl FnOnce(Now<L>) -> Now<L>,
    ) -> Option<usize> {
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q) = self.load_pair(class);
        if !(self.unchanged(class, p, q) && version.validate() && self.time.is_still(now)) {
            return None;
        }
        copies::<L>(p, q, class.fingerprint, by(now))
    }

    /// Both words of the class, P before Q.
    pub(super) fn load_pair(&self, class: Class) -> (Word<L>, Word<L>) {
        let p = self.load(Step::ReadP, class.fingerprint, class.p);
        (p, self.load(Step::ReadQ, class.fingerprint, class.q))
    }

    /// True if both words have the same contents when they are loaded again.
    pub(super) fn unchanged(&self, class: Class, p: Word<L>, q: Word<L>) -> bool {
        self.load(Step::RereadP, class.fingerprint, class.p) == p
            && self.load(Step::RereadQ, class.fingerprint, class.q) == q
    }

    /// A lookup's load, without another thread's reservation.
    pub(super) fn load(&self, step: Step, fingerprint: Fingerprint, bucket: usize) -> Word<L> {
        self.table
            .load(step, fingerprint, bucket)
            .without_reservation()
    }
}
