//! What all connections share.

use crate::{
    commands::{self, Command, Store},
    config::Config,
    guesses::Guesses,
    persist::{SaveError, Saver},
    slow::SlowWork,
    stats::Stats,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

/// The Redis version that clients are told, for those that look at it.
pub const REDIS_VERSION: &str = "7.4.0";

/// The server, without its sockets.
#[derive(Debug)]
pub struct Server {
    /// The keys.
    pub store: Store,
    /// How it was started.
    pub config: Config,
    /// Where the keys are saved.
    pub saver: Saver,
    /// What has happened so far.
    pub stats: Stats,
    /// Who has guessed the password.
    pub guesses: Guesses,
    /// Where commands are done that take long.
    pub slow: SlowWork,
    /// Bytes of requests that are not there as a whole, of all clients.
    pub request_bytes: AtomicUsize,
    /// When it was started.
    pub started: Instant,
    /// To be saved as the server ends: as configured, or because `SHUTDOWN SAVE` was said.
    pub save_at_end: AtomicBool,
    /// `SHUTDOWN NOSAVE` was said, which has the last word.
    pub skip_last_save: AtomicBool,
}

impl Server {
    /// A server without keys.
    #[must_use]
    pub fn new(config: Config, saver: Saver) -> Self {
        Self {
            store: Store::new(config.memory_limit(), config.dir.clone()),
            saver,
            stats: Stats::default(),
            guesses: Guesses::default(),
            slow: SlowWork::default(),
            request_bytes: AtomicUsize::new(0),
            started: Instant::now(),
            save_at_end: AtomicBool::new(config.save_on_exit),
            skip_last_save: AtomicBool::new(false),
            config,
        }
    }

    /// The command with this name, however it is written, unless it is disabled.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<&'static Command> {
        let disabled = &self.config.disable_command;
        commands::find(name).filter(|command| !disabled.contains(&command.name))
    }

    /// Starts a save of all filters on a thread of its own.
    ///
    /// # Errors
    ///
    /// Those of [`Saver::save_in_background`].
    pub fn save_in_background(self: &Arc<Self>) -> Result<(), SaveError> {
        Saver::save_in_background(self, |server| (&server.saver, &server.store.keyspace))
    }

    /// Saves all filters as the server ends, if it is to and there is a directory.
    ///
    /// # Errors
    ///
    /// Those of [`Saver::save`].
    pub fn last_save(&self) -> Result<(), SaveError> {
        let said = |what: &AtomicBool| what.load(Ordering::Relaxed);
        let wanted = said(&self.save_at_end) && !said(&self.skip_last_save);
        match wanted && self.saver.directory().is_some() {
            true => self.saver.save_last(&self.store.keyspace),
            false => Ok(()),
        }
    }
}
