//! Runs a command: the kind of its function says what the command needs.

use super::Session;
use crate::{command::Command, server::Server, store::Store};
use guira_commands::{Answer, Args, Reply};
use std::sync::Arc;

/// The function that implements a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    /// A command on one filter.
    Filter(fn(&Store, Args<'_>) -> Answer),
    /// A command on filters and keys.
    Store(fn(&Store, Args<'_>) -> Reply),
    /// A command on the connection or the whole server.
    Session(fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply),
}

/// A command with its function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runnable {
    pub(crate) command: &'static Command,
    run: Run,
}

impl Runnable {
    pub(crate) const fn new(command: &'static Command, run: Run) -> Self {
        Self { command, run }
    }

    /// Runs the command. `args` begins with the name as the client sent it.
    pub(crate) fn run(&self, server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
        match self.run {
            Run::Filter(run) => run(&server.store, args).unwrap_or_else(|refusal| refusal),
            Run::Store(run) => run(&server.store, args),
            Run::Session(run) => run(server, session, args),
        }
    }
}
