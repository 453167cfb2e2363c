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
//! again. No key is needed for it, and two items of one class remain in one class.

use super::{Table, layout::Layout, loaded::Loaded, word::Phases};
use crate::step::Step;

impl<L: Layout> Table<L> {
    /// Brings a word from `level` to the next one. Any number of threads may do
    /// this at once, and any of them may stop.
    pub(crate) fn split(&self, plane: u64, bucket: usize, level: u32) {
        loop {
            let loaded = Loaded::<L>::load(self.atomic(plane, bucket));
            if loaded.word().level() > level {
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

    /// A frozen word does not change, so every thread that completes its split makes the same two
    /// words of it. An exchange that fails was done by another thread.
    #[cold]
    pub(super) fn complete_split(&self, plane: u64, bucket: usize, frozen: Loaded<'_, L>) {
        let (stays, goes) = frozen.word().split();
        let distance = self.planes_at(frozen.word().level()) as u64;
        let new = Loaded::<L>::load(self.atomic(plane | distance, bucket));
        // A word that has been made is never 0 again: it has a level.
        if new.is_unmade() {
            new.replace(Step::Copy, goes);
        }
        // From here on the new word counts for what went there.
        frozen.replace(Step::Cut, stays);
    }
}
