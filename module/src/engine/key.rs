//! An open key and its value.

use super::{
    api::{self, Api, OK},
    data_type::{DataType, Value, into_raw},
    status::{self, Flags, Memory},
};
use std::{ffi::c_int, fmt, marker::PhantomData, mem::ManuallyDrop, ops::Deref, sync::Arc};

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

/// The share of a key in its value.
#[derive(Debug)]
pub(crate) struct Lent<'a, V> {
    value: ManuallyDrop<Arc<V>>,
    key: PhantomData<&'a V>,
}

impl<V> Lent<'_, V> {
    /// # Safety
    ///
    /// `value` is from [`Arc::into_raw`], and that share lives longer than the result.
    unsafe fn from_raw(value: *const V) -> Self {
        Self {
            // SAFETY: the caller guarantees it. It is not dropped, so the number of shares stays.
            value: ManuallyDrop::new(unsafe { Arc::from_raw(value) }),
            key: PhantomData,
        }
    }
}

#[cfg(test)]
impl<'a, V> Lent<'a, V> {
    /// A share that belongs to a test.
    pub(crate) fn of(value: &'a Arc<V>) -> Self {
        // SAFETY: the share lives for `'a`.
        unsafe { Self::from_raw(Arc::as_ptr(value)) }
    }
}

impl<V> Deref for Lent<'_, V> {
    type Target = Arc<V>;

    #[inline(always)]
    fn deref(&self) -> &Arc<V> {
        &self.value
    }
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
    api: &'static Api,
    call: PhantomData<&'a mut ()>,
}

const EMPTY: c_int = 0;

impl<'a> Key<'a> {
    /// # Safety
    ///
    /// The context and the name are valid during `'a`, and no other key is open then.
    pub(super) unsafe fn open(
        context: *mut api::Ctx,
        api: &'static Api,
        name: *mut api::Str,
        access: Access,
    ) -> Self {
        const READ: c_int = 1;
        const WRITE: c_int = 1 << 1;
        let mode = match access {
            Access::Read => READ,
            Access::Write => READ | WRITE,
        };
        Self {
            // SAFETY: as the caller promises.
            raw: unsafe { (api.OpenKey)(context, name, mode) },
            context,
            api,
            call: PhantomData,
        }
    }

    /// The value of the key.
    #[inline]
    pub(crate) fn get<V: Value>(&self, kind: &DataType<V>) -> Found<Lent<'_, V>> {
        match self.find(kind) {
            // SAFETY: the engine has a share until the key is closed or its value is replaced, which
            // requires a mutable borrow.
            Found::Value(value) => Found::Value(unsafe { Lent::from_raw(value) }),
            Found::Nothing => Found::Nothing,
            Found::OtherType => Found::OtherType,
        }
    }

    /// The value of the key, for changes; `None` if others have a share in it.
    pub(crate) fn get_mut<V: Value>(&mut self, kind: &DataType<V>) -> Found<Option<&mut V>> {
        match self.find(kind) {
            Found::Value(value) => {
                // SAFETY: as for `get`.
                let mut lent = unsafe { Lent::from_raw(value) };
                let is_alone = Arc::get_mut(&mut lent.value).is_some();
                // SAFETY: as for `get`, and there is no other share. While the key is open, nothing
                // else borrows this one: the engine's callbacks run between commands, and no other
                // key is open.
                Found::Value(is_alone.then(|| unsafe { &mut *value }))
            }
            Found::Nothing => Found::Nothing,
            Found::OtherType => Found::OtherType,
        }
    }

    fn find<V: Value>(&self, kind: &DataType<V>) -> Found<*mut V> {
        // SAFETY: the key is open, or null for one that does not exist.
        unsafe {
            if self.raw.is_null() {
                Found::Nothing
            } else if (self.api.ModuleTypeGetType)(self.raw) == kind.raw() {
                // `DataType` ensures that values of this type are `V`s in `Arc`s.
                Found::Value((self.api.ModuleTypeGetValue)(self.raw).cast())
            } else if (self.api.KeyType)(self.raw) == EMPTY {
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
        value: Arc<V>,
    ) -> Result<(), NotWritable> {
        if self.raw.is_null() {
            return Err(NotWritable);
        }
        let value = into_raw(value);
        // SAFETY: the key is open, and values of this type are `V`s in `Arc`s.
        let result = unsafe { (self.api.ModuleTypeSetValue)(self.raw, kind.raw(), value) };
        if result == OK {
            Ok(())
        } else {
            // SAFETY: the engine did not take ownership.
            drop(unsafe { Arc::from_raw(value.cast::<V>()) });
            Err(NotWritable)
        }
    }

    /// Deletes the key.
    pub(crate) fn delete(&mut self) -> Result<(), NotWritable> {
        // SAFETY: the key is open, and its value is not borrowed.
        let done = !self.raw.is_null() && unsafe { (self.api.DeleteKey)(self.raw) } == OK;
        if done { Ok(()) } else { Err(NotWritable) }
    }

    /// The flags of the call.
    pub(crate) fn flags(&self) -> Flags {
        // SAFETY: the context is valid while the key is open.
        Flags(unsafe { (self.api.GetContextFlags)(self.context) })
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
            unsafe { (self.api.CloseKey)(self.raw) }
        }
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}
