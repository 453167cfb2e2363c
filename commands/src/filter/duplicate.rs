//! A copy of a filter, or the error that there is no memory for it.

use super::{Filter, header::Header};
use crate::{Clock, Windowed};
use guira::SnapshotError;
use std::io::{self, Write};
use thiserror::Error;

/// There is not enough memory for a copy of a filter.
// The texts include the causes, so `source` does not return them.
#[derive(Debug, Error)]
pub enum DuplicateError {
    /// There is not enough memory for a snapshot.
    #[error("there is no memory for a snapshot of the filter: {0}")]
    Snapshot(io::Error),
    /// There is not enough memory for the contents of the snapshot.
    #[error("the filter could not be copied: {0}")]
    Copy(SnapshotError),
}

impl From<io::Error> for DuplicateError {
    fn from(error: io::Error) -> Self {
        Self::Snapshot(error)
    }
}

impl From<SnapshotError> for DuplicateError {
    fn from(error: SnapshotError) -> Self {
        Self::Copy(error)
    }
}

/// A vector of bytes that returns an error if memory is short, instead of aborting.
struct Fallible(Vec<u8>);

impl Write for Fallible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .try_reserve(bytes.len())
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Filter {
    /// A copy of the filter. Making it takes the memory of a snapshot.
    ///
    /// # Errors
    ///
    /// [`DuplicateError`] if there is no memory for it.
    pub fn duplicate(&self) -> Result<Self, DuplicateError> {
        let mut snapshot = Fallible(Vec::new());
        self.write_to(&mut snapshot)?;
        match self.window() {
            None => Self::read_from(&*snapshot.0, Header::of(self), Clock::Process),
            Some(window) => Windowed::read_from(&*snapshot.0, window.clock().clone()).map(|copy| {
                if window.has_begun() {
                    copy.begin();
                }
                Self::windowed(copy, self.options(), self.deleted())
            }),
        }
        .map_err(DuplicateError::Copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn an_error_is_printed_once() {
        let cause = io::Error::other("the cause");
        let error = DuplicateError::from(cause);
        assert!(error.to_string().contains("the cause"));
        assert!(error.source().is_none());
    }
}
