//! How often a call tries again in words that other processes may have written.

use super::RawFilter;
use crate::{fault, table::layout::Layout};

/// The most attempts of a call.
const MOST: u32 = 1 << 12;

/// The attempts of a call that have failed.
///
/// On the heap each of them means that another thread was faster, so nothing is counted. Words that other
/// processes may have written need never fit together; nor need words that a test lets a step write wrong.
#[derive(Default)]
pub(super) struct Attempts(u32);

impl Attempts {
    /// Counts an attempt that has failed. True if it was the last one.
    #[inline(always)]
    pub(super) fn was_last<L: Layout>(&mut self, raw: &RawFilter<L>) -> bool {
        if raw.crew().is_none() && !fault::is_weakened() {
            return false;
        }
        self.0 += 1;
        self.0 == MOST
    }
}
