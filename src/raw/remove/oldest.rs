//! remove in an expiring filter: of the live copies it takes the oldest.
//!
//! Two items of one class cannot be told apart. What is left after each remove must live as long
//! as the items that are left, whichever they are: so the oldest goes first.

use super::take;
use crate::{
    fault::instead,
    raw::{Now, RawFilter, copies::holds_marked},
    table::{
        class::Class,
        layout::Layout,
        loaded::Loaded,
        time::{Moment, Time},
        word::{Mark, Word},
    },
};

impl<L: Layout> RawFilter<L> {
    /// One attempt: `None` if another thread was faster.
    pub(super) fn try_remove_oldest(&self, class: Class) -> Option<bool> {
        let fingerprint = class.fingerprint;
        let now = self.time.now();
        let version = self.versions.of(class).observe();
        let (p, q) = self.table.view().load_pair_for_update(class);
        let in_p = oldest_in(p.word, fingerprint, now);
        let in_q = oldest_in(q.word, fingerprint, now);
        // Else an older copy may have gone from the word that was read last to the other one.
        let is_marked = |loaded: Loaded<'_, L>| loaded.word.mark_of(fingerprint).is_some();
        let unchanged = !(is_marked(p) || is_marked(q)) || self.unchanged(class, p.word, q.word);
        let together = unchanged && version.validate();
        // In a later step ages by this one may be wrong.
        let in_time = self.time.is_still(now);
        if !(instead!(is(OldestNoValidate) => true, together)
            && instead!(is(OldestNoSecondNow) => true, in_time))
        {
            return None;
        }
        let announce = |bucket| {
            let in_both = bucket == class.q && in_p.is_some();
            if instead!(is(OldestNoAdvance) => false, in_both) {
                // A reader may have passed P before that copy was there.
                self.versions.of(class).advance();
            }
        };
        if let Some((entry, to, from)) = moving(class, p, q, now)
            && in_p.max(in_q).is_none_or(|(age, _)| age < now.age(entry))
        {
            announce(to);
            let class = Class {
                fingerprint: entry,
                ..class
            };
            return self.kill_shadow(class, to, from);
        }
        let older_in_q = match (in_p, in_q) {
            (Some((in_p, _)), Some((in_q, _))) => in_q > in_p,
            _ => false,
        };
        let older_in_q = instead!(is(RemoveYoungest) => false, older_in_q);
        match (in_p, in_q) {
            (Some((_, entry)), _) if !older_in_q => take(p, entry),
            (_, Some((_, entry))) => {
                announce(class.q);
                take(q, entry)
            }
            _ => Some(false),
        }
    }
}

/// Age and entry of the oldest live copy that the word holds by itself.
fn oldest_in<L: Layout>(word: Word<L>, fingerprint: u64, now: Now<L>) -> Option<(u64, u64)> {
    let unmarked = now.oldest_in(word, fingerprint);
    let marked = holds_marked(word, fingerprint, now).then(|| word.marked_entry());
    let entries = unmarked.into_iter().chain(marked);
    entries.map(|entry| (now.age(entry), entry)).max()
}

/// The entry of the live copy whose move is decided but not delivered, with the buckets of its
/// shadow and its original.
fn moving<L: Layout>(
    class: Class,
    p: Loaded<'_, L>,
    q: Loaded<'_, L>,
    now: Now<L>,
) -> Option<(u64, usize, usize)> {
    let mark = |loaded: Loaded<'_, L>| loaded.word.mark_of(class.fingerprint);
    let (to, buckets) = match (mark(p), mark(q)) {
        (Some(Mark::Shadow), Some(Mark::Trailing)) => (p, (class.p, class.q)),
        (Some(Mark::Trailing), Some(Mark::Shadow)) => (q, (class.q, class.p)),
        _ => return None,
    };
    let entry = to.word.marked_entry();
    now.is_live(entry).then_some((entry, buckets.0, buckets.1))
}
