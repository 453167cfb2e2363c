//! A word as a snapshot keeps it.

use super::{Mark, Word};
use crate::table::layout::{Layout, Masks};

impl<L: Layout> Word<L> {
    /// The word as a snapshot keeps it: at rest. Outlines, shadows and delivered
    /// copies become residents, and so do withheld ones; what trails or is killed goes; a split has not begun.
    pub(crate) fn image(self) -> Self {
        let word = self.without_reservation();
        let word = match word.mark() {
            Some(Mark::Outline | Mark::Shadow | Mark::Delivered | Mark::Withheld) => {
                word.unmarked()
            }
            Some(Mark::Trailing | Mark::Killed) => word.without_marked(),
            None => word,
        };
        Self::from_bits(word.bits & !Self::FROZEN)
    }

    /// The bit of the phase that a word has while it is frozen.
    const FROZEN: u64 = L::PHASE & L::PHASE.wrapping_neg();

    /// True if the word is one that [`image`](Self::image) may give: a snapshot has been read from
    /// outside.
    #[inline(always)]
    pub(crate) fn is_image(self) -> bool {
        let lanes = self.lanes();
        let at_rest = self.bits & !(lanes.payload | L::PHASE & !Self::FROZEN) == 0;
        // Bits that a slot may still lose: what it holds is not 0 without them.
        let lost = (1_u64 << L::MAX_LEVEL.saturating_sub(self.level())) - 1;
        let lasting = Self::used(self.bits & !(lost * lanes.ones), lanes);
        // A tag without a fingerprint is no copy.
        let tagged = L::TAG_BITS == 0 || self.occupied() == self.occupied_by_fingerprints();
        at_rest && lasting == self.used_slots() && tagged
    }
}
