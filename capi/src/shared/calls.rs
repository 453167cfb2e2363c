//! The calls that handles of both kinds have: their exported functions have the names and the documentation.

use super::{Kind, Mapped, Reads};
use crate::{
    batch::{Batch, Items, Undecided},
    pointer::{self, Out, answers, hash_of_bytes},
    status::{Failure, Status},
};
use std::{
    ffi::{c_char, c_int, c_void},
    path::Path,
    ptr,
};

/// The default number of processes.
const PROCESSES: u32 = 63;

/// Attempts of `open_or_create`, in case others create and delete the file all the time.
const ATTEMPTS: usize = 100;

/// A handle of a filter that can be shared.
pub(crate) trait Handle: Sized + 'static {
    type Mapped: Mapped;

    /// The structure that says how to make a filter.
    type Options;

    fn of(kind: Kind<Self::Mapped>) -> Self;

    fn kind(&self) -> &Kind<Self::Mapped>;

    fn kind_mut(&mut self) -> &mut Kind<Self::Mapped>;

    /// # Safety
    ///
    /// As [`pointer::options`].
    unsafe fn builder(
        options: *const Self::Options,
    ) -> Result<<Self::Mapped as Mapped>::Builder, Failure>;

    fn of_memory(filter: Self::Mapped) -> Self {
        Self::of(Kind::Mapped(Box::new(filter)))
    }
}

/// # Safety
///
/// As [`pointer::shared`].
#[inline(always)]
pub(crate) unsafe fn shared<'a, H: Handle>(
    filter: *const H,
) -> Result<&'a Kind<H::Mapped>, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer::shared(filter, "filter") }.map(H::kind)
}

/// The place of a new handle of `name`, set to null.
///
/// # Safety
///
/// As [`Out::new`].
unsafe fn new_handle<H>(handle: *mut *mut H, name: &'static str) -> Result<Out<*mut H>, Failure> {
    // SAFETY: the caller promises it.
    let handle = unsafe { Out::new(handle, name) }?;
    handle.set(ptr::null_mut());
    Ok(handle)
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

fn most_processes(max_processes: u32) -> usize {
    match max_processes {
        0 => PROCESSES as usize,
        _ => max_processes as usize,
    }
}

/// # Safety
///
/// The options keep the rules of the header, and so does the file.
unsafe fn create<H: Handle>(
    path: &Path,
    options: *const H::Options,
    max_processes: u32,
) -> Result<H, Failure> {
    // SAFETY: the caller promises it.
    let builder = unsafe { H::builder(options) }?;
    // SAFETY: the caller promises it.
    let made = unsafe { H::Mapped::create(path, builder, most_processes(max_processes)) };
    made.map(H::of_memory)
}

/// # Safety
///
/// The pointers keep the rules of the header, and so does the file.
pub(crate) unsafe fn create_shared<H: Handle>(
    path: *const c_char,
    options: *const H::Options,
    max_processes: u32,
    filter: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { new_handle(filter, "filter") }?;
    // SAFETY: the caller promises it.
    let path = unsafe { self::path(path) }?;
    // SAFETY: the caller promises it.
    filter.give(unsafe { create(path, options, max_processes) }?);
    Ok(())
}

/// # Safety
///
/// As [`create_shared`].
pub(crate) unsafe fn open_shared<H: Handle>(
    path: *const c_char,
    filter: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { new_handle(filter, "filter") }?;
    // SAFETY: the caller promises it.
    let path = unsafe { self::path(path) }?;
    // SAFETY: the caller promises it.
    let opened = unsafe { H::Mapped::open(path) };
    filter.give(H::of_memory(opened?));
    Ok(())
}

/// # Safety
///
/// As [`create_shared`].
pub(crate) unsafe fn open_or_create_shared<H: Handle>(
    path: *const c_char,
    options: *const H::Options,
    max_processes: u32,
    filter: *mut *mut H,
    created: *mut bool,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { new_handle(filter, "filter") }?;
    // SAFETY: the caller promises it.
    let created = unsafe { Out::optional(created, "created") }?;
    created.set(false);
    // SAFETY: the caller promises it.
    let path = unsafe { self::path(path) }?;
    let mut attempts = 0..ATTEMPTS;
    loop {
        let is_last = attempts.next().is_none();
        // SAFETY: the caller promises it.
        match unsafe { H::Mapped::open(path) } {
            Err(Failure(Status::Missing)) => {}
            opened => {
                filter.give(H::of_memory(opened?));
                return Ok(());
            }
        }
        // SAFETY: the caller promises it.
        match unsafe { create(path, options, max_processes) } {
            Err(Failure(Status::Exists | Status::Missing)) if !is_last => {}
            made => {
                filter.give(made?);
                created.set(true);
                return Ok(());
            }
        }
    }
}

/// # Safety
///
/// As [`create_shared`].
pub(crate) unsafe fn create_memfd<H: Handle>(
    options: *const H::Options,
    max_processes: u32,
    filter: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { new_handle(filter, "filter") }?;
    // SAFETY: the caller promises it.
    let builder = unsafe { H::builder(options) }?;
    let made = H::Mapped::create_memfd(builder, most_processes(max_processes))?;
    filter.give(H::of_memory(made));
    Ok(())
}

/// # Safety
///
/// As [`create_shared`] and [`shared`].
pub(crate) unsafe fn copy_to_shared<H: Handle>(
    filter: *const H,
    path: *const c_char,
    max_processes: u32,
    copy: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let copy = unsafe { new_handle(copy, "copy") }?;
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?.to_scan()?;
    // SAFETY: the caller promises it.
    let path = unsafe { self::path(path) }?;
    // SAFETY: the caller promises it.
    let made = unsafe { H::Mapped::create_copy(path, filter, most_processes(max_processes)) };
    copy.give(H::of_memory(made?));
    Ok(())
}

/// # Safety
///
/// As [`shared`] and [`Out::new`].
pub(crate) unsafe fn copy_to_memfd<H: Handle>(
    filter: *const H,
    max_processes: u32,
    copy: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let copy = unsafe { new_handle(copy, "copy") }?;
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?.to_scan()?;
    let made = H::Mapped::create_memfd_copy(filter, most_processes(max_processes))?;
    copy.give(H::of_memory(made));
    Ok(())
}

/// # Safety
///
/// As [`Out::new`].
pub(crate) unsafe fn from_memfd<H: Handle>(
    descriptor: c_int,
    filter: *mut *mut H,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { new_handle(filter, "filter") }?;
    filter.give(H::of_memory(H::Mapped::of_memfd(descriptor)?));
    Ok(())
}

/// -1 for a filter that has none.
///
/// # Safety
///
/// As [`shared`].
pub(crate) unsafe fn memfd<H: Handle>(filter: *const H) -> Result<c_int, Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    let descriptor = filter.mapped().ok().and_then(Mapped::memfd);
    Ok(descriptor.unwrap_or(-1))
}

