//! Snapshots, to and from callbacks and memory.

use super::{Filter, shared};
use crate::{
    bytes::{Bytes, Growing},
    guard,
    pointer::{Out, slice},
    status::Status,
    stream::{Feed, Read, Write, feed_all, read_with, write_with},
};
use guira::{SnapshotDecoder, SnapshotError};
use std::{ffi::c_void, ptr};

impl Feed for SnapshotDecoder {
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        self.feed(bytes)
    }
}

/// The bytes of a snapshot that begins now. It is longer only if the filter doubles during it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_snapshot_len(filter: *const Filter) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.snapshot_len_hint())
    })
}

/// Writes a snapshot to a callback, while threads use the filter. Items that are present during
/// the whole call are in it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_write(
    filter: *const Filter,
    write: Write,
    context: *mut c_void,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        let filter = filter.to_scan()?;
        // SAFETY: the rules of the header.
        unsafe { write_with(write, context, |writer| filter.write_to(writer)) }
    })
}

/// Writes a snapshot to memory of the library, and sets `*bytes` to it, or to none on failure.
/// `guira_bytes_free` frees it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_to_bytes(filter: *const Filter, bytes: *mut Bytes) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let place = unsafe { Out::new(bytes, "bytes") }?;
        place.set(Bytes::NONE);
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        let filter = filter.to_scan()?;
        place.set(Growing::of(filter.snapshot_len_hint(), |bytes| {
            filter.write_to(bytes)
        })?);
        Ok(())
    })
}

/// Makes the filter of a snapshot of `len` bytes, which may come from anyone. A table of more
/// than `max_bytes` bytes is refused.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_from_bytes(
    data: *const c_void,
    len: usize,
    max_bytes: usize,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new(filter, "filter") }?;
        filter.set(ptr::null_mut());
        // SAFETY: the rules of the header.
        let data = unsafe { slice(data.cast::<u8>(), len, "data") }?;
        let mut decoder = SnapshotDecoder::new(max_bytes);
        feed_all(&mut decoder, data)?;
        let made = decoder.finish()?;
        filter.give(Filter::of_heap(made));
        Ok(())
    })
}

/// Makes the filter of a snapshot that a callback reads to its end. As `guira_filter_from_bytes`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_read(
    read: Read,
    context: *mut c_void,
    max_bytes: usize,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new(filter, "filter") }?;
        filter.set(ptr::null_mut());
        let mut decoder = SnapshotDecoder::new(max_bytes);
        // SAFETY: the rules of the header.
        unsafe { read_with(read, context, &mut decoder) }?;
        let made = decoder.finish()?;
        filter.give(Filter::of_heap(made));
        Ok(())
    })
}
