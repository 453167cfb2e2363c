//! The interface between the commands and their host.

use crate::{Answer, Filter, Options, Reply, Wanted};
use std::sync::Arc;
use thiserror::Error;

/// The number of bytes of a key that an error repeats.
const REPEATED: usize = 128;

/// What a command on several filters takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The slots of all its filters.
    pub slots: usize,
    /// The bytes that it takes in addition, about.
    pub bytes: usize,
}

/// The keys and their filters, and the reactions of the host to changes.
///
/// If a method refuses, its error is the reply to the client.
pub trait Store {
    /// A filter with the host's additional state.
    type Kept: AsRef<Filter>;

    /// Calls `work` with the filter of `key`. Returns `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// The reply to the client if the value of the key is not a filter.
    fn with<R>(
        &self,
        key: &[u8],
        work: impl FnOnce(&Arc<Self::Kept>) -> R,
    ) -> Result<Option<R>, Reply>;

    /// Creates the `wanted` filter as the value of `key`, if the key does not exist.
    ///
    /// # Errors
    ///
    /// [`MakeError`]. Nothing has changed then.
    fn make(&self, key: &[u8], wanted: &Wanted) -> Result<Arc<Self::Kept>, MakeError>;

    /// Makes `filter` the value of `key`, if the key does not exist.
    ///
    /// # Errors
    ///
    /// [`MakeError`]. Nothing has changed then.
    fn put(&self, key: &[u8], filter: Filter) -> Result<Arc<Self::Kept>, MakeError>;

    /// The filter of another key of the command: one of its [`Sources`](crate::Sources).
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    fn source(&self, key: &[u8]) -> Result<Option<Arc<Self::Kept>>, Reply> {
        self.with(key, Arc::clone)
    }

    /// Called before filters are combined, and before anything changes.
    ///
    /// # Errors
    ///
    /// The reply to the client if that would take too much memory, or would take long and other clients
    /// would wait.
    fn may_combine(&self, work: Work) -> Result<(), Reply>;

    /// Called when a command that reads has looked for this number of items in a key that does not exist.
    fn missed(&self, _lookups: usize) {}

    /// The options of filters that inserts create.
    fn defaults(&self) -> Options {
        Options::default()
    }

    /// True if inserts are refused because all filters together occupy too much memory.
    fn refuses_growth(&self) -> bool;

    /// False if no filter [is strict](Self::is_strict). Inserts then need not know the number of
    /// items.
    const MAY_BE_STRICT: bool = true;

    /// True if a filter accepts no more items than its capacity. Otherwise it accepts further items
    /// that happen to fit. A copy of a filter that must hold the same items must not be strict.
    fn is_strict(&self) -> bool;

    /// Waits briefly for a sweep, or for a snapshot that prevents an insert. Returns false at once if
    /// the host cannot wait; the insert is then refused.
    fn wait(&self) -> bool;

    /// Called after items were added to the filter of `key`. There may be none, and the filter may
    /// have grown in either case.
    fn added<'a>(&self, key: &[u8], kept: &Self::Kept, items: impl Iterator<Item = &'a [u8]>);

    /// Called after a copy of each of these items was removed from the filter of `key`.
    fn removed<'a>(&self, key: &[u8], kept: &Self::Kept, items: impl Iterator<Item = &'a [u8]>);

    /// Called after the time of each of these items in the filter of `key` was reset.
    fn touched<'a>(&self, _key: &[u8], _kept: &Self::Kept, _items: impl Iterator<Item = &'a [u8]>) {
    }

    /// Called after the filter of `key` was combined with others. It may have grown.
    fn combined(&self, key: &[u8], kept: &Self::Kept);

    /// Called after the filter of `key` has completed a doubling. Its contents are the same.
    fn compacted(&self, key: &[u8], kept: &Self::Kept);

    /// Takes a snapshot of the filter of `key`, and replies with its first
    /// [piece](crate::dump::piece). [`Dumps`](crate::dump::Dumps) implements that.
    ///
    /// # Errors
    ///
    /// The reply to the client if no snapshot can be taken.
    fn begin_dump(&self, key: &[u8], kept: &Arc<Self::Kept>) -> Answer;

    /// Replies with the piece at `position`, which the reply with the previous piece contained.
    ///
    /// # Errors
    ///
    /// The reply to the client if there is no such piece.
    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer;

    /// Starts to load the filter whose dump began with `header`; [`Load`](crate::dump::Load)
    /// implements that. Ends a load of `key` in progress. The key must not exist.
    ///
    /// # Errors
    ///
    /// The reply to the client if the load cannot start.
    fn begin_load(&self, key: &[u8], header: &[u8]) -> Answer;

    /// Adds the next piece of a load. After the last piece, the filter becomes the value of `key`.
    ///
    /// # Errors
    ///
    /// The reply to the client if the piece is refused.
    fn go_on_load(&self, key: &[u8], position: u64, piece: &[u8]) -> Answer;
}

/// The reason why a filter was not created.
#[derive(Debug)]
pub enum MakeError {
    /// The key exists.
    Exists,
    /// The host refused for this reason.
    Refused(Reply),
}

impl From<MakeError> for Reply {
    fn from(error: MakeError) -> Self {
        match error {
            MakeError::Exists => Self::error("ERR item exists"),
            MakeError::Refused(reply) => reply,
        }
    }
}

/// The filter as the host keeps it.
#[inline]
pub(crate) fn filter_of<K: AsRef<Filter>>(kept: &Arc<K>) -> &Filter {
    (**kept).as_ref()
}

/// As [`Store::with`], for a command that reads `lookups` times.
#[inline]
pub(crate) fn read<S: Store, R>(
    store: &S,
    key: &[u8],
    lookups: usize,
    work: impl FnOnce(&Arc<S::Kept>) -> R,
) -> Result<Option<R>, Reply> {
    let found = store.with(key, work)?;
    if found.is_none() {
        store.missed(lookups);
    }
    Ok(found)
}

/// Returns the filter of `key`, which stays available after [`Store::with`] would have returned.
pub(crate) fn get<S: Store>(store: &S, key: &[u8]) -> Result<Option<Arc<S::Kept>>, Reply> {
    store.with(key, Arc::clone)
}

/// As [`get`], for a command that reads once.
pub(crate) fn get_to_read<S: Store>(store: &S, key: &[u8]) -> Result<Option<Arc<S::Kept>>, Reply> {
    read(store, key, 1, Arc::clone)
}

/// A key that a command needs does not exist.
#[derive(Debug, Error)]
#[error("ERR the key '{0}' does not exist")]
struct NotFound(String);

/// The reply to a command that needs this key.
pub(crate) fn missing(key: &[u8]) -> Reply {
    Reply::Error(NotFound(shown(key)).to_string().into())
}

/// The filter of a key that the command reads.
pub(crate) fn source<S: Store>(store: &S, key: &[u8]) -> Result<Arc<S::Kept>, Reply> {
    store.source(key)?.ok_or_else(|| missing(key))
}

/// What an error repeats of a key.
pub(crate) fn shown(key: &[u8]) -> String {
    key[..key.len().min(REPEATED)].escape_ascii().to_string()
}
