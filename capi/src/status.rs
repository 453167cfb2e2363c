//! The outcome of a call, and the message that explains it.

use guira::{BuildError, InsertError, MergeError, SnapshotError};
use std::{
    cell::Cell,
    error::Error,
    ffi::{CStr, c_char},
    fmt::{self, Write},
};

/// What became of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call did what it says.
    Ok = 0,
    /// An argument is not allowed. Nothing was changed.
    Invalid = 1,
    /// There is no room for the item. Nothing else was changed. Either the filter is full, or both
    /// buckets of the item are full of copies of it. A remove makes room.
    Full = 2,
    /// There is no memory for what the call makes, or for growth. The filter remains usable.
    Memory = 3,
    /// Other threads use what the call needs, for a short time. Call again. In a `guira_write`
    /// callback, return first: the snapshot that it takes may itself be in the way.
    Busy = 4,
    /// The bytes are not a snapshot that can be read, or its filter exceeds the limit of memory. Or the
    /// file is not a shared filter that can be used.
    Snapshot = 5,
    /// The caller's callback ended the call.
    Stopped = 6,
    /// A bug of guira. The filter may have lost part of the effect of this call. Report it.
    Internal = 7,
    /// This kind of filter, file system or platform cannot do it. Nothing was changed.
    Unsupported = 8,
    /// The operating system refuses to create, open or lock the file: the message says why.
    File = 9,
    /// There is a file of this name already.
    Exists = 10,
    /// There is no file of this name, or no longer the one that was opened.
    Missing = 11,
    /// Other processes occupy all places in the filter, or the filter that this call needs for itself.
    Occupied = 12,
}

/// Why a call fails. Its message is set.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Status);

/// Bytes of a message, with the zero that ends it.
const ROOM: usize = 256;

thread_local! {
    /// Fixed, so that there is a message without memory.
    static MESSAGE: [Cell<u8>; ROOM] = const { [const { Cell::new(0) }; ROOM] };
}

/// Writes a message into the bytes of the thread, up to the last whole character that fits.
struct Message<'a> {
    bytes: &'a [Cell<u8>; ROOM],
    len: usize,
}

impl Write for Message<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = floor(text, ROOM - 1 - self.len);
        for (cell, byte) in self.bytes[self.len..].iter().zip(&text.as_bytes()[..end]) {
            cell.set(*byte);
        }
        self.len += end;
        self.bytes[self.len].set(0);
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// The end of the last character of `text` that fits into `most` bytes.
fn floor(text: &str, most: usize) -> usize {
    let ends = (0..=most.min(text.len())).rev();
    let mut boundaries = ends.filter(|&end| text.is_char_boundary(end));
    boundaries.next().unwrap_or(0)
}

impl Failure {
    /// The message is set to `text`.
    #[cold]
    pub(crate) fn new(status: Status, text: fmt::Arguments<'_>) -> Self {
        MESSAGE.with(|bytes| {
            let mut message = Message { bytes, len: 0 };
            bytes[0].set(0);
            // It fails if the text is longer than the room: its beginning says enough.
            let _ = message.write_fmt(text);
        });
        Self(status)
    }

    /// Appends what it is about to the message.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[cold]
    pub(crate) fn about(self, what: impl fmt::Display) -> Self {
        MESSAGE.with(|bytes| {
            let len = bytes.iter().position(|byte| byte.get() == 0);
            let mut message = Message {
                bytes,
                len: len.unwrap_or(0),
            };
            // As in `new`.
            let _ = write!(message, ": {what}");
        });
        self
    }

    /// What this filter, file system or platform cannot do.
    #[cold]
    pub(crate) fn unsupported(why: &str) -> Self {
        Self::new(Status::Unsupported, format_args!("{why}"))
    }

    #[cold]
    pub(crate) fn invalid(text: fmt::Arguments<'_>) -> Self {
        Self::new(Status::Invalid, text)
    }
}

/// The text of an error and of its sources.
struct Chain<'a>(&'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.0
            .source()
            .map_or(Ok(()), |source| write!(f, ": {}", Chain(source)))
    }
}

/// Neither `FULL` nor `BUSY` sets a message, so that a loop that meets them often stays fast.
impl From<InsertError> for Failure {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full | InsertError::TooManyCopies => Self(Status::Full),
            InsertError::Memory => Self::new(Status::Memory, format_args!("{error}")),
            _ if error.is_transient() => Self(Status::Busy),
            _ => Self::new(Status::Internal, format_args!("{error}")),
        }
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let status = match error {
            BuildError::Memory { .. } => Status::Memory,
            _ => Status::Invalid,
        };
        Self::new(status, format_args!("{error}"))
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Insert { error, .. } | MergeError::Scan { error } => error.into(),
            _ => Self::invalid(format_args!("{}", Chain(&error))),
        }
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        let status = match error {
            SnapshotError::Memory { .. } => Status::Memory,
            _ => Status::Snapshot,
        };
        Self::new(status, format_args!("{}", Chain(&error)))
    }
}

/// Explains the last status of this thread that was neither OK, FULL nor BUSY. Empty if there was
/// none. The text is UTF-8, of at most 255 bytes. It is valid until the next call on this thread.
#[allow(unsafe_code)]
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub extern "C" fn guira_last_message() -> *const c_char {
    MESSAGE.with(|bytes| bytes.as_ptr().cast())
}

/// The version of the library, such as "0.1.0".
#[allow(unsafe_code)]
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub extern "C" fn guira_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero"),
        };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Vec<u8> {
        MESSAGE.with(|bytes| {
            let text = bytes.iter().map(Cell::get);
            text.take_while(|&byte| byte != 0).collect()
        })
    }

    #[test]
    fn a_message_ends_at_a_character() {
        for before in 0..4 {
            let text = "x".repeat(before) + &"ß日".repeat(100);
            let failure = Failure::invalid(format_args!("{text}"));
            assert_eq!(failure.0, Status::Invalid);
            let message = String::from_utf8(message()).expect("UTF-8");
            assert!(text.starts_with(&message));
            assert!((ROOM - 4..ROOM).contains(&message.len()), "{message}");
        }
        let _ = Failure::invalid(format_args!("{} and {}", 1, 2));
        assert_eq!(message(), b"1 and 2");
    }

    #[test]
    fn each_error_has_a_status() {
        let status = |failure: Failure| failure.0;
        assert_eq!(status(InsertError::Full.into()), Status::Full);
        assert_eq!(status(InsertError::TooManyCopies.into()), Status::Full);
        assert_eq!(status(InsertError::BlockedByScan.into()), Status::Busy);
        assert_eq!(status(InsertError::Contended.into()), Status::Busy);
        assert_eq!(status(InsertError::TooManyInFlight.into()), Status::Busy);
        assert_eq!(status(InsertError::Memory.into()), Status::Memory);
        assert_eq!(status(SnapshotError::Magic.into()), Status::Snapshot);
        assert_eq!(status(MergeError::SameFilter.into()), Status::Invalid);
        assert_eq!(status(BuildError::ZeroCapacity.into()), Status::Invalid);
        assert_eq!(message(), b"capacity must be at least 1");
    }
}
