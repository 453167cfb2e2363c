//! Snapshots as bytes, as files, and in the pieces of a server's dump.

use crate::{
    buffer,
    clock::Clock,
    errors::{SnapshotError, file_error, out_of_memory, snapshot_error},
};
use guira::{CuckooFilter, ExpiringFilter, ExpiringSnapshotDecoder, SnapshotDecoder};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    pybacked::PyBackedBytes,
    types::{PyBytes, PyString},
};
use std::{
    fs::{self, File, Permissions},
    io::{self, BufWriter, Read, Write},
    path::Path,
    time::Duration,
};

/// Bytes read from a file at a time.
const PIECE: usize = 1 << 20;

/// The bytes before the snapshot of a dump: its length.
const LENGTH: usize = 8;

/// What writes the snapshot of a filter.
pub(crate) trait Source: Sync {
    fn len_hint(&self) -> usize;

    fn write(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// A filter that is read from a snapshot.
pub(crate) trait Stored: Sized + Send {
    type Decoder: Decoder<Filter = Self> + Send;

    /// The first bytes of the header of a server's dump.
    const DUMP: &'static [u8; 8];
}

/// A decoder of snapshots.
pub(crate) trait Decoder: Sized {
    type Filter;

    fn new(max_bytes: usize) -> Self;

    fn feed(&mut self, bytes: &[u8]) -> Result<usize, guira::SnapshotError>;

    /// The filter of a snapshot that is `age` old.
    fn finish(self, age: Duration) -> Result<Self::Filter, guira::SnapshotError>;
}

macro_rules! stored {
    ($filter:ty, $decoder:ty, $dump:literal, $finish:expr) => {
        impl Stored for $filter {
            type Decoder = $decoder;

            const DUMP: &'static [u8; 8] = $dump;
        }

        impl Decoder for $decoder {
            type Filter = $filter;

            fn new(max_bytes: usize) -> Self {
                Self::new(max_bytes)
            }

            fn feed(&mut self, bytes: &[u8]) -> Result<usize, guira::SnapshotError> {
                self.feed(bytes)
            }

            fn finish(self, age: Duration) -> Result<$filter, guira::SnapshotError> {
                $finish(self, age)
            }
        }
    };
}

stored!(
    CuckooFilter,
    SnapshotDecoder,
    b"guiracf\x01",
    |decoder: SnapshotDecoder, _| decoder.finish()
);
stored!(
    ExpiringFilter,
    ExpiringSnapshotDecoder,
    b"guiracw\x01",
    ExpiringSnapshotDecoder::restore
);

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
pub(crate) fn from_bytes<F: Stored>(
    data: &Bound<'_, PyAny>,
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<F> {
    let py = data.py();
    if let Ok(bytes) = data.cast::<PyBytes>() {
        let bytes = PyBackedBytes::from(bytes.clone());
        return py.detach(|| decode(&bytes, max_bytes, age));
    }
    // Other threads may write the buffer during the call, so its bytes are copied first.
    let bytes = buffer::bytes_of(&buffer::of(data)?)?;
    py.detach(|| decode(&bytes, max_bytes, age))
}

fn decode<F: Stored>(bytes: &[u8], max_bytes: Option<usize>, age: Duration) -> PyResult<F> {
    let mut decoder = F::Decoder::new(max_bytes.unwrap_or(usize::MAX));
    feed_all(&mut decoder, bytes)?;
    decoder.finish(age).map_err(snapshot_error)
}

fn feed_all(decoder: &mut impl Decoder, bytes: &[u8]) -> PyResult<()> {
    let fed = decoder.feed(bytes).map_err(snapshot_error)?;
    let count = bytes.len() - fed;
    if count > 0 {
        return Err(snapshot_error(guira::SnapshotError::TrailingBytes {
            count,
        }));
    }
    Ok(())
}

/// Writes a snapshot to a temporary file beside `path`, and renames it: the file has the old or the
/// new snapshot, also after a crash.
pub(crate) fn save(py: Python<'_>, filter: &impl Source, path: &Path) -> PyResult<()> {
    py.detach(|| save_to(filter, path))
        .map_err(|error| file_error(py, path, error))
}

fn save_to(filter: &impl Source, path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // Windows cannot open directories.
    #[cfg(unix)]
    let opened = File::open(directory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".guira-").suffix(".tmp");
    let replaced = permissions_of(path);
    if replaced.is_none()
        && let Some(permissions) = permissions()
    {
        builder.permissions(permissions);
    }
    let file = builder.tempfile_in(directory)?;
    let mut out = BufWriter::with_capacity(PIECE, file);
    filter.write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(permissions) = replaced {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename is on the disk only after this.
    #[cfg(unix)]
    opened.sync_all()?;
    Ok(())
}

/// The permissions of the file that is replaced: a snapshot has the seed, which may be secret.
#[cfg(unix)]
fn permissions_of(path: &Path) -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let replaced = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(Permissions::from_mode(
        replaced.permissions().mode() & 0o777,
    ))
}

#[cfg(not(unix))]
fn permissions_of(_path: &Path) -> Option<Permissions> {
    None
}

/// The permissions of any new file: the umask applies. A temporary file is private otherwise.
#[cfg(unix)]
fn permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn permissions() -> Option<Permissions> {
    None
}

/// The filter of a file that holds one snapshot.
pub(crate) fn load<F: Stored>(
    py: Python<'_>,
    path: &Path,
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<F> {
    let failed = |error| file_error(py, path, error);
    let file = File::open(path).map_err(failed)?;
    let mut decoder = F::Decoder::new(max_bytes.unwrap_or(usize::MAX));
    let mut piece = Vec::new();
    let reserved = piece.try_reserve_exact(PIECE);
    reserved.map_err(|_| out_of_memory("a piece of the file"))?;
    loop {
        let read = py.detach(|| {
            piece.clear();
            (&file).take(PIECE as u64).read_to_end(&mut piece)
        });
        if read.map_err(failed)? == 0 {
            return decoder.finish(age).map_err(snapshot_error);
        }
        py.detach(|| feed_all(&mut decoder, &piece))?;
    }
}

/// The filter of what `CF.SCANDUMP` returned: the header, then the pieces.
pub(crate) fn from_dump<F: Stored>(
    pieces: &Bound<'_, PyAny>,
    max_bytes: Option<usize>,
    age: Duration,
) -> PyResult<F> {
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
    if begins != F::DUMP {
        return Err(SnapshotError::new_err(format!(
            "the first piece is not the header of a dump of this kind of filter: it begins with \
             b\"{}\" and not with b\"{}\"",
            begins.escape_ascii(),
            F::DUMP.escape_ascii(),
        )));
    }
    let mut decoder = F::Decoder::new(max_bytes.unwrap_or(usize::MAX));
    let mut skipped = 0;
    while let Some(piece) = next_piece(&mut pieces)? {
        let skip = piece.len().min(LENGTH - skipped);
        skipped += skip;
        pieces
            .py()
            .detach(|| feed_all(&mut decoder, &piece[skip..]))?;
    }
    decoder.finish(age).map_err(snapshot_error)
}

fn next_piece<'py>(
    pieces: &mut impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Option<PyBackedBytes>> {
    match pieces.next() {
        Some(piece) => Ok(Some(piece?.extract()?)),
        None => Ok(None),
    }
}
