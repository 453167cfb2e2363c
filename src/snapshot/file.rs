//! Snapshots in files: what is saved is there after a crash, and the time until it is loaded counts.
//!
//! The standard library has neither files nor the time of day on `wasm32-unknown-unknown`.

use super::{content::Content, decode::Decoder, fill_from};
use crate::{
    error::SnapshotError,
    filter::Filter,
    hash::SeededState,
    lifetime::{Expiring, Lifetime, Timing},
    table::time::beginning::Reading,
};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    hash::BuildHasher,
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The bytes that are read or written at a time.
const PIECE: usize = 1 << 16;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// Saves a [snapshot](Self::write_to) to a file, while threads use the filter.
    ///
    /// The file is replaced as a whole: after a crash at any moment, it is the old one or the new one.
    /// When the call returns `Ok`, the new one is on the disk. The call writes to a temporary file in the
    /// same directory, whose name begins with a dot and ends with `.tmp`. A process that is killed during
    /// the call leaves it there.
    ///
    /// The file contains the seed, so on Unix only its owner can read it. In an
    /// [`ExpiringFilter`](crate::ExpiringFilter) it also contains the time of day, for
    /// [`load`](Filter::load).
    ///
    /// The call waits for the disk. In an asynchronous program, run it where threads may wait, as with
    /// tokio's `spawn_blocking`.
    ///
    /// These methods do not exist on `wasm32-unknown-unknown`.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// # let directory = std::env::temp_dir().join(format!("guira-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let path = directory.join("names.guira");
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// filter.save(&path)?;
    /// assert!(CuckooFilter::load(&path)?.contains("ani"));
    /// # std::fs::remove_dir_all(directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the file system. The file is the old one then, or the new one if only the directory could
    /// not be synchronized with the disk.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.save_by(path.as_ref(), &|| self.timing.read())
    }

    fn save_by(&self, path: &Path, clock: &dyn Fn() -> Reading) -> io::Result<()> {
        replace(path, |file| {
            let mut out = BufWriter::with_capacity(PIECE, file);
            self.write(&mut out, clock)?;
            if T::EXPIRES {
                // After the snapshot, which has the ages of the epochs at its end.
                out.write_all(&Saved::now().to_bytes())?;
            }
            out.flush()
        })
    }
}

impl<T: Lifetime> Filter<SeededState, T> {
    /// Loads the filter that [`save`](Self::save) has saved, with the settings that it had.
    ///
    /// [`Builder::load`](crate::Builder::load) also says whether these are the settings of a builder.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter), the time since `save` passes. It is measured by the
    /// time of day. If that was set back, no time has passed, and items live longer. If it was set forward,
    /// items expire early. [`Restore::elapsed`](crate::Restore::elapsed) takes a time that is known better.
    ///
    /// For files of strangers, [`Restore::max_bytes`](crate::Restore::max_bytes) limits the memory.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// # let directory = std::env::temp_dir().join(format!("guira-load-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let path = directory.join("seen.guira");
    /// let seen = ExpiringFilter::builder(Duration::from_secs(3600)).build()?;
    /// seen.insert("ani")?;
    /// seen.save(&path)?;
    /// assert!(ExpiringFilter::load(&path)?.contains("ani"));
    /// # std::fs::remove_dir_all(directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SnapshotError::Io`] has the error of the file system. Other variants say what is wrong with the
    /// bytes. A file that another function than `save` wrote has no time of day: an expiring filter in it
    /// is [truncated](SnapshotError::Truncated).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        Self::restore().load(path)
    }
}

impl<S: BuildHasher + 'static> Filter<S, Expiring> {
    /// [`save`](Self::save) for a filter that is ticked by a [clock of the caller](Self::tick_at). The
    /// clock is read as in [`write_to_at`](Self::write_to_at).
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub fn save_at(&self, path: impl AsRef<Path>, clock: impl Fn() -> Duration) -> io::Result<()> {
        self.save_by(path.as_ref(), &|| Reading::of_caller(clock()))
    }
}

/// The content of a file, whose checksums are right.
pub(crate) struct Loaded<T: Lifetime> {
    pub(crate) content: Content<T>,
    /// The time since it was saved.
    pub(crate) elapsed: Duration,
}

impl<T: Lifetime> Loaded<T> {
    /// Reads the file of a filter whose buckets occupy at most `max_bytes`.
    pub(crate) fn read(path: &Path, max_bytes: usize) -> Result<Self, SnapshotError> {
        let mut file = BufReader::with_capacity(PIECE, File::open(path)?);
        let content = Decoder::new(max_bytes).read_on(&mut file)?;
        let elapsed = match T::EXPIRES {
            true => Saved::read(&mut file)?.elapsed(),
            false => Duration::ZERO,
        };
        match io::copy(&mut file, &mut io::sink())? {
            0 => Ok(Self { content, elapsed }),
            more => Err(SnapshotError::TrailingBytes {
                count: more as usize,
            }),
        }
    }
}

/// The time of day when a snapshot was complete, in milliseconds since 1970.
struct Saved(u64);

impl Saved {
    const BYTES: usize = size_of::<u64>() + size_of::<u32>();

    /// Rounded up, so that no restart makes an epoch shorter.
    fn now() -> Self {
        Self(milliseconds().saturating_add(1))
    }

    /// The number, and its checksum.
    fn to_bytes(&self) -> [u8; Self::BYTES] {
        let number = self.0.to_le_bytes();
        let mut bytes = [0; Self::BYTES];
        bytes[..number.len()].copy_from_slice(&number);
        bytes[number.len()..].copy_from_slice(&crc32fast::hash(&number).to_le_bytes());
        bytes
    }

    fn read(reader: &mut impl Read) -> Result<Self, SnapshotError> {
        let (mut number, mut sum) = ([0; size_of::<u64>()], [0; size_of::<u32>()]);
        fill_from(reader, &mut number)?;
        fill_from(reader, &mut sum)?;
        let (stored, computed) = (u32::from_le_bytes(sum), crc32fast::hash(&number));
        match stored == computed {
            true => Ok(Self(u64::from_le_bytes(number))),
            false => Err(SnapshotError::Checksum { stored, computed }),
        }
    }

    /// The time since then; zero if the clock was set back.
    fn elapsed(&self) -> Duration {
        Duration::from_millis(milliseconds().saturating_sub(self.0))
    }
}

fn milliseconds() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since_1970.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// Replaces the file at `path` by one that `write` fills. The order of the steps is safe: after a crash at
/// any point it is the old file or the new one.
fn replace(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let temporary = beside(path)?;
    let file = create(&temporary)?;
    let written = write(&file).and_then(|()| file.sync_all());
    // Windows does not rename files that are open.
    drop(file);
    let replaced = written.and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        // The error of the write is the one that matters.
        let _ = fs::remove_file(&temporary);
    }
    replaced?;
    sync_directory(path)
}

/// A new name in the directory of `path`. It is random, because two calls may save to one path at a time.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        let message = format!("{} does not end with the name of a file", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    let random = SeededState::random().seed();
    let mut new = OsString::from(".");
    new.push(name);
    new.push(format!(".{random:016x}.tmp"));
    Ok(path.with_file_name(new))
}

/// Creates a file that only the user of the process can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A new name is on the disk only once the directory is.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}

/// Other systems do not open directories.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}
