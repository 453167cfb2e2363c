//! Errors of the library as Python exceptions.

use guira::{BuildError, InsertError, MergeError};
use pyo3::{
    create_exception,
    exceptions::{PyException, PyMemoryError, PyOSError, PyValueError},
    prelude::*,
};
use std::{error::Error, fmt::Display, io, path::Path};

create_exception!(
    guira_filter,
    FullError,
    PyException,
    "The filter has no room for an item.\n\n\
     No other item was added or removed for it. In a batch, the items before `index` are in the \
     filter, and this call added none from it on."
);
create_exception!(
    guira_filter,
    BusyError,
    FullError,
    "Other threads or processes were in the way. The same call may succeed soon."
);
create_exception!(
    guira_filter,
    SnapshotError,
    PyValueError,
    "Bytes are not a snapshot that this version can read."
);

/// `index` exists on every `FullError`; a single item is item 0.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    py.get_type::<FullError>().setattr("index", 0)
}

/// The text of an error and of its sources.
pub(crate) fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn insert_error_with(error: InsertError, text: String) -> PyErr {
    match error {
        InsertError::Memory | InsertError::BlockedByScan => PyMemoryError::new_err(text),
        _ if error.is_transient() => BusyError::new_err(text),
        _ => FullError::new_err(text),
    }
}

#[cold]
pub(crate) fn insert_error(error: InsertError) -> PyErr {
    insert_error_with(error, error.to_string())
}

#[cold]
pub(crate) fn batch_error(py: Python<'_>, index: usize, error: InsertError) -> PyErr {
    let text = format!("item {index} of the batch was not inserted: {error}");
    raised_at(py, index, insert_error_with(error, text))
}

/// The exception of an item of a batch, with its index.
pub(crate) fn raised_at(py: Python<'_>, index: usize, exception: PyErr) -> PyErr {
    match exception.value(py).setattr("index", index) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

pub(crate) fn build_error(error: BuildError) -> PyErr {
    match error {
        BuildError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub(crate) fn merge_error(error: MergeError) -> PyErr {
    let text = text(&error);
    match error {
        MergeError::Insert { error, .. } | MergeError::Scan { error } => {
            insert_error_with(error, text)
        }
        _ => PyValueError::new_err(text),
    }
}

pub(crate) fn snapshot_error(error: guira::SnapshotError) -> PyErr {
    match error {
        guira::SnapshotError::Io(error) => error.into(),
        guira::SnapshotError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => SnapshotError::new_err(error.to_string()),
    }
}

/// `OSError`, or the subclass for its number, with the path.
pub(crate) fn file_error(py: Python<'_>, path: &Path, error: io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return out_of_memory("the snapshot");
    }
    let exception = match error.raw_os_error() {
        Some(number) => {
            return PyOSError::new_err((number, os_text(number), path.as_os_str().to_owned()));
        }
        // Its text would name a temporary file, which the caller does not know.
        None => PyErr::from(error),
    };
    match exception.value(py).setattr("filename", path.as_os_str()) {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// The text of a number, without the number.
fn os_text(number: i32) -> String {
    let text = io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cold]
pub(crate) fn out_of_memory(what: impl Display) -> PyErr {
    PyMemoryError::new_err(format!("no memory for {what}"))
}
