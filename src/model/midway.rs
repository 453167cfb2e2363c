//! Scenarios that begin in the middle of a move, because its first steps would only multiply the
//! interleavings.
//!
//! The first steps of this move, and the few steps that a thread makes of it afterwards, are
//! written out here. The later removes and moves, which the scenario is about, are the library's
//! own code.

use super::{Item, Model, hop};
use crate::{
    step::Step,
    table::word::{Bucket, Mark},
};

impl<const SLOTS: usize> Model<SLOTS> {
    /// Decides a move of a copy of `item` out of `from`: S in the destination, T in the source.
    #[must_use]
    pub fn decided(self, item: Item, from: usize) -> Self {
        let (fingerprint, entry, hop) = (item.0.fingerprint, item.entry(), hop(item, from));
        let table = &self.0.table;
        let outlined = table.update(Step::Outline, fingerprint, hop.to, |word| {
            word.plus_marked(entry, Mark::Outline)
        });
        let held = self.0.versions.of(item.0).advance();
        let shadowed = table.update(Step::Shadow, fingerprint, hop.to, |word| {
            Some(word.remarked(Mark::Shadow))
        });
        let decided = table.update(Step::Decide, fingerprint, hop.from, |word| {
            word.with_mark(entry, Mark::Trailing)
        });
        assert!(
            outlined && !held && shadowed && decided,
            "no other thread runs"
        );
        self
    }

    /// Completes that move in few exchanges: a remove takes the item, unless another one has done
    /// so. Then another copy of it is put into the slot of T, as at the end of a path. Returns the
    /// result of the remove.
    ///
    /// Represents all ways in which the copy can get back to its former place.
    pub fn take_and_replace(&self, item: Item, from: usize) -> bool {
        let (fingerprint, entry, hop) = (item.0.fingerprint, item.entry(), hop(item, from));
        let table = &self.0.table;
        // Combines Deliver and Kill: S belongs to this move, and its T exists.
        let taken = table.update(Step::Kill, fingerprint, hop.to, |word| {
            word.is_marked(Mark::Shadow, entry)
                .then(|| word.remarked(Mark::Killed))
        });
        table.update(Step::Erase, fingerprint, hop.from, |word| {
            assert!(word.is_marked(Mark::Trailing, entry), "the own T");
            Some(word.unmarked())
        });
        table.update(Step::Settle, fingerprint, hop.to, |word| {
            assert!(word.is_marked(Mark::Killed, entry), "the own K");
            Some(word.without_marked())
        });
        self.0.len.add(1);
        if taken {
            self.0.len.subtract(1);
        }
        taken
    }
}
