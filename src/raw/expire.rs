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

#[cfg(all(guira_loom, feature = "shared"))]
pub(crate) mod stopped;
#[cfg(any(guira_loom, guira_faults, guira_shuttle))]
mod wrong;

use super::{
    Now, RawFilter,
    crew::{Hand, Hands, Line},
    hop::Hop,
};
use crate::{
    fault::{faulty, when_faulty},
    memory::is_found,
    step::Step,
    sync,
    table::{
        class::{Class, alternate},
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::{Moment, Time},
        view::{Loaded, View},
        word::{Bucket, Mark, Pair},
    },
};
use std::cell::Cell;

/// What has become of the dead copies of a word.
#[derive(Clone, Copy)]
pub(super) struct Expired {
    /// How many were emptied. The caller counts them.
    pub(super) emptied: u64,
    pub(super) left: Left,
}

/// What a sweep of a filter that processes share has left, because another thread has a gate or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    /// Nothing.
    Nothing,
    /// Copies that stay dead in the next epoch.
    Dead,
    /// A copy whose tag would be that of a live one in the next epoch.
    Ending,
}

/// What has become of a copy that was to be withheld.
pub(super) enum Withheld {
    /// It is withheld.
    Done,
    /// Its word has changed.
    Lost,
    /// Another thread has the gate of its class.
    Gated,
}

/// What has become of a copy that was to get another tag.
pub(super) enum Renewal<N> {
    /// It has the tag, by this moment.
    Done(N),
    /// The word has changed, or the copy is gone.
    Lost,
    /// In a filter that processes share, another thread has the gate of the class, or this one cannot
    /// have a line.
    Gated,
    /// Its slot has further copies, and the word has no room for one with that tag.
    Full,
}

/// The hand of a line in which a copy is withheld. The thread makes no moves at that time.
const HAND: Hand = Hand::First;

impl<L: Layout> RawFilter<L> {
    /// Empties the dead copies in the words of the class; true if there were any.
    #[cold]
    pub(super) fn expire_pair(&self, hands: impl Hands, class: Class) -> bool {
        if !L::EXPIRES {
            return false;
        }
        let (now, view) = (self.time.now(), self.table.view());
        let one = class.fingerprint;
        let expire = |bucket| self.expire_and_count(hands, &view, one, bucket, now);
        expire(class.p) | expire(class.q)
    }

    /// Empties the dead copies of a word that a search has reached: they make room, and no move
    /// carries them past a sweep.
    #[inline(always)]
    pub(super) fn expire_on_the_way(
        &self,
        hands: impl Hands,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
    ) {
        if L::EXPIRES {
            self.expire_and_count(hands, view, one, bucket, now);
        }
    }

    /// [`expire`](Self::expire), counted; true if there was anything.
    #[inline(always)]
    fn expire_and_count(
        &self,
        hands: impl Hands,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
    ) -> bool {
        let emptied = self.expire(hands, view, one, bucket, now, None).emptied;
        if emptied > 0 {
            self.len.subtract(emptied);
        }
        emptied > 0
    }

    /// Empties the copies in one word that are dead in the epoch `now` or later, unless the word is
    /// marked. The word is the one of the bucket that counts for the fingerprint `one`.
    ///
    /// As a rule there are none. `now` may be past: it only says where to look closer.
    ///
    /// A sweep of a filter that processes share has `patience`: if another thread has a gate or a mark,
    /// the call tries again as often as that says. Then it leaves the word, and says so.
    #[inline(always)]
    pub(super) fn expire(
        &self,
        hands: impl Hands,
        view: &View<'_, L>,
        one: Fingerprint,
        bucket: usize,
        now: Now<L>,
        patience: Option<&Cell<usize>>,
    ) -> Expired {
        let word = view.load_for_update(one, bucket).word();
        let nothing = now.dead_in(word, one).is_none();
        let is_hidden = patience.is_some() && !word.is_unmarked();
        if faulty!(nothing && !is_hidden, SweepMarked => false) {
            return Expired {
                emptied: 0,
                left: Left::Nothing,
            };
        }
        faulty!(
            self.expire_dead(hands, one, bucket, patience),
            in Expire => wrong::expire_dead(self, one, bucket)
        )
    }

    #[inline(never)]
    fn expire_dead(
        &self,
        hands: impl Hands,
        one: Fingerprint,
        bucket: usize,
        patience: Option<&Cell<usize>>,
    ) -> Expired {
        let (mut emptied, mut left) = (0, Left::Nothing);
        loop {
            let now = self.time.now();
            let loaded = self.table.load_for_update(one, bucket);
            let word = loaded.word();
            if patience.is_some() && !word.is_unmarked() {
                left = worst(now, word, one);
                if left == Left::Nothing || !wait(patience) {
                    break;
                }
                continue;
            }
            let withheld = |entry| word.with_mark(entry, Mark::Withheld);
            let Some(withheld) = now.dead_in(word, one).and_then(withheld) else {
                break;
            };
            let entry = withheld.marked_entry(one);
            match self.withhold(hands, loaded, bucket, entry, withheld) {
                Withheld::Done => {
                    emptied += u64::from(self.empty_or_release(bucket, entry, || self.time.now()));
                    free_gate(hands);
                }
                Withheld::Lost => sync::yield_in_model(),
                Withheld::Gated if wait(patience) => {}
                Withheld::Gated => {
                    left = worst(now, word, one);
                    break;
                }
            }
        }
        Expired { emptied, left }
    }

