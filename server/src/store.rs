//! The state that the commands on filters and keys use.

mod loads;

pub use loads::Loads;

use crate::keyspace::{Entry, Keyspace, ReserveError, check_key};
use guira_commands::{
    Answer, Filter, MakeError, Options, Reply, Wanted, Work,
    dump::{DumpError, Dumps},
};
use std::{collections::HashSet, path::PathBuf, sync::Arc, thread, time::Duration};
use tokio::task::block_in_place;
use tracing::warn;

/// The time between two attempts of an insert that waits for a sweep, or for memory.
const PAUSE: Duration = Duration::from_millis(2);

/// The keys, and the dumps and loads in progress.
#[derive(Debug)]
pub struct Store {
    /// The keys.
    pub keyspace: Keyspace,
    /// Dumps that clients are reading.
    pub dumps: Dumps,
    /// Dumps that clients are writing.
    pub loads: Loads,
    /// The options of keys that inserts create.
    defaults: Options,
}

impl Store {
    /// An empty store with a limit for its bytes, and a directory for the files of dumps. Without a
    /// directory, the files are where the system has temporary files.
    #[must_use]
    pub fn new(memory_limit: usize, directory: Option<PathBuf>) -> Self {
        Self {
            keyspace: Keyspace::new(memory_limit),
            dumps: Dumps::new(directory),
            loads: Loads::default(),
            defaults: Options::default(),
        }
    }

    /// Sets the options of keys that inserts create.
    #[must_use]
    pub fn with_defaults(self, defaults: Options) -> Self {
        Self { defaults, ..self }
    }

    /// Ends the dumps and loads that were not continued for `idle`, and frees their memory.
    pub fn expire(&self, idle: Duration) {
        self.dumps.expire(idle);
        self.loads.expire(&self.keyspace, idle);
    }

    /// Evicts expired keys, a few at a time. There may be more of them if it returns true.
    #[must_use]
    pub fn sweep(&self) -> bool {
        let keys: HashSet<_> = self.keyspace.expire_some().into_iter().collect();
        if !keys.is_empty() {
            self.abandon(|key| keys.contains(key));
        }
        !keys.is_empty()
    }

    /// Ends the dumps and loads of these keys, and frees their memory.
    pub(crate) fn abandon(&self, which: impl Fn(&[u8]) -> bool) {
        self.dumps.abandon(&which);
        self.loads.abandon(&self.keyspace, &which);
    }
}

impl guira_commands::Store for Store {
    type Kept = Entry;

    #[inline]
    fn with<R>(&self, key: &[u8], work: impl FnOnce(&Arc<Entry>) -> R) -> Result<Option<R>, Reply> {
        Ok(self.keyspace.with(key, work))
    }

    fn make(&self, key: &[u8], wanted: &Wanted) -> Result<Arc<Entry>, MakeError> {
        self.keyspace.reserve(key, wanted).map_err(MakeError::from)
    }

    fn put(&self, key: &[u8], filter: Filter) -> Result<Arc<Entry>, MakeError> {
        Ok(self.keyspace.put(key, filter)?)
    }

    fn may_combine(&self, work: Work) -> Result<(), Reply> {
        match self.keyspace.free() < work.bytes {
            true => Err(self
                .keyspace
                .refusal(work.bytes, self.keyspace.used())
                .into()),
            false => Ok(()),
        }
    }

    #[inline]
    fn defaults(&self) -> Options {
        self.defaults
    }

    #[inline]
    fn refuses_growth(&self) -> bool {
        self.keyspace.is_over_limit()
    }

    const MAY_BE_STRICT: bool = false;

    #[inline]
    fn is_strict(&self) -> bool {
        Self::MAY_BE_STRICT
    }

    fn wait(&self) -> bool {
        // Other clients of this thread must not wait.
        block_in_place(|| thread::sleep(PAUSE));
        true
    }

    #[cold]
    fn missed(&self, lookups: usize) {
        self.keyspace.missed(lookups);
    }

    #[inline]
    fn added<'a>(&self, _: &[u8], entry: &Entry, _: impl Iterator<Item = &'a [u8]>) {
        self.keyspace.settle(entry);
    }

    #[inline]
    fn removed<'a>(&self, _: &[u8], entry: &Entry, _: impl Iterator<Item = &'a [u8]>) {
        self.keyspace.changed(entry);
    }

    #[inline]
    fn touched<'a>(&self, _: &[u8], entry: &Entry, _: impl Iterator<Item = &'a [u8]>) {
        self.keyspace.changed(entry);
    }

    fn combined(&self, _: &[u8], entry: &Entry) {
        self.keyspace.settle(entry);
    }

    fn compacted(&self, _: &[u8], entry: &Entry) {
        self.keyspace.settle(entry);
    }

    fn begin_dump(&self, key: &[u8], entry: &Arc<Entry>) -> Answer {
        let position = self.dumps.begin(key, entry).map_err(report)?;
        let is_still_there = |now: &Arc<Entry>| Arc::ptr_eq(now, entry);
        if self.keyspace.with(key, is_still_there) != Some(true) {
            // The key was deleted during the call, perhaps before the dump existed and could be
            // ended.
            self.dumps.end(position);
            return Err(Reply::error("ERR not found"));
        }
        self.go_on_dump(key, position)
    }

    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer {
        self.dumps.go_on(key, position).map_err(report)
    }

    fn begin_load(&self, key: &[u8], header: &[u8]) -> Answer {
        check_key(key)?;
        if self.keyspace.contains(key) {
            return Err(MakeError::Exists.into());
        }
        self.loads.begin(&self.keyspace, key, header)
    }

    fn go_on_load(&self, key: &[u8], position: u64, piece: &[u8]) -> Answer {
        check_key(key)?;
        self.loads.go_on(&self.keyspace, key, position, piece)
    }
}

impl From<ReserveError> for MakeError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Exists => Self::Exists,
            error => Self::Refused(error.into()),
        }
    }
}

impl From<ReserveError> for Reply {
    fn from(error: ReserveError) -> Self {
        Self::Error(error.to_string().into())
    }
}

/// The reply for an error. The error is also logged unless the client caused it.
fn report(error: DumpError) -> Reply {
    match &error {
        DumpError::Write { directory, error } => {
            let directory = directory.display().to_string();
            warn!(directory, %error, "a dump was not written");
        }
        DumpError::Read(error) => warn!(%error, "a dump was not read"),
        DumpError::Position => {}
    }
    Reply::Error(error.to_string().into())
}
