//! Filters in memory that processes share.

use super::{Heap, Mapped, Participants, Reads, Shareable, Source};
use crate::status::{Failure, Status};
use guira::{Builder, Expiring, Forever, Hashed, InsertError, SeededState};
use guira_shm::{
    AttachError, NotAlone, OpenError, SharedExpiringFilter, SharedExpiringReader, SharedFilter,
    SharedReader,
};
use std::{
    ffi::c_int,
    fs::{File, OpenOptions},
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

/// The result of a call that makes a filter, with the path in its message.
fn made<F>(path: Option<&Path>, made: Result<F, OpenError>) -> Result<F, Failure> {
    made.map_err(|error| match path {
        Some(path) => Failure::from(error).about(path.display()),
        None => error.into(),
    })
}

/// The filter of a source, unless its items have another lifetime.
fn opened<F>(
    source: Source<'_>,
    write: bool,
    of_path: impl FnOnce(&Path) -> Result<F, OpenError>,
    of_memfd: impl FnOnce(OwnedFd) -> Result<F, OpenError>,
) -> Result<Option<F>, Failure> {
    let (path, opened) = match source {
        Source::Path(path) => (Some(path), of_path(path)),
        Source::Memfd(descriptor) => (None, of_memfd(open_again(descriptor, write)?.into())),
    };
    match opened {
        Err(OpenError::Expires | OpenError::DoesNotExpire) => Ok(None),
        opened => made(path, opened).map(Some),
    }
}

/// The memory behind a descriptor, by a new descriptor. It is opened and not duplicated, because the number
/// of a descriptor that is closed must be an error.
fn open_again(descriptor: c_int, write: bool) -> Result<File, Failure> {
    let path = format!("/proc/self/fd/{descriptor}");
    let opened = OpenOptions::new().read(true).write(write).open(path);
    opened.map_err(|error| of_file(&error, format_args!("descriptor {descriptor}")))
}

/// Both kinds have the same methods.
macro_rules! mapped {
    ($lifetime:ident in $filter:ident, read by $reader:ident) => {
        impl Shareable for $lifetime {
            type Shared = $filter;
            type Reader = $reader;
        }

        impl Mapped<$lifetime> for $filter {
            unsafe fn create(
                path: Option<&Path>,
                builder: Builder<SeededState, $lifetime>,
                max_processes: usize,
            ) -> Result<Self, Failure> {
                let created = match path {
                    // SAFETY: the caller promises it.
                    Some(path) => unsafe { Self::create_for(path, builder, max_processes) },
                    None => Self::create_memfd_for(builder, max_processes),
                };
                made(path, created)
            }

            unsafe fn copy(
                path: Option<&Path>,
                filter: &Heap<$lifetime>,
                max_processes: usize,
            ) -> Result<Self, Failure> {
                let created = match path {
                    // SAFETY: the caller promises it.
                    Some(path) => unsafe { Self::create_copy(path, filter, max_processes) },
                    None => Self::create_memfd_copy(filter, max_processes),
                };
                made(path, created)
            }

            unsafe fn open(source: Source<'_>) -> Result<Option<Self>, Failure> {
                // SAFETY: the caller promises it.
                let of_path = |path: &Path| unsafe { Self::open(path) };
                opened(source, true, of_path, Self::from_memfd)
            }

            fn memfd(&self) -> Option<c_int> {
                self.memfd().map(|descriptor| descriptor.as_raw_fd())
            }

            #[inline(always)]
            fn as_filter(&self) -> &Heap<$lifetime> {
                self.as_filter()
            }

            #[inline(always)]
            fn contains_hash(&self, hash: u64) -> bool {
                self.contains(&Hashed(hash))
            }

            #[inline(always)]
            fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
                self.insert(&Hashed(hash))
            }

            #[inline(always)]
            fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
                self.insert_unique(&Hashed(hash))
            }

            #[inline(always)]
            fn remove_hash(&self, hash: u64) -> bool {
                self.remove(&Hashed(hash))
            }

            fn attach(&self) -> Result<(), Failure> {
                Ok(self.attach()?)
            }

            fn repair(&self) -> usize {
                self.repair().processes
            }

            fn recount(&mut self) -> Result<usize, Failure> {
                Ok(self.recount()?)
            }

            fn participants(&self) -> Participants {
                let guira_shm::Participants {
                    in_use,
                    max,
                    deaths,
                    ..
                } = self.participants();
                Participants {
                    in_use,
                    max,
                    deaths,
                }
            }

            fn was_closed_cleanly(&self) -> bool {
                self.was_closed_cleanly()
            }
        }

        impl Reads<$lifetime> for $reader {
            unsafe fn open(source: Source<'_>) -> Result<Option<Self>, Failure> {
                // SAFETY: the caller promises it.
                let of_path = |path: &Path| unsafe { Self::open(path) };
                opened(source, false, of_path, Self::from_memfd)
            }

            #[inline(always)]
            unsafe fn as_filter(&self) -> &Heap<$lifetime> {
                // SAFETY: the caller promises it.
                unsafe { self.as_filter() }
            }

            #[inline(always)]
            fn contains_hash(&self, hash: u64) -> bool {
                self.contains(&Hashed(hash))
            }
        }
    };
}

mapped!(Forever in SharedFilter, read by SharedReader);
mapped!(Expiring in SharedExpiringFilter, read by SharedExpiringReader);

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
            OpenError::Copy(error) => return error.into(),
            OpenError::Filter(error) => return error.into(),
            OpenError::Attach(error) => return error.into(),
            OpenError::Exists => Status::Exists,
            OpenError::Counters
            | OpenError::Grows
            | OpenError::TimeNamespace
            | OpenError::FileSystem { .. } => Status::Unsupported,
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
