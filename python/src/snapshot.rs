//! Snapshots as bytes, as files, and in the pieces of a server's dump.

use crate::{
    buffer,
    clock::Clock,
    errors::{SnapshotError, file_error, out_of_memory, snapshot_error},
};
use guira::{
    CuckooFilter, Expiring, ExpiringFilter, Filter, FilterDecoder, Forever, Lifetime, Restore,
    SeededState,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyString},
};
use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

/// The bytes before the snapshot of a dump: its length.
const LENGTH: usize = 8;

/// What writes the snapshot of a filter.
pub(crate) trait Source: Sync {
    fn len_hint(&self) -> usize;

    fn write(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// How long the items of a filter stay that is read from a snapshot.
pub(crate) trait Stored: Lifetime + Sized {
    /// The first bytes of the header of a server's dump.
    const DUMP: &'static [u8; 8];

    /// Restores a filter whose snapshot is `age` old.
    fn restore(age: Duration) -> Restore<SeededState, Self>;
}

impl Stored for Forever {
    const DUMP: &'static [u8; 8] = b"guiracf\x01";

    fn restore(_age: Duration) -> Restore<SeededState, Self> {
        CuckooFilter::restore()
    }
}

impl Stored for Expiring {
    const DUMP: &'static [u8; 8] = b"guiracw\x01";

    fn restore(age: Duration) -> Restore<SeededState, Self> {
        ExpiringFilter::restore().elapsed(age)
    }
}

impl Source for CuckooFilter {
    fn len_hint(&self) -> usize {
        self.snapshot_len_hint()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_to(out)
    }
}

/// An expiring filter with the clock by which its epochs begin.
pub(crate) struct Timed<'a>(pub(crate) &'a ExpiringFilter, pub(crate) &'a Clock);

impl Source for Timed<'_> {
    fn len_hint(&self) -> usize {
        self.0.snapshot_len_hint()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.write_to_at(out, || self.1.reading())
    }
}

/// The snapshot of a filter, which is written where Python keeps it.
pub(crate) fn to_bytes<'py>(
    py: Python<'py>,
    filter: &impl Source,
) -> PyResult<Bound<'py, PyBytes>> {
    loop {
        let len = filter.len_hint();
        let mut written = Ok(());
        let mut left = 0;
        let bytes = PyBytes::new_with(py, len, |into| {
            py.detach(|| {
                let mut rest = into;
                written = filter.write(&mut rest);
                left = rest.len();
            });
            Ok(())
        })?;
        match written {
            Ok(()) if left == 0 => return Ok(bytes),
            Ok(()) => return Ok(PyBytes::new(py, &bytes.as_bytes()[..len - left])),
            // The filter has doubled during the call, and may double again.
            Err(error) if error.kind() == io::ErrorKind::WriteZero => {}
            Err(_) => return Err(out_of_memory("the snapshot")),
        }
    }
}

/// The filter of a snapshot in any object with a buffer.
pub(crate) fn from_bytes<T: Stored>(
    data: &Bound<'_, PyAny>,
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<Filter<SeededState, T>> {
    let py = data.py();
    if let Ok(bytes) = data.cast::<PyBytes>() {
        let bytes = PyBackedBytes::from(bytes.clone());
        return py.detach(|| decode(&bytes, max_bytes, age));
    }
    // Other threads may write the buffer during the call, so its bytes are copied first.
    let bytes = buffer::bytes_of(&buffer::of(data)?)?;
    py.detach(|| decode(&bytes, max_bytes, age))
}

fn decode<T: Stored>(
    bytes: &[u8],
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<Filter<SeededState, T>> {
    let restore = T::restore(age).max_bytes(max_bytes.unwrap_or(usize::MAX));
    restore.from_bytes(bytes).map_err(snapshot_error)
}

/// Saves a filter to a file by `save`, which is that of the library.
pub(crate) fn save(
    py: Python<'_>,
    path: &Path,
    save: impl FnOnce() -> io::Result<()> + Send,
) -> PyResult<()> {
    py.detach(save).map_err(|error| file_error(py, path, error))
}

/// The filter of a file that `save` of the library, here or in another program, has written.
pub(crate) fn load<T: Stored>(
    py: Python<'_>,
    path: &Path,
    max_bytes: Option<usize>,
) -> PyResult<Filter<SeededState, T>> {
    let restore = Filter::restore().max_bytes(max_bytes.unwrap_or(usize::MAX));
    py.detach(|| restore.load(path))
        .map_err(|error| match error {
            guira::SnapshotError::Io(error) => file_error(py, path, error),
            error => snapshot_error(error),
        })
}

/// The filter of what `CF.SCANDUMP` returned: the header, then the pieces.
pub(crate) fn from_dump<T: Stored>(
    pieces: &Bound<'_, PyAny>,
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<Filter<SeededState, T>> {
    if pieces.is_instance_of::<PyBytes>() || pieces.is_instance_of::<PyString>() {
        let message = "pass a list of all pieces that CF.SCANDUMP returned, the header first";
        return Err(PyTypeError::new_err(message));
    }
    let mut pieces = pieces.try_iter()?;
    let header = next_piece(&mut pieces)?;
    let begins = header
        .as_ref()
        .and_then(|header| header.get(..LENGTH))
        .unwrap_or_default();
    if begins != T::DUMP {
        return Err(SnapshotError::new_err(format!(
            "the first piece is not the header of a dump of this kind of filter: it begins with \
             b\"{}\" and not with b\"{}\"",
            begins.escape_ascii(),
            T::DUMP.escape_ascii(),
        )));
    }
    let mut decoder = FilterDecoder::new(max_bytes.unwrap_or(usize::MAX));
    let mut skipped = 0;
    while let Some(piece) = next_piece(&mut pieces)? {
        let skip = piece.len().min(LENGTH - skipped);
        skipped += skip;
        let piece = &piece[skip..];
        let fed = pieces.py().detach(|| decoder.feed(piece));
        let count = piece.len() - fed.map_err(snapshot_error)?;
        if count > 0 {
            let error = guira::SnapshotError::TrailingBytes { count };
            return Err(snapshot_error(error));
        }
    }
    T::restore(age).finish(decoder).map_err(snapshot_error)
}

fn next_piece<'py>(
    pieces: &mut impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Option<PyBackedBytes>> {
    match pieces.next() {
        Some(piece) => Ok(Some(piece?.extract()?)),
        None => Ok(None),
    }
}
