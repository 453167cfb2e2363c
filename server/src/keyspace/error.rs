//! Why a key gets no filter.

use super::LONGEST_KEY;
use guira::BuildError;
use thiserror::Error;

/// There is no room for a filter.
#[derive(Debug, Error)]
pub enum ReserveError {
    /// The key has a filter.
    #[error("ERR item exists")]
    Exists,
    /// The key is too long.
    #[error("ERR the key has {0} bytes, and {LONGEST_KEY} are allowed")]
    Key(usize),
    /// The library refused.
    #[error("ERR {0}")]
    Build(BuildError),
    /// The memory limit is in the way of its growth.
    #[error("OOM with MAXCAPACITY items the filter needs {needed} bytes, and maxmemory is {limit}")]
    Growth {
        /// Bytes of the filter when it has grown, at least.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// The memory limit is in the way.
    #[error(
        "OOM the filter needs {needed} bytes, and of maxmemory, {limit}, there are {free} left"
    )]
    Memory {
        /// Bytes of the filter.
        needed: usize,
        /// The limit.
        limit: usize,
        /// What is left of it.
        free: usize,
    },
}

impl From<BuildError> for ReserveError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}
