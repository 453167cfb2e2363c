//! Shared filters in which this process only looks items up.

mod expiring;

use crate::{
    batch::Items,
    guard, pointer,
    shared::{self as calls, ReaderHandle, mapped},
    status::Status,
};
pub use expiring::*;
use std::ffi::{c_char, c_int, c_void};

/// A shared filter in which this process only looks items up. It needs no permission to write the file,
/// and takes no place.
pub struct Reader(mapped::Reader);

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl ReaderHandle for Reader {
    type Reads = mapped::Reader;

    fn of(reader: mapped::Reader) -> Self {
        Self(reader)
    }

    #[inline(always)]
    fn reads(&self) -> &mapped::Reader {
        &self.0
    }
}

/// Opens the filter in the file `path` for lookups, and sets `*reader` to a handle, or to null on failure.
/// `MISSING` if there is no file. Any number of processes can do this. The file has to be used as
/// `guira_filter_create_shared` says.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_open_shared(
    path: *const c_char,
    reader: *mut *mut Reader,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        unsafe { calls::open_reader(path, reader) }
    })
}

/// Opens the filter behind a descriptor of `guira_filter_create_memfd` for lookups, and sets `*reader` to
/// a handle, or to null on failure. The descriptor need not be writable, and remains the caller's.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_from_memfd(
    descriptor: c_int,
    reader: *mut *mut Reader,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_of_memfd(descriptor, reader) }
    })
}

/// Ends the use of a reader. No other call may use it at the same time or later. Null is nothing.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_free(reader: *mut Reader) {
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
pub unsafe extern "C" fn guira_reader_contains(
    reader: *const Reader,
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
pub unsafe extern "C" fn guira_reader_contains_hash(reader: *const Reader, hash: u64) -> bool {
    guard::value(false, true, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_contains_hash(reader, hash) }
    })
}

/// Whether each item is present. `results` has `count` elements.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_contains_many(
    reader: *const Reader,
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
pub unsafe extern "C" fn guira_reader_count(
    reader: *const Reader,
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
pub unsafe extern "C" fn guira_reader_hash_bytes(
    reader: *const Reader,
    item: *const c_void,
    len: usize,
) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_hash(reader, item, len) }
    })
}

/// The copies in the filter. Exact while no thread writes, unless processes were killed.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_len(reader: *const Reader) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_len(reader) }
    })
}

/// The items for which the filter has room at its present size.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_reader_capacity(reader: *const Reader) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        unsafe { calls::reader_capacity(reader) }
    })
}
