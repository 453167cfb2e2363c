//! What a command is: its name, what it may do, and the function that does it.

use super::{Args, Reply, Store};
use crate::{server::Server, session::Session};
use guira_commands::{Answer, takes};
use std::sync::Arc;

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// In capitals.
    pub name: &'static str,
    /// Number of words, including the name. A negative number is a minimum.
    pub arity: i64,
    /// One line about it.
    pub summary: &'static str,
    /// What it may do.
    pub kind: Kind,
    /// Which of its words are keys.
    pub keys: Keys,
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
    /// Allowed before a client has said who it is.
    Open,
    /// As the others, but takes long, and may wait for the disk: it must not hold up others that
    /// share its thread.
    SlowWrite,
    /// The same.
    SlowRead,
    /// The same.
    SlowControl,
}

/// Which words of a command are keys: the first, the last (negative: from the end), and the step
/// from one to the next; all 0 if none is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys(pub i64, pub i64, pub i64);

impl Keys {
    pub(super) const NONE: Self = Self(0, 0, 0);
    pub(super) const ONE: Self = Self(1, 1, 1);
    pub(super) const TWO: Self = Self(1, 2, 1);
    pub(super) const ALL: Self = Self(1, -1, 1);
}

#[derive(Clone, Copy, Debug)]
enum Run {
    Filter(fn(&Store, Args<'_>) -> Answer),
    Store(fn(&Store, Args<'_>) -> Reply),
    Session(fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply),
}

/// A command with more arguments may take long, whichever it is.
pub(super) const MANY: usize = 4096;

impl Command {
    /// Does it. `args` begins with the name as the client wrote it.
    pub fn run(&self, server: &Arc<Server>, session: &mut Session, args: Args<'_>) -> Reply {
        match self.run {
            Run::Filter(run) => run(&server.store, args).unwrap_or_else(|refusal| refusal),
            Run::Store(run) => run(&server.store, args),
            Run::Session(run) => run(server, session, args),
        }
    }

    /// True if it may take long.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        matches!(
            self.kind,
            Kind::SlowWrite | Kind::SlowRead | Kind::SlowControl
        )
    }

    /// True if it may take long with this number of words, including its name, in this session.
    #[must_use]
    pub fn takes_long(&self, session: &Session, words: usize) -> bool {
        if !session.authenticated {
            return false;
        }
        let will_be_done = match session.is_queueing() {
            true => self.name == "EXEC" && session.will_take_long(),
            false => self.is_slow(),
        };
        will_be_done || words > MANY
    }

    /// True if it accepts this number of words, including its name.
    pub(super) fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}

/// A command of `guira-commands`.
pub(super) const fn filter(command: &guira_commands::Command<Store>) -> Command {
    Command {
        name: command.name,
        arity: command.arity,
        summary: command.summary,
        kind: match command.kind {
            guira_commands::Kind::Write => Kind::Write,
            guira_commands::Kind::Read => Kind::Read,
            guira_commands::Kind::SlowWrite => Kind::SlowWrite,
            guira_commands::Kind::SlowRead => Kind::SlowRead,
        },
        keys: Keys::ONE,
        run: Run::Filter(command.run),
    }
}

/// A command on filters and keys, which needs nothing else.
pub(super) const fn store(
    name: &'static str,
    arity: i64,
    kind: Kind,
    keys: Keys,
    run: fn(&Store, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        kind,
        keys,
        run: Run::Store(run),
    }
}

/// A command on the connection or on the whole server.
pub(super) const fn session(
    name: &'static str,
    arity: i64,
    kind: Kind,
    keys: Keys,
    run: fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        kind,
        keys,
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
