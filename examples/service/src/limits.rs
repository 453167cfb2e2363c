//! How often payments to an account may be asked for. A filter counts the requests, and forgets them after the
//! window.

use axum::http::StatusCode;
use guira::{BuildError, ExpiringFilter, InsertError};
use std::{sync::OnceLock, time::Duration};

/// The accounts that are asked for within a window.
const ACCOUNTS: usize = 100_000;

/// Each epoch has room for this number of requests for an account.
pub(crate) const MOST: i64 = 256;

/// The limits of the whole process, if it has any.
pub(crate) static LIMITS: OnceLock<Limits> = OnceLock::new();

#[derive(Debug)]
pub(crate) struct Limits {
    requests: ExpiringFilter,
    /// The most requests for an account within the window.
    limit: usize,
}

/// Up to `limit` requests for an account within each window. One account in a thousand, at most, is mistaken for
/// another one, whose requests then count for both.
pub(crate) fn new(limit: usize, window: Duration) -> Result<Limits, BuildError> {
    let builder = ExpiringFilter::builder(window).counter_bits(8);
    let builder = builder.capacity(ACCOUNTS).false_positive_rate(0.001);
    let requests = builder.build()?;
    Ok(Limits { requests, limit })
}

impl Limits {
    /// Lets time pass. Without it, requests that came before a long pause would count after it.
    pub(crate) fn tick(&self) {
        self.requests.tick();
    }

    /// The time between two calls of [`tick`](Self::tick).
    pub(crate) fn tick_every(&self) -> Duration {
        self.requests.epoch_length() / 4
    }

    /// The answer to a request that is one too many. Such requests count, too: an account is served again when
    /// no more than the limit came for a window.
    pub(crate) fn refusal(&self, account: &str) -> Option<StatusCode> {
        match self.requests.insert_and_count(account) {
            Ok(count) if count <= self.limit => None,
            // Also if there are more requests than the filter can count.
            Ok(_) | Err(InsertError::TooManyCopies) => Some(StatusCode::TOO_MANY_REQUESTS),
            Err(_) => Some(StatusCode::SERVICE_UNAVAILABLE),
        }
    }
}
