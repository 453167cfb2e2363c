//! When the last epochs began, by a clock.
//!
//! | promise | an epoch lasts as long as it should, and what is dead by the clock is dead at the next look |
//! |---|---|
//! | how | docs/design/expiry.md, "advance, sweep and tick" |
//! | why | PROOF, section 12 (E7, E8) |
//! | checked by | expire_tick, expire_late |
//! | break it | `cargo xtask break Began` |
//!
//! A recorded beginning is a reading of the clock from after the epoch had begun. An earlier reading
//! would make the epoch too short, and copies would die too early. A thread therefore reads the
//! clock after it has read the epoch, and before it looks whether a beginning is recorded. So each
//! reading that counts for an epoch was taken before the first record of it was complete. A thread
//! that is preempted in between does not make the epoch longer.
//!
//! An item that was last seen in an epoch was seen before the next one began. So the beginnings of the
//! last epochs say what is dead, however late the call is. A beginning that is not recorded counts as the
//! one that is recorded next: later than it was, so that nothing dies too early.

use crate::{
    fault::{self, faulty, when_faulty},
    memory::Number,
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use std::{cmp, time::Duration};

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

/// How many beginnings are known: of all epochs with live copies, and of the next one.
pub(crate) const KNOWN: usize = if sync::IN_MODEL { 4 } else { 16 };

/// When the last epochs began.
#[derive(Debug, Default)]
pub(crate) struct Beginning<N = AtomicU64> {
    /// The number of the last epoch with a recorded beginning, plus 1; or 0.
    recorded: N,
    /// For each of the last epochs that are recorded, at its number modulo [`KNOWN`], a reading from
    /// after it began.
    at: [N; KNOWN],
    /// The epoch in which the filter was made, and how long before the filter's own clock was started it
    /// began, the one before it, and so on.
    first: (u64, Vec<Duration>),
}

impl Beginning {
    /// The epoch `epoch` began before the time `ages[0]`, the one before it before `ages[1]`, and so on.
    /// By a caller's clock, they did when that is first read.
    pub(crate) fn in_epoch(epoch: u64, ages: Vec<Duration>) -> Self {
        Self {
            first: (epoch, ages),
            ..Self::default()
        }
    }
}

impl<N: Number> Beginning<N> {
    /// The beginning, with these words for `recorded` and `at`. It is not known when the
    /// clock was started.
    #[cfg(feature = "shared")]
    pub(crate) fn in_words(recorded: N, at: [N; KNOWN]) -> Self {
        Self {
            recorded,
            at,
            first: (u64::MAX, Vec::new()),
        }
    }

    /// The same beginning, as it is known now, for a filter that goes by the same clock.
    pub(crate) fn duplicate<M: Number>(&self) -> Beginning<M> {
        let recorded = self.recorded();
        let duplicate = Beginning {
            first: self.first.clone(),
            ..Beginning::<M>::default()
        };
        // Relaxed: no other thread has the duplicate yet.
        duplicate.recorded.word().store(recorded, Ordering::Relaxed);
        for (copy, at) in duplicate.at.iter().zip(&self.at) {
            // Relaxed: as in `reading`. If an epoch is recorded during the call, its reading is later.
            let at = at.word().load(Ordering::Relaxed);
            copy.word().store(at, Ordering::Relaxed);
        }
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
        let is_last = self.recorded() == epoch.wrapping_add(1) || epoch == self.first.0;
        is_last.then(|| self.passed_since(epoch, reading)).flatten()
    }

    /// How long before `reading` the epoch `epoch` began, at least; `None` if that is unknown by this
    /// clock.
    fn passed_since(&self, epoch: u64, reading: Reading) -> Option<Duration> {
        let Some(age) = self.age_when_made(epoch) else {
            return reading.since(self.reading(epoch)?);
        };
        let made = match reading.is_own() {
            true => Reading::START,
            false => self.reading(self.first.0)?,
        };
        Some(reading.since(made)?.saturating_add(age))
    }

    /// The greatest age of live copies, of those up to the age `oldest` in the epoch `epoch`: at
    /// `reading`, all older ones were last seen before the time `ttl`.
    ///
    /// A copy was last seen before the epoch after its own began.
    pub(crate) fn oldest_live(
        &self,
        (epoch, oldest): (u64, u64),
        ttl: Duration,
        reading: Reading,
    ) -> u64 {
        let began = |age: &u64| self.passed_since(epoch.wrapping_sub(*age), reading);
        let over = |age: &u64| began(age).is_some_and(|passed| passed >= ttl);
        let live = faulty!(
            (0..oldest).find(over),
            DeadByOwnBeginning => (0..=oldest).find(over).map(|age| age.saturating_sub(1))
        );
        live.unwrap_or(oldest)
    }

    /// How long before `reading` each of the last `epochs` epochs began, at least, from `epoch` back. What
    /// is unknown by this clock is as it was when the filter was made, or as for the epoch after it.
    pub(crate) fn ages(&self, epoch: u64, epochs: u64, reading: Reading) -> Vec<Duration> {
        let mut least = Duration::ZERO;
        let age = |before| {
            let epoch = epoch.wrapping_sub(before);
            let known = self.passed_since(epoch, reading);
            let age = known.or_else(|| self.age_when_made(epoch));
            least = age.unwrap_or_default().max(least);
            least
        };
        (0..epochs).map(age).collect()
    }

    /// The latest reading that was recorded of the filter's own clock, in nanoseconds.
    #[cfg(feature = "shared")]
    pub(super) fn latest(&self) -> u64 {
        // Acquire: pairs with the Release of `record_reading`. What the thread of this reading has seen
        // of its clock is seen here, too.
        let order = fault::order(Step::Latest, Ordering::Acquire);
        let readings = self.at.iter().map(|at| at.word().load(order));
        readings.max().unwrap_or_default() & !Reading::OWN
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

    /// How long before the filter was made `epoch` began, if it did.
    fn age_when_made(&self, epoch: u64) -> Option<Duration> {
        let (first, ages) = &self.first;
        let before = usize::try_from(first.wrapping_sub(epoch)).ok()?;
        ages.get(before).copied()
    }

    /// The reading of an epoch that is recorded and one of the last.
    fn reading(&self, epoch: u64) -> Option<Reading> {
        let later = self.recorded().checked_sub(epoch)?;
        // Relaxed: who has seen the record sees its reading, or a later one.
        let at = |at: &N| Reading(at.word().load(Ordering::Relaxed));
        (1..=KNOWN as u64)
            .contains(&later)
            .then(|| at(self.at_of(epoch)))
    }

    fn at_of(&self, epoch: u64) -> &N {
        &self.at[(epoch % KNOWN as u64) as usize]
    }

    /// True if `epoch` has lasted for `length`, as far as is known. If its beginning is unknown, it
    /// counts from now. The caller has read the epoch.
    pub(crate) fn is_due(&self, epoch: u64, length: Duration, reading: Reading) -> bool {
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
        let is_of_another_clock = || {
            let at = self.reading(epoch);
            at.is_none_or(|at| reading.since(at).is_none())
        };
        let first = match recorded.cmp(&next) {
            cmp::Ordering::Less => recorded,
            cmp::Ordering::Equal if is_of_another_clock() => 0,
            _ => return,
        };
        when_faulty!(RecordedFirst, self.record_epoch(next));
        // The epochs between are not recorded: they began before this reading, too.
        let first = faulty!(first, SkippedUnrecorded => epoch);
        for epoch in first.max(next.saturating_sub(KNOWN as u64))..next {
            self.record_reading(epoch, reading);
        }
        self.record_epoch(next);
    }

    /// Another thread may have recorded this epoch since, or a later one.
    pub(crate) fn record_reading(&self, epoch: u64, reading: Reading) {
        let at = self.at_of(epoch).word();
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
