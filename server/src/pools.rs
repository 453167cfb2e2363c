//! The memory for requests and replies of all clients.

use crate::used::Used;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

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
    bytes: Used,
    most: AtomicUsize,
    /// The bytes of all pools and of all keys.
    used: Arc<Used>,
}

impl Pools {
    /// Creates pools with these limits, whose bytes count as used.
    #[must_use]
    pub fn new(requests: usize, replies: usize, used: &Arc<Used>) -> Self {
        Self {
            requests: Pool::new(requests, used.clone()),
            replies: Pool::new(replies, used.clone()),
            unauthenticated: Pool::new(BEFORE_AUTHENTICATION, used.clone()),
        }
    }
}

impl Pool {
    pub(crate) fn new(most: usize, used: Arc<Used>) -> Self {
        Self {
            bytes: Used::default(),
            most: most.into(),
            used,
        }
    }

    /// The bytes in the pool.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.bytes()
    }

    /// The most bytes that were in the pool at any time.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.bytes.peak()
    }

    /// The limit of the pool.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Changes the limit.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
    }

    /// Adds bytes that are about to be allocated. Returns false, and adds nothing, if the pool would
    /// then exceed its limit.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let is_charged = self.bytes.add_up_to(self.most(), bytes);
        if is_charged {
            self.used.add(bytes);
        }
        is_charged
    }

    /// Subtracts bytes that were freed.
    pub(crate) fn release(&self, bytes: usize) {
        self.used.subtract(bytes);
        self.bytes.subtract(bytes);
    }

    /// Replaces `before` bytes of a client by `after`. Returns false if `after` is more than
    /// `before`, and the pool then exceeds its limit.
    pub(crate) fn replace(&self, before: usize, after: usize) -> bool {
        if after <= before {
            self.release(before - after);
            return true;
        }
        let more = after - before;
        self.used.add(more);
        self.bytes.add(more) <= self.most()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_fit_count_until_they_are_given_back() {
        let used = Arc::new(Used::default());
        let pool = Pool::new(10, used.clone());
        assert!(pool.replace(0, 10));
        assert!(!pool.replace(0, 1));
        assert_eq!((pool.bytes(), used.bytes()), (11, 11));
        // A decrease is never refused.
        assert!(pool.replace(11, 10));
        assert!(pool.replace(10, 0));
        assert_eq!((pool.bytes(), used.bytes(), used.peak()), (0, 0, 11));
    }

    #[test]
    fn a_refused_charge_adds_nothing() {
        let used = Arc::new(Used::default());
        let pool = Pool::new(10, used.clone());
        assert!(pool.charge(4));
        assert!(!pool.charge(7) && !pool.charge(usize::MAX));
        assert!(pool.charge(6));
        assert!(pool.charge(0) && !pool.charge(1));
        pool.release(4);
        assert_eq!((pool.bytes(), used.bytes(), used.peak()), (6, 6, 10));
    }
}
