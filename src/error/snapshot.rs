use std::{error::Error, fmt, io};

/// A snapshot or a header could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The reader failed: the source of this error.
    Io(io::Error),
    /// The bytes end before the snapshot does.
    Truncated,
    /// Bytes follow the snapshot.
    TrailingBytes {
        /// The number of bytes that follow.
        count: usize,
    },
    /// The bytes do not begin with the magic number of a snapshot.
    Magic,
    /// The snapshot has a format that this release does not know.
    Version {
        /// The version of the snapshot.
        found: u32,
        /// The version that this release reads.
        supported: u32,
    },
    /// The bytes were changed.
    Checksum {
        /// The checksum in the snapshot.
        stored: u32,
        /// The checksum of the bytes before it.
        computed: u32,
    },
    /// The snapshot's filter hashed its items with another hasher.
    Hasher {
        /// The hash of a fixed probe in the snapshot.
        found: u64,
        /// The hash of the probe by the given hasher.
        expected: u64,
    },
    /// The snapshot describes a filter that cannot exist.
    Geometry {
        /// The field that is wrong.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A bucket holds a word that no filter can have written.
    Word {
        /// The bucket.
        bucket: usize,
        /// The plane; 0 unless the filter has grown.
        plane: usize,
        /// The word.
        bits: u64,
    },
    /// The filter is larger than the caller allows.
    TooLarge {
        /// The bytes of its buckets.
        asked: usize,
        /// The bytes allowed.
        allowed: usize,
    },
    /// The allocator refused the memory for the filter.
    Memory {
        /// Buckets of the filter, 8 bytes each.
        buckets: usize,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the snapshot could not be read"),
            Self::Truncated => f.write_str("the snapshot is truncated"),
            Self::TrailingBytes { count } => write!(f, "{count} bytes follow the snapshot"),
            Self::Magic => {
                f.write_str("this is not a snapshot: it does not begin with the magic number")
            }
            Self::Version { found, supported } => write!(
                f,
                "the snapshot has format version {found}; this release reads version {supported}"
            ),
            Self::Checksum { stored, computed } => write!(
                f,
                "the snapshot is damaged: it stores the checksum {stored:#010x}, and its bytes have \
                 {computed:#010x}"
            ),
            Self::Hasher { found, expected } => write!(
                f,
                "the snapshot was made with another hasher: the probe hashes to {found:#x} in the \
                 snapshot and to {expected:#x} here; `restore().hasher(...)` takes a hasher"
            ),
            Self::Geometry { what, found } => {
                write!(
                    f,
                    "the snapshot describes an impossible filter: {what} {found}"
                )
            }
            Self::Word {
                bucket,
                plane,
                bits,
            } => write!(
                f,
                "bucket {bucket} of plane {plane} cannot hold the word {bits:#018x}"
            ),
            Self::TooLarge { asked, allowed } => write!(
                f,
                "the filter needs {asked} bytes, more than the limit of {allowed}"
            ),
            Self::Memory { buckets } => write!(f, "no memory for {buckets} buckets of 8 bytes"),
        }
    }
}

impl Error for SnapshotError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for SnapshotError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
