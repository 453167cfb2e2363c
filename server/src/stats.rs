//! Counters. All of them are Relaxed: they order nothing.

use crate::{
    command::{Access, COMMANDS, Command},
    lock::lock,
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// Upper bounds of the latency histogram, in nanoseconds. One more bucket has no upper bound.
pub const BOUNDS: [u64; 14] = [
    250,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    25_000,
    100_000,
    500_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
];

/// The counters since the start of the server.
#[derive(Debug, Default)]
pub struct Stats {
    clients: AtomicUsize,
    /// The number of the last client.
    last_client: AtomicU64,
    connections: AtomicU64,
    rejected: AtomicU64,
    protocol_errors: AtomicU64,
    output_limit: AtomicU64,
    unauthenticated: AtomicU64,
    refused_passwords: AtomicU64,
    commands: Commands,
    unknown: AtomicU64,
    /// Changes that no command has made, or that were forgotten with the counters of commands.
    other_changes: AtomicU64,
    /// Held while calls become other changes.
    resetting: Mutex<()>,
    reads: Traffic,
    writes: Traffic,
}

/// What was read from or written to sockets.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Traffic {
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Traffic {
    fn count(&self, bytes: usize) {
        self.calls.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn show(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.bytes.load(Relaxed))
    }
}

#[derive(Debug)]
struct Commands([Counters; COMMANDS.len()]);

impl Default for Commands {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counters::default()))
    }
}

/// The counters of a command. They are padded to cache lines of their own, because other threads
/// write the counters of other commands.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counters {
    errors: AtomicU64,
    nanoseconds: AtomicU64,
    latency: [AtomicU64; BOUNDS.len() + 1],
}

/// The statistics of a command.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that replied with an error.
    pub errors: u64,
    /// The total time.
    pub nanoseconds: u64,
    /// For each of [`BOUNDS`], the calls that took at most this time, and longer than the bound
    /// before.
    pub latency: [u64; BOUNDS.len() + 1],
}

impl Stats {
    /// Counts a run of `calls` calls that took `time` together.
    pub fn count(&self, command: usize, calls: u64, errors: u64, time: Duration) {
        let counters = &self.commands.0[command];
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let each = nanoseconds / calls.max(1);
        let bucket = BOUNDS.iter().take_while(|&&bound| bound < each).count();
        counters.latency[bucket].fetch_add(calls, Relaxed);
        counters.nanoseconds.fetch_add(nanoseconds, Relaxed);
        if errors > 0 {
            counters.errors.fetch_add(errors, Relaxed);
        }
    }

    /// Resets the counters. Connected clients still count.
    pub fn reset(&self) {
        // A save that is due stays due.
        let _turn = lock(&self.resetting);
        for traffic in [&self.reads, &self.writes] {
            traffic.calls.store(0, Relaxed);
            traffic.bytes.store(0, Relaxed);
        }
        for (command, counters) in COMMANDS.iter().zip(&self.commands.0) {
            counters.errors.store(0, Relaxed);
            counters.nanoseconds.store(0, Relaxed);
            let calls: u64 = counters.latency.iter().map(|it| it.swap(0, Relaxed)).sum();
            if command.access == Access::Write {
                self.changed_otherwise(calls);
            }
        }
        for counter in [
            &self.connections,
            &self.rejected,
            &self.protocol_errors,
            &self.output_limit,
            &self.unauthenticated,
            &self.refused_passwords,
            &self.unknown,
        ] {
            counter.store(0, Relaxed);
        }
    }

    /// Counts changes that no command has made.
    pub fn changed_otherwise(&self, changes: u64) {
        self.other_changes.fetch_add(changes, Relaxed);
    }

    /// The number of commands that may have changed keys, and of other changes. It differs after each
    /// change.
    pub fn changes(&self) -> u64 {
        let _turn = lock(&self.resetting);
        let is_write = |command: &Command| command.access == Access::Write;
        let writes = self.commands().filter(|(command, _)| is_write(command));
        let calls: u64 = writes.map(|(_, calls)| calls.calls).sum();
        self.other_changes.load(Relaxed) + calls
    }

