//! What the commands do: from arguments to a reply.
//!
//! Nothing here knows of sockets or of a protocol's notation. The `CF.*` commands
//! ([`cf`], `reserve`, `dump`) need a [`Store`] and nothing else.

pub mod cf;
mod command;
mod connection;
mod describe;
mod dump;
mod glob;
mod info;
mod keys;
mod options;
mod reply;
mod reserve;
mod server;
mod table;

pub use command::{Command, Kind};
pub use dump::{Dumps, Loads, UnderWay};
pub use reply::Reply;
pub use table::{COMMANDS, find};

use crate::keyspace::Keyspace;
use std::{path::PathBuf, time::Duration};

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

    /// Ends the dumps and loads of these keys, and gives their memory back.
    fn abandon(&self, which: impl Fn(&[u8]) -> bool) {
        self.dumps.abandon(&which);
        self.loads.abandon(&self.keyspace, &which);
    }
}
