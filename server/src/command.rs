//! What a command is: its name and its properties. `commands` does it.

mod enabled;
mod table;

pub use enabled::Enabled;
pub use table::COMMANDS;

use crate::store::Store;
use guira_commands::{Args, Together, takes};

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
    /// True if it is one of `guira-commands`.
    pub is_on_filter: bool,
    index: usize,
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
    pub(crate) const NONE: Self = Self(0, 0, 0);
    pub(crate) const ONE: Self = Self(1, 1, 1);
    pub(crate) const TWO: Self = Self(1, 2, 1);
    pub(crate) const ALL: Self = Self(1, -1, 1);
    /// After a subcommand, which may have none.
    pub(crate) const AFTER_SUBCOMMAND: Self = Self(2, 2, 1);

    /// The keys among these words, which begin with the name of the command.
    pub(crate) fn of<'a>(self, words: Args<'a>) -> impl Iterator<Item = &'a [u8]> {
        let Self(first, last, step) = self;
        let count = i64::try_from(words.len()).unwrap_or(i64::MAX);
        let last = if last < 0 { count + last } else { last };
        let indices = (first..=last.min(count - 1)).step_by(step.max(1).unsigned_abs() as usize);
        indices.filter_map(|index| words.get(usize::try_from(index).ok()?).copied())
    }
}

/// A command with more arguments may take long, whichever it is.
pub(crate) const MANY: usize = 4096;

impl Command {
    /// True if it may take long whatever its client has queued.
    pub(crate) fn is_slow(&self) -> bool {
        match self.cost {
            Cost::Long => true,
            Cost::Short | Cost::Queue => false,
        }
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

    /// True if it accepts this number of words, including its name.
    pub(crate) fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}
