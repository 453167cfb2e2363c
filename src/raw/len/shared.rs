//! The shards of a filter that processes share.

#[cfg(not(any(guira_loom, guira_shuttle)))]
use crate::sync::Ordering;
use crate::{memory::Words, sync::unchecked::AtomicU64};

/// A number for process `id`, which is not 0. Its low bits say which shard is the first of the process.
///
/// Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): the first shards of
/// successive processes are far apart, so that few processes of few threads share no shard.
#[cfg(any(feature = "shared", not(any(guira_loom, guira_shuttle))))]
#[cfg_attr(not(feature = "shared"), allow(unreachable_pub))]
#[doc(hidden)]
#[must_use]
pub fn process_number(id: u32) -> u64 {
    let hash = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash >> (u64::BITS - BITS) | 1 << (u64::BITS - 1)
}

/// The shards, as a power of two.
#[cfg(any(feature = "shared", not(any(guira_loom, guira_shuttle))))]
const BITS: u32 = 7;

/// The words from one shard to the next, so that no two are in one cache line.
#[cfg(any(feature = "shared", not(any(guira_loom, guira_shuttle))))]
const STRIDE: usize = size_of::<crossbeam_utils::CachePadded<u64>>() / size_of::<u64>();

/// A shard in each [`STRIDE`] words.
pub(super) struct SharedLen {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    all: Words,
    /// The number of this process, 0 if it has none yet.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    process: Words,
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
    /// The shard of this thread. The threads of a process count in successive shards, and the number of the
    /// process chooses the first one.
    #[inline]
    pub(super) fn shard(&self) -> &AtomicU64 {
        // Relaxed: the number tells nothing else.
        let number = match self.process[0].load(Ordering::Relaxed) {
            0 => self.number_by_id(),
            number => number,
        };
        let shard = (number as usize).wrapping_add(crate::sync::thread_number());
        // The number of words is a power of two.
        &self.all[shard.wrapping_mul(STRIDE) & (self.all.len() - 1)]
    }

    /// A number for a process that has no seat.
    #[cold]
    fn number_by_id(&self) -> u64 {
        let number = process_number(std::process::id());
        // Relaxed: as in `shard`. A thread that has a seat by now has stored a better number.
        let stored =
            self.process[0].compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        stored.err().unwrap_or(number)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        self.all.iter().step_by(STRIDE)
    }

    pub(super) fn reset(&self) {
        for shard in self.all() {
            // Relaxed: no other thread has the filter.
            shard.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(feature = "shared")]
mod in_words {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    use super::super::LARGE;
    use super::{super::Len, BITS, STRIDE};
    use crate::{
        memory::{Kind, Parts, Shared, Words},
        table::counted::Counted,
    };

    /// The words of a length that processes share.
    pub(crate) const SHARED_LEN: usize = STRIDE << BITS;

    impl<K: Kind, C: Counted> Len<Shared, K, C> {
        /// The length in these words; `None` if they are too few. `process` has the number of this
        /// process.
        #[cfg(not(any(guira_loom, guira_shuttle)))]
        pub(crate) fn in_words(process: Words, parts: &mut Parts) -> Option<Self> {
            let all = parts.take(SHARED_LEN)?;
            Some(Self {
                shared: Some(Box::new(super::SharedLen { all, process })),
                // Shards, for the counters.
                ..Self::new(LARGE)
            })
        }

        /// The length in a model.
        #[cfg(any(guira_loom, guira_shuttle))]
        pub(crate) fn in_words(_process: Words, _parts: &mut Parts) -> Option<Self> {
            Some(Self::new(0))
        }
    }
}
#[cfg(feature = "shared")]
pub(crate) use in_words::SHARED_LEN;
