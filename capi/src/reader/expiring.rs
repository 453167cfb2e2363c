//! The same for expiring filters, with their time.

use crate::{
    batch::Items,
    expiring::nanos,
    guard, pointer,
    shared::{self as calls, ReaderHandle, mapped, reader as shared},
    status::Status,
};
use std::ffi::{c_char, c_int, c_void};

/// A shared expiring filter in which this process only looks items up. It needs no permission to write the
/// file, and takes no place.
///
/// Lookups go by the epoch that the other processes have begun last. A reader begins none: if no process
/// calls `guira_expiring_tick`, nothing expires, as `guira_expiring_reader_epoch_age_ns` shows.
pub struct ExpiringReader(mapped::ExpiringReader);

impl std::fmt::Debug for ExpiringReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExpiringReader").finish_non_exhaustive()
    }
}

impl ReaderHandle for ExpiringReader {
    type Reads = mapped::ExpiringReader;

    fn of(reader: mapped::ExpiringReader) -> Self {
        Self(reader)
    }

    #[inline(always)]
    fn reads(&self) -> &mapped::ExpiringReader {
        &self.0
    }
}

/// Opens the filter in the file `path` for lookups, and sets `*reader` to a handle, or to null on failure.
/// `MISSING` if there is no file. Any number of processes can do this. The file has to be used as
/// `guira_expiring_create_shared` says.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_open_shared(
    path: *const c_char,
    reader: *mut *mut ExpiringReader,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of `guira_expiring_create_shared`.
        unsafe { calls::open_reader(path, reader) }
    })
}

/// Opens the filter behind a descriptor of `guira_expiring_create_memfd` for lookups, and sets `*reader` to
/// a handle, or to null on failure. The descriptor need not be writable, and remains the caller's.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_from_memfd(
    descriptor: c_int,
    reader: *mut *mut ExpiringReader,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_of_memfd(descriptor, reader) }
    })
}

/// Ends the use of a reader. No other call may use it at the same time or later. Null is nothing.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_free(reader: *mut ExpiringReader) {
    guard::value((), (), || {
        // SAFETY: the rules of the header.
        unsafe { pointer::free(reader) };
        Ok(())
    });
}

/// Whether an item of `len` bytes is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_contains(
    reader: *const ExpiringReader,
    item: *const c_void,
    len: usize,
) -> bool {
    guard::value(false, true, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_contains(reader, item, len) }
    })
}

/// Whether the item with this hash is present. False is certain; true is wrong at the
/// false-positive rate.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_contains_hash(
    reader: *const ExpiringReader,
    hash: u64,
) -> bool {
    guard::value(false, true, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_contains_hash(reader, hash) }
    })
}

/// Whether each item is present. `results` has `count` elements.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_contains_many(
    reader: *const ExpiringReader,
    items: *const Items,
    results: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_contains_many(reader, items, results) }
    })
}

/// The copies of an item of `len` bytes, and of items that look alike.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_count(
    reader: *const ExpiringReader,
    item: *const c_void,
    len: usize,
) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_count(reader, item, len) }
    })
}

/// The hash of an item of `len` bytes in this filter, which is that of Rust's `[u8]`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_hash_bytes(
    reader: *const ExpiringReader,
    item: *const c_void,
    len: usize,
) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_hash(reader, item, len) }
    })
}

/// The copies in the filter, including expired ones that are not swept yet. Exact while no thread writes,
/// unless processes were killed.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_len(reader: *const ExpiringReader) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_len(reader) }
    })
}

/// The distinct items of a TTL for which the filter has room.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_capacity(reader: *const ExpiringReader) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_capacity(reader) }
    })
}

/// The number of epochs that processes have begun.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_epoch(reader: *const ExpiringReader) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let reader = unsafe { shared(reader) }?;
        Ok(reader.epoch())
    })
}

/// The nanoseconds of an epoch.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_epoch_length_ns(
    reader: *const ExpiringReader,
) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let reader = unsafe { shared(reader) }?;
        Ok(nanos(reader.epoch_length()))
    })
}

/// The nanoseconds for which the current epoch has lasted: much more than
/// `guira_expiring_reader_epoch_length_ns` if no process ticks. `UINT64_MAX` if it is unknown when the epoch
/// began.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_reader_epoch_age_ns(reader: *const ExpiringReader) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let reader = unsafe { shared(reader) }?;
        Ok(reader.epoch_age().map_or(u64::MAX, nanos))
    })
}
