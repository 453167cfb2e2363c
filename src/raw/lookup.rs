//! contains and count.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    RawFilter,
    copies::{copies, holds_copy},
};
use crate::{
    fault::{self, instead},
    step::Step,
    sync,
    table::{class::Class, layout::Layout, word::Word},
};

/// Attempts of a lookup, after the last of which it answers true.
pub(super) const ATTEMPTS: usize = 8;

impl<L: Layout> RawFilter<L> {
    /// True if the class is present. Wait-free; writes nothing but the counters of the
    /// rare cases.
    #[inline(always)]
    pub(crate) fn contains(&self, class: Class) -> bool {
        instead!(wrong::is_on() => wrong::contains(self, class), self.look_up(class))
    }

    /// A match in quiet words is a copy, whichever plane counts; no match is none in
    /// the words that count, if no relocation towards P came between. All else is rare.
    #[inline(always)]
    fn look_up(&self, class: Class) -> bool {
        let Class { fingerprint, p, q } = class;
        let view = self.table.view();
        let version = self.versions.of(class).observe();
        let (in_p, in_q, hint) = view.load_pair_at_hint(class);
        if Word::either_matches(in_p, in_q, fingerprint) {
            Word::both_quiet(in_p, in_q) || self.look_up_again(fingerprint, p, q)
        } else if !Word::both_in_phase(in_p, in_q, hint) {
            self.look_up_elsewhere(fingerprint, p, q)
        } else {
            !version.validate() && self.look_up_again(fingerprint, p, q)
        }
    }

    /// A level is being swept: an attempt among the words that count.
    #[cold]
    fn look_up_elsewhere(&self, fingerprint: u64, p: usize, q: usize) -> bool {
        self.try_look_up(Class { fingerprint, p, q })
            .unwrap_or_else(|| self.look_up_again(fingerprint, p, q))
    }

    /// A relocation crossed the lookup's way: all further attempts.
    ///
    /// The class comes in parts, as they fit into registers: whole, it would be
    /// stored to memory on the fast path.
    #[cold]
    fn look_up_again(&self, fingerprint: u64, p: usize, q: usize) -> bool {
        let class = Class { fingerprint, p, q };
        self.counters.retried();
        for _ in 1..fault::attempts(ATTEMPTS) {
            if let Some(present) = self.try_look_up(class) {
                return present;
            }
        }
        // One-sided: an answer true without proof costs a false positive at most.
        self.counters.conservative();
        true
    }

    /// One attempt: `None` if the words changed under it.
    fn try_look_up(&self, class: Class) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let version = self.versions.of(class).observe();
        let (p, q) = self.load_pair(class);
        if holds_copy(p, fingerprint) || holds_copy(q, fingerprint) {
            return Some(true);
        }
        let marked = p.mark_of(fingerprint).is_some() || q.mark_of(fingerprint).is_some();
        // Without a mark of the class the version says enough.
        if marked && !self.unchanged(class, p, q) || !version.validate() {
            return None;
        }
        copies(p, q, fingerprint).map(|copies| copies > 0)
    }

    /// The number of copies of the class at one moment during the call, if they are only
    /// moved meanwhile (PROOF, section 11).
    pub(crate) fn count(&self, class: Class) -> usize {
        loop {
            let copies =
                instead!(wrong::is_on() => wrong::try_count(self, class), self.try_count(class));
            if let Some(copies) = copies {
                return copies;
            }
            sync::yield_in_model();
        }
    }

    /// One attempt: `None` if the words changed under it.
    fn try_count(&self, class: Class) -> Option<usize> {
        let version = self.versions.of(class).observe();
        let (p, q) = self.load_pair(class);
        if !self.unchanged(class, p, q) || !version.validate() {
            return None;
        }
        copies(p, q, class.fingerprint)
    }

    /// Both words of the class, P before Q.
    fn load_pair(&self, class: Class) -> (Word<L>, Word<L>) {
        let p = self.load(Step::ReadP, class.fingerprint, class.p);
        (p, self.load(Step::ReadQ, class.fingerprint, class.q))
    }

    /// True if both words are, once more, what they were.
    pub(super) fn unchanged(&self, class: Class, p: Word<L>, q: Word<L>) -> bool {
        self.load(Step::RereadP, class.fingerprint, class.p) == p
            && self.load(Step::RereadQ, class.fingerprint, class.q) == q
    }

    /// A reader's load, without another thread's reservation.
    fn load(&self, step: Step, fingerprint: u64, bucket: usize) -> Word<L> {
        self.table
            .load(step, fingerprint, bucket)
            .without_reservation()
    }
}
