//! Bounds on the times at which the epochs of a filter began, as an observer sees them.

use guira::ExpiringFilter;
use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

/// Nanoseconds since the start of a round.
pub(crate) type Nanos = u64;

pub(crate) fn nanos(time: Duration) -> Nanos {
    time.as_nanos() as Nanos
}

/// A clock, and the epochs that were observed with it.
pub(crate) struct Steps {
    start: Instant,
    /// For each epoch, a time at which it had not begun. 0 if none is known.
    not_before: Vec<AtomicU64>,
    /// For each epoch, a time at which it had begun. `MAX` if none is known.
    by: Vec<AtomicU64>,
    latest: AtomicUsize,
}

impl Steps {
    /// For at most this number of epochs.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            start: Instant::now(),
            not_before: (0..most).map(|_| AtomicU64::new(0)).collect(),
            by: (0..most).map(|_| AtomicU64::new(Nanos::MAX)).collect(),
            latest: AtomicUsize::new(0),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn now(&self) -> Nanos {
        nanos(self.elapsed())
    }

    /// Observes the current epoch.
    pub(crate) fn observe(&self, filter: &ExpiringFilter) {
        let before = self.now();
        let step = filter.epoch() as usize;
        let after = self.now();
        self.not_before[step + 1].fetch_max(before, Ordering::Relaxed);
        self.by[step].fetch_min(after, Ordering::Relaxed);
        self.latest.fetch_max(step, Ordering::Relaxed);
    }

    pub(crate) fn latest(&self) -> usize {
        self.latest.load(Ordering::Relaxed)
    }

    /// The time by which a copy written at `written` has expired, if that time has come. `oldest`
    /// is E, and `latest` is the latest epoch that was known at `written`.
    pub(crate) fn dead_by(&self, written: Nanos, latest: usize, oldest: usize) -> Option<Nanos> {
        let now = self.latest();
        let began_later = |&step: &usize| self.not_before(step) > written;
        let next = (latest + 1..=now).find(began_later)?;
        let known = |step: usize| self.by[step].load(Ordering::Relaxed);
        (next + oldest..=now)
            .map(known)
            .find(|&by| by != Nanos::MAX)
    }

    fn not_before(&self, step: usize) -> Nanos {
        self.not_before[step].load(Ordering::Relaxed)
    }

    /// Bounds on the lengths of all epochs except the first and the last: an upper bound of the
    /// shortest one, and a lower bound of the longest one.
    pub(crate) fn lengths(&self) -> Option<(Nanos, Nanos)> {
        let mut lengths = None;
        for step in 1..self.latest() {
            let (begun, ended) = (&self.by[step], &self.by[step + 1]);
            let [begun, ended] = [begun, ended].map(|time| time.load(Ordering::Relaxed));
            if begun == Nanos::MAX || ended == Nanos::MAX || self.not_before(step) == 0 {
                continue;
            }
            let at_most = ended - self.not_before(step);
            let at_least = self.not_before(step + 1).saturating_sub(begun);
            let (shortest, longest) = lengths.unwrap_or((Nanos::MAX, 0));
            lengths = Some((at_most.min(shortest), at_least.max(longest)));
        }
        lengths
    }
}
