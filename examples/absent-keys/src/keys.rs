//! The keys of completed requests. A client that gets no answer repeats its request with the same
//! `Idempotency-Key`, and the request is executed only once.

use guira::{BuildError, ExpiringFilter};
use std::time::Duration;

/// The time during which a repeated request is not executed again.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of requests in that time.
const CAPACITY: usize = 1_000_000;

pub(crate) struct Keys {
    seen: ExpiringFilter,
}

/// Whether a request may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// The first request with this key. The caller must execute it, or give the key back.
    First,
    /// Another request with this key was executed, or is being executed. One first request in 10
    /// million also gets this answer.
    Repeated,
    /// The key cannot be stored.
    Busy,
}

impl Keys {
    pub(crate) fn new() -> Result<Self, BuildError> {
        let builder = ExpiringFilter::builder(REMEMBERED).capacity(CAPACITY);
        Ok(Self {
            seen: builder.false_positive_rate(1e-7).build()?,
        })
    }

    /// When requests with the same key race, exactly one is the first.
    pub(crate) fn take(&self, key: &str) -> Permit {
        // Without requests, no epoch begins. Keys are then kept for longer, which is harmless.
        self.seen.tick();
        match self.seen.insert_unique(key) {
            Ok(true) => Permit::First,
            Ok(false) => Permit::Repeated,
            Err(_) => Permit::Busy,
        }
    }

    /// Allows a repetition of the first request, which has failed. No request takes a day, so the
    /// key has not expired, and the removed copy is its own.
    pub(crate) fn give_back(&self, key: &str) {
        self.seen.remove(key);
    }
}
