//! The bytes of a save; `docs/SERVER.md` describes them.

use crate::keyspace::Entry;
use guira::SnapshotError;
use guira_commands::{Filter, Options};
use std::{
    collections::HashSet,
    io::{self, BufReader, BufWriter, Read, Write},
    sync::Arc,
};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"guiradb\x1a";
const VERSION: u32 = 2;

/// Before a key and its filter.
const FILTER: u8 = 1;

/// After the last one.
const END: u8 = 0;

/// Bytes that are read and written at a time.
const BUFFER: usize = 1 << 20;

/// A save cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The disk.
    #[error("it could not be read: {0}")]
    Io(io::Error),
    /// It ends too early.
    #[error("it is cut off after {0} filters")]
    CutOff(usize),
    /// It does not begin as a save does.
    #[error("it is not a save of this server")]
    Magic,
    /// It is of another release.
    #[error("it has format version {0}, and this release reads version {VERSION}")]
    Version(u32),
    /// A filter in it is damaged.
    #[error("the filter {key} in it is damaged: {error}")]
    Filter {
        /// The key, escaped.
        key: String,
        /// What is wrong with it.
        error: SnapshotError,
    },
    /// Something else in it is damaged.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// A reader or writer that keeps the checksum of what went through it.
struct Summed<I> {
    inner: I,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl<I> Summed<I> {
    fn new(inner: I) -> Self {
        Self {
            inner,
            sum: crc32fast::Hasher::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.add(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.add(&bytes[..read]);
        Ok(read)
    }
}

/// Keeps the snapshot of a filter from flushing the file.
struct Unflushed<'a, W>(&'a mut W);

impl<W: Write> Write for Unflushed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A key and its filter, which no client sees yet, and when the key expires.
type Loaded = (Box<[u8]>, Filter, Option<i64>);

/// A key and its filter, as they are in use.
type Shared = (Box<[u8]>, Arc<Entry>);

/// How much a save holds.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) filters: u64,
}

/// Writes a save of `entries`, each of which is given back when it is written.
pub(super) fn write(
    file: impl Write,
    entries: impl IntoIterator<Item = Shared>,
) -> io::Result<Size> {
    let mut out = Summed::new(BufWriter::with_capacity(BUFFER, file));
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let mut filters = 0_u64;
    for (key, filter) in entries {
        out.write_all(&[FILTER])?;
        out.write_all(&(key.len() as u64).to_le_bytes())?;
        out.write_all(&key)?;
        out.write_all(&filter.options().to_bytes())?;
        out.write_all(&filter.deleted().to_le_bytes())?;
        out.write_all(&filter.deadline().unwrap_or(0).to_le_bytes())?;
        filter.write_to(Unflushed(&mut out))?;
        filters += 1;
    }
    out.write_all(&[END])?;
    out.write_all(&filters.to_le_bytes())?;
    let sum = out.sum.clone().finalize();
    out.write_all(&sum.to_le_bytes())?;
    out.flush()?;
    let bytes = out.bytes;
    Ok(Size { bytes, filters })
}

/// Reads a save.
pub(super) fn read(file: impl Read) -> Result<Vec<Loaded>, LoadError> {
    let mut input = Summed::new(BufReader::with_capacity(BUFFER, file));
    if take::<8>(&mut input, 0)? != *MAGIC {
        return Err(LoadError::Magic);
    }
    let version = u32::from_le_bytes(take(&mut input, 0)?);
    if version != VERSION {
        return Err(LoadError::Version(version));
    }
    let mut filters: Vec<Loaded> = Vec::new();
    loop {
        let read = filters.len();
        match take(&mut input, read)? {
            [FILTER] => filters.push(read_filter(&mut input, read)?),
            [END] => break,
            _ => return Err(LoadError::Damaged("neither a filter nor the end")),
        }
    }
    let read = filters.len();
    if u64::from_le_bytes(take(&mut input, read)?) != read as u64 {
        return Err(LoadError::Damaged("the number of filters is another"));
    }
    let computed = input.sum.clone().finalize();
    if u32::from_le_bytes(take(&mut input, read)?) != computed {
        return Err(LoadError::Damaged("the checksum is another"));
    }
    if input.read(&mut [0]).map_err(LoadError::Io)? != 0 {
        return Err(LoadError::Damaged("there are bytes after its end"));
    }
    let keys: HashSet<_> = filters.iter().map(|(key, ..)| key).collect();
    if keys.len() != filters.len() {
        return Err(LoadError::Damaged("a key is there twice"));
    }
    Ok(filters)
}

fn read_filter(input: &mut impl Read, read: usize) -> Result<Loaded, LoadError> {
    let length = u64::from_le_bytes(take(input, read)?);
    // Grows with the bytes that are there, whatever the length says.
    let mut key = Vec::new();
    let taken = input.take(length).read_to_end(&mut key);
    if taken.map_err(LoadError::Io)? as u64 != length {
        return Err(LoadError::CutOff(read));
    }
    let options = Options::from_bytes(&take(input, read)?);
    let options = options.ok_or(LoadError::Damaged("the options of a filter"))?;
    let deleted = u64::from_le_bytes(take(input, read)?);
    let deadline = match i64::from_le_bytes(take(input, read)?) {
        0 => None,
        at if at > 0 => Some(at),
        _ => return Err(LoadError::Damaged("the time when a key expires")),
    };
    let filter = Filter::read_from(input, options, deleted).map_err(|error| match error {
        SnapshotError::Io(error) => LoadError::Io(error),
        SnapshotError::Truncated => LoadError::CutOff(read),
        error => LoadError::Filter {
            key: key.escape_ascii().to_string(),
            error,
        },
    })?;
    Ok((key.into(), filter, deadline))
}

fn take<const N: usize>(input: &mut impl Read, read: usize) -> Result<[u8; N], LoadError> {
    let mut bytes = [0; N];
    input
        .read_exact(&mut bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => LoadError::CutOff(read),
            _ => LoadError::Io(error),
        })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use guira_commands::Growth;
    use std::sync::atomic::Ordering;

