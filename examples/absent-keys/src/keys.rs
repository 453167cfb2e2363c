//! The keys of requests that have been done: a client that got no answer sends its request again,
//! with the same `Idempotency-Key`, and it is done once.

use guira::{BuildError, ExpiringFilter};
use std::time::Duration;

/// For so long a request is not done again.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// Requests in that time.
const CAPACITY: usize = 1_000_000;

pub(crate) struct Keys {
    seen: ExpiringFilter,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// It is the first one with this key: it must be done, or the key be given back.
    First,
    /// Another request with this key has been done, or is being done. One of 10 million requests
    /// may get this answer although it is the first.
    Repeated,
    /// The key cannot be remembered.
    Busy,
}

impl Keys {
    pub(crate) fn new() -> Result<Self, BuildError> {
        let builder = ExpiringFilter::builder(REMEMBERED).capacity(CAPACITY);
        Ok(Self {
            seen: builder.false_positive_rate(1e-7).build()?,
        })
    }

    /// Of requests with one key that come at the same time one is the first.
    pub(crate) fn take(&self, key: &str) -> Permit {
        // Without requests the time stands still. So a key is remembered for longer: no harm.
        self.seen.tick();
        match self.seen.insert_unique(key) {
            Ok(true) => Permit::First,
            Ok(false) => Permit::Repeated,
            Err(_) => Permit::Busy,
        }
    }

    /// The request that was the first has failed: it may come again. No request takes a day, so
    /// the key has not expired, and what goes is its own copy.
    pub(crate) fn give_back(&self, key: &str) {
        self.seen.remove(key);
    }
}
