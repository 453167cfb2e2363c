//! The replies to a client, from encoding until the client reads them.

use super::{Connection, KEPT, LAST_READ, UNREAD};
use crate::{net::held::Which, session::After};
use std::io;
use tokio::{io::Interest, time::timeout};
use tracing::warn;

impl Connection {
    pub(super) fn has_replies(&self) -> bool {
        self.sent < self.replies.len() || self.stream.has_unwritten()
    }

    /// Writes as much as the socket accepts without blocking.
    pub(super) fn write(&mut self) -> io::Result<()> {
        while self.has_replies() {
            match self.stream.try_write(&self.replies[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.forget_sent();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.forget_replies();
        Ok(())
    }

    /// Frees the memory of sent bytes, because the buffer of a client that never catches up may
    /// never become empty. It does so only once a quarter is sent, so each byte moves at most three
    /// times on average. The buffer is then at most a third larger than the unsent bytes.
    pub(super) fn forget_sent(&mut self) {
        if 4 * self.sent >= self.replies.len() {
            self.replies.drain(..self.sent);
            self.sent = 0;
            let length = self.replies.len();
            if self.replies.capacity() > 4 * length.max(KEPT) {
                self.replies.shrink_to(2 * length);
                self.set_replies(self.replies.capacity());
            }
        }
    }

    pub(super) fn forget_replies(&mut self) {
        self.replies.clear();
        self.sent = 0;
        let kept = match self.session.authenticated {
            true => KEPT,
            false => 0,
        };
        if self.replies.capacity() > kept {
            self.replies = Vec::new();
        }
        if self.room > KEPT {
            self.set_replies(0);
        }
    }

    /// Writes all replies.
    pub(super) async fn write_all(&mut self) -> io::Result<()> {
        let client = self.session.client.clone();
        loop {
            self.write()?;
            if !self.has_replies() {
                return Ok(());
            }
            tokio::select! {
                ready = timeout(LAST_READ, self.stream.ready(Interest::WRITABLE)) => ready??,
                () = client.killed() => return Ok(()),
            };
        }
    }

    /// Disconnects a client that does not read its replies.
    #[cold]
    pub(super) fn end_unread(&mut self) {
        match self.session.authenticated {
            true => self.server.stats.output_limit_reached(),
            false => self.server.stats.unauthenticated_disconnected(),
        }
        let (id, address) = (self.session.id, &self.session.address);
        UNREAD.write(|| {
            warn!(
                id,
                address, "a client that does not read its replies was disconnected"
            );
        });
        self.close_at_once();
    }

    /// Closes the connection and drops unsent replies.
    pub(super) fn close_at_once(&mut self) {
        self.forget_replies();
        if self.session.after == After::GoOn {
            self.session.after = After::Close;
        }
    }

    /// Counts the memory of the replies, which has grown. If the replies of all clients exceed the
    /// limit, this disconnects the client with the most of them, and waits until enough is freed.
    #[cold]
    pub(super) async fn count_replies(&mut self) {
        // Replies that the socket accepts at once need no memory.
        if self.write().is_err() {
            return self.close_at_once();
        }
        if self.set_replies(self.replies.capacity()) {
            return;
        }
        let (server, client) = (self.server.clone(), self.session.client.clone());
        let pool = &server.pools.replies;
        loop {
            let freed = pool.freed();
            let excess = pool.excess();
            if excess == 0 {
                return;
            }
            match server.clients.kill_largest(excess) {
                Some(largest) if largest.id == client.id => return self.end_unread(),
                Some(largest) => {
                    server.stats.output_limit_reached();
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
                None => {}
            }
            tokio::select! {
                () = freed => {}
                () = client.killed() => return self.close_at_once(),
            }
        }
    }

    /// Counts `capacity` bytes of memory for replies. Returns false if the replies of all clients
    /// exceed the limit.
    pub(super) fn set_replies(&mut self, capacity: usize) -> bool {
        self.room = capacity.max(KEPT);
        let bytes = if capacity > KEPT { capacity } else { 0 };
        self.session.client.set_unread(bytes);
        self.held_replies.set(Which::Replies, bytes)
    }
}
