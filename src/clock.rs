//! The clock of a filter, for callers that do not bring their own.

pub(crate) mod coarse;

use crate::table::time::beginning::Reading;
use std::time::Duration;
#[cfg(feature = "shared")]
use std::{
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
};

/// What the clock of a filter that processes share shows.
#[cfg(feature = "shared")]
pub(crate) type ReadShared = Box<dyn Fn() -> Duration + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// A clock that starts when the filter is made or restored, or one that processes share.
#[derive(Clone)]
pub(crate) enum Clock {
    Own(Stopwatch),
    // In a box within the share, so that the clock is not larger than a moment.
    #[cfg(feature = "shared")]
    Shared(Arc<ReadShared>),
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self::Own(Stopwatch::start())
    }

    #[cfg(feature = "shared")]
    pub(crate) fn shared(read: ReadShared) -> Self {
        Self::Shared(Arc::new(read))
    }

    pub(crate) fn read(&self) -> Reading {
        Reading::own(match self {
            Self::Own(stopwatch) => stopwatch.elapsed(),
            #[cfg(feature = "shared")]
            Self::Shared(read) => read(),
        })
    }
}

/// The monotonic time since it was started.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch(std::time::Instant);

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Stopwatch {
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The standard library has no clock here, so this one stands still.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone, Copy)]
pub(crate) struct Stopwatch;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Stopwatch {
    fn start() -> Self {
        Self
    }

    fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}