    /// Makes `loaded` the word `withheld`, in which the copy with this entry is marked W. In a filter
    /// that processes share, the thread takes the gate of the class first, and has to [free
    /// it](free_gate) once the mark is gone.
    #[inline(always)]
    pub(super) fn withhold(
        &self,
        hands: impl Hands,
        loaded: Loaded<'_, L>,
        bucket: usize,
        entry: Entry,
        withheld: Word<L>,
    ) -> Withheld {
        let enters = |line: &Line<'_>| line.enter::<L>(HAND, self.hop_out_of(bucket, entry));
        if !hands.line().is_none_or(enters) {
            return Withheld::Gated;
        }
        let done = loaded.replace(Step::Withhold, withheld);
        when_faulty!(
            LineLate,
            if let Some(line) = hands.line() {
                line.record_move::<L>(HAND, self.hop_out_of(bucket, entry));
            }
        );
        if done {
            Withheld::Done
        } else {
            free_gate(hands);
            Withheld::Lost
        }
    }

    /// A copy of a bucket, as lines record it: like a move out of the bucket.
    pub(super) fn hop_out_of(&self, bucket: usize, entry: Entry) -> Hop {
        Hop {
            entry,
            from: bucket,
            to: alternate(L::fingerprint(entry), bucket, self.table.buckets()),
        }
    }

    /// Ends what began with W on this entry: the copy goes if it is dead by the moment that `now`
    /// returns. True if it went, and was not taken by a remove, which counts it itself. With a counter, all
    /// copies of the slot go, and the repeats among them are counted here.
    pub(super) fn empty_or_release(
        &self,
        bucket: usize,
        entry: Entry,
        now: impl FnOnce() -> Now<L>,
    ) -> bool {
        // The copy is not younger than this epoch: the thread that put it there had read its own
        // epoch before, and the exchange to W has seen that.
        let dead = !now().is_live(entry);
        let step = if dead { Step::Empty } else { Step::Release };
        let mut repeats = 0;
        let stood = self.end_withheld(step, bucket, entry, |word| {
            if !dead {
                return word.unmarked();
            }
            let without = word.without_marked();
            if L::COUNTER_BITS != 0 {
                repeats = faulty!(word.repeats() - without.repeats(), SweepOneCopy => 0);
            }
            without
        });
        if L::COUNTER_BITS != 0 && dead && stood {
            self.len.subtract_repeats(repeats);
        }
        dead && stood
    }

    /// Replaces the word by what `end` returns. If a remove has taken the last withheld copy since, the
    /// slot is emptied instead, and the result is false.
    pub(super) fn end_withheld(
        &self,
        step: Step,
        bucket: usize,
        entry: Entry,
        mut end: impl FnMut(Word<L>) -> Word<L>,
    ) -> bool {
        let mut taken = false;
        self.table
            .update(step, L::fingerprint(entry), bucket, |word| {
                taken = word.is_marked(Mark::Killed, entry);
                if !is_found!(L, taken || word.is_marked(Mark::Withheld, entry)) {
                    // As if a remove had taken the copy.
                    taken = true;
                    return None;
                }
                Some(if taken {
                    word.without_marked()
                } else {
                    end(word)
                })
            });
        !taken
    }
}

/// Frees the gate of a copy that was withheld.
#[inline(always)]
pub(super) fn free_gate(hands: impl Hands) {
    if let Some(line) = hands.line() {
        line.leave(HAND);
    }
}

/// The worst that is left in a word, if it is left as it is. A copy that is being moved counts in both its
/// words.
fn worst<W: Pair>(now: impl Moment<W>, word: W, one: Fingerprint) -> Left {
    let marked = (!word.is_unmarked()).then(|| word.marked_entry(one));
    let of_copy = |entry| match (now.is_live(entry), now.ends_death(entry)) {
        (true, _) => Left::Nothing,
        (false, ends) if ends => Left::Ending,
        _ => Left::Dead,
    };
    let copies = word.residents(one).chain(marked);
    copies.map(of_copy).max().unwrap_or(Left::Nothing)
}

/// Lets other threads run, unless the patience is at its end.
fn wait(patience: Option<&Cell<usize>>) -> bool {
    let left = patience.map_or(0, Cell::get);
    if let (Some(patience), Some(less)) = (patience, left.checked_sub(1)) {
        patience.set(less);
        sync::yield_now();
    }
    left > 0
}

#[cfg(test)]
mod tests;
