//! The keys of requests that were done. They are saved, so that a request that comes again after a restart
//! is not done again.

use guira::{ExpiringFilter, LoadError};
use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The keys of the whole process.
pub(crate) static KEYS: OnceLock<Keys> = OnceLock::new();

/// The file with the present keys, and the beginning of the names of retired ones.
const FILE: &str = "keys.guira";
const RETIRED: &str = "retired-";

#[derive(Debug)]
pub(crate) struct Keys {
    /// All new keys.
    current: ExpiringFilter,
    /// Filters with the settings of earlier runs. They get no new keys, and are empty after their TTL.
    retired: Vec<ExpiringFilter>,
    path: PathBuf,
    saves: AtomicU64,
    /// When the last save was complete, in seconds since 1970.
    last_save: AtomicU64,
    /// Locked during a save, so that an older one does not replace a newer one.
    saving: Mutex<()>,
}

/// Whether a request may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    First,
    /// A request with this key was done. One new key in 10 million also gets this answer.
    Repeated,
    /// There is no room for the key.
    Busy,
}

/// The keys that were saved in `directory`, and room for `capacity` keys in each period of `remember`.
pub(crate) fn open(
    directory: &Path,
    capacity: usize,
    remember: Duration,
) -> Result<Keys, Box<dyn Error>> {
    fs::create_dir_all(directory)?;
    let path = directory.join(FILE);
    let builder = ExpiringFilter::builder(remember).capacity(capacity);
    let builder = builder.false_positive_rate(1e-7);
    let current = match builder.load(&path) {
        Err(error) if error.is_not_found() => builder.build()?,
        Err(error @ LoadError::Settings(_)) => {
            eprintln!("service: {error}; the saved keys are kept until they expire");
            fs::rename(&path, unused_name(directory))?;
            builder.build()?
        }
        loaded => loaded?,
    };
    Ok(Keys {
        current,
        retired: retired(directory)?,
        path,
        saves: AtomicU64::new(0),
        last_save: AtomicU64::new(0),
        saving: Mutex::default(),
    })
}

/// A name that no retired file has, because time passes.
fn unused_name(directory: &Path) -> PathBuf {
    directory.join(format!("{RETIRED}{}.guira", since_1970().as_nanos()))
}

fn since_1970() -> Duration {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.unwrap_or_default()
}

/// The retired filters that still have keys. The files of the others are removed.
fn retired(directory: &Path) -> Result<Vec<ExpiringFilter>, Box<dyn Error>> {
    let mut filters = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if !name.to_string_lossy().starts_with(RETIRED) {
            continue;
        }
        let filter = ExpiringFilter::load(&path)?;
        if filter.is_empty() {
            fs::remove_file(path)?;
        } else {
            filters.push(filter);
        }
    }
    Ok(filters)
}

impl Keys {
    /// When requests with the same key race, exactly one is the first.
    pub(crate) fn take(&self, key: &str) -> Permit {
        if self.retired.iter().any(|filter| filter.contains(key)) {
            return Permit::Repeated;
        }
        match self.current.insert_unique(key) {
            Ok(true) => Permit::First,
            Ok(false) => Permit::Repeated,
            Err(_) => Permit::Busy,
        }
    }

    /// Lets time pass. This is not done by requests, because a sweep takes milliseconds.
    pub(crate) fn tick(&self) {
        for filter in self.filters() {
            filter.tick();
        }
    }

    /// The time between two calls of [`tick`](Self::tick).
    pub(crate) fn tick_every(&self) -> Duration {
        let shortest = self.filters().map(ExpiringFilter::epoch_length).min();
        shortest.unwrap_or_default() / 4
    }

    fn filters(&self) -> impl Iterator<Item = &ExpiringFilter> {
        self.retired.iter().chain([&self.current])
    }

    pub(crate) fn save(&self) -> io::Result<()> {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        self.current.save(&self.path)?;
        // Relaxed: the numbers are for people.
        self.last_save
            .store(since_1970().as_secs(), Ordering::Relaxed);
        self.saves.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How many saves were completed.
    pub(crate) fn saves(&self) -> u64 {
        self.saves.load(Ordering::Relaxed)
    }

    /// When the last save was complete, in seconds since 1970.
    pub(crate) fn last_save(&self) -> u64 {
        self.last_save.load(Ordering::Relaxed)
    }

    pub(crate) fn current(&self) -> &ExpiringFilter {
        &self.current
    }
}
