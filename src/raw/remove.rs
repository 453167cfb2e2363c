//! remove: removes one copy, in whichever bucket it is.
//!
//! | promise | of n copies, exactly n removes return true; a present copy is found |
//! |---|---|
//! | how | DESIGN, section 4, "remove" |
//! | why | PROOF, section 5 (L3, L4, L6), section 6 |
//! | checked by | remove, stale_remove, growth_remove |
//! | break it | `cargo xtask break RemoveNoValidate` |

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

mod oldest;

pub(super) use oldest::PATIENCE;

use super::{RawFilter, attempts::Attempts, copies::holds_copy, version::Version};
use crate::{
    fault::faulty,
    memory::Storage,
    step::Step,
    sync,
    table::{
        class::Class,
        counted::Counted,
        entry::Entry,
        layout::{Layout, Word},
        time::Always,
        view::Loaded,
        word::{Bucket, Mark, Minus, Pair},
    },
};
use std::hint::select_unpredictable;

impl<L: Layout> RawFilter<L> {
    /// Removes one copy of the class. Returns false if there is none. Lock-free.
    #[inline]
    pub(crate) fn remove(&self, class: Class) -> bool {
        let removed = self.remove_uncounted(class);
        if let Some(copy) = removed {
            self.len.count().subtract(copy);
        }
        removed.is_some()
    }

    /// [`remove`](Self::remove) by hash.
    #[inline]
    pub(crate) fn remove_by_hash(&self, hash: u64) -> bool {
        if L::Storage::SHARED {
            return self.remove_hash(hash);
        }
        self.remove(self.class(hash))
    }

    /// [`remove`](Self::remove) by hash in a filter that processes share, always inlined, so that the
    /// class is in registers.
    #[inline(always)]
    pub(crate) fn remove_hash(&self, hash: u64) -> bool {
        // As in `insert_hash`.
        let counts = self.len.count();
        let removed = self.remove_uncounted(self.class(hash));
        if let Some(copy) = removed {
            counts.subtract(copy);
        }
        removed.is_some()
    }

    /// [`remove`](Self::remove) without counting, for callers that count the item themselves.
    #[inline(always)]
    pub(super) fn remove_uncounted(&self, class: Class) -> Option<L::Counted> {
        let (mut patience, mut attempts) = (PATIENCE, Attempts::default());
        loop {
            let attempt = if L::EXPIRES {
                as_slot(self.try_remove_oldest(class, &mut patience))
            } else {
                faulty!(
                    self.try_remove(class),
                    in Remove => as_slot(wrong::try_remove(self, class))
                )
            };
            if let Some(removed) = attempt {
                return removed;
            }
            if attempts.was_last(self) {
                return None;
            }
            sync::yield_in_model();
        }
    }

    /// One attempt; `None` if another thread was faster.
    ///
    /// Removes from P first, and from Q only if P holds no copy: a reader that has passed P must
    /// still find the remaining copies in Q.
    #[inline(always)]
    fn try_remove(&self, class: Class) -> Option<Option<L::Counted>> {
        let entry = class.untagged();
        let version = self.versions.of(class).observe();
        let (p, q, hint) = self.table.view().load_pair_for_update(class);
        match Word::<L>::minus_in_first(p.bits, q.bits, entry, hint) {
            Minus::Marked => as_slot(self.remove_among_marks(class, version, p, q)),
            Minus::Nothing => version.validate().then_some(None),
            Minus::Taken { in_p, new } => {
                let from = select_unpredictable(in_p, p, q);
                let shares = || from.decode(new).uses_slots_of(from.word());
                let copy = || Some(L::Counted::of(shares));
                from.replace_bits(Step::Take, new).then(copy)
            }
        }
    }

