//! Callbacks of the caller: where snapshots go and come from, and what time it is.

use crate::status::{Failure, Status};
use std::{
    ffi::{c_int, c_void},
    io,
    time::Duration,
};

/// Takes the next bytes of a snapshot. A result other than 0 ends the call, with
/// `GUIRA_STATUS_STOPPED`. It may use the filter, and must neither throw nor longjmp.
pub type Write =
    Option<unsafe extern "C" fn(context: *mut c_void, data: *const u8, len: usize) -> c_int>;

/// Fills a buffer with at most `len` bytes of a snapshot, and returns how many. 0 says that there
/// are no more; a negative number ends the call, with `GUIRA_STATUS_STOPPED`. It must neither throw
/// nor longjmp.
pub type Read =
    Option<unsafe extern "C" fn(context: *mut c_void, buffer: *mut u8, len: usize) -> isize>;

/// The nanoseconds since any fixed moment, by a clock that does not go back. It must neither
/// throw nor longjmp.
pub type Clock = Option<unsafe extern "C" fn(context: *mut c_void) -> u64>;

/// The callback, or an error if it is null.
fn given<F>(callback: Option<F>) -> Result<F, Failure> {
    callback.ok_or_else(|| Failure::invalid(format_args!("the callback is null")))
}

struct Writer<F> {
    write: F,
    stopped: Option<c_int>,
}

impl<F: FnMut(&[u8]) -> c_int> io::Write for Writer<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        match (self.write)(bytes) {
            0 => Ok(bytes.len()),
            stopped => {
                self.stopped = Some(stopped);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs `of` with a writer that hands all bytes to the callback.
///
/// # Safety
///
/// The callback and its context keep the rules of the header.
pub(crate) unsafe fn write_with(
    write: Write,
    context: *mut c_void,
    of: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let write = given(write)?;
    let mut writer = Writer {
        // SAFETY: the caller promises it.
        write: |bytes: &[u8]| unsafe { write(context, bytes.as_ptr(), bytes.len()) },
        stopped: None,
    };
    of(&mut writer).map_err(|error| match writer.stopped {
        Some(result) => Failure::new(
            Status::Stopped,
            format_args!("the callback returned {result}"),
        ),
        None => Failure::new(Status::Memory, format_args!("{error}")),
    })
}

/// Bytes that the callback is asked for at a time.
const PIECE: usize = 16 << 10;

/// Hands all bytes of the callback to `take`.
///
/// # Safety
///
/// The callback and its context keep the rules of the header.
pub(crate) unsafe fn read_with(
    read: Read,
    context: *mut c_void,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let read = given(read)?;
    let mut piece = [0; PIECE];
    loop {
        // SAFETY: the caller promises it.
        let count = unsafe { read(context, piece.as_mut_ptr(), PIECE) };
        match usize::try_from(count) {
            Ok(0) => return Ok(()),
            Ok(count) if count <= PIECE => take(&piece[..count])?,
            Ok(count) => {
                return Err(Failure::invalid(format_args!(
                    "the callback returned {count} for a buffer of {PIECE} bytes"
                )));
            }
            Err(_) => {
                return Err(Failure::new(
                    Status::Stopped,
                    format_args!("the callback returned {count}"),
                ));
            }
        }
    }
}

/// The time by the callback; `None` if there is no callback.
///
/// # Safety
///
/// The callback and its context keep the rules of the header for as long as the result is used.
pub(crate) unsafe fn clock(clock: Clock, context: *mut c_void) -> Option<impl Fn() -> Duration> {
    let clock = clock?;
    // SAFETY: the caller promises it.
    Some(move || Duration::from_nanos(unsafe { clock(context) }))
}
