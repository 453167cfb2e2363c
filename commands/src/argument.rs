//! The arguments of commands, for the tables that describe them.

/// An argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ArgumentKind,
    /// The word before it, or the only word of a [`Flag`](ArgumentKind::Flag).
    pub token: Option<&'static str>,
    /// True if it is optional.
    pub is_optional: bool,
    /// True if it can be repeated.
    pub is_multiple: bool,
}

/// The type of an argument.
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
    /// An argument that consists of its token only.
    Flag,
}

impl Argument {
    pub(crate) const KEY: Self = Self::one("key", ArgumentKind::Key);
    pub(crate) const ITEM: Self = Self::one("item", ArgumentKind::Bytes);
    pub(crate) const ITEMS: Self = Self {
        is_multiple: true,
        ..Self::ITEM
    };

    pub(crate) const SOURCES: Self = Self {
        is_multiple: true,
        ..Self::one("source", ArgumentKind::Key)
    };

    /// A required argument.
    pub(crate) const fn one(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            token: None,
            is_optional: false,
            is_multiple: false,
        }
    }

    /// This argument, preceded by the word `token`.
    pub(crate) const fn after(self, token: &'static str) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// An optional argument, preceded by the word `token`.
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
