//! The clock of a filter, for callers that do not bring their own.

use crate::table::time::beginning::Reading;

/// A monotonic clock that starts when the filter is made or restored.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[derive(Clone, Copy)]
pub(super) struct Clock(std::time::Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Clock {
    pub(super) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(super) fn read(self) -> Reading {
        Reading::own(self.0.elapsed())
    }
}

/// The standard library has no clock here, so this one stands still.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy)]
pub(super) struct Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Clock {
    pub(super) fn start() -> Self {
        Self
    }

    pub(super) fn read(self) -> Reading {
        Reading::own(std::time::Duration::ZERO)
    }
}
