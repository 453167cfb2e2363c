//! Memory that the library hands out.

use crate::{
    guard, pointer,
    status::{Failure, Status},
};
use std::{io, ptr};

/// Bytes of the library. `guira_bytes_free` frees them.
#[repr(C)]
#[derive(Debug)]
pub struct Bytes {
    /// The first byte.
    pub data: *mut u8,
    /// The number of bytes.
    pub len: usize,
    /// For `guira_bytes_free`.
    pub capacity: usize,
}

impl Bytes {
    /// No bytes.
    pub(crate) const NONE: Self = Self {
        data: ptr::null_mut(),
        len: 0,
        capacity: 0,
    };

    fn new(bytes: Vec<u8>) -> Self {
        let (data, len, capacity) = {
            let mut bytes = std::mem::ManuallyDrop::new(bytes);
            (bytes.as_mut_ptr(), bytes.len(), bytes.capacity())
        };
        Self {
            data,
            len,
            capacity,
        }
    }
}

/// A vector that takes memory as it is needed, and says if there is none.
pub(crate) struct Growing {
    bytes: Vec<u8>,
    refused: bool,
}

impl Growing {
    /// Room for `len` bytes. What `write` writes is handed out, unless memory for it is refused.
    pub(crate) fn of(
        len: usize,
        write: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> Result<Bytes, Failure> {
        let mut this = Self {
            bytes: Vec::new(),
            refused: false,
        };
        this.refused = this.bytes.try_reserve_exact(len).is_err();
        if !this.refused {
            match write(&mut this) {
                Ok(()) => return Ok(Bytes::new(this.bytes)),
                Err(error) if !this.refused => {
                    return Err(Failure::new(Status::Memory, format_args!("{error}")));
                }
                Err(_) => {}
            }
        }
        Err(Failure::new(
            Status::Memory,
            format_args!("no memory for a snapshot of {len} bytes"),
        ))
    }
}

impl io::Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.try_reserve(bytes.len()).is_err() {
            self.refused = true;
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Frees bytes of the library, and sets them to none. Null, and none, are nothing.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_bytes_free(bytes: *mut Bytes) {
    guard::value((), (), || {
        if bytes.is_null() {
            return Ok(());
        }
        // SAFETY: the rules of the header.
        let place = unsafe { pointer::Out::new(bytes, "bytes") }?;
        // SAFETY: the pointer is checked, and the rules of the header.
        let Bytes {
            data,
            len,
            capacity,
        } = unsafe { bytes.read() };
        place.set(Bytes::NONE);
        if capacity > 0 {
            // SAFETY: these three are of the vector in `Bytes::new`.
            drop(unsafe { Vec::from_raw_parts(data, len, capacity) });
        }
        Ok(())
    });
}
