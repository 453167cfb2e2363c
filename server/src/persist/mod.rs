//! Makes saves, one at a time.

mod buffered;
mod file;

use crate::{
    fault::{self, Fault},
    keyspace::{self, Keyspace},
    stats::Stats,
};
pub use file::LoadError;
pub(crate) use file::read_within;
use file::{Size, write};
use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicI64, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use thiserror::Error;
use tracing::{error, info};

/// The file with the last complete save.
const SAVE: &str = "guira.save";

/// The file that a save is written to. A save that was interrupted leaves it behind.
const TEMPORARY: &str = "guira.save.tmp";

/// A save holds the seeds of its filters, and anyone who knows them can choose items that collide.
const MODE: u32 = 0o600;

/// The interval at which the last save checks whether a running save has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// The file that the server locks while it uses the directory.
const LOCK: &str = "guira.lock";

/// Saves all filters to a directory, if one was given.
#[derive(Debug)]
pub struct Saver {
    directory: Option<Directory>,
    /// A save is being made.
    saving: Arc<AtomicBool>,
    /// The time of the last complete save, or of the start; in seconds since 1970.
    last_completed: AtomicI64,
    /// The same by a monotonic clock, in milliseconds since `started`.
    last_good: AtomicU64,
    started: Instant,
    last_failed: AtomicBool,
    completed: AtomicU64,
    /// The time that the last complete save took.
    milliseconds: AtomicU64,
    saved_changes: AtomicU64,
    stats: Arc<Stats>,
}

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Keeps other servers out while it is open.
    _lock: File,
}

/// The status of saving.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// The time of the last complete save, or of the start; in seconds since 1970.
    pub last_completed: i64,
    /// The time since the last complete save, or since the start.
    pub age: Duration,
    /// Whether the last save failed.
    pub last_failed: bool,
    /// How many saves were completed since the start.
    pub completed: u64,
    /// Whether a save is in progress.
    pub in_progress: bool,
    /// The time that the last complete save took.
    pub took: Duration,
}

/// The save failed, and the last complete save is unchanged. (It may also be replaced, if only the
/// final sync of the directory failed.)
#[derive(Debug, Error)]
pub enum SaveError {
    /// The server was started without a directory.
    #[error("there is nowhere to save to: start the server with --dir")]
    NoDirectory,
    /// Another save is in progress.
    #[error("Background save already in progress")]
    InProgress,
    /// Writing failed.
    #[error("saving to {path} failed: {error}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// The server has a defect.
    #[error("saving to {0} failed by a panic: see the log")]
    Panic(String),
}

/// A save failed.
enum Failure {
    Io(io::Error),
    Panic,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The right to make a save, which is returned on drop.
struct Claim(Arc<AtomicBool>);

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

/// The directory cannot be used.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory or a file in it could not be opened.
    #[error("{path}: {error}")]
    Io {
        /// The file or directory.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// Another server uses the directory.
    #[error("{0} is in use by another guira-server")]
    InUse(String),
    /// The save in the directory is damaged.
    #[error(
        "{path} cannot be loaded: {error}. Nothing was changed; move the file away to start without it"
    )]
    Load {
        /// The file.
        path: String,
        /// The error of the reader.
        error: LoadError,
    },
}

impl Saver {
    /// Opens the directory `path` for saves, and creates it if it does not exist. Without a path
    /// nothing is saved.
    ///
    /// # Errors
    ///
    /// [`OpenError`]
    pub fn open(path: Option<&Path>) -> Result<Self, OpenError> {
        let directory = path.map(open_directory).transpose()?;
        Ok(Self {
            directory,
            saving: Arc::default(),
            last_completed: AtomicI64::new(now()),
            last_good: AtomicU64::new(0),
            started: Instant::now(),
            last_failed: AtomicBool::new(false),
            completed: AtomicU64::new(0),
            milliseconds: AtomicU64::new(0),
            saved_changes: AtomicU64::new(0),
            stats: Arc::default(),
        })
    }

    /// Counts the changes that are saved by these counters.
    #[must_use]
    pub(crate) fn counting(self, stats: &Arc<Stats>) -> Self {
        let stats = stats.clone();
        Self { stats, ..self }
    }

    /// The [changes](Stats::changes) that the last save includes.
    #[must_use]
    pub fn saved_changes(&self) -> u64 {
        self.saved_changes.load(Relaxed)
    }

