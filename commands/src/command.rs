//! What a command is: its name, its properties, and the function that does it.

use crate::Reply;

/// A command's name and its arguments.
pub type Args<'a> = &'a [&'a [u8]];

/// What a command answers; an error is one, too.
pub type Answer = Result<Reply, Reply>;

/// Does several calls of one command on one key: replies to each item, in order.
pub type Together<S> = fn(&S, key: &[u8], items: &[&[u8]], answer: &mut dyn FnMut(Reply));

/// A command on filters that `S` has.
///
/// Hosts decide by these fields how to treat a command, never by its name.
#[derive(Debug)]
pub struct Command<S> {
    /// In capitals.
    pub name: &'static str,
    /// The number of words that it takes, including its name; if negative, the least number.
    pub arity: i64,
    /// Whether it changes what a key holds. The second word is the key.
    pub access: Access,
    /// What its running time depends on.
    pub cost: Cost,
    /// True if it may allocate memory for a filter.
    pub grows: bool,
    /// How it changes a filter.
    pub effect: Effect,
    /// One line about it.
    pub summary: &'static str,
    /// What follows its name.
    pub arguments: &'static [Argument],
    /// Runs it. The arguments begin with the name as the client wrote it.
    pub run: fn(&S, Args<'_>) -> Answer,
    /// Runs several calls `name key item` at once, so that their loads from memory overlap.
    pub together: Option<Together<S>>,
}

/// Whether a command changes what a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It leaves the replies of all later commands as they are.
    Read,
    /// It may change the replies of later commands.
    Write,
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
}

/// How a command changes a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes no reply.
    None,
    /// Makes a filter.
    Make,
    /// Adds a copy of each item.
    Add,
    /// Adds each item that is absent.
    AddAbsent,
    /// Adds an item if it is absent, and resets its time if it is present.
    AddOrTouch,
    /// Resets the time of an item that is present.
    Touch,
    /// Deletes a copy of an item.
    Delete,
    /// Restores a filter in pieces.
    Load,
}

/// An argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgumentKind,
    /// The word before it; of a [`Flag`](ArgumentKind::Flag): its only one.
    pub token: Option<&'static str>,
    /// It may be missing.
    pub is_optional: bool,
    /// More of its kind may follow.
    pub is_multiple: bool,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// The name of a key.
    Key,
    /// Any bytes.
    Bytes,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// Nothing but its token.
    Flag,
}

impl<S> Command<S> {
    /// True if it takes so many words, its name included.
    #[must_use]
    pub fn takes(&self, words: usize) -> bool {
        takes(self.arity, words)
    }
}

/// True if a command of this arity takes so many words, its name included.
#[must_use]
pub fn takes(arity: i64, words: usize) -> bool {
    let least = usize::try_from(arity.unsigned_abs()).unwrap_or(usize::MAX);
    match arity < 0 {
        true => words >= least,
        false => words == least,
    }
}

impl Argument {
    pub(crate) const KEY: Self = Self::one("key", ArgumentKind::Key);
    pub(crate) const ITEM: Self = Self::one("item", ArgumentKind::Bytes);
    pub(crate) const ITEMS: Self = Self {
        is_multiple: true,
        ..Self::ITEM
    };

    /// One that must be there.
    pub(crate) const fn one(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            token: None,
            is_optional: false,
            is_multiple: false,
        }
    }

    /// This one after the word `token`.
    pub(crate) const fn after(self, token: &'static str) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// One that may be there, after the word `token`.
    pub(crate) const fn option(
        token: &'static str,
        name: &'static str,
        kind: ArgumentKind,
    ) -> Self {
        Self {
            is_optional: true,
            ..Self::one(name, kind).after(token)
        }
    }
}
