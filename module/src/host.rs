//! The commands' view of the engine, on its main thread: the key of one command.

use crate::{
    effects::{Effects, KEY},
    engine::{Flags, Found, warn},
    entry::{Content, Entry},
    loading::{ANY_SIZE, Loading, Progress},
    offload, settings,
    slot::Slot,
    windows::{Saved, Windows},
};
use guira::BuildError;
use guira_commands::{
    Answer, Args, Filter, Growth, GrowthError, MakeError, Options, Reply, Store, Wanted, Work,
    bytes_refused,
    dump::{Header, LoadError, Memory},
};
use std::{
    cell::{Cell, RefCell},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};
use thiserror::Error;

/// For smaller filters, only the engine's own memory check applies: asking for the limit takes as
/// long as `INFO`.
const CHECKED_BYTES: usize = 1 << 20;

/// The time that a replica waits between two attempts while a snapshot blocks a command.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) const WRONG_TYPE: Reply =
    Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
const BEING_LOADED: Reply = Reply::error("ERR the filter is being loaded");
const INTERNAL: Reply = Reply::error("ERR internal error");

/// The reply for a load that cannot continue; see [`LoadError::Position`].
const NOT_FOUND: Reply = Reply::error("ERR not found");

/// The key of a command, and the effects of the command on it.
#[derive(Debug)]
pub(crate) struct Host<'a, K> {
    words: Args<'a>,
    key: RefCell<K>,
    /// The other keys of the command.
    sources: &'a [Fetched<'a>],
    effects: &'a RefCell<Effects>,
    /// True if the changed bytes are counted already.
    is_counted: Cell<bool>,
    windows: &'a Windows,
}

/// The name of a key that a command reads, and its filter, if it exists. The engine opens one key at a
/// time.
pub(crate) type Fetched<'a> = (&'a [u8], Result<Option<Arc<Entry>>, Reply>);

/// The filter of a key, if it exists.
pub(crate) fn fetch(key: &impl Slot) -> Result<Option<Arc<Entry>>, Reply> {
    match key.get() {
        Found::Nothing => Ok(None),
        Found::OtherType => Err(WRONG_TYPE),
        Found::Value(entry) => match entry.content() {
            Content::Filter(_) => Ok(Some(Arc::clone(&entry))),
            Content::Loading(_) => Err(BEING_LOADED),
        },
    }
}

/// Combining these filters would block the engine for too long.
#[derive(Debug, Error)]
#[error(
    "ERR the filters have {slots} slots, and guira.combine-slots is {limit}: other clients would wait for \
     long. A thread combines more slots, but only into a new key, and not in MULTI or a script"
)]
struct TooLong {
    slots: usize,
    limit: usize,
}

/// The filter would exceed the allowed size.
#[derive(Debug, Error)]
enum TooLarge {
    #[error("OOM the filter needs {needed} bytes, and guira.max-filter-bytes is {limit}")]
    Now { needed: usize, limit: usize },
    #[error(
        "OOM with MAXCAPACITY items the filter needs {needed} bytes, and guira.max-filter-bytes is \
         {limit}"
    )]
    Grown { needed: usize, limit: usize },
}

impl From<TooLarge> for Reply {
    fn from(error: TooLarge) -> Self {
        Self::Error(error.to_string().into())
    }
}