    /// Loads the save into `keyspace`, and returns the number of filters.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; `keyspace` is then unchanged.
    pub fn load(&self, keyspace: &Keyspace) -> Result<usize, OpenError> {
        let Some(directory) = &self.directory else {
            return Ok(0);
        };
        let path = directory.path.join(SAVE);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(io_error(&path)(error)),
        };
        let mut filters = read_within(file, usize::MAX).map_err(|error| OpenError::Load {
            path: path.display().to_string(),
            error,
        })?;
        // Keys that have expired since the save are left out.
        let now = keyspace::now();
        filters.retain(|(_, _, deadline)| deadline.is_none_or(|at| at > now));
        let count = filters.len();
        keyspace.fill(filters);
        Ok(count)
    }

    /// The directory of the saves.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(|directory| &*directory.path)
    }

    /// The status of saving.
    #[must_use]
    pub fn status(&self) -> Status {
        let last_good = Duration::from_millis(self.last_good.load(Relaxed));
        Status {
            last_completed: self.last_completed.load(Relaxed),
            age: self.started.elapsed().saturating_sub(last_good),
            last_failed: self.last_failed.load(Relaxed),
            completed: self.completed.load(Relaxed),
            in_progress: self.saving.load(Relaxed),
            took: Duration::from_millis(self.milliseconds.load(Relaxed)),
        }
    }

    /// Saves all filters while other threads may use them. The save holds every item that is
    /// present during the whole call.
    ///
    /// # Errors
    ///
    /// [`SaveError`]
    pub fn save(&self, keyspace: &Keyspace) -> Result<(), SaveError> {
        let directory = self.directory.as_ref().ok_or(SaveError::NoDirectory)?;
        let _claim = self.claim()?;
        self.save_to(&directory.path, keyspace)
    }

    /// Like [`save`](Self::save), but first waits for a save in progress.
    ///
    /// # Errors
    ///
    /// Fails as [`save`](Self::save) does.
    pub fn save_last(&self, keyspace: &Keyspace) -> Result<(), SaveError> {
        let directory = self.directory.as_ref().ok_or(SaveError::NoDirectory)?;
        let _claim = loop {
            match self.claim() {
                Ok(claim) => break claim,
                Err(_) => thread::sleep(PAUSE),
            }
        };
        self.save_to(&directory.path, keyspace)
    }

    /// No other save begins until the claim is dropped.
    fn claim(&self) -> Result<Claim, SaveError> {
        match self.saving.swap(true, Acquire) {
            false => Ok(Claim(self.saving.clone())),
            true => Err(SaveError::InProgress),
        }
    }

    /// Starts a save on its own thread, which shares `owner` until the save ends. `parts` returns
    /// the saver and the keyspace in `owner`.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the save cannot be started. Its result is logged, and is in
    /// [`status`](Self::status).
    pub fn save_in_background<O: Send + Sync + 'static>(
        owner: &Arc<O>,
        parts: fn(&O) -> (&Self, &Keyspace),
    ) -> Result<(), SaveError> {
        let (saver, _) = parts(owner);
        let directory = saver.directory.as_ref().ok_or(SaveError::NoDirectory)?;
        let path = directory.path.clone();
        let claim = saver.claim()?;
        let shared = owner.clone();
        let save = move || {
            let _claim = claim;
            let (saver, keyspace) = parts(&shared);
            if let Err(error) = saver.save_to(&path, keyspace) {
                error!(%error, "background save failed");
            }
        };
        let thread = thread::Builder::new().name("guira-save".into()).spawn(save);
        thread.map(drop).map_err(|error| {
            saver.last_failed.store(true, Relaxed);
            SaveError::Io {
                path: "a thread".into(),
                error,
            }
        })
    }

    fn save_to(&self, directory: &Path, keyspace: &Keyspace) -> Result<(), SaveError> {
        let begun = Instant::now();
        // Changes that are counted from here on may not be in the save.
        let changes = self.stats.changes();
        let result = replace(directory, |file| write(file, keyspace.entries()));
        self.last_failed.store(result.is_err(), Relaxed);
        match result {
            Ok(Size { bytes, filters }) => {
                self.last_completed.store(now(), Relaxed);
                let since_start = self.started.elapsed().as_millis() as u64;
                self.last_good.store(since_start, Relaxed);
                self.completed.fetch_add(1, Relaxed);
                let milliseconds = begun.elapsed().as_millis() as u64;
                self.milliseconds.store(milliseconds, Relaxed);
                self.saved_changes.store(changes, Relaxed);
                info!(filters, bytes, milliseconds, "saved");
                Ok(())
            }
            Err(failure) => {
                let path = directory.join(SAVE).display().to_string();
                Err(match failure {
                    Failure::Io(error) => SaveError::Io { path, error },
                    Failure::Panic => SaveError::Panic(path),
                })
            }
        }
    }
}

/// Writes a save of all keys.
pub(crate) fn write_keys(file: &File, keyspace: &Keyspace) -> io::Result<()> {
    write(file, keyspace.entries()).map(drop)
}

/// Replaces the save by the output of `write`. The order of the steps is safe: after a crash at any
/// point the file is either the old save or the new one.
fn replace(
    directory: &Path,
    write: impl FnOnce(&File) -> io::Result<Size>,
) -> Result<Size, Failure> {
    let temporary = directory.join(TEMPORARY);
    let file = create(&temporary)?;
    // After a panic only the file is left, and filters are shared with other threads in any case.
    let written = catch_unwind(AssertUnwindSafe(|| {
        fault::hold_save();
        Fault::Save.reach();
        let size = write(&file)?;
        file.sync_all()?;
        Ok(size)
    }));
    let written = written.unwrap_or(Err(Failure::Panic));
    if written.is_err() {
        // The removal may fail, because the next save begins with an empty file in any case.
        let _ = fs::remove_file(&temporary);
    }
    let size = written?;
    fs::rename(&temporary, directory.join(SAVE))?;
    // The new name is durable only once the directory is synced.
    File::open(directory)?.sync_all()?;
    Ok(size)
}

/// Creates a file that only the user of the server can read, whatever the umask.
fn create(path: &Path) -> io::Result<File> {
    // Another user might have opened an existing file.
    remove(path)?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    Ok(file)
}

/// Removes a file. Returns false if it does not exist.
fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn open_directory(path: &Path) -> Result<Directory, OpenError> {
    fs::create_dir_all(path).map_err(io_error(path))?;
    let lock_path = path.join(LOCK);
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(MODE)
        .open(&lock_path)
        .map_err(io_error(&lock_path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenError::InUse(path.display().to_string()));
        }
        Err(TryLockError::Error(error)) => return Err(io_error(&lock_path)(error)),
    }
    let temporary = path.join(TEMPORARY);
    if remove(&temporary).map_err(io_error(&temporary))? {
        info!("removed the temporary file of an incomplete save");
    }
    Ok(Directory {
        path: path.to_path_buf(),
        _lock: lock,
    })
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.display().to_string();
    |error| OpenError::Io { path, error }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |time| time.as_secs() as i64)
}
