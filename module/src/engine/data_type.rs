//! A data type whose values the engine keeps, saves, copies and frees.

use super::{
    api::{self, Methods, api, warn},
    border::guarded,
    io::{Load, Loader, Rewrite, Rewriter, Save, Saver},
    string::Str,
};
use std::{
    ffi::{CStr, c_int, c_void},
    fmt,
    marker::PhantomData,
    process,
    ptr::{self, NonNull},
    sync::Arc,
};

/// The operations of the engine on values.
///
/// It calls them one at a time, on its main thread or in a forked process. It frees values on any
/// thread.
pub(crate) trait Value: Send + Sync + Sized + 'static {
    /// The reason why a value was not loaded or copied.
    type Error: fmt::Display;

    /// Its name in RDB files, of 9 characters.
    const NAME: &'static CStr;

    /// The version of the format that [`save`](Self::save) writes.
    const VERSION: c_int;

    /// Reads what [`save`](Self::save) has written, in this or an older version.
    fn load(from: &mut impl Load, version: c_int) -> Result<Arc<Self>, Self::Error>;

    /// Saves the value, usually in a forked process whose other threads have stopped anywhere. Must
    /// not take a lock.
    fn save(&self, to: &mut impl Save);

    /// Writes commands that create the value. Like [`save`](Self::save), it must not take a lock.
    fn rewrite(&self, to: &mut impl Rewrite);

    /// The number of bytes that it occupies.
    fn memory_usage(&self) -> usize;

    /// Bytes that are equal for values that clients cannot distinguish.
    fn digest(&self) -> Vec<u8>;

    /// The effort to free the value. Above 64, a background thread frees it.
    fn free_effort(&self) -> usize;

    fn copy(&self) -> Result<Arc<Self>, Self::Error>;
}

/// A registered data type, all of whose values are `V`.
pub(crate) struct DataType<V> {
    raw: NonNull<api::Type>,
    values: PhantomData<fn() -> V>,
}

// SAFETY: the engine only compares the pointer.
unsafe impl<V> Send for DataType<V> {}
// SAFETY: as above.
unsafe impl<V> Sync for DataType<V> {}

/// The engine refused the data type, because another module has registered its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine refuses the type {0:?}: is the module loaded already?")]
pub(crate) struct TypeRefused(&'static CStr);

impl<V: Value> DataType<V> {
    /// # Safety
    ///
    /// The context is valid.
    pub(super) unsafe fn register(context: *mut api::Ctx) -> Result<Self, TypeRefused> {
        const { assert!(V::NAME.count_bytes() == 9) };
        let mut methods = Methods {
            version: Methods::VERSION,
            rdb_load: Some(rdb_load::<V>),
            rdb_save: Some(rdb_save::<V>),
            aof_rewrite: Some(aof_rewrite::<V>),
            mem_usage: Some(mem_usage::<V>),
            digest: Some(digest::<V>),
            free: Some(free::<V>),
            aux_load: None,
            aux_save: None,
            aux_save_triggers: 0,
            free_effort: Some(free_effort::<V>),
            unlink: None,
            copy: Some(copy::<V>),
            defrag: None,
        };
        // SAFETY: the caller guarantees it; the engine copies the methods.
        let raw =
            unsafe { (api().CreateDataType)(context, V::NAME.as_ptr(), V::VERSION, &mut methods) };
        let raw = NonNull::new(raw).ok_or(TypeRefused(V::NAME))?;
        Ok(Self {
            raw,
            values: PhantomData,
        })
    }

    pub(super) fn raw(&self) -> *mut api::Type {
        self.raw.as_ptr()
    }
}

impl<V> fmt::Debug for DataType<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataType").finish_non_exhaustive()
    }
}

/// # Safety
///
/// `value` is a value of this data type.
unsafe fn borrow<'a, V: Value>(value: *const c_void) -> &'a V {
    // SAFETY: the caller guarantees it; all values of the type are `V`s in `Arc`s.
    unsafe { &*value.cast::<V>() }
}