    /// [`try_remove`](Self::try_remove) during a move.
    #[cold]
    fn remove_among_marks(
        &self,
        class: Class,
        version: Version<'_>,
        p: Loaded<'_, L>,
        q: Loaded<'_, L>,
    ) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let entry = class.untagged();
        if holds_copy::<L>(p.word(), fingerprint, Always) {
            return self.take(p, entry);
        }
        if holds_copy::<L>(q.word(), fingerprint, Always) {
            // An intersection that guards a copy in Q has guarded one in P before, and it relies on that:
            // this one is to be taken.
            let reread = || self.load(Step::RereadP, fingerprint, class.p) == p.word();
            if !faulty!(reread(), RemoveTrustsOldP => true) {
                return None;
            }
            return self.take(q, entry);
        }
        match [p, q].map(|loaded| loaded.word().mark_of(fingerprint)) {
            [Some(Mark::Shadow), Some(Mark::Trailing)] => {
                self.kill_shadow(class, entry, class.p, class.q)
            }
            [Some(Mark::Trailing), Some(Mark::Shadow)] => {
                self.kill_shadow(class, entry, class.q, class.p)
            }
            // Without a mark of the class, checking the version is enough.
            [None, None] => version.validate().then_some(false),
            _ => (self.unchanged(class, p.word(), q.word()) && version.validate()).then_some(false),
        }
    }

    /// Removes the copy with this entry, whose move is decided but not delivered: T is in `from`, and
    /// the copy is the S in `to`. S becomes K, unless its slot has further copies.
    ///
    /// The exchange compares only S. The order of hold, S and T implies that T belongs to the same
    /// move. Suppose that another mover had set S or T. Then it would have set its outline after S was
    /// read here, and would have found the stripe held at its Advance (PROOF, L6).
    pub(super) fn kill_shadow(
        &self,
        class: Class,
        entry: Entry,
        to: usize,
        from: usize,
    ) -> Option<bool> {
        let stripe = self.versions.of(class);
        let killed = if let Some(crew) = self.crew() {
            let Some(taken) = self.take_line(crew) else {
                // The mover has some time to finish, or another thread to end with its line.
                sync::sleep();
                return None;
            };
            let line = taken.for_moves();
            let _hold = line.hold(stripe, self.versions.number_of(class))?;
            self.kill_if_decided(class, entry, to, from)
        } else {
            let _hold = stripe.hold()?;
            self.kill_if_decided(class, entry, to, from)
        };
        killed.then_some(true)
    }

    fn kill_if_decided(&self, class: Class, entry: Entry, to: usize, from: usize) -> bool {
        let shadow = self.table.load_for_update(class.fingerprint, to);
        let is_trailing = || {
            let original = self.table.load_for_update(class.fingerprint, from);
            original.word().is_marked(Mark::Trailing, entry)
        };
        shadow.word().is_marked(Mark::Shadow, entry) && is_trailing() && self.kill(shadow)
    }

    /// Removes a copy that the word holds: an unmarked one goes, or one of D or W.
    pub(super) fn take(&self, loaded: Loaded<'_, L>, entry: Entry) -> Option<bool> {
        let new = loaded.word().minus(entry);
        let taken = if new == loaded.word() {
            self.kill(loaded)
        } else {
            self.replace_and_note(loaded, Step::Take, new)
        };
        taken.then_some(true)
    }

    /// One copy of S, D or W goes. If it is the last one, the mark becomes K, and the thread that set
    /// the mark will empty the slot.
    pub(super) fn kill(&self, loaded: Loaded<'_, L>) -> bool {
        let new = faulty!(
            loaded.word().minus_marked(),
            KillAllCopies => loaded.word().remarked(Mark::Killed)
        );
        self.replace_and_note(loaded, Step::Kill, new)
    }

    fn replace_and_note(&self, loaded: Loaded<'_, L>, step: Step, new: Word<L>) -> bool {
        let replaced = loaded.replace(step, new);
        if L::COUNTER_BITS != 0 && replaced {
            self.len.share_of(loaded.word(), new);
        }
        replaced
    }
}

/// The answer of an attempt whose copy is counted as a slot.
#[inline(always)]
fn as_slot<C: Counted>(removed: Option<bool>) -> Option<Option<C>> {
    removed.map(|removed| removed.then_some(C::SLOT))
}
