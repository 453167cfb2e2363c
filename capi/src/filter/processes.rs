//! Filters that processes share: made, opened and repaired.

use super::{Filter, handle, status, value};
use crate::{
    guard,
    lifetime::{Either, each, with},
    options::Options,
    place::{Access, Mapped, Place, Source},
    pointer::{self, Out},
    status::{Failure, Status},
};
use std::{
    ffi::{c_char, c_int},
    path::Path,
};

/// The default number of processes.
const PROCESSES: usize = 63;

/// Attempts of `open_or_create`, in case others create and delete the file all the time.
const ATTEMPTS: usize = 100;

fn most_processes(max_processes: u32) -> usize {
    match max_processes {
        0 => PROCESSES,
        _ => max_processes as usize,
    }
}

/// # Safety
///
/// As [`pointer::text`].
unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path, Failure> {
    // SAFETY: the caller promises it.
    let path = unsafe { pointer::text(path, "path") }?;
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())))
    }
    #[cfg(not(unix))]
    {
        let text = path.to_str();
        let text = text.map_err(|error| Failure::invalid(format_args!("path: {error}")))?;
        Ok(Path::new(text))
    }
}

/// # Safety
///
/// The options keep the rules of the header, and so does the file.
unsafe fn create(
    path: Option<&Path>,
    options: *const Options,
    max_processes: u32,
) -> Result<Filter, Failure> {
    let max = most_processes(max_processes);
    // SAFETY: the caller promises it.
    let builder = unsafe { Options::builder(options) }?;
    let made = each!(builder, it => {
        // SAFETY: the caller promises it.
        unsafe { Place::create(path, it, max) }?
    });
    Ok(Filter::new(made))
}

/// # Safety
///
/// The filter keeps the rules of the header, and so does the file.
unsafe fn copy(
    filter: *const Filter,
    path: Option<&Path>,
    max_processes: u32,
) -> Result<Filter, Failure> {
    let max = most_processes(max_processes);
    // SAFETY: the caller promises it.
    let filter = unsafe { handle(filter) }?;
    let made = each!(&filter.kind, it => {
        // SAFETY: the caller promises it.
        unsafe { it.copy(path, max) }?
    });
    Ok(Filter::new(made))
}

/// # Safety
///
/// The file keeps the rules of the header.
unsafe fn open(source: Source<'_>, access: Access) -> Result<Filter, Failure> {
    // SAFETY: the caller promises it.
    if let Some(filter) = unsafe { Place::open(source, access) }? {
        return Ok(Filter::new(Either::Forever(filter)));
    }
    // SAFETY: the caller promises it.
    let filter = unsafe { Place::open(source, access) }?;
    Ok(Filter::new(Either::Expiring(filter.ok_or_else(replaced)?)))
}

/// The file was first that of an expiring filter, and then that of one that does not expire.
#[cold]
fn replaced() -> Failure {
    Failure::new(Status::Missing, format_args!("the file was replaced"))
}

/// Creates the file `path` with an empty filter that processes share, and sets `*filter` to a handle, or
/// to null on failure. `EXISTS` if there is a file of this name.
///
/// At most `max_processes` processes can share it, from 1 to 255; 0 means 63. Only the owner can read
/// and write the file. All of its memory is allocated at once, or that of its first size if it grows. Prefer
/// a path in /dev/shm. On other systems than 64-bit Linux the status is UNSUPPORTED, and so it is for a filter
/// with counters, and for one with a TTL that grows.
///
/// With a TTL, nothing expires unless a process calls `guira_filter_tick`. One process is enough, and several
/// may call it. All processes go by the time since the machine started, so the call takes no other clock.
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
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let path = unsafe { self::path(path) }?;
        // SAFETY: the rules of the header.
        filter.give(unsafe { create(Some(path), options, max_processes) }?);
        Ok(())
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
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let path = unsafe { self::path(path) }?;
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        filter.give(unsafe { open(Source::Path(path), Access::Write) }?);
        Ok(())
    })
}

