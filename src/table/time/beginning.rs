//! When the current epoch began, by a clock.
//!
//! | promise | an epoch lasts at least as long as it should, and no longer than until the next look |
//! |---|---|
//! | how | docs/design/expiry.md, "advance, sweep and tick" |
//! | why | PROOF, section 12 (E7) |
//! | checked by | expire_tick |
//! | break it | `cargo xtask break Began` |
//!
//! A recorded beginning is a reading of the clock from after the epoch had begun. An earlier reading
//! would make the epoch too short, and copies would die too early. A thread therefore reads the
//! clock after it has read the epoch, and before it looks whether a beginning is recorded. So each
//! reading that counts for an epoch was taken before the first record of it was complete. A thread
//! that is preempted in between does not make the epoch longer.

use crate::{
    fault::{self, faulty, when_faulty},
    memory::Number,
    step::Step,
    sync::{AtomicU64, Ordering},
};
use std::time::Duration;

/// A reading of a clock: nanoseconds, and which clock it was.
///
/// Readings end after 292 years. A later one counts as this last one, so that no epoch is due by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reading(u64);

impl Reading {
    /// Set in a reading of the filter's own clock.
    const OWN: u64 = 1 << 63;

    /// The filter's own clock, when it was started.
    const START: Self = Self(Self::OWN);

    /// The filter's own clock has run for `elapsed`.
    pub(crate) fn own(elapsed: Duration) -> Self {
        Self(Self::OWN | Self::of_caller(elapsed).0)
    }

    /// The clock of a caller says `at`.
    pub(crate) fn of_caller(at: Duration) -> Self {
        let latest = Self::OWN - 1;
        Self(u64::try_from(at.as_nanos()).map_or(latest, |nanos| nanos.min(latest)))
    }

    fn is_own(self) -> bool {
        self.0 & Self::OWN != 0
    }

    /// The time between two readings of one clock, which is zero if it went back. `None` for
    /// readings of different clocks.
    fn since(self, earlier: Self) -> Option<Duration> {
        let is_same = self.is_own() == earlier.is_own();
        is_same.then(|| Duration::from_nanos(self.0.saturating_sub(earlier.0)))
    }
}

/// When the current epoch began.
#[derive(Debug, Default)]
pub(crate) struct Beginning<N = AtomicU64> {
    /// The number of the last epoch with a recorded beginning, plus 1; or 0.
    recorded: N,
    /// The latest reading that was recorded.
    at: N,
    /// The epoch in which the filter was made. It began before the filter's own clock was started,
    /// by this time.
    first: (u64, Duration),
}

impl Beginning {
    /// The epoch `epoch` has lasted for `age`. By a caller's clock, it has when that is first read.
    pub(crate) fn in_epoch(epoch: u64, age: Duration) -> Self {
        Self {
            first: (epoch, age),
            ..Self::default()
        }
    }
}

impl<N: Number> Beginning<N> {
    /// The beginning, with these words for `recorded` and `at`. It is not known when the
    /// clock was started.
    #[cfg(feature = "shared")]
    pub(crate) fn in_words(recorded: N, at: N) -> Self {
        Self {
            recorded,
            at,
            first: (u64::MAX, Duration::ZERO),
        }
    }

    /// The same beginning, as it is known now, for a filter that goes by the same clock.
    pub(crate) fn duplicate<M: Number>(&self) -> Beginning<M> {
        let duplicate = Beginning {
            first: self.first,
            ..Beginning::default()
        };
        let (recorded, at): (&M, &M) = (&duplicate.recorded, &duplicate.at);
        // Relaxed: no other thread has the duplicate yet.
        recorded.word().store(self.recorded(), Ordering::Relaxed);
        at.word().store(self.at().0, Ordering::Relaxed);
        duplicate
    }

