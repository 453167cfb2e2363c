//! The key of a command: a key of the engine, or a stand-in for tests.

use crate::{
    engine::{Flags, Found, Key, Lent, Memory, NotWritable},
    entry::{Entry, TYPE},
};
use std::sync::Arc;

/// A key, which may or may not have a value.
pub(crate) trait Slot {
    fn get(&self) -> Found<Lent<'_, Entry>>;
    /// For changes; `None` if others have a share in the value.
    fn get_mut(&mut self) -> Found<Option<&mut Entry>>;
    fn set(&mut self, entry: Arc<Entry>) -> Result<(), NotWritable>;
    fn delete(&mut self) -> Result<(), NotWritable>;
    /// The engine's memory use and limit.
    fn memory(&self) -> Option<Memory>;
    /// The flags of the call. The engine computes them each time, which takes a tenth of a microsecond.
    fn flags(&self) -> Flags;
}

impl Slot for Key<'_> {
    fn get(&self) -> Found<Lent<'_, Entry>> {
        match TYPE.get() {
            Some(kind) => Key::get(self, kind),
            None => Found::Nothing,
        }
    }

    fn get_mut(&mut self) -> Found<Option<&mut Entry>> {
        match TYPE.get() {
            Some(kind) => Key::get_mut(self, kind),
            None => Found::Nothing,
        }
    }

    fn set(&mut self, entry: Arc<Entry>) -> Result<(), NotWritable> {
        Key::set(self, TYPE.get().ok_or(NotWritable)?, entry)
    }

    fn delete(&mut self) -> Result<(), NotWritable> {
        Key::delete(self)
    }

    fn memory(&self) -> Option<Memory> {
        Key::memory(self)
    }

    fn flags(&self) -> Flags {
        Key::flags(self)
    }
}

/// A key for tests without an engine.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct FakeKey {
    pub(crate) entry: Option<Arc<Entry>>,
    pub(crate) is_of_other_type: bool,
    pub(crate) memory: Option<Memory>,
    pub(crate) flags: Flags,
    /// The windows that an engine would have.
    pub(crate) windows: std::rc::Rc<crate::windows::Windows>,
}

#[cfg(test)]
impl Slot for FakeKey {
    fn get(&self) -> Found<Lent<'_, Entry>> {
        match &self.entry {
            _ if self.is_of_other_type => Found::OtherType,
            Some(entry) => Found::Value(Lent::of(entry)),
            None => Found::Nothing,
        }
    }

    fn get_mut(&mut self) -> Found<Option<&mut Entry>> {
        match &mut self.entry {
            _ if self.is_of_other_type => Found::OtherType,
            Some(entry) => Found::Value(Arc::get_mut(entry)),
            None => Found::Nothing,
        }
    }

    fn set(&mut self, entry: Arc<Entry>) -> Result<(), NotWritable> {
        self.entry = Some(entry);
        Ok(())
    }

    fn delete(&mut self) -> Result<(), NotWritable> {
        self.entry.take().map(drop).ok_or(NotWritable)
    }

    fn memory(&self) -> Option<Memory> {
        self.memory
    }

    fn flags(&self) -> Flags {
        self.flags
    }
}
