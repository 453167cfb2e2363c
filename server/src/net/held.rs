//! What one client has in a pool of memory.

use crate::{
    pools::{Pool, Pools},
    server::Server,
};
use std::sync::Arc;

/// Which pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Requests,
    Replies,
    Unauthenticated,
}

/// What is counted of a client.
pub(super) struct Held {
    server: Arc<Server>,
    which: Which,
    bytes: usize,
}

impl Which {
    pub(super) fn of(self, pools: &Pools) -> &Pool {
        match self {
            Self::Requests => &pools.requests,
            Self::Replies => &pools.replies,
            Self::Unauthenticated => &pools.unauthenticated,
        }
    }
}

impl Held {
    pub(super) fn new(server: Arc<Server>, which: Which) -> Self {
        Self {
            server,
            which,
            bytes: 0,
        }
    }

    /// The client has `bytes` in the pool `which` now, and none in another one: false if those of
    /// all clients are too many then.
    #[inline]
    pub(super) fn set(&mut self, which: Which, bytes: usize) -> bool {
        if bytes == self.bytes && (which == self.which || bytes == 0) {
            return true;
        }
        self.change(which, bytes)
    }

    #[cold]
    fn change(&mut self, which: Which, bytes: usize) -> bool {
        let pools = &self.server.pools;
        if which != self.which {
            self.which.of(pools).replace(self.bytes, 0);
            (self.which, self.bytes) = (which, 0);
        }
        let before = std::mem::replace(&mut self.bytes, bytes);
        which.of(pools).replace(before, bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(self.which, 0);
    }
}
