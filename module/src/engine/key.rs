//! An open key and its value.

use super::{
    api::{self, OK, api},
    data_type::{DataType, Value},
    status::{self, Flags, Memory},
};
use std::{ffi::c_int, fmt, marker::PhantomData};

/// The purpose for which a key is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The contents of a key.
#[derive(Debug)]
pub(crate) enum Found<V> {
    /// The key does not exist.
    Nothing,
    /// A value of the requested type.
    Value(V),
    /// A value of another type.
    OtherType,
}

/// The key could not be changed as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key is not open for writing")]
pub(crate) struct NotWritable;

/// An open key, which is closed when dropped.
pub(crate) struct Key<'a> {
    /// Null if the key does not exist and was opened for reading.
    raw: *mut api::Key,
    context: *mut api::Ctx,
    call: PhantomData<&'a mut ()>,
}

const EMPTY: c_int = 0;

impl<'a> Key<'a> {
    /// # Safety
    ///
    /// The context and the name are valid during `'a`, and no other key is open then.
    pub(super) unsafe fn open(context: *mut api::Ctx, name: *mut api::Str, access: Access) -> Self {
        const READ: c_int = 1;
        const WRITE: c_int = 1 << 1;
        let mode = match access {
            Access::Read => READ,
            Access::Write => READ | WRITE,
        };
        Self {
            // SAFETY: as the caller promises.
            raw: unsafe { (api().OpenKey)(context, name, mode) },
            context,
            call: PhantomData,
        }
    }

    /// The value of the key.
    pub(crate) fn get<V: Value>(&self, kind: &DataType<V>) -> Found<&V> {
        match self.find(kind) {
            // SAFETY: the value lives until the key is closed or its value is replaced, which
            // requires a mutable borrow.
            Found::Value(value) => Found::Value(unsafe { &*value }),
            Found::Nothing => Found::Nothing,
            Found::OtherType => Found::OtherType,
        }
    }

    /// The value of the key, for changes.
    pub(crate) fn get_mut<V: Value>(&mut self, kind: &DataType<V>) -> Found<&mut V> {
        match self.find(kind) {
            // SAFETY: as for `get`. While the key is open, nothing else accesses the value: the
            // engine's callbacks run between commands, and no other key is open.
            Found::Value(value) => Found::Value(unsafe { &mut *value }),
            Found::Nothing => Found::Nothing,
            Found::OtherType => Found::OtherType,
        }
    }

    fn find<V: Value>(&self, kind: &DataType<V>) -> Found<*mut V> {
        // SAFETY: the key is open, or null for one that does not exist.
        unsafe {
            if self.raw.is_null() {
                Found::Nothing
            } else if (api().ModuleTypeGetType)(self.raw) == kind.raw() {
                // `DataType` ensures that values of this type are `V`s.
                Found::Value((api().ModuleTypeGetValue)(self.raw).cast())
            } else if (api().KeyType)(self.raw) == EMPTY {
                Found::Nothing
            } else {
                Found::OtherType
            }
        }
    }

    /// Makes `value` the value of the key. Frees the previous value, and removes the deadline of the
    /// key.
    pub(crate) fn set<V: Value>(
        &mut self,
        kind: &DataType<V>,
        value: V,
    ) -> Result<(), NotWritable> {
        if self.raw.is_null() {
            return Err(NotWritable);
        }
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the key is open, and values of this type are boxed `V`s.
        let result = unsafe { (api().ModuleTypeSetValue)(self.raw, kind.raw(), value.cast()) };
        if result == OK {
            Ok(())
        } else {
            // SAFETY: the engine did not take ownership.
            drop(unsafe { Box::from_raw(value) });
            Err(NotWritable)
        }
    }

    /// Deletes the key.
    pub(crate) fn delete(&mut self) -> Result<(), NotWritable> {
        // SAFETY: the key is open, and its value is not borrowed.
        let done = !self.raw.is_null() && unsafe { (api().DeleteKey)(self.raw) } == OK;
        if done { Ok(()) } else { Err(NotWritable) }
    }

    /// The flags of the call.
    pub(crate) fn flags(&self) -> Flags {
        // SAFETY: the context is valid while the key is open.
        Flags(unsafe { (api().GetContextFlags)(self.context) })
    }

    /// The memory of the engine. (An open key implies that this is the main thread.)
    pub(crate) fn memory(&self) -> Option<Memory> {
        status::memory()
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the key is open, and closed once.
            unsafe { (api().CloseKey)(self.raw) }
        }
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}
