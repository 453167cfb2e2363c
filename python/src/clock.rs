//! When the epochs of an expiring filter begin.
//!
//! Every call looks at the clock first, so no thread has to call `tick`. The library
//! begins at most one epoch per call, which would let items live on in a filter that is seldom
//! used. So if several epochs were missed, the next call begins them at once.
//!
//! That must not shorten the life of an item that another thread adds at the same time. Let L be
//! the length of an epoch.
//!
//! * A catch-up begins one epoch less than the time since the last beginning allows. After it,
//!   epochs begin L apart again. An item with the tag of epoch n is therefore alive until
//!   (E + 2) L after the beginning of n, and its TTL is E L. It is safe if it was added in the
//!   first 2 L of its epoch.
//! * A writer looks at the clock again after its insert. If its epoch has lasted for 2 L, or if a
//!   catch-up began or ended since it started, it refreshes its item.

use crate::arguments::ClockKind;
use guira::ExpiringFilter;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

pub(crate) struct Clock {
    kind: ClockKind,
    start: Instant,
    /// The reading of a manual clock, in nanoseconds.
    reading: AtomicU64,
    /// How many catch-ups have begun and ended: odd during one.
    catch_ups: AtomicU64,
    /// Held during a catch-up.
    turn: Mutex<()>,
}

/// What a writer compares after its insert.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Clock {
    /// A clock that starts now. The present epoch of the filter begins with it.
    pub(crate) fn start(kind: ClockKind, filter: &ExpiringFilter) -> Self {
        let clock = Self {
            kind,
            start: Instant::now(),
            reading: AtomicU64::new(0),
            catch_ups: AtomicU64::new(0),
            turn: Mutex::new(()),
        };
        filter.begin_due_epoch_at(|| clock.now());
        clock
    }

    pub(crate) fn kind(&self) -> ClockKind {
        self.kind
    }

    fn now(&self) -> Duration {
        match self.kind {
            ClockKind::Monotonic => self.start.elapsed(),
            ClockKind::Manual => Duration::from_nanos(self.reading.load(SeqCst)),
        }
    }

    /// Sets a manual clock, and begins the epochs that are due. True if an epoch began; an error if
    /// the clock would go back from the reading that the error has.
    pub(crate) fn set(&self, filter: &ExpiringFilter, reading: u64) -> Result<bool, Duration> {
        let before = self.reading.fetch_max(reading, SeqCst);
        if before > reading {
            return Err(Duration::from_nanos(before));
        }
        Ok(self.begin_due(filter))
    }

    /// True if an epoch has to begin.
    #[inline]
    pub(crate) fn is_due(&self, filter: &ExpiringFilter) -> bool {
        self.kind == ClockKind::Monotonic && self.has_lasted(filter, 1)
    }

    /// True if the present epoch has lasted for that many times its length, or if it is not known
    /// since when it lasts.
    #[inline]
    fn has_lasted(&self, filter: &ExpiringFilter, lengths: u32) -> bool {
        let age = filter.epoch_age_at(self.now());
        age.is_none_or(|age| age >= filter.epoch_length().saturating_mul(lengths))
    }

    /// Begins the epochs that are due, and sweeps. True if an epoch began. O(buckets), so the caller
    /// releases the GIL.
    #[cold]
    pub(crate) fn begin_due(&self, filter: &ExpiringFilter) -> bool {
        if !self.has_lasted(filter, 3) {
            return filter.tick_at(|| self.now());
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have caught up while this one waited.
        let Some(age) = filter.epoch_age_at(self.now()) else {
            return filter.tick_at(|| self.now());
        };
        let due = age.as_nanos() / filter.epoch_length().as_nanos();
        if due < 3 {
            return filter.tick_at(|| self.now());
        }
        self.catch_ups.fetch_add(1, SeqCst);
        // After E + 1 epochs every item is dead, and further epochs change nothing.
        let most = u128::from(filter.epochs()) + 1;
        for _ in 0..(due - 1).min(most) {
            filter.advance();
        }
        // Notes the beginning of the last one.
        filter.tick_at(|| self.now());
        self.catch_ups.fetch_add(1, SeqCst);
        true
    }

    /// To be compared after an insert.
    #[inline]
    pub(crate) fn ticket(&self) -> Ticket {
        let catch_ups = self.catch_ups.load(SeqCst);
        if catch_ups % 2 == 1 {
            self.wait()
        } else {
            Ticket(catch_ups)
        }
    }

    /// Waits until no catch-up is in progress.
    #[cold]
    fn wait(&self) -> Ticket {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        Ticket(self.catch_ups.load(SeqCst))
    }

    /// True if an item that was added since may expire early.
    #[inline]
    pub(crate) fn is_late(&self, filter: &ExpiringFilter, since: Ticket) -> bool {
        // In this order: the age must be of an epoch that no catch-up began.
        let is_old = self.kind == ClockKind::Monotonic && self.has_lasted(filter, 2);
        is_old || self.catch_ups.load(SeqCst) != since.0
    }
}
