use super::{BuildError, SnapshotError};
use std::{error::Error, fmt, io, time::Duration};

/// A saved filter was not loaded: see [`Builder::load`](crate::Builder::load).
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The saved filter has other settings than the builder.
    Settings(Vec<Difference>),
    /// The file cannot be read, or is damaged: the source of this error.
    Snapshot(SnapshotError),
    /// No filter can have the settings of the builder: the source of this error.
    Build(BuildError),
}

/// A setting in which a saved filter differs from what a builder was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // Each variant has the same two fields, which the line above describes.
pub enum Difference {
    /// The [capacity](crate::Builder::capacity).
    Capacity { saved: usize, asked: usize },
    /// The [capacity after growth](crate::Builder::max_capacity).
    MaxCapacity { saved: usize, asked: usize },
    /// The TTL.
    Ttl { saved: Duration, asked: Duration },
    /// The number of [epochs](crate::ExpiringBuilder::epochs) in a TTL.
    Epochs { saved: u32, asked: u32 },
    /// The size of a slot's [counter](crate::Builder::counter_bits) in bits.
    CounterBits { saved: u32, asked: u32 },
    /// The [rate](crate::Builder::false_positive_rate) of a full filter. It also differs if only
    /// [`fingerprint_bits`](crate::Builder::fingerprint_bits) or [`prefer`](crate::Builder::prefer) does.
    FalsePositiveRate { saved: f64, asked: f64 },
    /// The [seed](crate::Builder::seed) or the [hasher](crate::Builder::hasher). The numbers are hashes of
    /// a fixed probe, because seeds are secret.
    Hasher { saved: u64, asked: u64 },
}

impl LoadError {
    /// True if there is no such file, as at the first start.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        let Self::Snapshot(SnapshotError::Io(error)) = self else {
            return false;
        };
        error.kind() == io::ErrorKind::NotFound
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(differences) => {
                f.write_str("the saved filter has other settings")?;
                for (before, difference) in differences.iter().enumerate() {
                    let sign = if before == 0 { ": " } else { ", " };
                    write!(f, "{sign}{difference}")?;
                }
                f.write_str("; `load` of the filter keeps them, and `build` makes a new one")
            }
            Self::Snapshot(_) => f.write_str("the saved filter was not loaded"),
            Self::Build(_) => f.write_str("no filter can have these settings"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, saved, asked): (_, &dyn fmt::Debug, &dyn fmt::Debug) = match self {
            Self::Capacity { saved, asked } => ("capacity", saved, asked),
            Self::MaxCapacity { saved, asked } => ("max_capacity", saved, asked),
            Self::Ttl { saved, asked } => ("TTL", saved, asked),
            Self::Epochs { saved, asked } => ("epochs", saved, asked),
            Self::CounterBits { saved, asked } => ("counter_bits", saved, asked),
            Self::FalsePositiveRate { saved, asked } => {
                return write!(f, "false-positive rate {saved:.1e} instead of {asked:.1e}");
            }
            Self::Hasher { .. } => return f.write_str("another seed or hasher"),
        };
        write!(f, "{what} {saved:?} instead of {asked:?}")
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Settings(_) => None,
            Self::Snapshot(error) => Some(error),
            Self::Build(error) => Some(error),
        }
    }
}

impl From<SnapshotError> for LoadError {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

impl From<BuildError> for LoadError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
