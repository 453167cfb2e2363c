//! Snapshots, to and from callbacks and memory.

use super::{Expiring, own_clock, shared};
use crate::{
    bytes::{Bytes, Growing},
    guard,
    pointer::{Out, slice},
    status::Status,
    stream::{self, Clock, Feed, Read, Write, feed_all, read_with, write_with},
};
use guira::{ExpiringSnapshotDecoder, SnapshotError};
use std::{ffi::c_void, ptr, time::Duration};

impl Feed for ExpiringSnapshotDecoder {
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, SnapshotError> {
        self.feed(bytes)
    }
}

/// The bytes of a snapshot that begins now. It is longer only if the filter doubles during it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_snapshot_len(filter: *const Expiring) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.snapshot_len_hint())
    })
}

/// Writes a snapshot to a callback, while threads use the filter. Items that are present during
/// the whole call are in it.
///
/// The age of the epoch is by the library's own clock. A filter whose ticks read another clock
/// needs `guira_expiring_write_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_write(
    filter: *const Expiring,
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
/// `guira_bytes_free` frees it. A filter whose ticks read a clock of the caller needs
/// `guira_expiring_to_bytes_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_to_bytes(
    filter: *const Expiring,
    bytes: *mut Bytes,
) -> Status {
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

/// As `guira_expiring_write`, for a filter whose ticks read `clock`: pass the same clock here.
///
/// The snapshot has the age of the epoch by that clock, which is read at the end of the call, and
/// again if an epoch begins then. By any other clock the age is lost, and items live up to an epoch
/// too long after each restart. Null is the library's own clock, and the one of a shared filter.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_write_at(
    filter: *const Expiring,
    write: Write,
    context: *mut c_void,
    clock: Clock,
    clock_context: *mut c_void,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let clock = own_clock(filter, unsafe { stream::clock(clock, clock_context) })?;
        let filter = filter.to_scan()?;
        // SAFETY: the rules of the header.
        unsafe {
            write_with(write, context, |writer| match clock {
                Some(clock) => filter.write_to_at(writer, clock),
                None => filter.write_to(writer),
            })
        }
    })
}

/// As `guira_expiring_to_bytes`, for a filter whose ticks read `clock`: pass the same clock here,
/// as to `guira_expiring_write_at`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_to_bytes_at(
    filter: *const Expiring,
    bytes: *mut Bytes,
    clock: Clock,
    clock_context: *mut c_void,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let place = unsafe { Out::new(bytes, "bytes") }?;
        place.set(Bytes::NONE);
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let clock = own_clock(filter, unsafe { stream::clock(clock, clock_context) })?;
        let filter = filter.to_scan()?;
        place.set(Growing::of(
            filter.snapshot_len_hint(),
            |bytes| match clock {
                Some(clock) => filter.write_to_at(bytes, clock),
                None => filter.write_to(bytes),
            },
        )?);
        Ok(())
    })
}

/// Makes the filter of a snapshot of `len` bytes, which may come from anyone. A table of more
/// than `max_bytes` bytes is refused. `elapsed_ns` is the age of the snapshot: items expire as if
/// the filter had lived on. If its ticks will read a clock of the caller, tick it once right after
/// this call: the age of its epoch counts from there.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_from_bytes(
    data: *const c_void,
    len: usize,
    max_bytes: usize,
    elapsed_ns: u64,
    filter: *mut *mut Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new(filter, "filter") }?;
        filter.set(ptr::null_mut());
        // SAFETY: the rules of the header.
        let data = unsafe { slice(data.cast::<u8>(), len, "data") }?;
        let mut decoder = ExpiringSnapshotDecoder::new(max_bytes);
        feed_all(&mut decoder, data)?;
        let made = decoder.restore(Duration::from_nanos(elapsed_ns))?;
        filter.give(Expiring::of_heap(made));
        Ok(())
    })
}

/// Makes the filter of a snapshot that a callback reads to its end. As
/// `guira_expiring_from_bytes`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_read(
    read: Read,
    context: *mut c_void,
    max_bytes: usize,
    elapsed_ns: u64,
    filter: *mut *mut Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new(filter, "filter") }?;
        filter.set(ptr::null_mut());
        let mut decoder = ExpiringSnapshotDecoder::new(max_bytes);
        // SAFETY: the rules of the header.
        unsafe { read_with(read, context, &mut decoder) }?;
        let made = decoder.restore(Duration::from_nanos(elapsed_ns))?;
        filter.give(Expiring::of_heap(made));
        Ok(())
    })
}
