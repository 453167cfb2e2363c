//! The memory of one client that counts towards a pool.

use crate::{
    pools::{Pool, Pools},
    server::Server,
};
use std::sync::Arc;

/// The pool that the memory counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Requests,
    Unauthenticated,
}

/// The counted memory of a client.
pub(super) struct Held {
    server: Arc<Server>,
    which: Which,
    bytes: usize,
}

impl Which {
    pub(super) fn of(self, pools: &Pools) -> &Pool {
        match self {
            Self::Requests => &pools.requests,
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

    /// Sets the client's share of the pool `which` to `bytes`, and its share of any other pool to
    /// 0. Returns false if the pool then exceeds its limit.
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
