//! Strings of the engine: arguments and what is made for it.

use super::api::{self, api, bytes};
use std::{fmt, marker::PhantomData, ptr, ptr::NonNull};

/// A string that the engine keeps for as long as a call of the module lasts: an argument, as a rule.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Str<'call> {
    raw: NonNull<api::Str>,
    call: PhantomData<&'call [u8]>,
}

impl<'call> Str<'call> {
    /// # Safety
    ///
    /// It is a string of the engine, which stays as it is during `'call`.
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
    /// There are `count` of them at `begin`, and they stay as they are during `'call`.
    pub(super) unsafe fn arguments(begin: *const *mut api::Str, count: i32) -> &'call [Self] {
        match usize::try_from(count) {
            // SAFETY: as the caller promises; no argument is null, and the representation is the same.
            Ok(count) if count > 0 => unsafe { std::slice::from_raw_parts(begin.cast(), count) },
            _ => &[],
        }
    }

    pub(crate) fn as_bytes(self) -> &'call [u8] {
        // SAFETY: it stays as it is during the call.
        unsafe { bytes(self.raw.as_ptr()) }
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

/// A string that the module made. It is used on the engine's main thread only.
pub(crate) struct OwnedStr(NonNull<api::Str>);

impl OwnedStr {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        // SAFETY: there are `bytes.len()` bytes, which the engine copies. No context is needed:
        // then the string is the module's until it frees it.
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

    /// Leaves it to the engine.
    pub(super) fn into_raw(self) -> *mut api::Str {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }
}

impl Drop for OwnedStr {
    fn drop(&mut self) {
        // SAFETY: it was made without a context, and is freed once.
        unsafe { (api().FreeString)(ptr::null_mut(), self.0.as_ptr()) }
    }
}
