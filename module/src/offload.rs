//! Work on the module's own threads, while the engine continues.
//!
//! These threads read filters, write snapshots, complete doublings, sweep expired copies, and combine
//! large filters. Whatever changes the answers of a filter runs on the engine's main thread, in the order
//! in which replicas apply it.

use crate::{
    engine::{Context, Found, Key, Str, Waiting, guarded, warn},
    entry::{Content, Entry},
    reply, settings,
    slot::Slot,
    workers,
};
use guira_commands::{
    Access, Answer, Args, Command, Cost, Filter, MakeError, Reply, Store, Wanted, Work, commands,
    dump::{DumpError, Dumps, InProgress, Spool},
};
use std::{
    io,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

/// The time after which an unfinished dump may be dropped for a new one.
const IDLE: Duration = Duration::from_secs(600);

/// Snapshots that clients are reading. They are unnamed files in the engine's working directory.
static DUMPS: LazyLock<Dumps> = LazyLock::new(|| Dumps::new(Some(PathBuf::from("."))));

/// The condition under which a command runs on a thread: it would otherwise block the engine for
/// about a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Never,
    /// The command has many items.
    Items,
    /// Many buckets are to be split.
    Growth,
    /// The command starts with a snapshot of a large filter.
    Snapshot,
    /// The command reads a large filter.
    Filter,
}

impl Plan {
    pub(crate) const fn of<S>(command: &Command<S>) -> Self {
        match (command.access, command.cost) {
            // Writes run on the main thread.
            (Access::Write, _) => Self::Never,
            (Access::Read, Cost::Constant | Cost::Allocation) => Self::Never,
            (Access::Read, Cost::PerItem) => Self::Items,
            (Access::Read, Cost::Growth) => Self::Growth,
            (Access::Read, Cost::Snapshot) => Self::Snapshot,
            (Access::Read, Cost::Filters) => Self::Filter,
        }
    }

    /// Whether the arguments alone allow the condition to hold.
    pub(crate) fn may_be_worth_it(self, words: Args<'_>) -> bool {
        /// The command's name and its key come before the items.
        const BEFORE: usize = 2;
        match self {
            Self::Never => false,
            Self::Items => words.len().saturating_sub(BEFORE) >= settings::offload_items(),
            Self::Growth | Self::Filter => true,
            Self::Snapshot => words.get(BEFORE) == Some(&&b"1"[..]),
        }
    }

    /// Whether the condition holds for this filter, if the arguments allow it.
    fn is_worth_it(self, filter: &Filter) -> bool {
        const BUCKETS: usize = 1 << 12;
        const BYTES: usize = 1 << 18;
        match self {
            Self::Never => false,
            Self::Items => true,
            Self::Growth => filter.stats().buckets_to_split >= BUCKETS,
            Self::Snapshot | Self::Filter => filter.memory_usage() >= BYTES,
        }
    }

