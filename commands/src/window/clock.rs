//! What filters with windows take for the time.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How long the process has been running.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What a filter with a window takes for the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The time for which the process has been running. An epoch begins when a thread
    /// [looks](crate::Windowed::tick).
    Process,
    /// A number of milliseconds. A host says how time passes, in the order of its commands. Its
    /// replicas can learn the same times, and hold the same items.
    Told(Arc<AtomicU64>),
}

/// The clock of one filter: it stands still until it is [begun](Self::begin).
#[derive(Debug)]
pub(super) struct Own {
    clock: Clock,
    /// What it shows, without the time since it was begun. In nanoseconds.
    shown: AtomicU64,
    /// The time of `clock` when it was begun, in nanoseconds, or [`STANDS`].
    begun: AtomicU64,
}

/// A clock that stands still.
const STANDS: u64 = u64::MAX;

impl Clock {
    fn now(&self) -> Duration {
        match self {
            Self::Process => START.elapsed(),
            // Relaxed: a host that tells the time says in which order.
            Self::Told(time) => Duration::from_millis(time.load(Ordering::Relaxed)),
        }
    }
}

// All of it relaxed: one thread changes it, and others take a number to show.
impl Own {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            shown: AtomicU64::new(0),
            begun: AtomicU64::new(STANDS),
        }
    }

    pub(super) fn source(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn now(&self) -> Duration {
        let shown = Duration::from_nanos(self.shown.load(Ordering::Relaxed));
        match self.begun.load(Ordering::Relaxed) {
            STANDS => shown,
            begun => shown + self.clock.now().saturating_sub(Duration::from_nanos(begun)),
        }
    }

    /// Lets the clock run from what it shows.
    pub(super) fn begin(&self) {
        if !self.goes() {
            let now = u64::try_from(self.clock.now().as_nanos()).unwrap_or(STANDS - 1);
            self.begun.store(now, Ordering::Relaxed);
        }
    }

    /// Lets it stand still.
    pub(super) fn hold(&self) {
        let shown = self.now().as_nanos() as u64;
        self.shown.store(shown, Ordering::Relaxed);
        self.begun.store(STANDS, Ordering::Relaxed);
    }

    pub(super) fn goes(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != STANDS
    }

    /// Puts it forward.
    pub(super) fn skip(&self, time: Duration) {
        // The library's clocks end after 292 years.
        const END: u64 = 1 << 62;
        let time = u64::try_from(time.as_nanos()).map_or(END, |time| time.min(END));
        let _ = self
            .shown
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |shown| {
                Some((shown + time).min(END))
            });
    }
}
