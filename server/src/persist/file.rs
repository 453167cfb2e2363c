//! The format of a save; `docs/server/formats.md` describes it.

use super::buffered::Buffered;
use crate::keyspace::{self, Entry, LONGEST_KEY};
use guira::SnapshotError;
use guira_commands::{
    Clock, Filter, FilterDecoder, Options,
    dump::{Header, Kind},
};
use std::{
    collections::HashSet,
    io::{self, BufRead, BufReader, Read, Write},
    sync::Arc,
    time::Duration,
};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"guiradb\x1a";
const VERSION: u32 = 3;

/// The tag before a key and its filter.
const FILTER: u8 = 1;

/// The tag before a key and its filter with a window.
const WINDOWED: u8 = 2;

/// The tag after the last filter.
const END: u8 = 0;

/// The size of one read.
const BUFFER: usize = 1 << 20;

/// A save cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Reading failed.
    #[error("it could not be read: {0}")]
    Io(io::Error),
    /// The save is truncated.
    #[error("it is cut off after {0} filters")]
    CutOff(usize),
    /// The file does not begin like a save.
    #[error("it is not a save of this server")]
    Magic,
    /// The save has the format of another release.
    #[error("it has format version {0}, and this release reads version {VERSION}")]
    Version(u32),
    /// A filter in it is damaged.
    #[error("the filter {key} in it is damaged: {error}")]
    Filter {
        /// The key, escaped.
        key: String,
        /// The error of the decoder.
        error: SnapshotError,
    },
    /// The filters in the save exceed the memory limit.
    #[error("its first {filters} filters need {bytes} bytes, and {limit} are allowed")]
    Memory {
        /// How many filters were read.
        filters: usize,
        /// The memory that they need.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Another part of the save is damaged.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// A reader or writer that computes the checksum of all bytes that pass through it.
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

impl<R: BufRead> BufRead for Summed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        // The bytes are in the buffer, so this does not read from the file.
        if let Ok(buffer) = self.inner.fill_buf() {
            self.sum.update(&buffer[..bytes]);
        }
        self.bytes += bytes as u64;
        self.inner.consume(bytes);
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

/// A key, its filter, which is not yet visible to clients, and the time when the key expires.
type Loaded = (Box<[u8]>, Filter, Option<i64>);

/// A key and its filter while both are in use.
type Shared = (Box<[u8]>, Arc<Entry>);

/// The size of a save.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) filters: u64,
}

/// Writes a save of `entries`. Each entry is released as soon as it is written.
pub(super) fn write(
    file: impl Write,
    entries: impl IntoIterator<Item = Shared>,
) -> io::Result<Size> {
    let mut out = Summed::new(Buffered::new(file)?);
    out.write_all(MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let mut filters = 0_u64;
    for (key, filter) in entries {
        let has_window = filter.window().is_some();
        out.write_all(&[if has_window { WINDOWED } else { FILTER }])?;
        out.write_all(&(key.len() as u64).to_le_bytes())?;
        out.write_all(&key)?;
        out.write_all(&filter.options().to_bytes())?;
        out.write_all(&filter.deleted().to_le_bytes())?;
        out.write_all(&filter.deadline().unwrap_or(0).to_le_bytes())?;
        filter.write_to(Unflushed(&mut out))?;
        if has_window {
            // The time is taken after the snapshot, because the snapshot holds the age of the epoch
            // at its end. It is rounded up, so that no restart makes an epoch shorter.
            let written = keyspace::now().saturating_add(1);
            out.write_all(&written.to_le_bytes())?;
        }
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

/// Reads a save whose filters need at most `limit` bytes of memory.
///
/// At any time it holds at most `limit` bytes plus the overhead of one filter, and at most a small
/// multiple of the bytes that it has read.
pub(crate) fn read_within(input: impl Read, limit: usize) -> Result<Vec<Loaded>, LoadError> {
    read_all(Summed::new(BufReader::with_capacity(BUFFER, input)), limit)
}

fn read_all(mut input: Summed<impl BufRead>, limit: usize) -> Result<Vec<Loaded>, LoadError> {
    if take::<8>(&mut input, 0)? != *MAGIC {
        return Err(LoadError::Magic);
    }
    let version = u32::from_le_bytes(take(&mut input, 0)?);
    if version != VERSION {
        return Err(LoadError::Version(version));
    }
    let mut filters: Vec<Loaded> = Vec::new();
    let mut bytes = 0;
    loop {
        let read = filters.len();
        let kind = match take(&mut input, read)? {
            [FILTER] => Kind::Plain,
            [WINDOWED] => Kind::Windowed,
            [END] => break,
            _ => return Err(LoadError::Damaged("neither a filter nor the end")),
        };
        let loaded = read_filter(&mut input, kind, read, limit - bytes)?;
        bytes += keyspace::charge_of(&loaded.0, &loaded.1, loaded.2);
        filters.push(loaded);
        if bytes > limit {
            let filters = filters.len();
            return Err(LoadError::Memory {
                filters,
                bytes,
                limit,
            });
        }
    }
    let read = filters.len();
    if u64::from_le_bytes(take(&mut input, read)?) != read as u64 {
        return Err(LoadError::Damaged("the number of filters does not match"));
    }
    let computed = input.sum.clone().finalize();
    if u32::from_le_bytes(take(&mut input, read)?) != computed {
        return Err(LoadError::Damaged("the checksum does not match"));
    }
    if input.read(&mut [0]).map_err(LoadError::Io)? != 0 {
        return Err(LoadError::Damaged("bytes follow its end"));
    }
    let keys: HashSet<_> = filters.iter().map(|(key, ..)| key).collect();
    if keys.len() != filters.len() {
        return Err(LoadError::Damaged("a key occurs twice"));
    }
    Ok(filters)
}

/// Reads a filter that takes up at most `most` bytes.
fn read_filter(
    input: &mut impl BufRead,
    kind: Kind,
    read: usize,
    most: usize,
) -> Result<Loaded, LoadError> {
    let length = u64::from_le_bytes(take(input, read)?);
    if length > LONGEST_KEY as u64 {
        return Err(LoadError::Damaged("a key is too long"));
    }
    let mut key = Vec::new();
    let taken = input.by_ref().take(length).read_to_end(&mut key);
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
    let header = Header {
        kind,
        options,
        deleted,
    };
    let damaged = |error| LoadError::Filter {
        key: key.escape_ascii().to_string(),
        error,
    };
    let mut decoder = FilterDecoder::new(header, Clock::Process, most);
    while !decoder.is_complete() {
        let bytes = match input.fill_buf() {
            Ok([]) => return Err(LoadError::CutOff(read)),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LoadError::Io(error)),
        };
        let taken = decoder.feed(bytes).map_err(damaged)?;
        input.consume(taken);
    }
    let filter = decoder.finish().map_err(damaged)?;
    if kind == Kind::Windowed {
        let written = i64::from_le_bytes(take(input, read)?);
        filter.elapse(since(written));
    }
    Ok((key.into(), filter, deadline))
}

/// The time that has passed since `then`, in milliseconds since 1970. It is zero if the clock was
/// set back.
fn since(then: i64) -> Duration {
    let passed = keyspace::now().saturating_sub(then);
    Duration::from_millis(u64::try_from(passed).unwrap_or(0))
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
mod tests;
