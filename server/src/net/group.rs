//! Requests that are done together if they follow one another.

use crate::resp::Request;

/// The most requests that run together. This length is usual in a pipeline, and their loads from
/// memory keep a core busy.
pub(super) const GROUP: usize = 16;

/// The commands for which it pays: those whose time is mostly waiting for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Groupable {
    Exists,
    Add,
}

/// A groupable command with the arguments that it takes.
#[derive(Debug)]
pub(super) struct OnItem<'a> {
    pub(super) command: Groupable,
    pub(super) name: &'a [u8],
    pub(super) key: &'a [u8],
    pub(super) item: &'a [u8],
}

impl<'a> OnItem<'a> {
    #[inline]
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let mut words = request.words();
        let name = words.next()?;
        let command = match name {
            name if name.eq_ignore_ascii_case(b"CF.EXISTS") => Groupable::Exists,
            name if name.eq_ignore_ascii_case(b"CF.ADD") => Groupable::Add,
            _ => return None,
        };
        let one = Self {
            command,
            name,
            key: words.next()?,
            item: words.next()?,
        };
        words.next().is_none().then_some(one)
    }

    /// True if `request` is the same command on the same key.
    pub(super) fn is_like(&self, request: &Request) -> bool {
        OnItem::of(request)
            .is_some_and(|other| self.command == other.command && self.key == other.key)
    }
}
