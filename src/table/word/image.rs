//! A word as a snapshot keeps it.

use super::{Mark, Word};
use crate::table::layout::{Layout, Masks};

impl<L: Layout> Word<L> {
    /// The word as a snapshot keeps it: at rest. Outlines, shadows and delivered
    /// copies become residents; what trails or is killed goes; a split has not begun.
    pub(crate) fn image(self) -> Self {
        let word = self.without_reservation();
        let word = match word.mark() {
            Some(Mark::Outline | Mark::Shadow | Mark::Delivered) => word.unmarked(),
            Some(Mark::Trailing | Mark::Killed) => word.without_marked(),
            None => word,
        };
        word.with_phase(word.phase() & !1)
    }

    /// True if the word is one that [`image`](Self::image) may give in the
    /// given plane: a snapshot has been read from outside.
    #[inline(always)]
    pub(crate) fn is_image(self, plane: u64) -> bool {
        let unused = !(L::PAYLOAD | L::CONTROL | L::PHASE);
        let at_rest = self.bits & (L::CONTROL | unused) == 0 && !self.is_frozen();
        // The low bits, as many as the level says, in which a fingerprint differs
        // from the plane's number.
        let low = (1_u64 << self.level().min(63)) - 1;
        let astray = (self.bits ^ (plane * L::ONES)) & ((low & L::FINGERPRINT) * L::ONES);
        let at_home = Self::from_bits(astray).empty_slots() | self.empty_slots();
        at_rest && at_home == L::TOPS
    }
}