    /// Acquire: pairs with the Release of `record`. The reading that belongs to the record, or a
    /// later one, is then in `at`.
    fn recorded(&self) -> u64 {
        let order = fault::order(Step::Began, Ordering::Acquire);
        self.recorded.word().load(order)
    }

    /// How long `epoch` has lasted at `reading`, at least; `None` if its beginning is unknown by
    /// this clock.
    pub(crate) fn age(&self, epoch: u64, reading: Reading) -> Option<Duration> {
        let (first, age) = self.first;
        let since = match self.recorded() == epoch.wrapping_add(1) {
            true => self.at(),
            false if epoch == first => Reading::START,
            false => return None,
        };
        let passed = reading.since(since)?;
        Some(match epoch == first {
            true => passed.saturating_add(age),
            false => passed,
        })
    }

    /// The latest reading that was recorded of the filter's own clock, in nanoseconds.
    #[cfg(feature = "shared")]
    pub(super) fn latest(&self) -> u64 {
        // Acquire: pairs with the Release of `record_reading`. What the thread of this reading has seen
        // of its clock is seen here, too.
        let order = fault::order(Step::Latest, Ordering::Acquire);
        self.at.word().load(order) & !Reading::OWN
    }

    /// The number after the last epoch with a recorded beginning; 0 if there is none.
    #[cfg(feature = "shared")]
    pub(super) fn next(&self) -> u64 {
        self.recorded()
    }

    /// True if no epoch after `epoch` has a recorded beginning.
    #[cfg(any(guira_loom, guira_shuttle, guira_faults))]
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.recorded() <= epoch.wrapping_add(1)
    }

    /// How long `epoch` had lasted when the filter was made.
    pub(crate) fn age_when_made(&self, epoch: u64) -> Duration {
        let (first, age) = self.first;
        if epoch == first { age } else { Duration::ZERO }
    }

    /// Relaxed: who has seen the record sees its reading, or a later one.
    fn at(&self) -> Reading {
        Reading(self.at.word().load(Ordering::Relaxed))
    }

    /// True if `epoch` has lasted for `length`, as far as is known. If its beginning is unknown, it
    /// counts from now. The caller has read the epoch.
    pub(crate) fn is_due(&self, epoch: u64, length: Duration, clock: impl Fn() -> Reading) -> bool {
        let reading = clock();
        let age = self.age(epoch, reading);
        if age.is_none() {
            self.record(epoch, reading);
        }
        age.is_some_and(|age| age >= length)
    }

    /// Records that `epoch` had begun at `reading`, unless a beginning of this epoch or of a later
    /// one is recorded. The filter's own clock replaces that of a caller.
    pub(crate) fn record(&self, epoch: u64, reading: Reading) {
        let (recorded, next) = (self.recorded(), epoch.wrapping_add(1));
        let is_of_another_clock = || reading.since(self.at()).is_none();
        if recorded > next || recorded == next && !is_of_another_clock() {
            return;
        }
        when_faulty!(RecordedFirst, self.record_epoch(next));
        self.record_reading(reading);
        self.record_epoch(next);
    }

    /// Another thread may have recorded this epoch since, or a later one.
    pub(crate) fn record_reading(&self, reading: Reading) {
        let at = self.at.word();
        // Release: pairs with the Acquire of `latest`.
        let order = fault::order(Step::Latest, Ordering::Release);
        faulty!(
            _ = at.fetch_max(reading.0, order),
            ReadingOverwritten => at.store(reading.0, Ordering::Relaxed)
        );
    }

    /// Records that the epoch before `next` has the reading that was recorded.
    pub(crate) fn record_epoch(&self, next: u64) {
        // Release: who sees the record sees its reading.
        let order = fault::order(Step::Began, Ordering::AcqRel);
        let recorded = self.recorded.word();
        faulty!(
            _ = recorded.fetch_max(next, order),
            RecordOverwritten => recorded.store(next, Ordering::Release)
        );
    }
}

#[cfg(test)]
mod tests;
