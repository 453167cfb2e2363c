//! When the epochs of an expiring filter begin.
//!
//! Every call looks at the clock first, so no thread has to call `tick`. Epochs have a schedule:
//! each is due one length after the one before it. A call begins all epochs that are due, so a
//! filter that is seldom used expires items on time, too.
//!
//! Several epochs that begin at once must not shorten the life of an item that another thread adds
//! at that moment. An item with the tag of epoch n dies when epoch n + E + 1 begins. That is at
//! least the TTL after each moment at which epoch n + 1 was not due yet. So a writer looks again
//! after its insert: if an epoch is due by then, or has begun since, it resets the time of its item.
//!
//! A process can be forked while one of its other threads begins epochs. The child has no such
//! thread, so the next call in the child begins the rest: [`Turn`] knows the process of its holder.

mod turn;

use crate::arguments::ClockKind;
use guira::ExpiringFilter;
use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    time::{Duration, Instant},
};
use turn::{Held, Turn};

/// All times are nanoseconds since the clock started, or readings of a manual clock. They end after
/// 584 years.
pub(crate) struct Clock {
    kind: ClockKind,
    start: Instant,
    /// The reading of a manual clock.
    reading: AtomicU64,
    /// When the next epoch is due.
    next: AtomicU64,
    /// How many beginnings of epochs have started and ended: odd during one.
    beginnings: AtomicU64,
    /// The epoch of the filter after the last beginnings that ended.
    epoch: AtomicU64,
    /// Held while epochs begin.
    turn: Turn,
}

/// What a writer compares after its insert.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Clock {
    /// A clock that starts now. The current epoch of a filter from a snapshot continues.
    pub(crate) fn start(kind: ClockKind, filter: &ExpiringFilter) -> Self {
        // From here on the filter knows the beginning of its epoch by this clock.
        filter.tick_at(|| Duration::ZERO);
        let age = filter.epoch_age_at(Duration::ZERO).unwrap_or_default();
        Self {
            kind,
            start: Instant::now(),
            reading: AtomicU64::new(0),
            next: AtomicU64::new(nanos(filter.epoch_length().saturating_sub(age))),
            beginnings: AtomicU64::new(0),
            epoch: AtomicU64::new(filter.epoch()),
            turn: Turn::default(),
        }
    }

    /// A clock that shows the same, for a copy of the filter. It can wait for a beginning, so the
    /// caller releases the GIL.
    pub(crate) fn duplicate(&self, copy: &ExpiringFilter) -> Self {
        let _turn = self.turn();
        Self {
            kind: self.kind,
            start: self.start,
            reading: AtomicU64::new(self.reading.load(SeqCst)),
            next: AtomicU64::new(self.next.load(SeqCst)),
            beginnings: AtomicU64::new(0),
            epoch: AtomicU64::new(copy.epoch()),
            turn: Turn::default(),
        }
    }

    /// The time that has passed by this clock.
    pub(crate) fn reading(&self) -> Duration {
        Duration::from_nanos(self.now())
    }

    pub(crate) fn kind(&self) -> ClockKind {
        self.kind
    }

    fn now(&self) -> u64 {
        match self.kind {
            ClockKind::Monotonic => nanos(self.start.elapsed()),
            ClockKind::Manual => self.reading.load(SeqCst),
        }
    }

    /// Sets a manual clock, and begins the epochs that are due. True if an epoch began.
    ///
    /// A reading that is not later than the last one is no news: readings of several threads overtake
    /// each other.
    pub(crate) fn set(&self, filter: &ExpiringFilter, reading: u64) -> bool {
        let before = self.reading.fetch_max(reading, SeqCst);
        before <= reading && self.begin_due(filter)
    }

    /// True if an epoch has to begin. A manual clock moves in `set` only, which begins them.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.kind == ClockKind::Monotonic && self.now() >= self.next.load(SeqCst)
    }

    /// Begins the epochs that are due, and sweeps. True if an epoch began. O(buckets), so the caller
    /// releases the GIL.
    #[cold]
    pub(crate) fn begin_due(&self, filter: &ExpiringFilter) -> bool {
        let length = nanos(filter.epoch_length());
        let turn = self.turn();
        let (now, next) = (self.now(), self.next.load(SeqCst));
        if now < next {
            return false;
        }
        let missed = (now - next) / length;
        self.beginnings.fetch_add(1, SeqCst);
        // Epochs that a thread of the parent process began before the fork.
        let begun = filter.epoch().saturating_sub(self.epoch.load(SeqCst));
        // After E + 1 epochs every item is dead, and further epochs change nothing.
        let due = missed.min(u64::from(filter.epochs())) + 1;
        for left in (0..due.saturating_sub(begun)).rev() {
            if left > 0 {
                filter.advance();
            } else {
                filter.begin_epoch();
            }
        }
        let began = next.saturating_add(missed.saturating_mul(length));
        // Snapshots carry the age of the epoch from here.
        filter.tick_at(|| Duration::from_nanos(began));
        self.next.store(began.saturating_add(length), SeqCst);
        self.epoch.store(filter.epoch(), SeqCst);
        self.beginnings.fetch_add(1, SeqCst);
        drop(turn);
        // Writers need not wait for this sweep.
        filter.sweep();
        self.postpone(length);
        true
    }

    /// Sweeps that take longer than an epoch would leave no time between two of them. So the next
    /// epoch is due later, which lets items live longer.
    fn postpone(&self, length: u64) {
        let _turn = self.turn();
        let now = self.now();
        if self.kind == ClockKind::Monotonic && now >= self.next.load(SeqCst) {
            self.next.store(now.saturating_add(length), SeqCst);
        }
    }

    fn turn(&self) -> Held<'_> {
        let held = self.turn.take();
        // The beginning of a thread that exists in the parent process only.
        if self.beginnings.load(SeqCst) % 2 == 1 {
            self.beginnings.fetch_add(1, SeqCst);
        }
        held
    }

    /// To be compared after an insert. `None` during a beginning.
    #[inline]
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        let beginnings = self.beginnings.load(SeqCst);
        beginnings.is_multiple_of(2).then_some(Ticket(beginnings))
    }

    /// Waits until no epoch is about to begin. The caller releases the GIL.
    #[cold]
    pub(crate) fn wait(&self) -> Ticket {
        let _turn = self.turn();
        Ticket(self.beginnings.load(SeqCst))
    }

    /// True if an item that was added since may expire early.
    #[inline]
    pub(crate) fn is_late(&self, since: Ticket) -> bool {
        // In this order: the time that is due must be one of before the beginnings.
        self.is_due() || self.beginnings.load(SeqCst) != since.0
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