/// # Safety
///
/// As [`shared`] and [`Out::new`].
pub(crate) unsafe fn was_closed_cleanly<H: Handle>(
    filter: *const H,
    clean: *mut bool,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let clean = unsafe { Out::new(clean, "clean") }?;
    clean.set(false);
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    clean.set(filter.mapped()?.was_closed_cleanly());
    Ok(())
}

/// # Safety
///
/// As [`shared`].
pub(crate) unsafe fn is_shared<H: Handle>(filter: *const H) -> Result<bool, Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    Ok(matches!(filter, Kind::Mapped(_)))
}

/// # Safety
///
/// As [`shared`].
pub(crate) unsafe fn attach<H: Handle>(filter: *const H) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    filter.mapped()?.attach()
}

/// # Safety
///
/// As [`shared`] and [`Out::new`].
pub(crate) unsafe fn repair<H: Handle>(
    filter: *const H,
    processes: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let processes = unsafe { Out::optional(processes, "processes") }?;
    processes.set(0);
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    processes.set(filter.mapped()?.repair());
    Ok(())
}

/// # Safety
///
/// As [`pointer::exclusive`] and [`Out::new`].
pub(crate) unsafe fn recount<H: Handle>(filter: *mut H, len: *mut usize) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let len = unsafe { Out::optional(len, "len") }?;
    len.set(0);
    // SAFETY: the caller promises it.
    let filter = unsafe { pointer::exclusive(filter, "filter") }?;
    len.set(filter.kind_mut().mapped_mut()?.recount()?);
    Ok(())
}

/// # Safety
///
/// As [`shared`] and [`Out::new`].
pub(crate) unsafe fn participants<H: Handle>(
    filter: *const H,
    in_use: *mut usize,
    max: *mut usize,
    deaths: *mut u64,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let in_use = unsafe { Out::optional(in_use, "in_use") }?;
    // SAFETY: the caller promises it.
    let max = unsafe { Out::optional(max, "max") }?;
    // SAFETY: the caller promises it.
    let deaths = unsafe { Out::optional(deaths, "deaths") }?;
    // SAFETY: the caller promises it.
    let filter = unsafe { shared(filter) }?;
    let participants = filter.mapped()?.participants();
    in_use.set(participants.in_use);
    max.set(participants.max);
    deaths.set(participants.deaths);
    Ok(())
}

