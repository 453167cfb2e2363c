//! Filters in memory that processes share.

use super::{Mapped, Participants, Reads};
use crate::status::{Failure, Status};
use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, SeededState};
use guira_shm::{AttachError, NotAlone, OpenError};
pub(crate) use guira_shm::{
    SharedExpiringFilter as Expiring, SharedExpiringReader as ExpiringReader,
    SharedFilter as Filter, SharedReader as Reader,
};
use std::{
    ffi::c_int,
    fs::{File, OpenOptions},
    io,
    os::fd::AsRawFd,
    path::Path,
};

fn of_path(path: &Path, error: OpenError) -> Failure {
    Failure::from(error).about(path.display())
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
    ($filter:ident of $heap:ident by $builder:ident, read by $reader:ident) => {
        #[allow(unsafe_code)]
        impl Mapped for $filter {
            type Heap = $heap;
            type Builder = $builder;

            unsafe fn create(
                path: &Path,
                builder: $builder,
                max_processes: usize,
            ) -> Result<Self, Failure> {
                // SAFETY: the caller promises it.
                let created = unsafe { Self::create_for(path, builder, max_processes) };
                created.map_err(|error| of_path(path, error))
            }

            unsafe fn open(path: &Path) -> Result<Self, Failure> {
                // SAFETY: the caller promises it.
                let opened = unsafe { Self::open(path) };
                opened.map_err(|error| of_path(path, error))
            }

            fn create_memfd(builder: $builder, max_processes: usize) -> Result<Self, Failure> {
                Ok(Self::create_memfd_for(builder, max_processes)?)
            }

            unsafe fn create_copy(
                path: &Path,
                filter: &$heap,
                max_processes: usize,
            ) -> Result<Self, Failure> {
                // SAFETY: the caller promises it.
                let created = unsafe { Self::create_copy(path, filter, max_processes) };
                created.map_err(|error| of_path(path, error))
            }

            fn create_memfd_copy(filter: &$heap, max_processes: usize) -> Result<Self, Failure> {
                Ok(Self::create_memfd_copy(filter, max_processes)?)
            }

            fn of_memfd(descriptor: c_int) -> Result<Self, Failure> {
                Ok(Self::from_memfd(open_again(descriptor, true)?.into())?)
            }

            fn memfd(&self) -> Option<c_int> {
                self.memfd().map(|descriptor| descriptor.as_raw_fd())
            }

            #[inline(always)]
            fn as_heap(&self) -> &$heap {
                self.as_filter()
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

        #[allow(unsafe_code)]
        impl Reads for $reader {
            unsafe fn open(path: &Path) -> Result<Self, Failure> {
                // SAFETY: the caller promises it.
                let opened = unsafe { Self::open(path) };
                opened.map_err(|error| of_path(path, error))
            }

            fn of_memfd(descriptor: c_int) -> Result<Self, Failure> {
                Ok(Self::from_memfd(open_again(descriptor, false)?.into())?)
            }

            fn hasher(&self) -> &SeededState {
                self.hasher()
            }

            #[inline(always)]
            fn contains_hash(&self, hash: u64) -> bool {
                self.contains_hash(hash)
            }

            fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
                self.contains_hash_batch(hashes, results);
            }

            fn count_hash(&self, hash: u64) -> usize {
                self.count_hash(hash)
            }

            fn len(&self) -> usize {
                self.len()
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }
        }
    };
}

mapped!(Filter of CuckooFilter by Builder, read by Reader);
mapped!(Expiring of ExpiringFilter by ExpiringBuilder, read by ExpiringReader);

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