    fn snapshot(filter: &Filter) -> Vec<u8> {
        let mut bytes = Vec::new();
        filter.write_to(&mut bytes).unwrap();
        bytes
    }

    fn save() -> (Vec<u8>, Vec<Shared>) {
        let filter = |capacity: usize, expansion| {
            let options = Options {
                capacity,
                expansion,
                ..Options::default()
            };
            let growth = Growth::furthest(&options, usize::MAX).unwrap();
            let filter = Filter::build(options, growth).unwrap();
            for item in 0..capacity {
                filter.insert(&item.to_le_bytes(), || false).unwrap();
            }
            Arc::new(filter.into())
        };
        let entries: Vec<Shared> = vec![
            ((*b"a").into(), filter(4, 0)),
            ((*b"").into(), filter(8, 1)),
        ];
        entries[1].1.deadline.store(i64::MAX, Ordering::Relaxed);
        let mut bytes = Vec::new();
        let size = write(&mut bytes, entries.clone()).unwrap();
        assert_eq!((size.bytes, size.filters), (bytes.len() as u64, 2));
        (bytes, entries)
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let (bytes, entries) = save();
        let loaded = read(&*bytes).unwrap();
        assert_eq!(loaded.len(), entries.len());
        for ((key, filter, deadline), (saved_key, saved)) in loaded.iter().zip(&entries) {
            assert_eq!(key, saved_key);
            assert_eq!(filter.options(), saved.options());
            assert_eq!(*deadline, saved.deadline());
            assert_eq!(snapshot(filter), snapshot(saved));
        }
    }

    /// As nobody writes it, with the right checksum.
    #[test]
    fn a_time_before_all_times_is_refused() {
        let (bytes, entries) = save();
        for at in [-1, i64::MIN] {
            entries[1].1.deadline.store(at, Ordering::Relaxed);
            let mut hostile = Vec::new();
            write(&mut hostile, entries.clone()).unwrap();
            assert_eq!(hostile.len(), bytes.len());
            let refused = read(&*hostile).map(|entries| entries.len());
            assert!(
                matches!(
                    refused,
                    Err(LoadError::Damaged("the time when a key expires"))
                ),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_save_cut_off_anywhere_is_refused() {
        let (bytes, _) = save();
        for length in 0..bytes.len() {
            assert!(
                read(&bytes[..length]).is_err(),
                "{length} of {}",
                bytes.len()
            );
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(read(&*longer).is_err());
    }

    #[test]
    fn a_changed_bit_anywhere_is_refused() {
        let (mut bytes, _) = save();
        for at in 0..bytes.len() {
            let bit = 1 << (at % 8);
            bytes[at] ^= bit;
            assert!(read(&*bytes).is_err(), "bit {bit:#x} of byte {at}");
            bytes[at] ^= bit;
        }
        assert!(read(&*bytes).is_ok());
    }
}
