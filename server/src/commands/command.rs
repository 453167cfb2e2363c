//! What a command is: its name, its properties, and the function that does it.

use super::{Args, Reply, Store};
use crate::{server::Server, session::Session};
use guira_commands::{Answer, Together, takes};
use std::sync::Arc;

/// A command. The server decides by these fields how to treat it, never by its name.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// In capitals.
    pub name: &'static str,
    /// Number of words, including the name. A negative number is a minimum.
    pub arity: i64,
    /// One line about it.
    pub summary: &'static str,
    /// What it works on.
    pub access: Access,
    /// How long it may take.
    pub cost: Cost,
    /// Which of its words are keys.
    pub keys: Keys,
    /// What becomes of it between `MULTI` and `EXEC`.
    pub in_transaction: InTransaction,
    /// True if a client may use it before it has authenticated.
    pub is_open: bool,
    /// True if its arguments may contain a password, which no log may show.
    pub is_secret: bool,
    /// Does several calls of it on one key at once.
    pub together: Option<Together<Store>>,
    pub(super) index: usize,
    run: Run,
}

/// What a command works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Changes a filter or the keys.
    Write,
    /// Reads a filter or the keys.
    Read,
    /// Works on the connection or on the whole server.
    Control,
}

/// How long a command may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Not long.
    Short,
    /// Long; it may wait for the disk. It must not delay other clients of its thread.
    Long,
    /// As long as the commands that its client has queued.
    Queue,
}

/// What becomes of a command between `MULTI` and `EXEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTransaction {
    /// It is queued, and `EXEC` does it.
    Queued,
    /// It is done at once.
    AtOnce,
    /// It is refused, and with it the transaction.
    Refused,
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
    /// After a subcommand, which may have none.
    pub(super) const AFTER_SUBCOMMAND: Self = Self(2, 2, 1);

    /// The keys among these words, which begin with the name of the command.
    pub(super) fn of<'a>(self, words: Args<'a>) -> impl Iterator<Item = &'a [u8]> {
        let Self(first, last, step) = self;
        let count = i64::try_from(words.len()).unwrap_or(i64::MAX);
        let last = if last < 0 { count + last } else { last };
        let indices = (first..=last.min(count - 1)).step_by(step.max(1).unsigned_abs() as usize);
        indices.filter_map(|index| words.get(usize::try_from(index).ok()?).copied())
    }
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

    /// True if it may take long whatever its client has queued.
    pub(super) fn is_slow(&self) -> bool {
        match self.cost {
            Cost::Long => true,
            Cost::Short | Cost::Queue => false,
        }
    }

    /// True if it may take long with this number of words, including its name, in this session.
    #[must_use]
    pub fn takes_long(&self, session: &Session, words: usize) -> bool {
        if !session.authenticated {
            return false;
        }
        let is_long = match (self.cost, self.in_transaction) {
            (Cost::Short, _) => false,
            (Cost::Long, InTransaction::AtOnce) => true,
            (Cost::Long, InTransaction::Queued | InTransaction::Refused) => !session.is_queueing(),
            (Cost::Queue, _) => session.is_queueing() && session.will_take_long(),
        };
        is_long || words > MANY
    }

    /// Its place among all commands.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// True if this is its name, in any case.
    #[inline]
    #[must_use]
    pub fn is_called(&self, name: &[u8]) -> bool {
        self.name.as_bytes().eq_ignore_ascii_case(name)
    }

    /// True if it is one of `guira-commands`.
    pub(super) fn is_on_filter(&self) -> bool {
        match self.run {
            Run::Filter(_) => true,
            Run::Store(_) | Run::Session(_) => false,
        }
    }

    /// True if it accepts this number of words, including its name.
    pub(super) fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}

/// A command of `guira-commands`.
pub(super) const fn filter(command: &guira_commands::Command<Store>) -> Command {
    use guira_commands::{Access as Of, Cost as Takes};
    Command {
        name: command.name,
        arity: command.arity,
        summary: command.summary,
        access: match command.access {
            Of::Write => Access::Write,
            Of::Read => Access::Read,
        },
        cost: match command.cost {
            Takes::Constant | Takes::PerItem | Takes::Allocation => Cost::Short,
            Takes::Growth | Takes::Snapshot => Cost::Long,
        },
        keys: Keys::ONE,
        in_transaction: InTransaction::Queued,
        is_open: false,
        is_secret: false,
        together: command.together,
        index: 0,
        run: Run::Filter(command.run),
    }
}

/// A command on filters and keys, which needs nothing else.
pub(super) const fn store(
    name: &'static str,
    arity: i64,
    access: Access,
    cost: Cost,
    keys: Keys,
    run: fn(&Store, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        access,
        cost,
        keys,
        in_transaction: InTransaction::Queued,
        is_open: false,
        is_secret: false,
        together: None,
        index: 0,
        run: Run::Store(run),
    }
}

/// A command on the connection or on the whole server.
#[expect(
    clippy::too_many_arguments,
    reason = "they are the columns of the table"
)]
pub(super) const fn session(
    name: &'static str,
    arity: i64,
    access: Access,
    cost: Cost,
    in_transaction: InTransaction,
    keys: Keys,
    run: fn(&Arc<Server>, &mut Session, Args<'_>) -> Reply,
    summary: &'static str,
) -> Command {
    Command {
        name,
        arity,
        summary,
        access,
        cost,
        keys,
        in_transaction,
        is_open: false,
        is_secret: false,
        together: None,
        index: 0,
        run: Run::Session(run),
    }
}

impl Command {
    /// A client may use it before it has authenticated.
    pub(super) const fn open(self) -> Self {
        Self {
            is_open: true,
            ..self
        }
    }

    /// Its arguments may contain a password.
    pub(super) const fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }
}
