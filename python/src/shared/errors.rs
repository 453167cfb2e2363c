//! Errors of shared filters as Python exceptions.

use crate::errors::{self, BusyError, build_error, file_error, merge_error, text};
use guira::InsertError;
use guira_shm::{AttachError, NotAlone, OpenError};
use pyo3::{create_exception, exceptions::PyValueError, prelude::*};
use std::{io, path::Path};

create_exception!(
    guira_filter,
    SharedFileError,
    PyValueError,
    "A file is not a shared filter that this version can open."
);

#[cold]
pub(super) fn insert_error(error: InsertError) -> PyErr {
    match error {
        // Another process scans the filter; no memory is missing.
        InsertError::BlockedByScan => BusyError::new_err(error.to_string()),
        _ => errors::insert_error(error),
    }
}

#[cold]
pub(super) fn open_error(py: Python<'_>, path: &Path, error: OpenError) -> PyErr {
    let message = text(&error);
    match error {
        OpenError::Io(error) => file_error(py, path, error),
        OpenError::Attach(error) => attach_error(error),
        OpenError::Exists => {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, message);
            file_error(py, path, error)
        }
        OpenError::Build(error) => build_error(error),
        OpenError::Copy(error) => merge_error(error),
        OpenError::TooManyProcesses { .. } => PyValueError::new_err(message),
        OpenError::FileSystem { .. } => {
            let error = io::Error::new(io::ErrorKind::Unsupported, message);
            file_error(py, path, error)
        }
        _ => SharedFileError::new_err(format!("{}: {message}", path.display())),
    }
}

#[cold]
pub(super) fn attach_error(error: AttachError) -> PyErr {
    match error {
        AttachError::Io(error) => error.into(),
        _ => BusyError::new_err(error.to_string()),
    }
}

pub(super) fn recount_error(py: Python<'_>, path: &Path, error: NotAlone) -> PyErr {
    match error {
        NotAlone::Io(error) => file_error(py, path, error),
        _ => BusyError::new_err(error.to_string()),
    }
}
