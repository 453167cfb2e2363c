//! remove in an expiring filter: of the live copies it takes the oldest.
//!
//! | promise | the oldest live copy is removed, once |
//! |---|---|
//! | how | docs/design/expiry.md, "remove" |
//! | why | PROOF, section 12 (E3) |
//! | checked by | expire_remove |
//! | break it | `cargo xtask break RemoveYoungest` |
//!
//! Items of one class cannot be told apart. The remaining copies must live as long as the remaining
//! items, whichever these are. So the oldest copy is removed first.

use crate::{
    fault::{faulty, when_faulty},
    raw::{Now, RawFilter, copies::holds_marked, expire::Renewal},
    sync,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::{Moment, Time},
        view::Loaded,
        word::{Bucket, Mark},
    },
};

/// How often a remove or a refresh waits for a mark to go.
pub(in crate::raw) const PATIENCE: usize = if sync::IN_MODEL { 1 } else { 64 };

impl<L: Layout> RawFilter<L> {
    /// One attempt: `None` if another thread was faster.
    pub(super) fn try_remove_oldest(&self, class: Class, patience: &mut usize) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q, _) = self.table.view().load_pair_for_update(class);
        let (word_p, word_q) = (p.word(), q.word());
        let in_p = oldest_in::<L>(word_p, fingerprint, now);
        let in_q = oldest_in::<L>(word_q, fingerprint, now);
        // Else an older copy may have gone from the word that was read last to the other one.
        let is_marked = |word: Word<L>| word.mark_of(fingerprint).is_some();
        let marked = is_marked(word_p) || is_marked(word_q);
        let unchanged = !marked || self.unchanged(class, word_p, word_q);
        let together = unchanged && version.validate();
        // In a later epoch ages by this one may be wrong.
        let in_time = self.time.is_still(now);
        if !(faulty!(together, OldestNoValidate => true)
            && faulty!(in_time, OldestNoSecondNow => true))
        {
            return None;
        }
        if marked
            && let Some((entry, to, from)) = moving::<L>(class, word_p, word_q, now)
            && in_p.max(in_q).is_none_or(|(age, _)| age < now.age(entry))
        {
            let beside_p = to == class.q && in_p.is_some();
            if beside_p && !self.announce(class, patience) {
                return None;
            }
            return self.kill_shadow(class, entry, to, from);
        }
        match (in_p, in_q) {
            (Some((age, young)), Some((older, entry))) if faulty!(older > age, RemoveYoungest => false) => {
                self.take_beside_p(class, (p, young), (q, entry), patience)
            }
            (Some((_, entry)), _) => self.take(p, entry),
            (None, Some((_, entry))) => self.take(q, entry),
            (None, None) => Some(false),
        }
    }

    /// The oldest copy is in Q and a younger one in P. To take it there would be wrong: who has
    /// passed P, before its copy came, must find in Q what is left. So the copy in Q gets the tag of
    /// the one in P, and that one is taken: what is left is the same.
    ///
    /// If P has changed since, the call begins again, and a copy stays younger than it was.
    #[cold]
    fn take_beside_p(
        &self,
        class: Class,
        (p, young): (Loaded<'_, L>, Entry),
        (q, entry): (Loaded<'_, L>, Entry),
        patience: &mut usize,
    ) -> Option<bool> {
        when_faulty!(OldestFromQ, return self.take(q, entry));
        if !q.word().is_unmarked() {
            return if self.announce(class, patience) {
                self.take(q, entry)
            } else {
                None
            };
        }
        match self.make_even(class, young, (q, entry)) {
            Renewal::Done(_) => match self.take(p, young) {
                None if L::COUNTER_BITS != 0 => self.take_even(class, young),
                taken => taken,
            },
            // As if the word had a mark, which will not go.
            Renewal::Full if self.announce(class, &mut 0) => self.take(q, entry),
            // As if the word had a mark.
            Renewal::Gated if self.announce(class, patience) => self.take(q, entry),
            _ => None,
        }
    }

    /// A copy in Q has got the tag of one in P, and P has changed since. If P has a copy with that tag, it
    /// is taken. To begin again would make another occurrence younger, each time that an insert adds to
    /// the slot in P.
    #[cold]
    fn take_even(&self, class: Class, young: Entry) -> Option<bool> {
        loop {
            let p = self.table.load_for_update(class.fingerprint, class.p);
            let young = p.word().like(young)?;
            if !self.time.now().is_live(young) {
                return None;
            }
            if let Some(taken) = self.take(p, young) {
                return Some(taken);
            }
            sync::yield_in_model();
        }
    }

    /// Gives a copy in Q the tag of a younger one in P.
    pub(in crate::raw) fn make_even(
        &self,
        class: Class,
        young: Entry,
        (q, entry): (Loaded<'_, L>, Entry),
    ) -> Renewal<Now<L>> {
        let mut even = false;
        let renewed = self.renew(class.q, q, entry, |now| {
            // Both were read some time ago. The one in Q is live now, so the other one is, too.
            even = now.age(young) <= now.age(entry);
            if even { young } else { entry }
        });
        match renewed {
            Renewal::Done(_) if !even => Renewal::Lost,
            renewed => renewed,
        }
    }

    /// A copy must be taken from Q beside one in P, as the word of Q is marked and cannot be
    /// changed. Lookups learn of it by the version, but a scan does not, so the mark gets some
    /// time to go first. True if all is said.
    #[cold]
    fn announce(&self, class: Class, patience: &mut usize) -> bool {
        if *patience > 0 {
            *patience -= 1;
            sync::yield_now();
            return false;
        }
        when_faulty!(OldestUnannounced, return true);
        self.versions.of(class).advance();
        true
    }
}

/// Age and entry of the oldest live copy that the word holds by itself.
#[inline(always)]
fn oldest_in<L: Layout>(
    word: Word<L>,
    fingerprint: Fingerprint,
    now: Now<L>,
) -> Option<(u64, Entry)> {
    let unmarked = now.oldest_in(word, fingerprint);
    if word.is_unmarked() {
        return unmarked.map(|entry| (now.age(entry), entry));
    }
    let marked = holds_marked::<L>(word, fingerprint, now).then(|| word.marked_entry(fingerprint));
    let entries = unmarked.into_iter().chain(marked);
    entries.map(|entry| (now.age(entry), entry)).max()
}

/// The entry of the live copy whose move is decided but not delivered, with the buckets of its
/// shadow and its original. `None` if these have different tags: no move has made them.
#[cold]
fn moving<L: Layout>(
    class: Class,
    p: Word<L>,
    q: Word<L>,
    now: Now<L>,
) -> Option<(Entry, usize, usize)> {
    let mark = |word: Word<L>| word.mark_of(class.fingerprint);
    let (to, from, buckets) = match (mark(p), mark(q)) {
        (Some(Mark::Shadow), Some(Mark::Trailing)) => (p, q, (class.p, class.q)),
        (Some(Mark::Trailing), Some(Mark::Shadow)) => (q, p, (class.q, class.p)),
        _ => return None,
    };
    let entry = to.marked_entry(class.fingerprint);
    let is_whole = from.is_marked(Mark::Trailing, entry);
    (is_whole && now.is_live(entry)).then_some((entry, buckets.0, buckets.1))
}
