//! Plain filters that processes share: made, opened and repaired.

use super::Filter;
use crate::{guard, options::Options, shared as calls, status::Status};
use std::ffi::{c_char, c_int};

/// Creates the file `path` with an empty filter that processes share, and sets `*filter` to a handle, or
/// to null on failure. `EXISTS` if there is a file of this name.
///
/// At most `max_processes` processes can share it, from 1 to 255; 0 means 63. Only the owner can read
/// and write the file. All of its memory is allocated at once, or that of its first size if it grows. Prefer
/// a path in /dev/shm. On other systems than 64-bit Linux the status is UNSUPPORTED.
///
/// While a process uses the file, nothing else may write to it or truncate it: after a truncation, the
/// next access ends the process with SIGBUS.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_create_shared(
    path: *const c_char,
    options: *const Options,
    max_processes: u32,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of this function.
        unsafe { calls::create_shared(path, options, max_processes, filter) }
    })
}

/// Opens the filter in the file `path`, and sets `*filter` to a handle, or to null on failure. `MISSING`
/// if there is no file, and `OCCUPIED` if all places are taken. The file determines the options and the
/// seed. Takes microseconds.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_open_shared(
    path: *const c_char,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        unsafe { calls::open_shared(path, filter) }
    })
}

/// Opens the file `path`, or creates it as `guira_filter_create_shared` does. `created`, if not null, is
/// whether this call created it. Of processes that race, one creates it. A filter that exists keeps its
/// own options.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_open_or_create_shared(
    path: *const c_char,
    options: *const Options,
    max_processes: u32,
    filter: *mut *mut Filter,
    created: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        unsafe { calls::open_or_create_shared(path, options, max_processes, filter, created) }
    })
}

/// Makes an empty filter in memory without a name, and sets `*filter` to a handle, or to null on failure.
/// Child processes share it, and other processes that get its descriptor. `max_processes` and the options
/// mean the same as for `guira_filter_create_shared`. The memory is freed with the last process that uses it, and
/// cannot be truncated.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_create_memfd(
    options: *const Options,
    max_processes: u32,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::create_memfd(options, max_processes, filter) }
    })
}

/// Creates the file `path` with a copy of `filter`, which need not be shared, and sets `*copy` to a handle of
/// it, or to null on failure. So a snapshot becomes a shared filter. Threads may use `filter` during the
/// call. The file gets its name when the copy is complete. The rest is as for `guira_filter_create_shared`.
/// `FULL` if `filter` has more items than its capacity, and they do not fit in another order.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_copy_to_shared(
    filter: *const Filter,
    path: *const c_char,
    max_processes: u32,
    copy: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        unsafe { calls::copy_to_shared(filter, path, max_processes, copy) }
    })
}

/// Makes a copy of `filter` in memory without a name: `guira_filter_copy_to_shared`, with the memory of
/// `guira_filter_create_memfd`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_copy_to_memfd(
    filter: *const Filter,
    max_processes: u32,
    copy: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::copy_to_memfd(filter, max_processes, copy) }
    })
}

/// Opens the filter behind a descriptor of `guira_filter_create_memfd`, and sets `*filter` to a handle, or
/// to null on failure. The descriptor remains the caller's, and can be closed. Contents that are no filter
/// are `SNAPSHOT`, as is memory that can be truncated.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_from_memfd(
    descriptor: c_int,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::from_memfd(descriptor, filter) }
    })
}

/// The descriptor of a filter that `guira_filter_create_memfd` or `guira_filter_from_memfd` has made, and
/// -1 for others. It belongs to the filter: do not close it. Send it to another process over a Unix
/// socket, for example.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_memfd(filter: *const Filter) -> c_int {
    guard::value(-1, -1, || {
        // SAFETY: the rules of the header.
        unsafe { calls::memfd(filter) }
    })
}

/// Sets `*clean` to false if a process was killed while it used the shared filter, before this handle was
/// made and after the last `guira_filter_recount`. No item is lost then, but `guira_filter_len` may be off.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_was_closed_cleanly(
    filter: *const Filter,
    clean: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::was_closed_cleanly(filter, clean) }
    })
}

/// Whether processes share the filter.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_is_shared(filter: *const Filter) -> bool {
    guard::value(false, false, || {
        // SAFETY: the rules of the header.
        unsafe { calls::is_shared(filter) }
    })
}

/// Takes a place in a shared filter for this process, unless it has one. `OCCUPIED` if all places are
/// taken.
///
/// Opening a file takes a place. A child process that uses its parent's handle takes its own by this
/// call, or in its first call that needs one. Without a place a process can look up, remove, and add to
/// buckets that have room.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_attach(filter: *mut Filter) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::attach(filter) }
    })
}

/// Completes or undoes what killed processes have begun in a shared filter. `processes`, if not null, is
/// how many there were.
///
/// Adds do this when they find no room. Call it when a process has died, as its parent knows.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_repair(filter: *mut Filter, processes: *mut usize) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::repair(filter, processes) }
    })
}

/// Makes `guira_filter_len` of a shared filter exact again after processes were killed. `len`, if not
/// null, is the number of copies. `OCCUPIED` if another process has a place in the filter.
///
/// No other call may use this handle at the same time, as for `guira_filter_free`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_recount(filter: *mut Filter, len: *mut usize) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header, and of this function.
        unsafe { calls::recount(filter, len) }
    })
}

/// How many processes have a place in a shared filter, how many can have one, and how many have died
/// with one and were repaired. Each result may be null.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_participants(
    filter: *const Filter,
    in_use: *mut usize,
    max: *mut usize,
    deaths: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        unsafe { calls::participants(filter, in_use, max, deaths) }
    })
}
