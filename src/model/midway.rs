//! Scenarios that begin in the middle of a move, because its first steps would only multiply the
//! interleavings.
//!
//! The first steps of this move, and the few steps that a thread makes of it afterwards, are
//! written out here. The later removes and moves, which the scenario is about, are the library's
//! own code.

use super::{Filter, Item, Model};
use crate::{
    raw::moves::Hop,
    step::Step,
    table::{
        layout::{Layout, Word},
        word::{Bucket, Mark},
    },
};

impl<L: Layout> Filter<L> {
    /// Decides a move: S in the destination, T in the source.
    pub(super) fn decide(self, hop: Hop) -> Self {
        let (class, entry, table) = (hop.class::<L>(), hop.entry, &self.0.table);
        let outlined = table.update(Step::Outline, class.fingerprint, hop.to, |word| {
            word.plus_marked(entry, Mark::Outline)
        });
        let held = self.0.versions.of(class).advance();
        let shadowed = table.update(Step::Shadow, class.fingerprint, hop.to, |word| {
            Some(word.remarked(Mark::Shadow))
        });
        let decided = table.update(Step::Decide, class.fingerprint, hop.from, |word| {
            word.with_mark(entry, Mark::Trailing)
        });
        assert!(
            outlined && !held && shadowed && decided,
            "no other thread runs"
        );
        self
    }

    /// Completes that move in few exchanges: removes take the copies that are left. Then other ones are
    /// put into the slot of T, as at the end of a path. Returns the number of copies that were taken.
    ///
    /// Represents all ways in which the copies can get back to their former place.
    pub(super) fn take_and_put(&self, hop: Hop) -> usize {
        let (fingerprint, table) = (L::fingerprint(hop.entry), &self.0.table);
        let mut taken = 0;
        // Combines Deliver and Kill: S belongs to this move, and its T exists.
        table.update(Step::Kill, fingerprint, hop.to, |word| {
            let is_left = word.is_marked(Mark::Shadow, hop.entry);
            let left = word.marked_entry(fingerprint);
            taken = if is_left {
                Word::<L>::copies_of(left)
            } else {
                0
            };
            let one = Word::<L>::entry_of(hop.entry, 1);
            is_left.then(|| word.marked_instead(one, Mark::Killed))
        });
        table.update(Step::Erase, fingerprint, hop.from, |word| {
            assert!(word.is_marked(Mark::Trailing, hop.entry), "the own T");
            Some(word.unmarked())
        });
        table.update(Step::Settle, fingerprint, hop.to, |word| {
            assert!(word.is_marked(Mark::Killed, hop.entry), "the own K");
            Some(word.without_marked())
        });
        let len = &self.0.len;
        len.add(1);
        len.subtract(u64::from(taken > 0));
        len.add_repeats(Word::<L>::copies_of(hop.entry) as u64 - 1);
        len.subtract_repeats(taken.saturating_sub(1) as u64);
        taken
    }
}

impl<const SLOTS: usize> Model<SLOTS> {
    /// Decides a move of a copy of `item` out of `from`: S in the destination, T in the source.
    #[must_use]
    pub fn decided(self, item: Item, from: usize) -> Self {
        self.decide(item.hop(item.entry(), from))
    }

    /// Completes that move in few exchanges: a remove takes the item, unless another one has done
    /// so. Then another copy of it is put into the slot of T. Returns the result of the remove.
    pub fn take_and_replace(&self, item: Item, from: usize) -> bool {
        self.take_and_put(item.hop(item.entry(), from)) > 0
    }
}
