//! The clock of a filter, for callers that do not bring their own.

use crate::table::time::beginning::Reading;
#[cfg(feature = "shared")]
use std::{
    panic::{RefUnwindSafe, UnwindSafe},
    sync::Arc,
    time::Duration,
};

/// What the clock of a filter that processes share shows.
#[cfg(feature = "shared")]
pub(super) type ReadShared = Box<dyn Fn() -> Duration + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// A monotonic clock that starts when the filter is made or restored, or one that processes share.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[derive(Clone)]
pub(super) enum Clock {
    Own(std::time::Instant),
    // In a box within the share, so that the clock is not larger than a moment.
    #[cfg(feature = "shared")]
    Shared(Arc<ReadShared>),
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Clock {
    pub(super) fn start() -> Self {
        Self::Own(std::time::Instant::now())
    }

    #[cfg(feature = "shared")]
    pub(super) fn shared(read: ReadShared) -> Self {
        Self::Shared(Arc::new(read))
    }

    pub(super) fn read(&self) -> Reading {
        Reading::own(match self {
            Self::Own(start) => start.elapsed(),
            #[cfg(feature = "shared")]
            Self::Shared(read) => read(),
        })
    }
}

/// The standard library has no clock here, so this one stands still.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
#[derive(Clone)]
pub(super) struct Clock;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Clock {
    pub(super) fn start() -> Self {
        Self
    }

    pub(super) fn read(&self) -> Reading {
        Reading::own(std::time::Duration::ZERO)
    }
}
