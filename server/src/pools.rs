//! The memory that connections take for requests and replies, of all clients together.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{Notify, futures::Notified};

/// Bytes of requests and replies of all clients that have not authenticated. Enough for a thousand
/// requests that have come in part.
const BEFORE_AUTHENTICATION: usize = 8 << 20;

/// The pools. Each byte counts in one of them.
#[derive(Debug)]
pub struct Pools {
    /// Requests that have come in part, or wait to be done.
    pub requests: Pool,
    /// Replies that clients have not read.
    pub replies: Pool,
    /// Both, of clients that have not authenticated.
    pub unauthenticated: Pool,
}

/// Bytes of one kind, and how many there may be.
#[derive(Debug)]
pub struct Pool {
    bytes: AtomicUsize,
    most: AtomicUsize,
    freed: Notify,
}

impl Pools {
    /// Pools of these sizes.
    #[must_use]
    pub fn new(requests: usize, replies: usize) -> Self {
        Self {
            requests: Pool::new(requests),
            replies: Pool::new(replies),
            unauthenticated: Pool::new(BEFORE_AUTHENTICATION),
        }
    }

    /// Bytes in all of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.requests.bytes() + self.replies.bytes() + self.unauthenticated.bytes()
    }
}

impl Pool {
    fn new(most: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            most: most.into(),
            freed: Notify::new(),
        }
    }

    /// Bytes in it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// How many bytes there may be.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Changes how many there may be.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
        // Where there are too many now, or enough room again.
        self.freed.notify_waiters();
    }

    /// Bytes beyond its size; 0 if there are none.
    #[must_use]
    pub fn excess(&self) -> usize {
        self.bytes().saturating_sub(self.most())
    }

    /// Replaces `before` bytes of a client with `after`: false if it takes more than before, and
    /// they do not fit.
    pub(crate) fn replace(&self, before: usize, after: usize) -> bool {
        // Relaxed: a sum, which orders nothing.
        if after <= before {
            self.bytes.fetch_sub(before - after, Relaxed);
            self.freed.notify_waiters();
            return true;
        }
        let more = after - before;
        self.bytes.fetch_add(more, Relaxed) + more <= self.most()
    }

    /// Waits until a client gives bytes back, from this call on.
    pub(crate) fn freed(&self) -> Notified<'_> {
        self.freed.notified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_fit_count_until_they_are_given_back() {
        let pool = Pool::new(10);
        assert!(pool.replace(0, 10));
        assert_eq!(pool.excess(), 0);
        assert!(!pool.replace(0, 1));
        assert_eq!((pool.bytes(), pool.excess()), (11, 1));
        // What shrinks is never refused.
        assert!(pool.replace(11, 10));
        assert!(pool.replace(10, 0));
        assert_eq!(pool.bytes(), 0);
    }
}
