//! Work on the module's own threads, while the engine continues.
//!
//! These threads read filters, write snapshots, complete doublings, and sweep expired copies.
//! Whatever changes the answers of a filter runs on the engine's main thread, in the order in which
//! replicas apply it.

use crate::{
    engine::{Context, Found, Key, Str, Waiting, guarded, warn},
    entry::{Content, Entry},
    reply, settings,
    slot::Slot,
    workers,
};
use guira_commands::{
    Access, Answer, Args, Command, Cost, Filter, MakeError, Reply, Store, Wanted, Work, commands,
    dump::{DumpError, Dumps, InProgress},
};
use std::{
    path::PathBuf,
    sync::{Arc, LazyLock},
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
        (command.run)(&Held(entry), &words)
    };
    let otherwise = || Err(Reply::error("ERR internal error"));
    let answer = guarded(command.name, run, otherwise);
    waiting.answer(|context| reply::write(context, &reply::of(answer), is_resp3));
}

/// The filter of a command that runs on a thread. The key may have another value by now, or none.
#[derive(Debug)]
pub(crate) struct Held(Arc<Entry>);

/// The reply of operations that only the main thread may do.
const NOT_HERE: Reply = Reply::error("ERR internal error");

impl Store for Held {
    type Kept = Entry;

    fn with<R>(&self, _: &[u8], work: impl FnOnce(&Arc<Entry>) -> R) -> Result<Option<R>, Reply> {
        Ok(Some(work(&self.0)))
    }

    fn make(&self, _: &[u8], _: &Wanted) -> Result<Arc<Entry>, MakeError> {
        Err(MakeError::Refused(NOT_HERE))
    }

    fn put(&self, _: &[u8], _: Filter) -> Result<Arc<Entry>, MakeError> {
        Err(MakeError::Refused(NOT_HERE))
    }

    fn may_combine(&self, _: Work) -> Result<(), Reply> {
        Err(NOT_HERE)
    }

    fn refuses_growth(&self) -> bool {
        true
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
