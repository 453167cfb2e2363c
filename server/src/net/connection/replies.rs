//! The replies to a client that it has not read.
//!
//! The first 16 KiB are in a small buffer that the connection keeps. All others are in the client's
//! large buffers, and each of these counts before it is allocated. If the replies of all clients would then
//! exceed their limit, the client with the most of them ends, and its buffers are free at once.

use super::{KEPT, UNREAD};
use crate::{
    clients::{Client, Ended},
    commands::Reply,
    net::stream::Stream,
    resp::{Protocol, append},
    server::Server,
};
use std::{collections::TryReserveError, io, sync::Arc};
use tracing::warn;

/// The least memory of a large buffer.
const LEAST: usize = 32 * 1024;

pub(super) struct Replies {
    server: Arc<Server>,
    client: Arc<Client>,
    /// Replies from `sent` on are not yet sent. They come before those in the large buffers.
    small: Vec<u8>,
    sent: usize,
    /// The unsent bytes in the large buffers.
    large: usize,
    has_new_buffer: bool,
}

/// Why a reply was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotKept {
    /// There is no memory for it, nor for an error instead.
    NoMemory,
    /// No other client has more replies, and all together would exceed the limit.
    TooMany,
    /// The client has been ended.
    Ended,
}

impl From<TryReserveError> for NotKept {
    fn from(_: TryReserveError) -> Self {
        Self::NoMemory
    }
}

impl From<Ended> for NotKept {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

impl Replies {
    pub(super) fn new(server: Arc<Server>, client: Arc<Client>) -> Self {
        Self {
            server,
            client,
            small: Vec::new(),
            sent: 0,
            large: 0,
            has_new_buffer: false,
        }
    }

    pub(super) fn unsent(&self) -> usize {
        self.small.len() - self.sent + self.large
    }

    /// The memory of the small buffer.
    pub(super) fn small_memory(&self) -> usize {
        self.small.capacity()
    }

    /// True once after a large buffer was added.
    pub(super) fn has_new_buffer(&mut self) -> bool {
        std::mem::take(&mut self.has_new_buffer)
    }

    /// Keeps a reply, or [`Reply::NO_MEMORY`] if there is no memory for it.
    #[inline]
    pub(super) fn push(&mut self, reply: &Reply, protocol: Protocol) -> Result<(), NotKept> {
        let most = reply.bytes();
        if self.large == 0 && self.small.capacity() - self.small.len() >= most {
            append(reply, protocol, &mut self.small);
            return Ok(());
        }
        self.push_more(reply, protocol, most)
    }

    #[cold]
    fn push_more(&mut self, reply: &Reply, protocol: Protocol, most: usize) -> Result<(), NotKept> {
        match self.push_all(reply, protocol, most) {
            Err(NotKept::NoMemory) => {
                let instead = Reply::NO_MEMORY;
                self.push_all(&instead, protocol, instead.bytes())
            }
            result => result,
        }
    }

    fn push_all(&mut self, reply: &Reply, protocol: Protocol, most: usize) -> Result<(), NotKept> {
        if self.large == 0 {
            self.forget_sent();
            let needed = self.small.len() + most;
            if needed <= KEPT {
                let capacity = needed.max(2 * self.small.capacity()).min(KEPT);
                self.small.try_reserve_exact(capacity - self.small.len())?;
                append(reply, protocol, &mut self.small);
                return Ok(());
            }
        }
        let unread = &self.client.unread;
        let write = |buffer: &mut Vec<u8>| append(reply, protocol, buffer);
        if let Some(more) = unread.append(most, write)? {
            self.large += more;
            return Ok(());
        }
        let mut buffer = self
            .buffer(most.max(LEAST))
            .or_else(|refused| match refused {
                NotKept::NoMemory => self.buffer(most),
                _ => Err(refused),
            })?;
        append(reply, protocol, &mut buffer);
        let more = buffer.len();
        unread.push(&self.server.pools.replies, buffer)?;
        self.large += more;
        self.has_new_buffer = true;
        Ok(())
    }

    /// A buffer of this capacity, which has been counted.
    fn buffer(&self, capacity: usize) -> Result<Vec<u8>, NotKept> {
        let pool = &self.server.pools.replies;
        while !pool.charge(capacity) {
            if capacity > pool.most() {
                return Err(NotKept::TooMany);
            }
            let clients = &self.server.clients;
            let largest = clients.end_largest(pool, Some(&self.client), capacity);
            let largest = largest.ok_or(NotKept::TooMany)?;
            self.server.stats.output_limit_reached();
            let (id, address) = (largest.id, &largest.address);
            UNREAD.write(|| {
                warn!(
                    id,
                    address,
                    "the client with the most unread replies was disconnected: \
                     --max-replies-memory"
                );
            });
        }
        let mut buffer = Vec::new();
        match buffer.try_reserve_exact(capacity) {
            Ok(()) => Ok(buffer),
            Err(error) => {
                pool.release(capacity);
                Err(error.into())
            }
        }
    }

    /// Sends as much as the stream accepts without blocking.
    pub(super) fn send(&mut self, stream: &mut Stream) -> io::Result<()> {
        while self.unsent() > 0 || stream.has_unwritten() {
            if self.sent < self.small.len() || self.large == 0 {
                let sent = stream.try_write(&self.small[self.sent..])?;
                self.server.stats.sent(sent);
                self.sent += sent;
                continue;
            }
            let pool = &self.server.pools.replies;
            let sent = self.client.unread.send(pool, |bytes| {
                let sent = stream.try_write(bytes)?;
                self.server.stats.sent(sent);
                Ok(sent)
            });
            self.large = sent.0;
            sent.1?;
        }
        Ok(())
    }

    /// Frees the room of sent bytes in the small buffer.
    pub(super) fn forget_sent(&mut self) {
        self.small.drain(..self.sent);
        self.sent = 0;
    }

    /// Forgets all replies. Keeps the small buffer if `keeps` is true.
    pub(super) fn forget(&mut self, keeps: bool) {
        self.small.clear();
        self.sent = 0;
        if !keeps {
            self.small = Vec::new();
        }
        if self.large > 0 {
            self.client.unread.clear(&self.server.pools.replies);
            self.large = 0;
        }
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.forget(false);
    }
}
