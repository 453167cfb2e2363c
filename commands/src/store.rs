//! What the commands need of the program that they are part of.

use crate::{Answer, Filter, Options, Reply, Wanted};
use std::sync::Arc;

/// The keys and their filters, and what the host does when filters change.
///
/// A method that refuses says so in the words that the client is to read.
pub trait Store {
    /// A filter as the host keeps it, perhaps with more beside it.
    type Kept: AsRef<Filter>;

    /// Hands the filter of `key` to `work`; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// The reply to the client if the key holds something else.
    fn with<R>(
        &self,
        key: &[u8],
        work: impl FnOnce(&Arc<Self::Kept>) -> R,
    ) -> Result<Option<R>, Reply>;

    /// Gives `key` the filter that is wanted, if it has none.
    ///
    /// # Errors
    ///
    /// [`MakeError`]; nothing has changed then.
    fn make(&self, key: &[u8], wanted: &Wanted) -> Result<Arc<Self::Kept>, MakeError>;

    /// What a filter is like that an insert makes.
    fn defaults(&self) -> Options {
        Options::default()
    }

    /// True if nothing may be inserted now, because all filters together take up too much memory.
    fn refuses_growth(&self) -> bool;

    /// True if a filter takes no more items than it promises to hold. Otherwise it takes further
    /// items that happen to fit. A copy of a filter that has to hold the same items must not be
    /// strict.
    fn is_strict(&self) -> bool;

    /// Waits a little for a sweep, or for a snapshot for whose rest an insert found no memory. Or
    /// returns false at once: the insert is refused then.
    fn wait(&self) -> bool;

    /// These items were added to the filter of `key`; perhaps none of the items of the call. The
    /// filter may have grown in either case.
    fn added<'a>(&self, key: &[u8], kept: &Self::Kept, items: impl Iterator<Item = &'a [u8]>);

    /// A copy of each of these items was removed from the filter of `key`.
    fn removed<'a>(&self, key: &[u8], kept: &Self::Kept, items: impl Iterator<Item = &'a [u8]>);

    /// The time of each of these items, which are in the filter of `key`, was reset.
    fn touched<'a>(&self, _key: &[u8], _kept: &Self::Kept, _items: impl Iterator<Item = &'a [u8]>) {
    }

    /// The filter of `key` has completed a doubling. What it holds is the same.
    fn compacted(&self, key: &[u8], kept: &Self::Kept);

    /// Takes a snapshot of the filter of `key`, and answers with its first
    /// [piece](crate::dump::piece). [`Dumps`](crate::dump::Dumps) does that.
    ///
    /// # Errors
    ///
    /// The reply to the client if that is not possible.
    fn begin_dump(&self, key: &[u8], kept: &Arc<Self::Kept>) -> Answer;

    /// Answers with the piece at `position`, which the last one has named.
    ///
    /// # Errors
    ///
    /// The reply to the client if that is not possible.
    fn go_on_dump(&self, key: &[u8], position: u64) -> Answer;

    /// Begins to load a filter whose dump began with `header`: [`Load`](crate::dump::Load) does
    /// that. A load of `key` in progress ends. The key must not exist.
    ///
    /// # Errors
    ///
    /// The reply to the client if that is not possible.
    fn begin_load(&self, key: &[u8], header: &[u8]) -> Answer;

    /// Takes the next piece of what is loaded. With the last one it becomes the filter of `key`.
    ///
    /// # Errors
    ///
    /// The reply to the client if that is not possible.
    fn go_on_load(&self, key: &[u8], position: u64, piece: &[u8]) -> Answer;
}

/// A filter was not made.
#[derive(Debug)]
pub enum MakeError {
    /// The key has one.
    Exists,
    /// This is the reason.
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

/// The filter that a host keeps.
#[inline]
pub(crate) fn filter_of<K: AsRef<Filter>>(kept: &Arc<K>) -> &Filter {
    (**kept).as_ref()
}

/// The filter of `key`, for longer than [`Store::with`] has it.
pub(crate) fn get<S: Store>(store: &S, key: &[u8]) -> Result<Option<Arc<S::Kept>>, Reply> {
    store.with(key, Arc::clone)
}
