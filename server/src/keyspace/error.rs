//! The reasons why a key gets no filter.

use super::LONGEST_KEY;
use guira::BuildError;
use thiserror::Error;

/// A filter cannot be created.
#[derive(Debug, Error)]
pub enum ReserveError {
    /// The key has a filter already.
    #[error("ERR item exists")]
    Exists,
    /// The key is too long.
    #[error("ERR the key has {0} bytes, and {LONGEST_KEY} are allowed")]
    Key(usize),
    /// The library refused the options.
    #[error("ERR {0}")]
    Build(BuildError),
    /// The memory limit does not allow the growth of the filter.
    #[error("OOM with MAXCAPACITY items the filter needs {needed} bytes, and maxmemory is {limit}")]
    Growth {
        /// The minimum number of bytes of the filter when it has grown.
        needed: usize,
        /// The limit.
        limit: usize,
    },
    /// The memory limit does not allow the filter.
    #[error(
        "OOM the filter needs {needed} bytes, and of maxmemory, {limit}, there are {free} left"
    )]
    Memory {
        /// The number of bytes of the filter.
        needed: usize,
        /// The limit.
        limit: usize,
        /// The number of bytes up to the limit.
        free: usize,
    },
}