    /// The filter of the key, if the command is to run on a thread.
    pub(crate) fn filter(self, key: &Key<'_>) -> Option<Arc<Entry>> {
        match Slot::get(key) {
            Found::Value(entry) => match entry.content() {
                Content::Filter(filter) if self.is_worth_it(filter) => Some(Arc::clone(&entry)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Runs the command on a thread. Returns false if the caller has to run it at once.
pub(crate) fn offload(
    index: usize,
    context: &Context,
    words: &[Str<'_>],
    entry: Arc<Entry>,
) -> bool {
    let Some(waiting) = context.block(words) else {
        return false;
    };
    let is_resp3 = context.flags().is_resp3();
    let command = &const { commands::<Held>() }[index];
    workers::submit(move || answer(command, waiting, entry, is_resp3));
    true
}

/// Runs the command and replies. This is called on a thread of the module.
fn answer(command: &Command<Held>, waiting: Waiting, entry: Arc<Entry>, is_resp3: bool) {
    let run = || {
        let words: Vec<_> = waiting.words().collect();
        (command.run)(&Held::of_key(entry), &words)
    };
    let otherwise = || Err(Reply::error("ERR internal error"));
    let answer = guarded(command.name, run, otherwise);
    waiting.answer(|context| reply::write(context, &reply::of(answer), is_resp3));
}

/// The name of a key that a command reads, and its filter.
pub(crate) type Source = (Box<[u8]>, Arc<Entry>);

/// The filters of a command that runs on a thread. Their keys may have other values by now, or none.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// That of its key.
    own: Option<Arc<Entry>>,
    /// Those of the keys that it reads besides.
    sources: Vec<Source>,
    /// The bytes that it may take for a filter.
    free: usize,
    /// The filter that it has made for its key.
    made: Mutex<Option<Arc<Entry>>>,
}

impl Held {
    fn of_key(entry: Arc<Entry>) -> Self {
        Self {
            own: Some(entry),
            ..Self::default()
        }
    }

    /// Without a value of its own key. It may make a filter of `free` bytes.
    pub(crate) fn of_sources(sources: Vec<Source>, free: usize) -> Self {
        Self {
            sources,
            free,
            ..Self::default()
        }
    }

    /// The filter that the command has made.
    pub(crate) fn into_made(self) -> Option<Arc<Entry>> {
        self.made
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reply of operations that only the main thread may do.
const NOT_HERE: Reply = Reply::error("ERR internal error");

impl Store for Held {
    type Kept = Entry;

    fn with<R>(&self, _: &[u8], work: impl FnOnce(&Arc<Entry>) -> R) -> Result<Option<R>, Reply> {
        Ok(self.own.as_ref().map(work))
    }

    fn make(&self, _: &[u8], _: &Wanted) -> Result<Arc<Entry>, MakeError> {
        Err(MakeError::Refused(NOT_HERE))
    }

    fn put(&self, _: &[u8], filter: Filter) -> Result<Arc<Entry>, MakeError> {
        let entry = Arc::new(Entry::of_filter(filter));
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        *made = Some(entry.clone());
        Ok(entry)
    }

    fn source(&self, key: &[u8]) -> Result<Option<Arc<Entry>>, Reply> {
        let found = self.sources.iter().find(|(name, _)| **name == *key);
        Ok(found.map(|(_, entry)| entry.clone()))
    }

    fn may_combine(&self, work: Work) -> Result<(), Reply> {
        match work.bytes > self.free {
            true => Err(Reply::OUT_OF_MEMORY),
            false => Ok(()),
        }
    }

    fn refuses_growth(&self) -> bool {
        false
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn wait(&self) -> bool {
        false
    }

    fn added<'a>(&self, _: &[u8], _: &Entry, _: impl Iterator<Item = &'a [u8]>) {}

    fn removed<'a>(&self, _: &[u8], _: &Entry, _: impl Iterator<Item = &'a [u8]>) {}

    fn combined(&self, _: &[u8], _: &Entry) {}

    fn compacted(&self, _: &[u8], _: &Entry) {}

    fn begin_dump(&self, key: &[u8], entry: &Arc<Entry>) -> Answer {
        begin_dump(key, (**entry).as_ref())
    }

    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer {
        go_on_dump(key, position)
    }

    fn begin_load(&self, _: &[u8], _: &[u8]) -> Answer {
        Err(NOT_HERE)
    }

    fn go_on_load(&self, _: &[u8], _: u64, _: &[u8]) -> Answer {
        Err(NOT_HERE)
    }
}

/// Takes a snapshot, and replies with its first piece.
pub(crate) fn begin_dump(key: &[u8], filter: &Filter) -> Answer {
    DUMPS.expire(IDLE);
    let position = DUMPS.begin(key, filter).map_err(|error| refusal(&error))?;
    go_on_dump(key, position)
}

pub(crate) fn go_on_dump(key: &[u8], position: u64) -> Answer {
    DUMPS.expire(IDLE);
    DUMPS.go_on(key, position).map_err(|error| refusal(&error))
}

/// Writes the snapshot of a dump into a file.
pub(crate) fn spool(filter: &Filter) -> io::Result<Spool> {
    DUMPS.spool(filter)
}

/// The dumps that clients are reading.
pub(crate) fn dumps_in_progress() -> InProgress {
    DUMPS.in_progress()
}

fn refusal(error: &DumpError) -> Reply {
    if !matches!(error, DumpError::Position) {
        warn(&error.to_string());
    }
    Reply::Error(error.to_string().into())
}
