//! The few things that the server does for a client before it has authenticated.

use super::{Calls, Connection, Named, is_http};
use crate::commands::NOAUTH;
use std::time::Duration;

/// The most bytes of replies that a client may leave unread before it has authenticated.
const UNREAD_UNAUTHENTICATED: usize = 4 * 1024;

impl Connection {
    /// How long the client may be idle before it has authenticated; 0 means any time.
    #[cold]
    pub(super) fn idle_unauthenticated(&self) -> Duration {
        let (idle, most) = (
            self.server.tunable.timeout(),
            self.server.config.authentication_timeout,
        );
        let left = self.session.unauthenticated_since();
        let left = left.map(|since| most.saturating_sub(since.elapsed()));
        match left.filter(|_| !most.is_zero()) {
            None => idle,
            // At least a millisecond, because 0 would mean any time.
            Some(left) if idle.is_zero() => left.max(Duration::from_millis(1)),
            Some(left) => left.max(Duration::from_millis(1)).min(idle),
        }
    }

    /// Almost all commands get the same answer, so it does not reveal whether a command exists or
    /// is disabled.
    #[cold]
    pub(super) fn answer_unauthenticated(&mut self, named: &Named, run: &mut Option<Calls>) {
        let name = named.request.words().next().unwrap_or_default();
        match named.command {
            Some(command) if command.is_open => self.answer(named, run),
            None if is_http(name) => self.refuse_http(),
            _ => self.reply(&NOAUTH),
        }
        if self.session.authenticated {
            return self.stream.allow_large_writes();
        }
        if self.replies.unsent() > UNREAD_UNAUTHENTICATED {
            let written = self.write();
            if written.is_err() || self.replies.unsent() > UNREAD_UNAUTHENTICATED {
                self.end_unread();
            }
        }
    }
}
