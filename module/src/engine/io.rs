//! Values in files: the engine's numbers and strings of an RDB file, and commands of an AOF file.

use super::{
    api::{self, WARNING, api, with_nul},
    string::Str,
};
use std::{
    ffi::{CStr, c_longlong},
    io,
    ops::Deref,
    ptr::NonNull,
};

/// Where a value is saved.
pub(crate) trait Save {
    fn number(&mut self, number: u64);
    fn string(&mut self, bytes: &[u8]);
}

/// Where a value is loaded from.
pub(crate) trait Load {
    /// The bytes of a string.
    type Bytes: Deref<Target = [u8]>;

    /// # Errors
    ///
    /// Those of the file, or of what it says.
    fn number(&mut self) -> io::Result<u64>;

    /// # Errors
    ///
    /// Those of the file, or of what it says.
    fn string(&mut self) -> io::Result<Self::Bytes>;
}

/// Where a value is written as commands.
pub(crate) trait Rewrite {
    /// `command key number bytes`
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]);
}

/// An RDB file, or what is like it, that is written.
pub(super) struct Saver(*mut api::Io);

/// An RDB file, or what is like it, that is read.
pub(super) struct Loader(*mut api::Io);

/// An AOF file that is written.
pub(super) struct Rewriter<'a> {
    io: *mut api::Io,
    key: Str<'a>,
}

/// Bytes that the engine read.
pub(super) struct Read {
    begin: NonNull<u8>,
    length: usize,
}

impl Saver {
    /// # Safety
    ///
    /// The engine writes to it for as long as the value is there.
    pub(super) unsafe fn new(io: *mut api::Io) -> Self {
        Self(io)
    }
}

impl Save for Saver {
    fn number(&mut self, number: u64) {
        // SAFETY: it can be written to.
        unsafe { (api().SaveUnsigned)(self.0, number) }
    }

    fn string(&mut self, bytes: &[u8]) {
        // SAFETY: it can be written to, and there are `bytes.len()` bytes.
        unsafe { (api().SaveStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }
}

impl Loader {
    /// # Safety
    ///
    /// The engine reads from it for as long as the value is there.
    pub(super) unsafe fn new(io: *mut api::Io) -> Self {
        Self(io)
    }

    /// After an error all that is read is nothing.
    fn check(&self) -> io::Result<()> {
        // SAFETY: it can be read from.
        match unsafe { (api().IsIOError)(self.0) } {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes to the log why a value was not loaded.
    pub(super) fn log(&self, reason: &str) {
        let reason = with_nul(reason);
        // SAFETY: it is there, and `%s` takes a pointer to a text that ends with a NUL.
        unsafe {
            (api().LogIOError)(
                self.0,
                WARNING.as_ptr(),
                c"a filter was not loaded: %s".as_ptr(),
                reason.as_ptr(),
            );
        }
    }
}

impl Load for Loader {
    type Bytes = Read;

    fn number(&mut self) -> io::Result<u64> {
        // SAFETY: it can be read from.
        let number = unsafe { (api().LoadUnsigned)(self.0) };
        self.check().map(|()| number)
    }

    fn string(&mut self) -> io::Result<Read> {
        let mut length = 0;
        // SAFETY: it can be read from.
        let begin = unsafe { (api().LoadStringBuffer)(self.0, &mut length) };
        let read = NonNull::new(begin.cast()).map(|begin| Read { begin, length });
        self.check()?;
        read.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Deref for Read {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the engine read this number of bytes, and only this value refers to them.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.length) }
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        // SAFETY: the engine allocated it, and it is freed once.
        unsafe { (api().Free)(self.begin.as_ptr().cast()) }
    }
}

impl<'a> Rewriter<'a> {
    /// # Safety
    ///
    /// The engine writes to it for as long as the value is there.
    pub(super) unsafe fn new(io: *mut api::Io, key: Str<'a>) -> Self {
        Self { io, key }
    }
}

impl Rewrite for Rewriter<'_> {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        // SAFETY: it can be written to. `s` takes a string, `l` a `long long`, and `b` a buffer
        // with its length.
        unsafe {
            (api().EmitAOF)(
                self.io,
                command.as_ptr(),
                c"slb".as_ptr(),
                self.key.raw(),
                number as c_longlong,
                bytes.as_ptr(),
                bytes.len(),
            );
        }
    }
}
