//! Consecutive requests that run together.

use crate::{command::Command, resp::Request, store::Store};
use guira_commands::Together;
use std::ptr;

/// The most requests that run together. Pipelines of this length are common, and the loads of this
/// many requests keep a core busy.
pub(super) const GROUP: usize = 16;

/// A request and its command; `None` if clients have no command of that name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) command: Option<&'static Command>,
    pub(super) request: Request,
}

/// A call `name key item` of a command that can run several calls at once.
#[derive(Debug)]
pub(super) struct OnItem<'a> {
    pub(super) command: &'static Command,
    pub(super) together: Together<Store>,
    pub(super) name: &'a [u8],
    pub(super) key: &'a [u8],
    pub(super) item: &'a [u8],
}

impl<'a> OnItem<'a> {
    #[inline]
    pub(super) fn of(named: &'a Named) -> Option<Self> {
        let command = named.command?;
        let together = command.together?;
        let mut words = named.request.words();
        let one = Self {
            command,
            together,
            name: words.next()?,
            key: words.next()?,
            item: words.next()?,
        };
        words.next().is_none().then_some(one)
    }

    /// True if `other` calls the same command on the same key.
    #[inline]
    pub(super) fn is_like(&self, other: &Named) -> bool {
        OnItem::of(other)
            .is_some_and(|other| ptr::eq(self.command, other.command) && self.key == other.key)
    }
}
