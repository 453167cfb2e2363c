//! The bytes of requests that are not there as a whole, of all clients together.

use crate::server::Server;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// Buffers up to this size are not counted: every client may have one.
const SMALL: usize = 32 * 1024;

/// What is counted of a client.
pub(super) struct Held {
    server: Arc<Server>,
    bytes: usize,
}

impl Held {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, bytes: 0 }
    }

    /// The client has a buffer of `capacity` bytes now: false if those of all clients are too
    /// large then.
    pub(super) fn set(&mut self, capacity: usize) -> bool {
        let bytes = if capacity > SMALL { capacity } else { 0 };
        if bytes == self.bytes {
            return true;
        }
        // Relaxed: a sum, which orders nothing.
        let all = &self.server.request_bytes;
        let before = all.fetch_add(bytes, Relaxed);
        all.fetch_sub(self.bytes, Relaxed);
        let now = (before + bytes).saturating_sub(self.bytes);
        let fits = bytes < self.bytes || now <= self.server.config.max_requests_memory;
        self.bytes = bytes;
        fits
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.server.request_bytes.fetch_sub(self.bytes, Relaxed);
    }
}
