//! The serialization of values: numbers and strings of an RDB file, and commands of an AOF file.

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

/// A destination for saving values.
pub(crate) trait Save {
    fn number(&mut self, number: u64);
    fn string(&mut self, bytes: &[u8]);
}

/// A source for loading values.
pub(crate) trait Load {
    /// The bytes of a string.
    type Bytes: Deref<Target = [u8]>;

    /// # Errors
    ///
    /// If the file cannot be read or has no number here.
    fn number(&mut self) -> io::Result<u64>;

    /// # Errors
    ///
    /// If the file cannot be read or has no string here.
    fn string(&mut self) -> io::Result<Self::Bytes>;
}

/// A destination for commands that create values.
pub(crate) trait Rewrite {
    /// `command key number bytes`
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]);
}

/// An RDB stream that is being written.
pub(super) struct Saver(*mut api::Io);

/// An RDB stream that is being read.
pub(super) struct Loader(*mut api::Io);

/// An AOF file that is being written.
pub(super) struct Rewriter<'a> {
    io: *mut api::Io,
    key: Str<'a>,
}

/// Bytes that the engine has read.
pub(super) struct Read {
    begin: NonNull<u8>,
    length: usize,
}

impl Saver {
    /// # Safety
    ///
    /// The engine accepts writes to `io` while this value lives.
    pub(super) unsafe fn new(io: *mut api::Io) -> Self {
        Self(io)
    }
}

impl Save for Saver {
    fn number(&mut self, number: u64) {
        // SAFETY: the stream is open for writing.
        unsafe { (api().SaveUnsigned)(self.0, number) }
    }

    fn string(&mut self, bytes: &[u8]) {
        // SAFETY: the stream is open for writing, and there are `bytes.len()` bytes.
        unsafe { (api().SaveStringBuffer)(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }
}

impl Loader {
    /// # Safety
    ///
    /// The engine accepts reads from `io` while this value lives.
    pub(super) unsafe fn new(io: *mut api::Io) -> Self {
        Self(io)
    }

    /// After an error, all values read so far are invalid.
    fn check(&self) -> io::Result<()> {
        // SAFETY: the stream is open for reading.
        match unsafe { (api().IsIOError)(self.0) } {
            0 => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Logs the reason why a value was not loaded.
    pub(super) fn log(&self, reason: &str) {
        let reason = with_nul(reason);
        // SAFETY: the stream is valid, and `%s` takes a pointer to a text that ends with a NUL.
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
        // SAFETY: the stream is open for reading.
        let number = unsafe { (api().LoadUnsigned)(self.0) };
        self.check().map(|()| number)
    }

    fn string(&mut self) -> io::Result<Read> {
        let mut length = 0;
        // SAFETY: the stream is open for reading.
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
        // SAFETY: the engine allocated the bytes, and they are freed once.
        unsafe { (api().Free)(self.begin.as_ptr().cast()) }
    }
}

impl<'a> Rewriter<'a> {
    /// # Safety
    ///
    /// The engine accepts writes to `io` while this value lives.
    pub(super) unsafe fn new(io: *mut api::Io, key: Str<'a>) -> Self {
        Self { io, key }
    }
}

impl Rewrite for Rewriter<'_> {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        // SAFETY: the stream is open for writing. `s` takes a string, `l` a `long long`, and `b` a
        // buffer with its length.
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
