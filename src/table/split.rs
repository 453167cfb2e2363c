//! Splitting a word: Freeze, Copy, Cut.
//!
//! | promise | a copy is in the words that lookups read, before, during and after a split |
//! |---|---|
//! | how | docs/design/growth.md, "Splitting a word" |
//! | why | PROOF, section 9 |
//! | checked by | growth_lookup, growth_insert, growth_remove |
//! | break it | `cargo xtask break NoFreeze` |
//!
//! Splitting a word from level k to k + 1 moves the fingerprints with bit k set to the same bucket
//! of a new plane. Neither of the two words stores that bit any more, so their slots are packed
//! again. Splitting needs no keys, and items of one class stay in one class.

use super::{
    Table,
    layout::{Layout, Word},
    view::Loaded,
    word::Phases,
};
use crate::{memory::Storage, step::Step};

impl<L: Layout> Table<L> {
    /// Takes a word from `level` to the next one. Any number of threads may do this concurrently, and
    /// any of them may stop.
    pub(crate) fn split(&self, plane: u64, bucket: usize, level: u32) {
        loop {
            let loaded = Loaded::<L>::load(self.atomic(plane, bucket), self.base());
            if self.is_past(loaded.word(), level) {
                return;
            }
            let frozen = if loaded.word().is_frozen() {
                loaded
            } else {
                let frozen = loaded.word().frozen();
                if !loaded.replace(Step::Freeze, frozen) {
                    continue;
                }
                loaded.replaced_by(frozen)
            };
            self.complete_split(plane, bucket, frozen);
        }
    }

    /// True if there is nothing to split in the word at this level: it is above the level. In a filter
    /// that processes share, a word that any process may have written can also be below.
    #[inline(always)]
    pub(super) fn is_past(&self, word: Word<L>, level: u32) -> bool {
        word.level() > level || L::Storage::SHARED && word.level() < level
    }

    /// A frozen word does not change, so every thread that completes its split computes the same two
    /// words. If an exchange fails, another thread has done it.
    #[cold]
    pub(super) fn complete_split(&self, plane: u64, bucket: usize, frozen: Loaded<'_, L>) {
        let (stays, goes) = frozen.word().split();
        let distance = self.planes_at(frozen.word().level()) as u64;
        let new = Loaded::<L>::load(self.atomic(plane | distance, bucket), self.base());
        // A word that has been created is never 0 again, because it is above the first level.
        if new.is_unmade() {
            new.replace(Step::Copy, goes);
        }
        // From here on the new word counts for the items that moved.
        frozen.replace(Step::Cut, stays);
    }
}
