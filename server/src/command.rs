//! A command: its name and its properties. `commands` has the functions.

mod enabled;
mod subcommands;
mod table;

pub use enabled::Enabled;
pub use subcommands::Subcommand;
pub use table::COMMANDS;

use crate::store::Store;
use guira_commands::{Args, Reply, Sources, Together, takes};
use std::borrow::Cow;

/// A command. The server decides by these fields how to treat it, never by its name.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The name in capitals.
    pub name: &'static str,
    /// Number of words, including the name. A negative number is a minimum.
    pub arity: i64,
    /// A description in one line.
    pub summary: &'static str,
    /// What it accesses.
    pub access: Access,
    /// How long it may take.
    pub cost: Cost,
    /// Which of its words are keys.
    pub keys: Keys,
    /// Keys that it reads, if they are not among `keys`.
    pub sources: Sources,
    /// How it is treated between `MULTI` and `EXEC`.
    pub in_transaction: InTransaction,
    /// True if a client may use it before it has authenticated.
    pub is_open: bool,
    /// True if its arguments may contain a password, which no log may show.
    pub is_secret: bool,
    /// The word whose value no log may show.
    pub secret: Option<&'static str>,
    /// Runs several calls on one key together.
    pub together: Option<Together<Store>>,
    /// Its subcommands, ordered by name, if it has some.
    pub subcommands: &'static [Subcommand],
    /// True if it belongs to `guira-commands`.
    pub is_on_filter: bool,
    index: usize,
}

/// What a command accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes a filter or the keys.
    Write,
    /// It reads a filter or the keys.
    Read,
    /// It accesses the connection or the whole server.
    Control,
}

/// How long a command may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A short time.
    Short,
    /// A long time, perhaps waiting for the disk. It must not delay other clients of its thread.
    Long,
    /// The time of the commands that its client has queued.
    Queue,
}

/// How a command is treated between `MULTI` and `EXEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTransaction {
    /// It is queued, and `EXEC` runs it.
    Queued,
    /// It runs at once.
    AtOnce,
    /// It is refused, and so is the transaction.
    Refused,
}

/// The positions of keys among the words of a command: the first, the last (negative: from the end),
/// and the step between keys. All are 0 for commands without keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys(pub i64, pub i64, pub i64);

impl Keys {
    pub(crate) const NONE: Self = Self(0, 0, 0);
    pub(crate) const ONE: Self = Self(1, 1, 1);
    pub(crate) const TWO: Self = Self(1, 2, 1);
    pub(crate) const ALL: Self = Self(1, -1, 1);
    /// The key after a subcommand, which may be missing.
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

/// A command with more arguments than this may take long, whichever it is.
pub(crate) const MANY: usize = 4096;

/// What an error repeats of a word.
pub(crate) fn repeated(word: &[u8]) -> Cow<'_, str> {
    /// The maximum number of bytes.
    const REPEATED: usize = 128;
    String::from_utf8_lossy(&word[..word.len().min(REPEATED)])
}

impl Command {
    /// True if it may take long, regardless of queued commands.
    pub(crate) fn is_slow(&self) -> bool {
        match self.cost {
            Cost::Long => true,
            Cost::Short | Cost::Queue => false,
        }
    }

    /// Its index in the table of all commands.
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

    /// Refuses words that the command cannot have: their number, or their subcommand, is wrong.
    #[inline]
    pub(crate) fn check(&self, args: Args<'_>) -> Result<(), Reply> {
        if !self.takes(args.len()) {
            return Err(Reply::wrong_arity(args[0]));
        }
        match self.subcommands {
            [] => Ok(()),
            all => subcommands::check(self.name, all, args),
        }
    }

    /// The reply to its subcommand `HELP`.
    pub(crate) fn help(name: &str) -> Reply {
        let mut commands = COMMANDS.iter();
        let found = commands.find(|command| command.name == name);
        found.map_or(Reply::Null, |it| subcommands::help(it.name, it.subcommands))
    }
}
