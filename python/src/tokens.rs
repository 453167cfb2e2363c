//! What to do while all reservation tokens are in use.

use guira::InsertError;
use pyo3::prelude::*;
use std::thread;

/// Retries between two looks for Ctrl-C.
pub(crate) const TRIES: u32 = 1 << 10;

/// Calls `insert` until it gets a token. The tokens belong to calls of other threads, which end
/// soon. `exception` makes the exception of any other error.
#[inline]
pub(crate) fn retried<T>(
    py: Python<'_>,
    insert: impl Fn() -> Result<T, InsertError>,
    exception: fn(InsertError) -> PyErr,
) -> PyResult<T> {
    match insert() {
        Ok(inserted) => Ok(inserted),
        Err(InsertError::TooManyInFlight) => retry(py, insert, exception),
        Err(error) => Err(exception(error)),
    }
}

#[cold]
fn retry<T>(
    py: Python<'_>,
    insert: impl Fn() -> Result<T, InsertError>,
    exception: fn(InsertError) -> PyErr,
) -> PyResult<T> {
    loop {
        for _ in 0..TRIES {
            py.detach(thread::yield_now);
            match insert() {
                Ok(inserted) => return Ok(inserted),
                Err(InsertError::TooManyInFlight) => {}
                Err(error) => return Err(exception(error)),
            }
        }
        py.check_signals()?;
    }
}
