//! The clock of a filter, for callers that do not bring their own.

use std::time::{Duration, Instant};

/// A monotonic clock that starts when the filter is made or restored.
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
