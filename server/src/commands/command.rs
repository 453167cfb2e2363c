//! What a command is: its name, what it may do, and the function that does it.

use super::{Args, Reply, Store};
use crate::{server::Server, session::Session};
use std::sync::Arc;

/// A command.
#[derive(Debug)]
pub struct Command {
    /// In capitals.
    pub name: &'static str,
    /// Words that it takes, its name included; negative: at least so many.
    pub arity: i64,
    /// One line about it.
    pub summary: &'static str,
    /// What it may do.
    pub kind: Kind,
    run: Run,
}

/// What a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes a filter or the keys.
    Write,
    /// Reads a filter or the keys.
    Read,
    /// Neither.
    Control,
    /// Takes long, and may wait for the disk: it must not hold up others that
    /// share its thread.
    Slow,
    /// Allowed before a client has said who it is.
    Open,
}

#[derive(Debug)]
enum Run {
    Store(fn(&Store, Args<'_>) -> Reply),
    Session(fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply),
}

impl Command {
    /// Does it. `args` begins with the name as the client wrote it.
    pub fn run(&self, server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
        match self.run {
            Run::Store(run) => run(&server.store, args),
            Run::Session(run) => run(server, session, args),
        }
    }
}

/// A command on filters and keys, which needs nothing else.
pub(super) const fn store(
    name: &'static str,
    arity: i64,
    kind: Kind,
    run: fn(&Store, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        kind,
        run: Run::Store(run),
    }
}

/// A command on the connection or on the whole server.
pub(super) const fn session(
    name: &'static str,
    arity: i64,
    kind: Kind,
    run: fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        kind,
        run: Run::Session(run),
    }
}

/// The command with this name, however it is written, among `commands`, which are ordered by name.
#[inline]
pub(super) fn find_in<'a>(commands: &'a [Command], name: &[u8]) -> Option<&'a Command> {
    let capitals = |byte: &u8| byte.to_ascii_uppercase();
    commands
        .binary_search_by(|command| command.name.bytes().cmp(name.iter().map(capitals)))
        .ok()
        .map(|index| &commands[index])
}
