//! Dead copies, and how their slots become empty.
//!
//! | promise | no live copy is emptied, however late the thread is |
//! |---|---|
//! | how | docs/design/expiry.md, "Withhold" |
//! | why | PROOF, section 12 (E1, E6) |
//! | checked by | expire_insert, expire_lookup |
//! | break it | `cargo xtask break ExpireAtOnce` |
//!
//! An exchange that empties a slot knows only the bits of its copy. When it succeeds, a younger
//! copy may have the same bits: tags repeat after 2^t epochs. So the copy is withheld first, which
//! changes no answer: it still counts, and no other thread changes it. Then the time is read, and
//! the slot is emptied only if the copy is dead by then.

#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{Now, RawFilter};
use crate::{
    fault::faulty,
    step::Step,
    sync,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        route::View,
        time::{Moment, Time},
        word::{Bucket, Mark},
    },
};

impl<L: Layout> RawFilter<L> {
    /// Empties the dead copies in the words of the class; true if there were any.
    #[cold]
    pub(super) fn expire_pair(&self, class: Class) -> bool {
        if !L::EXPIRES {
            return false;
        }
        let (now, view) = (self.time.now(), self.table.view());
        let expire = |bucket| self.expire_and_count(&view, class.fingerprint, bucket, now);
        expire(class.p) | expire(class.q)
    }

    /// Empties the dead copies of a word that a search has reached: they make room, and no move
    /// carries them past a sweep.
    #[inline(always)]
    pub(super) fn expire_on_the_way(
        &self,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
    ) {
        if L::EXPIRES {
            self.expire_and_count(view, one, bucket, now);
        }
    }

    /// [`expire`](Self::expire), counted; true if there was anything.
    #[inline(always)]
    fn expire_and_count(
        &self,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
    ) -> bool {
        let emptied = self.expire(view, one, bucket, now);
        if emptied > 0 {
            self.len.subtract(emptied);
        }
        emptied > 0
    }

    /// Empties the copies in one word that are dead in the epoch `now` or later, unless the word is
    /// marked. Returns their number, which the caller counts. The word is the one of the bucket that
    /// counts for the fingerprint `one`.
    ///
    /// As a rule there are none. `now` may be past: it only says where to look closer.
    #[inline(always)]
    pub(super) fn expire(
        &self,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
    ) -> u64 {
        let nothing = now
            .dead_in(view.load_for_update(one, bucket).word(), one)
            .is_none();
        if faulty!(nothing, SweepMarked => false) {
            return 0;
        }
        faulty!(self.expire_dead(one, bucket), in Expire => wrong::expire_dead(self, one, bucket))
    }

    #[inline(never)]
    fn expire_dead(&self, one: Fingerprint, bucket: usize) -> u64 {
        let mut emptied = 0;
        loop {
            let now = self.time.now();
            let loaded = self.table.load_for_update(one, bucket);
            let withheld = |entry| loaded.word().with_mark(entry, Mark::Withheld);
            let Some(withheld) = now.dead_in(loaded.word(), one).and_then(withheld) else {
                return emptied;
            };
            if loaded.replace(Step::Withhold, withheld) {
                let gone = self.empty_or_release(bucket, withheld.marked_entry(one));
                emptied += u64::from(gone);
            } else {
                sync::yield_in_model();
            }
        }
    }

    /// Ends what began with W on this entry: the copy goes if it is dead. True if it went, and was
    /// not taken by a remove, which counts it itself.
    pub(super) fn empty_or_release(&self, bucket: usize, entry: Entry) -> bool {
        // The copy is not younger than this epoch: the thread that put it there had read its own
        // epoch before, and the exchange to W has seen that.
        let dead = !self.time.now().is_live(entry);
        let step = if dead { Step::Empty } else { Step::Release };
        let stood = self.end_withheld(step, bucket, entry, |word| {
            if dead {
                word.without_marked()
            } else {
                word.unmarked()
            }
        });
        dead && stood
    }

    /// Replaces the word by what `end` returns. If a remove has taken the withheld copy since, the
    /// slot is emptied instead, and the result is false.
    pub(super) fn end_withheld(
        &self,
        step: Step,
        bucket: usize,
        entry: Entry,
        end: impl Fn(Word<L>) -> Word<L>,
    ) -> bool {
        let mut taken = false;
        self.table
            .update(step, L::fingerprint(entry), bucket, |word| {
                taken = word.is_marked(Mark::Killed, entry);
                debug_assert!(taken || word.is_marked(Mark::Withheld, entry));
                Some(if taken {
                    word.without_marked()
                } else {
                    end(word)
                })
            });
        !taken
    }
}