    /// The number of `CF.*` commands that look a key up to read it.
    pub fn lookups(&self) -> u64 {
        let is_lookup = |it: &Command| it.is_on_filter && it.access == Access::Read;
        let lookups = self.commands().filter(|(command, _)| is_lookup(command));
        lookups.map(|(_, calls)| calls.calls).sum()
    }

    /// Counts a read from a socket.
    pub fn received(&self, bytes: usize) {
        self.reads.count(bytes);
    }

    /// Counts a write to a socket.
    pub fn sent(&self, bytes: usize) {
        self.writes.count(bytes);
    }

    /// The number of reads from sockets, and their bytes.
    pub fn all_received(&self) -> (u64, u64) {
        self.reads.show()
    }

    /// The number of writes to sockets, and their bytes.
    pub fn all_sent(&self) -> (u64, u64) {
        self.writes.show()
    }

    /// Counts an unknown command.
    pub fn unknown(&self) {
        self.unknown.fetch_add(1, Relaxed);
    }

    /// The number of unknown commands.
    pub fn unknowns(&self) -> u64 {
        self.unknown.load(Relaxed)
    }

    /// The statistics of each command.
    pub fn commands(&self) -> impl Iterator<Item = (&'static Command, Calls)> {
        COMMANDS
            .iter()
            .zip(&self.commands.0)
            .map(|(command, counters)| {
                let latency = std::array::from_fn(|bucket| counters.latency[bucket].load(Relaxed));
                let calls = Calls {
                    calls: latency.iter().sum(),
                    errors: counters.errors.load(Relaxed),
                    nanoseconds: counters.nanoseconds.load(Relaxed),
                    latency,
                };
                (command, calls)
            })
    }

    /// Counts a client in, if there are fewer than `most` or `make_room` reports that one was
    /// disconnected. Returns the number of the client.
    pub fn admit(&self, most: usize, mut make_room: impl FnMut() -> bool) -> Option<u64> {
        self.connections.fetch_add(1, Relaxed);
        let number = self.last_client.fetch_add(1, Relaxed) + 1;
        let one_more = |clients: usize| (clients < most).then_some(clients + 1);
        while self
            .clients
            .fetch_update(Relaxed, Relaxed, one_more)
            .is_err()
        {
            if !make_room() {
                self.rejected.fetch_add(1, Relaxed);
                return None;
            }
        }
        Some(number)
    }

    /// Counts a client out.
    pub fn gone(&self) {
        self.clients.fetch_sub(1, Relaxed);
    }

    /// The number of connected clients.
    pub fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }

    /// The number of accepted connections.
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// The number of connections that were refused because there were too many.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Relaxed)
    }

    /// Counts a client that violated the protocol.
    pub fn protocol_error(&self) {
        self.protocol_errors.fetch_add(1, Relaxed);
    }

    /// The number of connections that ended with a violation of the protocol.
    pub fn protocol_errors(&self) -> u64 {
        self.protocol_errors.load(Relaxed)
    }

    /// Counts a client that did not read its replies.
    pub fn output_limit_reached(&self) {
        self.output_limit.fetch_add(1, Relaxed);
    }

    /// The number of clients that did not read their replies.
    pub fn output_limit(&self) -> u64 {
        self.output_limit.load(Relaxed)
    }

    /// Counts a client that was disconnected before it had authenticated: it took too long, did not
    /// read, or made room for another one.
    pub fn unauthenticated_disconnected(&self) {
        self.unauthenticated.fetch_add(1, Relaxed);
    }

    /// The number of clients that were disconnected before they had authenticated.
    pub fn unauthenticated_disconnections(&self) -> u64 {
        self.unauthenticated.load(Relaxed)
    }

    /// Counts a wrong password.
    pub fn refused_password(&self) {
        self.refused_passwords.fetch_add(1, Relaxed);
    }

    /// The number of wrong passwords.
    pub fn refused_passwords(&self) -> u64 {
        self.refused_passwords.load(Relaxed)
    }
}
