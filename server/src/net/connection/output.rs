//! The replies to a client, from encoding until the client reads them.

use super::{Connection, LAST_READ, UNREAD, replies::NotKept};
use crate::{commands::Reply, session::After};
use std::io;
use tokio::{io::Interest, time::timeout};
use tracing::warn;

impl Connection {
    pub(super) fn has_replies(&self) -> bool {
        self.replies.unsent() > 0 || self.stream.has_unwritten()
    }

    /// Writes as much as the socket accepts without blocking.
    pub(super) fn write(&mut self) -> io::Result<()> {
        match self.replies.send(&mut self.stream) {
            Ok(()) => {
                self.forget_replies();
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.replies.forget_sent();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn forget_replies(&mut self) {
        self.replies.forget(self.session.authenticated);
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

    /// Appends `reply`. If it cannot be kept, the connection closes: the client would otherwise take the
    /// next reply for this one.
    pub(super) fn reply(&mut self, reply: &Reply) {
        let kept = self.replies.push(reply, self.session.protocol);
        self.ensure(kept);
    }

    /// Closes the connection unless all replies were kept.
    pub(super) fn ensure(&mut self, kept: Result<(), NotKept>) {
        match kept {
            Ok(()) => {}
            Err(NotKept::TooMany) => self.end_unread(),
            Err(NotKept::NoMemory | NotKept::Ended) => self.close_at_once(),
        }
    }

    /// Limits the replies that the client has not read.
    #[inline]
    pub(super) fn limit_replies(&mut self) {
        if self.replies.unsent() > self.server.tunable.max_output() {
            self.end_unread();
        }
        // Replies that the socket accepts at once need no further memory.
        if self.replies.has_new_buffer() && self.write().is_err() {
            self.close_at_once();
        }
    }
}
