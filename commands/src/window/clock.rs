//! The clocks of filters with windows.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The time at which the process started.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The source of time for filters with windows.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The run time of the process. An epoch begins when a thread [looks](crate::Windowed::tick).
    Process,
    /// A number of milliseconds that the host advances between commands. Its replicas can apply the
    /// same times, and then hold the same items.
    Told(Arc<AtomicU64>),
}

/// The clock of one filter, which is stopped until it is [begun](Self::begin).
#[derive(Debug)]
pub(super) struct Own {
    clock: Clock,
    /// The time that it shows in nanoseconds, without the time since it was started.
    shown: AtomicU64,
    /// The time of `clock` in nanoseconds when it was started, or [`STANDS`].
    begun: AtomicU64,
}

/// The clock is stopped.
const STANDS: u64 = u64::MAX;

impl Clock {
    fn now(&self) -> Duration {
        match self {
            Self::Process => START.elapsed(),
            // Relaxed: the host orders its moves and its commands.
            Self::Told(time) => Duration::from_millis(time.load(Ordering::Relaxed)),
        }
    }
}

// All accesses are relaxed: one thread changes the clock, and others read a number to show.
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

    /// Starts the clock at the time that it shows.
    pub(super) fn begin(&self) {
        if !self.goes() {
            let now = u64::try_from(self.clock.now().as_nanos()).unwrap_or(STANDS - 1);
            self.begun.store(now, Ordering::Relaxed);
        }
    }

    /// Stops the clock.
    pub(super) fn hold(&self) {
        let shown = self.now().as_nanos() as u64;
        self.shown.store(shown, Ordering::Relaxed);
        self.begun.store(STANDS, Ordering::Relaxed);
    }

    pub(super) fn goes(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != STANDS
    }

    /// Advances the clock.
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
