//! The time of an expiring filter goes on.
//!
//! Each step begins only after all words have been swept in the one before it. So two sweeps meet a
//! dead copy before its tag could mean a later step, but for those that `docs/DESIGN.md`, section
//! 15, names.

use super::RawFilter;
use crate::{
    fault::instead,
    table::{
        layout::PackedLayout,
        time::{Now, Steps, Time},
    },
};
use std::time::Duration;

impl<L: PackedLayout<Time = Steps>> RawFilter<L> {
    /// Begins the next step, and empties what is dead by it. False if another thread began it
    /// meanwhile. O(words); nobody waits for it.
    pub(crate) fn advance(&self) -> bool {
        // Before the step begins: a reading of the clock must never be taken for one of a later
        // step with the same low bits.
        self.time.forget_beginning();
        self.advance_from(self.moment(), || ())
    }

    /// [`advance`](Self::advance), if the present step has lasted for `length` by the clock
    /// `elapsed`.
    pub(crate) fn tick(&self, length: Duration, elapsed: impl Fn() -> Duration) -> bool {
        let now = self.moment();
        let is_due = self.time.is_due(now, length, &elapsed);
        is_due && self.advance_from(now, || self.time.has_begun(now.next(), &elapsed))
    }

    /// The step, as it is now.
    pub(crate) fn moment(&self) -> Now {
        Time::<L>::now(&self.time)
    }

    fn advance_from(&self, now: Now, at_begin: impl FnOnce()) -> bool {
        // As a rule whoever began this step has done it.
        let is_swept = self.time.is_swept(now);
        if !instead!(is(AdvanceUnswept) => true, is_swept) {
            self.sweep_all(now);
        }
        let begun = self.time.tick(now);
        if begun {
            at_begin();
            self.sweep_all(now.next());
        }
        begun
    }

    /// Empties the dead copies of all words but those that are marked, in the step `now` or later.
    fn sweep_all(&self, now: Now) {
        let view = self.table.view();
        let emptied = (0..view.buckets()).map(|bucket| self.expire(&view, bucket, now));
        self.len.subtract(emptied.sum());
        self.time.sweep_ends(now);
    }
}
