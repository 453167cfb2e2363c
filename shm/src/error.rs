//! Typed errors.

use guira::{BuildError, MergeError, SnapshotError};
use std::{error::Error, fmt, io};

/// A file cannot be created or opened as a filter.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A system call failed: the source of this error.
    Io(io::Error),
    /// A file with this name exists.
    Exists,
    /// The file was not created by this package.
    NotAFilter,
    /// The file has a format that this release cannot read.
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The file comes from a machine with another byte order.
    Architecture,
    /// The file does not have the length that its filter needs.
    Length {
        /// The length of the file, in bytes.
        found: u64,
        /// The length that the filter needs, in bytes.
        expected: u64,
    },
    /// The first page of the file was changed.
    Checksum {
        /// The checksum in the file.
        stored: u64,
        /// The checksum of the bytes that it covers.
        computed: u64,
    },
    /// The file contains a number outside its valid range.
    Control {
        /// What the number means.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// The filter cannot be built as requested: the source of this error.
    Build(BuildError),
    /// The file describes a filter that cannot exist, or one of another hasher: the source of this
    /// error.
    Filter(SnapshotError),
    /// The items of a filter were not copied into a new one: the source of this error. They may not fit if
    /// the filter has more of them than its capacity.
    Copy(MergeError),
    /// The filter in the file is not the one that was asked for.
    Different {
        /// What differs.
        what: &'static str,
        /// The number of the filter in the file.
        found: u64,
        /// The number that the builder asks for.
        asked: u64,
    },
    /// A filter with counters cannot be shared.
    Counters,
    /// The filter in the file expires: open it as a
    /// [`SharedExpiringFilter`](crate::SharedExpiringFilter), or as a
    /// [`SharedExpiringReader`](crate::SharedExpiringReader).
    Expires,
    /// The filter in the file does not expire: open it as a [`SharedFilter`](crate::SharedFilter), or as a
    /// [`SharedReader`](crate::SharedReader).
    DoesNotExpire,
    /// An expiring filter that grows cannot be shared.
    Grows,
    /// This process is in a time namespace, where the clock differs from that of other processes.
    TimeNamespace,
    /// This process cannot take a seat: the source of this error.
    Attach(AttachError),
    /// The number of processes that can share a filter is limited.
    TooManyProcesses {
        /// The requested number.
        asked: usize,
        /// The largest number that can be requested.
        max: usize,
    },
    /// The descriptor is not one of a file that can never become shorter: a memfd with `F_SEAL_SHRINK`.
    NotSealed,
    /// The file system does not support shared memory, or locks on it.
    FileSystem {
        /// The name of the file system.
        name: &'static str,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the file cannot be opened"),
            Self::Exists => f.write_str("the file exists already"),
            Self::NotAFilter => f.write_str("the file is not a shared filter"),
            Self::Version { found } => {
                write!(f, "the file has version {found} of the format, and not 1")
            }
            Self::Architecture => {
                f.write_str("the file comes from a machine with another order of bytes")
            }
            Self::Length { found, expected } => {
                write!(
                    f,
                    "the file has {found} bytes, and its filter needs {expected}"
                )
            }
            Self::Checksum { stored, computed } => write!(
                f,
                "the first page was changed: its checksum is {computed:#x}, and it says {stored:#x}"
            ),
            Self::Control { what, found } => write!(f, "the {what} cannot be {found}"),
            Self::Build(_) => f.write_str("the filter cannot be built"),
            Self::Filter(_) => f.write_str("the file describes no filter that can be opened"),
            Self::Copy(_) => f.write_str("the items of the filter were not copied"),
            Self::Different { what, found, asked } => {
                write!(f, "the {what} of the filter is {found}, and not {asked}")
            }
            Self::Attach(_) => f.write_str("this process cannot take a seat of the filter"),
            Self::Counters => {
                f.write_str("a filter with counters cannot be shared between processes")
            }
            Self::TooManyProcesses { asked, max } => {
                write!(
                    f,
                    "{asked} processes cannot share a filter: only 1 to {max} can"
                )
            }
            Self::Expires => f.write_str("the filter in the file expires"),
            Self::DoesNotExpire => f.write_str("the filter in the file does not expire"),
            Self::Grows => {
                f.write_str("an expiring filter that grows cannot be shared between processes")
            }
            Self::TimeNamespace => {
                f.write_str("the clock of this process differs from that of other processes")
            }
            Self::NotSealed => f.write_str("the descriptor is not a memfd that is sealed"),
            Self::FileSystem { name } => {
                write!(
                    f,
                    "a file on {name} cannot be shared: use tmpfs or a local disk"
                )
            }
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Build(error) => Some(error),
            Self::Filter(error) => Some(error),
            Self::Copy(error) => Some(error),
            Self::Attach(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<AttachError> for OpenError {
    fn from(error: AttachError) -> Self {
        Self::Attach(error)
    }
}

impl From<SnapshotError> for OpenError {
    fn from(error: SnapshotError) -> Self {
        Self::Filter(error)
    }
}

/// This process cannot take a seat, so it can only look items up, remove them, and insert into empty
/// slots.
#[derive(Debug)]
#[non_exhaustive]
pub enum AttachError {
    /// A system call failed: the source of this error.
    Io(io::Error),
    /// All seats are taken, by living processes, or by dead ones that have not been repaired.
    TooManyProcesses {
        /// The maximum number of processes.
        max: usize,
    },
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the file of the filter cannot be opened again"),
            Self::TooManyProcesses { max } => {
                write!(
                    f,
                    "{max} processes share the filter already, and no more can"
                )
            }
        }
    }
}

impl Error for AttachError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::TooManyProcesses { .. } => None,
        }
    }
}

impl From<io::Error> for AttachError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The call needs the filter for itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotAlone {
    /// A system call failed: the source of this error.
    Io(io::Error),
    /// Another process uses the filter.
    InUse,
}

impl fmt::Display for NotAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Io(_) => "the file of the filter cannot be opened again",
            Self::InUse => "another process uses the filter",
        })
    }
}

impl Error for NotAlone {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::InUse => None,
        }
    }
}

impl From<io::Error> for NotAlone {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