/// What the engine keeps of a value: a share in it.
pub(super) fn into_raw<V: Value>(value: Arc<V>) -> *mut c_void {
    Arc::into_raw(value).cast_mut().cast()
}

unsafe extern "C" fn rdb_load<V: Value>(io: *mut api::Io, version: c_int) -> *mut c_void {
    let load = || {
        // SAFETY: the engine reads from `io` during this call.
        let mut loader = unsafe { Loader::new(io) };
        match V::load(&mut loader, version) {
            Ok(value) => into_raw(value),
            Err(error) => {
                loader.log(&error.to_string());
                ptr::null_mut()
            }
        }
    };
    guarded("loading a filter", load, ptr::null_mut)
}

/// Ends the process, because half a value has been written and the engine offers no way to report it.
///
/// A file with that value replaces the previous file, and no engine can load it. A `DUMP` would return
/// that value without an error. A forked child ends alone, and the engine reports a failed save.
fn abandon() {
    warn(
        "a filter was only partly written: the process ends, so that nothing mistakes it for a complete one",
    );
    process::abort();
}

unsafe extern "C" fn rdb_save<V: Value>(io: *mut api::Io, value: *mut c_void) {
    // SAFETY: the engine hands over a value of the type, and writes to `io` during this call.
    let save = || unsafe { borrow::<V>(value).save(&mut Saver::new(io)) };
    guarded("saving a filter", save, abandon);
}

unsafe extern "C" fn aof_rewrite<V: Value>(
    io: *mut api::Io,
    key: *mut api::Str,
    value: *mut c_void,
) {
    let rewrite = || {
        // SAFETY: the engine hands over a key and a value of the type, and writes to `io` during this call.
        unsafe {
            if let Some(key) = Str::new(key) {
                borrow::<V>(value).rewrite(&mut Rewriter::new(io, key));
            }
        }
    };
    guarded("rewriting a filter", rewrite, abandon);
}

unsafe extern "C" fn mem_usage<V: Value>(value: *const c_void) -> usize {
    // SAFETY: the engine hands over a value of the type.
    let usage = || unsafe { borrow::<V>(value).memory_usage() };
    guarded("measuring a filter", usage, || 0)
}

unsafe extern "C" fn digest<V: Value>(digest: *mut api::Digest, value: *mut c_void) {
    let add = || {
        // SAFETY: the engine hands over a value of the type.
        let bytes = unsafe { borrow::<V>(value).digest() };
        // SAFETY: the engine hands over a digest, and there are `bytes.len()` bytes.
        unsafe {
            (api().DigestAddStringBuffer)(digest, bytes.as_ptr().cast(), bytes.len());
            (api().DigestEndSequence)(digest);
        }
    };
    guarded("the digest of a filter", add, || ());
}

unsafe extern "C" fn free<V: Value>(value: *mut c_void) {
    // SAFETY: the engine hands over a value of the type, and forgets it.
    let free = || drop(unsafe { Arc::from_raw(value.cast::<V>()) });
    guarded("freeing a filter", free, || ());
}

unsafe extern "C" fn free_effort<V: Value>(_: *mut api::Str, value: *const c_void) -> usize {
    // SAFETY: the engine hands over a value of the type.
    let effort = || unsafe { borrow::<V>(value).free_effort() };
    guarded("measuring a filter", effort, || 1)
}

unsafe extern "C" fn copy<V: Value>(
    _: *mut api::Str,
    _: *mut api::Str,
    value: *const c_void,
) -> *mut c_void {
    let copy = || {
        // SAFETY: the engine hands over a value of the type.
        match unsafe { borrow::<V>(value).copy() } {
            Ok(copy) => into_raw(copy),
            Err(error) => {
                warn(&format!("a filter was not copied: {error}"));
                ptr::null_mut()
            }
        }
    };
    guarded("copying a filter", copy, ptr::null_mut)
}
