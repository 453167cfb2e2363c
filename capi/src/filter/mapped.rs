//! A filter in a file that processes share.

use crate::status::{Failure, Status};
use guira::{Builder, SeededState};
use guira_shm::{AttachError, NotAlone, OpenError};
use std::{io, path::Path};

/// A filter in a file.
pub(crate) type Mapped = guira_shm::SharedFilter;

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
