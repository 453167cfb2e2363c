//! What the commands do: from arguments to a reply.
//!
//! Nothing here knows of sockets or of a protocol's notation. The `CF.*` commands
//! ([`cf`], `reserve`, `dump`) need a [`Store`] and nothing else.

mod call;
pub mod cf;
mod clients;
mod command;
mod connection;
mod describe;
mod dump;
mod expiry;
mod glob;
mod info;
mod keys;
mod multi;
mod options;
mod rename;
mod reply;
mod reserve;
mod scan;
mod server;
mod slowlog;
mod table;

pub use call::{call, unknown};
pub use command::{Command, Keys, Kind};
pub use dump::{Dumps, Loads, UnderWay};
pub use multi::Transaction;
pub use reply::Reply;
pub use slowlog::SlowLog;
pub use table::{COMMANDS, find};

use crate::keyspace::Keyspace;
use std::{collections::HashSet, path::PathBuf, time::Duration};

/// A command's name and its arguments.
pub type Args<'a> = &'a [&'a [u8]];

/// What the `CF.*` commands work on.
#[derive(Debug)]
pub struct Store {
    /// The keys.
    pub keyspace: Keyspace,
    /// Dumps that clients are reading.
    pub dumps: Dumps,
    /// Dumps that clients are writing.
    pub loads: Loads,
}

impl Store {
    /// An empty store, with a limit for its bytes, and a directory for the files of dumps: without
    /// one, where the system has temporary files.
    #[must_use]
    pub fn new(memory_limit: usize, directory: Option<PathBuf>) -> Self {
        Self {
            keyspace: Keyspace::new(memory_limit),
            dumps: Dumps::new(directory),
            loads: Loads::default(),
        }
    }

    /// Ends the dumps and loads with which nobody has gone on for `idle`, and gives their
    /// memory back.
    pub fn expire(&self, idle: Duration) {
        self.dumps.expire(idle);
        self.loads.expire(&self.keyspace, idle);
    }

    /// Takes away keys that have expired, a few at a time: there may be more of them if it
    /// returns true.
    #[must_use]
    pub fn sweep(&self) -> bool {
        let keys: HashSet<_> = self.keyspace.expire_some().into_iter().collect();
        if !keys.is_empty() {
            self.abandon(|key| keys.contains(key));
        }
        !keys.is_empty()
    }

    /// Ends the dumps and loads of these keys, and gives their memory back.
    fn abandon(&self, which: impl Fn(&[u8]) -> bool) {
        self.dumps.abandon(&which);
        self.loads.abandon(&self.keyspace, &which);
    }
}
