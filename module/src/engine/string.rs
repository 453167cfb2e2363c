//! Strings of the engine: arguments, and strings that the module creates.

use super::api::{self, Api, api, bytes};
use std::{fmt, marker::PhantomData, ptr, ptr::NonNull};

/// A string that the engine keeps during a call of the module, usually an argument.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Str<'call> {
    raw: NonNull<api::Str>,
    call: PhantomData<&'call [u8]>,
}

impl<'call> Str<'call> {
    /// # Safety
    ///
    /// `raw` is a string of the engine that does not change during `'call`.
    pub(super) unsafe fn new(raw: *mut api::Str) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self {
            raw,
            call: PhantomData,
        })
    }

    /// The arguments of a command.
    ///
    /// # Safety
    ///
    /// `begin` points to `count` arguments, which do not change during `'call`.
    pub(super) unsafe fn arguments(begin: *const *mut api::Str, count: i32) -> &'call [Self] {
        match usize::try_from(count) {
            // SAFETY: the caller guarantees it; no argument is null, and the representation is the same.
            Ok(count) if count > 0 => unsafe { std::slice::from_raw_parts(begin.cast(), count) },
            _ => &[],
        }
    }

    pub(crate) fn as_bytes(self) -> &'call [u8] {
        self.bytes_by(api())
    }

    /// The bytes, by the engine's functions.
    #[inline(always)]
    pub(super) fn bytes_by(self, api: &Api) -> &'call [u8] {
        // SAFETY: the string does not change during the call.
        unsafe { bytes(api, self.raw.as_ptr()) }
    }

    pub(super) fn raw(self) -> *mut api::Str {
        self.raw.as_ptr()
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// A string that the module has created. It is used on the engine's main thread only.
pub(crate) struct OwnedStr(NonNull<api::Str>);

impl OwnedStr {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        // SAFETY: there are `bytes.len()` bytes, which the engine copies. Without a context, the
        // string belongs to the module until it frees it.
        let raw =
            unsafe { (api().CreateString)(ptr::null_mut(), bytes.as_ptr().cast(), bytes.len()) };
        match NonNull::new(raw) {
            Some(raw) => Self(raw),
            None => unreachable!("the engine makes a string, or ends"),
        }
    }

    pub(crate) fn as_str(&self) -> Str<'_> {
        Str {
            raw: self.0,
            call: PhantomData,
        }
    }

    /// Transfers ownership to the engine.
    pub(super) fn into_raw(self) -> *mut api::Str {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnedStr {
    fn drop(&mut self) {
        // SAFETY: the string was created without a context, and is freed once.
        unsafe { (api().FreeString)(ptr::null_mut(), self.0.as_ptr()) }
    }
}
