//! A filter in memory that processes share.

use crate::status::{Failure, Status};
use guira::{Builder, SeededState};
use guira_shm::{AttachError, NotAlone, OpenError};
use std::{
    ffi::c_int,
    fs::{File, OpenOptions},
    io,
    os::fd::AsRawFd,
    path::Path,
};

/// A filter in memory that processes share.
pub(crate) type Mapped = guira_shm::SharedFilter;

/// A filter in memory that this process only reads.
pub(crate) type Reader = guira_shm::SharedReader;

fn of_path(path: &Path, error: OpenError) -> Failure {
    Failure::from(error).about(path.display())
}

/// # Safety
///
/// As [`guira_shm::SharedFilter::create_for`].
#[allow(unsafe_code)]
pub(crate) unsafe fn create(
    path: &Path,
    builder: Builder<SeededState>,
    max_processes: usize,
) -> Result<Mapped, Failure> {
    // SAFETY: the caller promises it.
    let created = unsafe { Mapped::create_for(path, builder, max_processes) };
    created.map_err(|error| of_path(path, error))
}

/// # Safety
///
/// As [`guira_shm::SharedFilter::open`].
#[allow(unsafe_code)]
pub(crate) unsafe fn open(path: &Path) -> Result<Mapped, Failure> {
    // SAFETY: the caller promises it.
    let opened = unsafe { Mapped::open(path) };
    opened.map_err(|error| of_path(path, error))
}

/// # Safety
///
/// As [`guira_shm::SharedReader::open`].
#[allow(unsafe_code)]
pub(crate) unsafe fn open_reader(path: &Path) -> Result<Reader, Failure> {
    // SAFETY: the caller promises it.
    let opened = unsafe { Reader::open(path) };
    opened.map_err(|error| of_path(path, error))
}

pub(crate) fn create_memfd(
    builder: Builder<SeededState>,
    max_processes: usize,
) -> Result<Mapped, Failure> {
    Ok(Mapped::create_memfd_for(builder, max_processes)?)
}

pub(crate) fn of_memfd(descriptor: c_int) -> Result<Mapped, Failure> {
    Ok(Mapped::from_memfd(open_again(descriptor, true)?.into())?)
}

pub(crate) fn reader_of_memfd(descriptor: c_int) -> Result<Reader, Failure> {
    Ok(Reader::from_memfd(open_again(descriptor, false)?.into())?)
}

/// The memory behind a descriptor, by a new descriptor. It is opened and not duplicated, because the number
/// of a descriptor that is closed must be an error.
fn open_again(descriptor: c_int, write: bool) -> Result<File, Failure> {
    let path = format!("/proc/self/fd/{descriptor}");
    let opened = OpenOptions::new().read(true).write(write).open(path);
    opened.map_err(|error| of_file(&error, format_args!("descriptor {descriptor}")))
}

/// The descriptor of a filter that has no path.
pub(crate) fn memfd(filter: &Mapped) -> Option<c_int> {
    filter.memfd().map(|descriptor| descriptor.as_raw_fd())
}

/// An error of a file.
fn of_file(error: &io::Error, text: impl std::fmt::Display) -> Failure {
    use io::ErrorKind;
    let status = match error.kind() {
        ErrorKind::NotFound => Status::Missing,
        ErrorKind::StorageFull | ErrorKind::OutOfMemory | ErrorKind::QuotaExceeded => {
            Status::Memory
        }
        _ => Status::File,
    };
    Failure::new(status, format_args!("{text}: {error}"))
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let status = match error {
            OpenError::Io(ref source) => return of_file(source, &error),
            OpenError::Build(error) => return error.into(),
            OpenError::Filter(error) => return error.into(),
            OpenError::Attach(error) => return error.into(),
            OpenError::Exists => Status::Exists,
            OpenError::Counters | OpenError::FileSystem { .. } => Status::Unsupported,
            OpenError::TooManyProcesses { .. } => Status::Invalid,
            _ => Status::Snapshot,
        };
        Self::new(status, format_args!("{error}"))
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Io(ref source) => of_file(source, &error),
            _ => Self::new(Status::Occupied, format_args!("{error}")),
        }
    }
}

impl From<NotAlone> for Failure {
    fn from(error: NotAlone) -> Self {
        match error {
            NotAlone::Io(ref source) => of_file(source, &error),
            _ => Self::new(Status::Occupied, format_args!("{error}")),
        }
    }
}
