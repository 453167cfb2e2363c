//! A command: its name, its properties, and the function that runs it.

use crate::{Argument, Filter, Reply};
use std::ops::Range;

/// A command's name and its arguments.
pub type Args<'a> = &'a [&'a [u8]];

/// The result of a command. An error is a reply as well.
pub type Answer = Result<Reply, Reply>;

/// Runs several calls of one command on one key, and replies to each item in order.
pub type Together<S> = fn(&S, key: &[u8], items: &[&[u8]], answer: &mut dyn FnMut(Reply));

/// A short way for a command on one item of a filter that exists: the boolean reply, or `None` if the command
/// must run in full. Nothing was changed then.
///
/// A write that replies true has changed the filter as its [`Effect`] says, and one that replies false has
/// changed nothing. If its own words are replicated, another filter changes in the same way.
pub type AtOnce = fn(&Filter, item: &[u8]) -> Option<bool>;

/// A command on the filters of `S`.
///
/// Hosts decide by these fields how to treat a command, never by its name.
#[derive(Debug)]
pub struct Command<S> {
    /// The name in capitals.
    pub name: &'static str,
    /// The number of words that it takes, including its name. A negative number is a minimum.
    pub arity: i64,
    /// Whether it changes the value of a key. The second word is the key.
    pub access: Access,
    /// The other keys, which it only reads.
    pub sources: Sources,
    /// What its running time depends on.
    pub cost: Cost,
    /// True if it may allocate memory for a filter.
    pub grows: bool,
    /// How it changes a filter.
    pub effect: Effect,
    /// A description in one line.
    pub summary: &'static str,
    /// The arguments after its name.
    pub arguments: &'static [Argument],
    /// The word whose value no log may show.
    pub secret: Option<&'static str>,
    /// Runs the command. The arguments begin with the name as the client wrote it.
    pub run: fn(&S, Args<'_>) -> Answer,
    /// Runs several calls `name key item` together, so that their cache misses overlap.
    pub together: Option<Together<S>>,
    /// Runs the command in the usual cases, with fewer instructions.
    pub at_once: Option<AtOnce>,
}

/// Whether a command changes the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It does not change the replies of later commands.
    Read,
    /// It may change the replies of later commands.
    Write,
}

/// The keys that a command reads, besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// There are none.
    None,
    /// All words after its own key.
    Rest,
    /// The value of the option with this name, if it is given.
    After(&'static str),
}

impl Sources {
    /// The indices of the keys among the words of a command, which begin with its name.
    #[must_use]
    pub fn indices(self, words: &[&[u8]]) -> Range<usize> {
        let end = words.len();
        match self {
            Self::None => 0..0,
            Self::Rest => end.min(2)..end,
            Self::After(name) => {
                let is_name = |word: &&[u8]| word.eq_ignore_ascii_case(name.as_bytes());
                let at = words.iter().skip(2).position(is_name);
                let first = at.map_or(end, |at| end.min(2 + at + 1));
                first..end.min(first + 1)
            }
        }
    }

    /// The keys among the words of a command, which begin with its name.
    #[must_use]
    pub fn of<'a, 'w>(self, words: &'a [&'w [u8]]) -> &'a [&'w [u8]] {
        &words[self.indices(words)]
    }
}

/// What the running time of a command depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it handles at most one item.
    Constant,
    /// The number of items in the call.
    PerItem,
    /// The memory that it allocates for a filter.
    Allocation,
    /// The number of buckets that a doubling still has to split.
    Growth,
    /// The size of a snapshot, or of a piece of one. It may wait for the disk.
    Snapshot,
    /// The sizes of all its filters.
    Filters,
}

/// The effect of a command on a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes no reply.
    None,
    /// Creates a filter.
    Make,
    /// Adds a copy of each item.
    Add,
    /// Adds a copy of an item, and replies with the number of copies.
    AddCounted,
    /// Adds each item that is absent.
    AddAbsent,
    /// Adds an item if it is absent, and resets its time if it is present.
    AddOrTouch,
    /// Resets the time of an item that is present.
    Touch,
    /// Removes a copy of an item.
    Delete,
    /// Restores a filter in pieces.
    Load,
    /// Combines the filter with others.
    Combine,
}

impl<S> Command<S> {
    /// True if the command accepts this number of words, including its name.
    #[must_use]
    pub fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}

/// True if a command of this arity accepts this number of words, including its name.
#[must_use]
pub fn takes(arity: i64, words: usize) -> bool {
    let least = usize::try_from(arity.unsigned_abs()).unwrap_or(usize::MAX);
    match arity < 0 {
        true => words >= least,
        false => words == least,
    }
}
