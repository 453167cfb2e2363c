//! The shards of a filter that processes share.

use crate::{memory::Words, sync::unchecked::AtomicU64};

/// The words from one shard to the next, so that no two are in one cache line.
#[cfg(any(feature = "shared", not(any(guira_loom, guira_shuttle))))]
const STRIDE: usize = size_of::<crossbeam_utils::CachePadded<u64>>() / size_of::<u64>();

/// A shard in each [`STRIDE`] words.
pub(super) struct SharedLen {
    /// Those in which this process counts.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    own: Words,
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    all: Words,
    /// In a model no process counts for another, so that there are fewer steps.
    #[cfg(any(guira_loom, guira_shuttle))]
    never: std::convert::Infallible,
    #[cfg(any(guira_loom, guira_shuttle))]
    _words: Words,
}

#[cfg(any(guira_loom, guira_shuttle))]
impl SharedLen {
    pub(super) fn shard(&self) -> &AtomicU64 {
        match self.never {}
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        std::iter::once(self.shard())
    }

    pub(super) fn reset(&self) {}
}

#[cfg(not(any(guira_loom, guira_shuttle)))]
impl SharedLen {
    #[inline]
    pub(super) fn shard(&self) -> &AtomicU64 {
        // Both factors are powers of two.
        &self.own[(crate::threads::thread_number() * STRIDE) & (self.own.len() - 1)]
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        self.all.iter().step_by(STRIDE)
    }

    pub(super) fn reset(&self) {
        for shard in self.all() {
            // Relaxed: no other thread has the filter.
            shard.store(0, crate::sync::Ordering::Relaxed);
        }
    }
}

#[cfg(feature = "shared")]
mod in_words {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    use super::super::LARGE;
    use super::{
        super::{Len, MOST},
        STRIDE,
    };
    use crate::memory::{Kind, Parts, Shared};

    /// The words of a length that processes share.
    pub(crate) const SHARED_LEN: usize = 2 * MOST * STRIDE;

    impl<K: Kind> Len<Shared, K> {
        /// The length in these words; `None` if they are too few. A process counts in half of the
        /// shards, and `salt` chooses the half, so that processes of one thread each seldom share a
        /// shard.
        #[cfg(not(any(guira_loom, guira_shuttle)))]
        pub(crate) fn in_words(salt: usize, parts: &mut Parts) -> Option<Self> {
            let own = parts.peek(salt % MOST * STRIDE, MOST * STRIDE)?;
            let all = parts.take(SHARED_LEN)?;
            Some(Self {
                shared: Some(Box::new(super::SharedLen { own, all })),
                // Shards, for the counters.
                ..Self::new(LARGE)
            })
        }

        /// The length in a model.
        #[cfg(any(guira_loom, guira_shuttle))]
        pub(crate) fn in_words(_salt: usize, _parts: &mut Parts) -> Option<Self> {
            Some(Self::new(0))
        }
    }
}
#[cfg(feature = "shared")]
pub(crate) use in_words::SHARED_LEN;
