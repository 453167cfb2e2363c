//! What a command is: its name, what it may do, and the function that does it.

use crate::Reply;

/// A command's name and its arguments.
pub type Args<'a> = &'a [&'a [u8]];

/// What a command answers; an error is one, too.
pub type Answer = Result<Reply, Reply>;

/// A command on filters that `S` has.
#[derive(Debug)]
pub struct Command<S> {
    /// In capitals.
    pub name: &'static str,
    /// Words that it takes, its name included; negative: at least so many.
    pub arity: i64,
    /// What it may do. Its second word is its key.
    pub kind: Kind,
    /// True if it may take more memory.
    pub may_grow: bool,
    /// One line about it.
    pub summary: &'static str,
    /// What follows its name.
    pub arguments: &'static [Argument],
    /// Does it. The arguments begin with the name as the client wrote it.
    pub run: fn(&S, Args<'_>) -> Answer,
}

/// What a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes a filter or its key.
    Write,
    /// Reads a filter.
    Read,
    /// As [`Write`](Self::Write), but takes long, and may wait for the disk.
    SlowWrite,
    /// As [`Read`](Self::Read), but takes long, and may wait for the disk.
    SlowRead,
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