impl<'a, K: Slot> Host<'a, K> {
    pub(crate) fn new(
        words: Args<'a>,
        key: K,
        sources: &'a [Fetched<'a>],
        effects: &'a RefCell<Effects>,
        windows: &'a Windows,
    ) -> Self {
        Self {
            words,
            key: RefCell::new(key),
            sources,
            effects,
            is_counted: Cell::new(false),
            windows,
        }
    }

    fn flags(&self) -> Flags {
        self.key.borrow().flags()
    }

    /// Returns the key after the command, and counts its changed bytes.
    #[inline(always)]
    pub(crate) fn into_key(self) -> K {
        let key = self.key.into_inner();
        if !self.is_counted.get()
            && !self.effects.borrow().is_empty()
            && let Found::Value(entry) = key.get()
        {
            entry.count();
        }
        key
    }

    /// Refuses a filter of `there` bytes, which has been allocated, and `more` to be allocated, if the
    /// engine is short of memory. The engine checks its limit only before a command, and a new table
    /// takes no memory until it is used. Without this check, the engine would refuse all writes later.
    fn check_memory(key: &K, there: usize, more: usize) -> Result<(), Reply> {
        let bytes = there.saturating_add(more);
        if bytes < CHECKED_BYTES {
            return Ok(());
        }
        let flags = key.flags();
        if flags.must_obey() || !flags.has_memory_limit() {
            return Ok(());
        }
        let Some(memory) = key.memory().filter(|memory| memory.limit > 0) else {
            return Ok(());
        };
        // If other keys are evicted, the memory is usually full.
        let needed = match flags.may_evict() {
            true => bytes as u64,
            false => memory.used.saturating_add(more as u64),
        };
        if needed > memory.limit {
            Err(Reply::OUT_OF_MEMORY)
        } else {
            Ok(())
        }
    }

    /// `CF.MAKE key header header`, a replicated command: creates a filter like the one that the
    /// primary has created.
    pub(crate) fn make_as_told(&self) -> Answer {
        let &[_, _, options, filter] = self.words else {
            return Err(Reply::wrong_arity(self.words[0]));
        };
        if !self.flags().must_obey() {
            let text = "ERR CF.MAKE is for replication and the file of commands: use CF.RESERVE";
            return Err(Reply::error(text));
        }
        let refuse = |error: &dyn std::fmt::Display| Reply::Error(format!("ERR {error}").into());
        let header = Header::from_bytes(options).map_err(|error| refuse(&error))?;
        let filter = Filter::from_header(filter, header, self.windows.clock(), usize::MAX);
        let entry = Arc::new(Entry::of_filter(filter.map_err(|error| refuse(&error))?));
        let mut key = self.key.borrow_mut();
        key.set(entry.clone()).map_err(|_| INTERNAL)?;
        self.has_made(&entry);
        Ok(Reply::OK)
    }

    fn check_missing(key: &K) -> Result<(), MakeError> {
        match key.get() {
            Found::Nothing => Ok(()),
            Found::Value(_) => Err(MakeError::Exists),
            Found::OtherType => Err(MakeError::Refused(WRONG_TYPE)),
        }
    }

    /// Makes a new filter the value of the key.
    fn set(&self, key: &mut K, filter: Filter) -> Result<Arc<Entry>, Reply> {
        Self::check_memory(key, filter.memory_usage(), 0)?;
        let entry = Arc::new(Entry::of_filter(filter));
        key.set(entry.clone()).map_err(|_| INTERNAL)?;
        self.has_made(&entry);
        Ok(entry)
    }

    /// A filter is new.
    fn has_made(&self, entry: &Arc<Entry>) {
        self.effects.borrow_mut().made((**entry).as_ref());
        self.windows.add(entry);
    }

    /// `CF.AGE key milliseconds window`, in a rewritten AOF.
    pub(crate) fn age_as_told(&self) -> Answer {
        let &[_, _, _, saved] = self.words else {
            return Err(Reply::wrong_arity(self.words[0]));
        };
        if !self.flags().must_obey() {
            return Err(Reply::error("ERR CF.AGE is for the AOF"));
        }
        let saved = Saved::from_bytes(saved);
        let saved = saved.ok_or(Reply::error("ERR the age of a filter is damaged"))?;
        // When a slot is imported, the time passes from the next move of this node's clock on.
        if self.flags().is_loading() {
            let restore = |entry: &Arc<Entry>| {
                self.windows.restore(entry, saved);
                self.windows.is_from_file(saved.wall);
            };
            self.with(self.words[KEY], restore)?;
        }
        Ok(Reply::OK)
    }

    /// The memory that a load may take.
    fn room(&self) -> Memory {
        Self::room_of(&self.key.borrow())
    }

    fn room_of(key: &K) -> Memory {
        if key.flags().must_obey() {
            return ANY_SIZE;
        }
        let limit = settings::max_filter_bytes();
        Memory { free: limit, limit }
    }
}