/// Opens the file `path`, or creates it as `guira_filter_create_shared` does. `created`, if not null, is
/// whether this call created it. Of processes that race, one creates it. A filter that exists keeps its
/// own options, and its TTL or none.
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
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let created = unsafe { Out::optional(created, "created") }?;
        created.set(false);
        // SAFETY: the rules of the header.
        let path = unsafe { self::path(path) }?;
        let mut attempts = 0..ATTEMPTS;
        loop {
            let is_last = attempts.next().is_none();
            // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
            match unsafe { open(Source::Path(path), Access::Write) } {
                Err(Failure(Status::Missing)) => {}
                opened => {
                    filter.give(opened?);
                    return Ok(());
                }
            }
            // SAFETY: the rules of the header.
            match unsafe { create(Some(path), options, max_processes) } {
                Err(Failure(Status::Exists | Status::Missing)) if !is_last => {}
                made => {
                    filter.give(made?);
                    created.set(true);
                    return Ok(());
                }
            }
        }
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
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        filter.give(unsafe { create(None, options, max_processes) }?);
        Ok(())
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
        // SAFETY: the rules of the header.
        let copy = unsafe { Out::new_handle(copy, "copy") }?;
        // SAFETY: the rules of the header.
        let path = unsafe { self::path(path) }?;
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        copy.give(unsafe { self::copy(filter, Some(path), max_processes) }?);
        Ok(())
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
        let copy = unsafe { Out::new_handle(copy, "copy") }?;
        // SAFETY: the rules of the header.
        copy.give(unsafe { self::copy(filter, None, max_processes) }?);
        Ok(())
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
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: a descriptor has no further rules.
        filter.give(unsafe { open(Source::Memfd(descriptor), Access::Write) }?);
        Ok(())
    })
}

/// Opens the filter in the file `path` for lookups, and sets `*filter` to a handle, or to null on failure.
/// `MISSING` if there is no file. Any number of processes can do this. The file has to be used as
/// `guira_filter_create_shared` says.
///
/// The process needs no permission to write the file, and takes no place. Calls that change, scan or copy the
/// filter are UNSUPPORTED, and so are those about its processes; removes of one item return false. Lookups go
/// by the epoch that the other processes have begun last: if none of them ticks, nothing expires, as
/// `guira_filter_epoch_age_ns` shows.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_open_reader(
    path: *const c_char,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let path = unsafe { self::path(path) }?;
        // SAFETY: the rules of the header, and of `guira_filter_create_shared`.
        filter.give(unsafe { open(Source::Path(path), Access::Read) }?);
        Ok(())
    })
}

/// Opens the filter behind a descriptor of `guira_filter_create_memfd` for lookups, as
/// `guira_filter_open_reader` does. The descriptor need not be writable, and remains the caller's.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_reader_from_memfd(
    descriptor: c_int,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: a descriptor has no further rules.
        filter.give(unsafe { open(Source::Memfd(descriptor), Access::Read) }?);
        Ok(())
    })
}

/// The descriptor of a filter that `guira_filter_create_memfd` or `guira_filter_from_memfd` has made, and
/// -1 for others. It belongs to the filter: do not close it. Send it to another process over a Unix
/// socket, for example.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_memfd(filter: *const Filter) -> c_int {
    // SAFETY: the rules of the header.
    let memfd = unsafe {
        value(filter, None, |filter| {
            Ok(with!(&filter.kind, it => it.shared()?.memfd()))
        })
    };
    memfd.unwrap_or(-1)
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
        let clean = unsafe { Out::new(clean, "clean") }?;
        clean.set(false);
        // SAFETY: the rules of the header.
        let filter = unsafe { handle(filter) }?;
        clean.set(with!(&filter.kind, it => it.shared()?.was_closed_cleanly()));
        Ok(())
    })
}

/// Whether processes share the filter. True for a handle that only looks items up.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_is_shared(filter: *const Filter) -> bool {
    // SAFETY: the rules of the header.
    unsafe {
        value(filter, false, |filter| {
            Ok(with!(&filter.kind, it => it.is_shared()))
        })
    }
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
    // SAFETY: the rules of the header.
    unsafe {
        status(
            filter,
            |filter| with!(&filter.kind, it => it.shared()?.attach()),
        )
    }
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
        let processes = unsafe { Out::optional(processes, "processes") }?;
        processes.set(0);
        // SAFETY: the rules of the header.
        let filter = unsafe { handle(filter) }?;
        processes.set(with!(&filter.kind, it => it.shared()?.repair()));
        Ok(())
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
        // SAFETY: the rules of the header.
        let len = unsafe { Out::optional(len, "len") }?;
        len.set(0);
        // SAFETY: the rules of the header.
        let filter = unsafe { pointer::exclusive(filter, "filter") }?;
        len.set(with!(&mut filter.kind, it => it.shared_mut()?.recount()?));
        Ok(())
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
        let in_use = unsafe { Out::optional(in_use, "in_use") }?;
        // SAFETY: the rules of the header.
        let max = unsafe { Out::optional(max, "max") }?;
        // SAFETY: the rules of the header.
        let deaths = unsafe { Out::optional(deaths, "deaths") }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { handle(filter) }?;
        let participants = with!(&filter.kind, it => it.shared()?.participants());
        in_use.set(participants.in_use);
        max.set(participants.max);
        deaths.set(participants.deaths);
        Ok(())
    })
}
