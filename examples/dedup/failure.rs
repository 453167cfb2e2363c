//! The errors that end the program early, and their exit status.

use guira::{BuildError, InsertError};
use std::{io, process::ExitCode};
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot read {name}: {error}")]
    Read { name: String, error: io::Error },
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
    #[error("cannot make the filter: {0}")]
    Build(BuildError),
    #[error(
        "the filter is full: it has room for {capacity} distinct lines, and there are more; \
         run again with a larger --capacity, or for a stream with a higher --false-positive-rate"
    )]
    Full { capacity: usize },
    #[error("{0}")]
    Insert(InsertError),
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl Failure {
    /// True if the reader of the output has closed it, as in `dedup | head`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Full { .. } => ExitCode::from(2),
            _ if self.is_broken_pipe() => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}