impl<K: Slot> Store for Host<'_, K> {
    type Kept = Entry;

    #[inline]
    fn with<R>(&self, _: &[u8], work: impl FnOnce(&Arc<Entry>) -> R) -> Result<Option<R>, Reply> {
        match self.key.borrow().get() {
            Found::Nothing => Ok(None),
            Found::OtherType => Err(WRONG_TYPE),
            Found::Value(entry) => match entry.content() {
                Content::Filter(_) => {
                    let done = work(&entry);
                    // Here the value is at hand, while the engine would have to look for it later.
                    if !self.effects.borrow().is_empty() {
                        entry.count();
                        self.is_counted.set(true);
                    }
                    Ok(Some(done))
                }
                Content::Loading(_) => Err(BEING_LOADED),
            },
        }
    }

    fn make(&self, _: &[u8], wanted: &Wanted) -> Result<Arc<Entry>, MakeError> {
        let mut key = self.key.borrow_mut();
        Self::check_missing(&key)?;
        let filter = build(wanted, settings::max_filter_bytes(), self.windows)
            .map_err(MakeError::Refused)?;
        self.set(&mut key, filter).map_err(MakeError::Refused)
    }

    fn put(&self, _: &[u8], filter: Filter) -> Result<Arc<Entry>, MakeError> {
        let mut key = self.key.borrow_mut();
        Self::check_missing(&key)?;
        let (needed, limit) = (filter.memory_usage(), Self::room_of(&key).limit);
        if needed > limit {
            return Err(MakeError::Refused(TooLarge::Now { needed, limit }.into()));
        }
        self.set(&mut key, filter).map_err(MakeError::Refused)
    }

    fn source(&self, key: &[u8]) -> Result<Option<Arc<Entry>>, Reply> {
        let mut found = self.sources.iter().filter(|(name, _)| *name == key);
        let fetched = found.next().ok_or(INTERNAL)?;
        fetched.1.clone()
    }

    /// A replica does what its primary has done.
    fn may_combine(&self, Work { slots, bytes }: Work) -> Result<(), Reply> {
        if self.flags().must_obey() {
            return Ok(());
        }
        let limit = settings::combine_slots();
        if slots > limit {
            return Err(Reply::Error(TooLong { slots, limit }.to_string().into()));
        }
        Self::check_memory(&self.key.borrow(), 0, bytes)
    }

    fn defaults(&self) -> Options {
        settings::default_options()
    }

    fn refuses_growth(&self) -> bool {
        // The engine has checked: that is the meaning of `deny-oom`.
        false
    }

    fn is_strict(&self) -> bool {
        !self.flags().must_obey()
    }

    /// The main thread does not wait, because all other clients would wait as well. A replicated
    /// command has already succeeded on the primary, and refusing it would make this replica
    /// differ: the replica therefore waits, and sweeps expired items itself if no thread has.
    fn wait(&self) -> bool {
        if let Ok(Some(true)) = self.with(self.words[KEY], |entry| (**entry).as_ref().sweep()) {
            return true;
        }
        if self.flags().must_obey() {
            thread::sleep(PAUSE);
        }
        self.flags().must_obey()
    }

    #[inline(always)]
    fn added<'a>(&self, _: &[u8], entry: &Entry, items: impl Iterator<Item = &'a [u8]>) {
        self.effects
            .borrow_mut()
            .added(self.words, entry.as_ref(), items);
    }

    fn touched<'a>(&self, _: &[u8], _: &Entry, items: impl Iterator<Item = &'a [u8]>) {
        self.effects.borrow_mut().touched(self.words, items);
    }

    fn removed<'a>(&self, _: &[u8], _: &Entry, items: impl Iterator<Item = &'a [u8]>) {
        self.effects.borrow_mut().removed(self.words, items);
    }

    fn combined(&self, _: &[u8], _: &Entry) {
        self.effects.borrow_mut().combined();
    }

    fn compacted(&self, _: &[u8], _: &Entry) {}

    fn begin_dump(&self, key: &[u8], entry: &Arc<Entry>) -> Answer {
        offload::begin_dump(key, (**entry).as_ref())
    }

    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer {
        offload::go_on_dump(key, position)
    }

    fn begin_load(&self, _: &[u8], header: &[u8]) -> Answer {
        let room = self.room();
        let mut key = self.key.borrow_mut();
        let begin =
            || Loading::begin(header, room, self.windows.clock()).map_err(|error| refusal(&error));
        match key.get_mut() {
            Found::OtherType => return Err(WRONG_TYPE),
            // Only filters are shared.
            Found::Value(entry) => match entry.map(Entry::content_mut) {
                None | Some(Content::Filter(_)) => return Err(MakeError::Exists.into()),
                Some(Content::Loading(loading)) => **loading = begin()?,
            },
            Found::Nothing => {
                let entry = Entry::new(Content::Loading(Box::new(begin()?)));
                key.set(Arc::new(entry)).map_err(|_| INTERNAL)?;
            }
        }
        self.effects.borrow_mut().loaded();
        Ok(Reply::OK)
    }

    fn go_on_load(&self, _: &[u8], position: u64, piece: &[u8]) -> Answer {
        let room = self.room();
        let mut key = self.key.borrow_mut();
        let entry = match key.get_mut() {
            Found::Nothing => return Err(NOT_FOUND),
            Found::OtherType => return Err(WRONG_TYPE),
            // Only filters are shared.
            Found::Value(None) => return Err(refusal(&LoadError::Position)),
            Found::Value(Some(entry)) => entry,
        };
        let Content::Loading(loading) = entry.content_mut() else {
            return Err(refusal(&LoadError::Position));
        };
        let taken = loading.take(position, piece, room);
        // Charges the whole load, because a single piece is too small to be checked.
        let bytes = loading.memory_usage();
        let taken = match taken {
            Err(error @ LoadError::Position) => return Err(refusal(&error)),
            Err(error) => Err(refusal(&error)),
            Ok(Progress::GoesOn) => Self::check_memory(&key, bytes, 0),
            Ok(Progress::Done(filter)) => {
                *entry.content_mut() = Content::Filter(*filter);
                if let Found::Value(entry) = key.get() {
                    self.windows.add(&*entry);
                }
                Ok(())
            }
        };
        let mut effects = self.effects.borrow_mut();
        if let Err(refusal) = taken {
            key.delete().map_err(|_| INTERNAL)?;
            effects.deleted();
            return Err(refusal);
        }
        effects.loaded();
        Ok(Reply::OK)
    }
}

