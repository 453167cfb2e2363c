//! The memory for requests and replies of all clients.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{Notify, futures::Notified};

/// The most bytes of requests and replies of all clients that have not authenticated. It suffices
/// for a thousand partial requests.
const BEFORE_AUTHENTICATION: usize = 8 << 20;

/// The pools. Each byte counts towards one of them.
#[derive(Debug)]
pub struct Pools {
    /// Requests that are partial, or wait to run.
    pub requests: Pool,
    /// Replies that clients have not read.
    pub replies: Pool,
    /// The requests and replies of clients that have not authenticated.
    pub unauthenticated: Pool,
}

/// The bytes of one kind, and their limit.
#[derive(Debug)]
pub struct Pool {
    bytes: AtomicUsize,
    most: AtomicUsize,
    freed: Notify,
}

impl Pools {
    /// Creates pools with these limits.
    #[must_use]
    pub fn new(requests: usize, replies: usize) -> Self {
        Self {
            requests: Pool::new(requests),
            replies: Pool::new(replies),
            unauthenticated: Pool::new(BEFORE_AUTHENTICATION),
        }
    }

    /// The bytes in all pools.
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

    /// The bytes in the pool.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The limit of the pool.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Changes the limit.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
        // Waiting tasks check again whether there is room, or too much memory in use.
        self.freed.notify_waiters();
    }

    /// The bytes beyond the limit; 0 if there are none.
    #[must_use]
    pub fn excess(&self) -> usize {
        self.bytes().saturating_sub(self.most())
    }

    /// Replaces `before` bytes of a client by `after`. Returns false if `after` is more than
    /// `before`, and the pool then exceeds its limit.
    pub(crate) fn replace(&self, before: usize, after: usize) -> bool {
        // Relaxed: the sum orders nothing.
        if after <= before {
            self.bytes.fetch_sub(before - after, Relaxed);
            self.freed.notify_waiters();
            return true;
        }
        let more = after - before;
        self.bytes.fetch_add(more, Relaxed) + more <= self.most()
    }

    /// Waits until a client frees bytes after this call.
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
        // A decrease is never refused.
        assert!(pool.replace(11, 10));
        assert!(pool.replace(10, 0));
        assert_eq!(pool.bytes(), 0);
    }
}