/// A handle of a reader.
pub(crate) trait ReaderHandle: Sized + 'static {
    type Reads: Reads;

    fn of(reader: Self::Reads) -> Self;

    fn reads(&self) -> &Self::Reads;
}

/// # Safety
///
/// As [`pointer::shared`].
#[inline(always)]
pub(crate) unsafe fn reader<'a, R: ReaderHandle>(
    reader: *const R,
) -> Result<&'a R::Reads, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer::shared(reader, "reader") }.map(R::reads)
}

/// # Safety
///
/// As [`create_shared`].
pub(crate) unsafe fn open_reader<R: ReaderHandle>(
    path: *const c_char,
    reader: *mut *mut R,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let reader = unsafe { new_handle(reader, "reader") }?;
    // SAFETY: the caller promises it.
    let path = unsafe { self::path(path) }?;
    // SAFETY: the caller promises it.
    let opened = unsafe { R::Reads::open(path) };
    reader.give(R::of(opened?));
    Ok(())
}

/// # Safety
///
/// As [`Out::new`].
pub(crate) unsafe fn reader_of_memfd<R: ReaderHandle>(
    descriptor: c_int,
    reader: *mut *mut R,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let reader = unsafe { new_handle(reader, "reader") }?;
    reader.give(R::of(R::Reads::of_memfd(descriptor)?));
    Ok(())
}

/// # Safety
///
/// As [`reader`] and [`hash_of_bytes`].
#[inline(always)]
pub(crate) unsafe fn reader_hash<R: ReaderHandle>(
    reader: *const R,
    item: *const c_void,
    len: usize,
) -> Result<u64, Failure> {
    // SAFETY: the caller promises it.
    let reader = unsafe { self::reader(reader) }?;
    // SAFETY: the caller promises it.
    unsafe { hash_of_bytes(reader.hasher(), item, len) }
}

/// # Safety
///
/// As [`reader`] and [`hash_of_bytes`].
#[inline(always)]
pub(crate) unsafe fn reader_contains<R: ReaderHandle>(
    reader: *const R,
    item: *const c_void,
    len: usize,
) -> Result<bool, Failure> {
    // SAFETY: the caller promises it.
    let hash = unsafe { reader_hash(reader, item, len) }?;
    // SAFETY: the caller promises it.
    Ok(unsafe { self::reader(reader) }?.contains_hash(hash))
}

/// # Safety
///
/// As [`reader`].
#[inline(always)]
pub(crate) unsafe fn reader_contains_hash<R: ReaderHandle>(
    reader: *const R,
    hash: u64,
) -> Result<bool, Failure> {
    // SAFETY: the caller promises it.
    Ok(unsafe { self::reader(reader) }?.contains_hash(hash))
}

/// # Safety
///
/// As [`reader`] and [`hash_of_bytes`].
pub(crate) unsafe fn reader_count<R: ReaderHandle>(
    reader: *const R,
    item: *const c_void,
    len: usize,
) -> Result<usize, Failure> {
    // SAFETY: the caller promises it.
    let hash = unsafe { reader_hash(reader, item, len) }?;
    // SAFETY: the caller promises it.
    Ok(unsafe { self::reader(reader) }?.count_hash(hash))
}

/// # Safety
///
/// As [`reader`], [`Batch::new`] and [`answers`].
pub(crate) unsafe fn reader_contains_many<R: ReaderHandle>(
    reader: *const R,
    items: *const Items,
    results: *mut bool,
) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let reader = unsafe { self::reader(reader) }?;
    // SAFETY: the caller promises it.
    let items = unsafe { Batch::new(items) }?;
    // SAFETY: the caller promises it.
    let results = unsafe { answers(results, items.len()) }?;
    let done = items.with_results(reader.hasher(), results, |hashes, results| {
        reader.contains_hash_batch(hashes, results);
        Ok::<_, Undecided>(())
    });
    Ok(done?)
}

/// # Safety
///
/// As [`reader`].
pub(crate) unsafe fn reader_len<R: ReaderHandle>(reader: *const R) -> Result<usize, Failure> {
    // SAFETY: the caller promises it.
    Ok(unsafe { self::reader(reader) }?.len())
}

/// # Safety
///
/// As [`reader`].
pub(crate) unsafe fn reader_capacity<R: ReaderHandle>(reader: *const R) -> Result<usize, Failure> {
    // SAFETY: the caller promises it.
    Ok(unsafe { self::reader(reader) }?.capacity())
}