/// The reply to a failed load.
fn refusal(error: &LoadError) -> Reply {
    match *error {
        LoadError::Memory { needed, free } => TooLarge::Now {
            needed,
            limit: free,
        }
        .into(),
        _ => {
            if let LoadError::Damaged(reason) = error {
                warn(&format!("a dump does not load: {reason}"));
            }
            Reply::Error(error.to_string().into())
        }
    }
}

/// The requested filter, which may grow to at most `limit` bytes.
fn build(wanted: &Wanted, limit: usize, windows: &Windows) -> Result<Filter, Reply> {
    // A table takes no memory until it is used, so the size of one that is too large is known from itself.
    let refuse = |error: BuildError| match bytes_refused(&error) {
        Some(needed) if needed > limit => TooLarge::Now { needed, limit }.into(),
        _ => Reply::Error(format!("ERR {error}").into()),
    };
    let growth = growth(wanted, limit).map_err(|error| match error {
        GrowthError::Memory { needed } => TooLarge::Grown { needed, limit }.into(),
        GrowthError::Build(error) => refuse(error),
    })?;
    let filter = Filter::wanted(wanted, growth, windows.clock()).map_err(refuse)?;
    match filter.memory_usage() {
        needed if needed > limit => Err(TooLarge::Now { needed, limit }.into()),
        _ => Ok(filter),
    }
}

/// [`Growth::of`], with a cache: many keys have equal options, and computing the growth builds a few
/// filters.
fn growth(wanted: &Wanted, limit: usize) -> Result<Growth, GrowthError> {
    static KNOWN: Mutex<Option<(Wanted, usize, Growth)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = wanted.without_seed();
    if let Some((of, with, growth)) = *known
        && (of, with) == (wanted, limit)
    {
        return Ok(growth);
    }
    let growth = Growth::of(&wanted, limit)?;
    *known = Some((wanted, limit, growth));
    Ok(growth)
}

#[cfg(test)]
mod tests;
