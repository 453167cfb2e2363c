//! The number of items: a counter in shards, so that writers seldom share a line.

use crate::threads::thread_number;
use crossbeam_utils::CachePadded;
use once_cell::race::OnceBox;
// Unchecked: the counter orders nothing, and in a model each of its accesses would only multiply
// the interleavings.
use crate::sync::{Ordering, unchecked::AtomicU64};

/// A sum over shards, each written by the threads that fall on it.
pub(crate) struct Len {
    shards: Shards,
}

/// How many low sums in a row show that there are few items. A preemption takes at least
/// microseconds and a sum some nanoseconds, so a thread is not preempted in each of these.
const SUMS: usize = 3;

/// A small filter has one shard, and no padding, so that it stays small.
enum Shards {
    One(Box<AtomicU64>),
    Many(Box<[CachePadded<AtomicU64>]>),
    /// Of a filter that can grow: one, until it is [`LARGE`].
    Growing {
        first: Box<AtomicU64>,
        more: OnceBox<[CachePadded<AtomicU64>; MOST]>,
    },
}

/// The most shards.
const MOST: usize = 16;

/// Words for each shard: 4 KiB.
const WORDS_OF_SHARD: usize = 512;

/// Words from which a filter that grows has all shards.
const LARGE: usize = MOST * WORDS_OF_SHARD;

impl Len {
    /// A shard for each 4 KiB of table, at most 16.
    pub(crate) fn new(words: usize) -> Self {
        let shards = (words / WORDS_OF_SHARD).clamp(1, MOST).next_power_of_two();
        let zero = || AtomicU64::new(0);
        let shards = if shards == 1 {
            Shards::One(Box::new(zero()))
        } else {
            Shards::Many((0..shards).map(|_| CachePadded::new(zero())).collect())
        };
        Self { shards }
    }

    /// The length of a filter that can grow, and has this number of words now.
    pub(crate) fn growing(words: usize) -> Self {
        let len = Self {
            shards: Shards::Growing {
                first: Box::default(),
                more: OnceBox::new(),
            },
        };
        len.grow(words);
        len
    }

    /// The filter has this number of words now. If there is no memory for more shards, it keeps
    /// one.
    pub(crate) fn grow(&self, words: usize) {
        if let Shards::Growing { more, .. } = &self.shards
            && words >= LARGE
            && more.get().is_none()
            && let Some(shards) = shards()
        {
            // An error says that another thread was first: its shards count.
            let _ = more.set(shards);
        }
    }

    /// The shards.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        let field = |shard: &AtomicU64| crate::coherence::Field::of("len.shard", shard);
        match &self.shards {
            Shards::One(shard) => vec![field(shard)],
            Shards::Many(shards) => shards.iter().map(|shard| field(shard)).collect(),
            Shards::Growing { first, more } => {
                let more = more.get().into_iter().flatten().map(|shard| &**shard);
                std::iter::once(&**first).chain(more).map(field).collect()
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match &self.shards {
            Shards::One(shard) => size_of_val(&**shard),
            Shards::Many(shards) => size_of_val(&**shards),
            Shards::Growing { first, more } => {
                size_of_val(&**first) + more.get().map_or(0, size_of_val)
            }
        }
    }

    /// Counts `by` items more.
    #[inline]
    pub(crate) fn add(&self, by: u64) {
        // Relaxed: the counter orders nothing; words do.
        self.shard().fetch_add(by, Ordering::Relaxed);
    }

    /// Counts `by` items less. A shard may go below 0 and wrap; the sum does not.
    #[inline]
    pub(crate) fn subtract(&self, by: u64) {
        // Relaxed: as in `add`.
        self.shard().fetch_sub(by, Ordering::Relaxed);
    }

    #[inline]
    fn shard(&self) -> &AtomicU64 {
        match &self.shards {
            Shards::One(shard) => shard,
            Shards::Many(shards) => &shards[thread_number() & (shards.len() - 1)],
            Shards::Growing { first, more } => match more.get() {
                Some(shards) => &shards[thread_number() % MOST],
                None => first,
            },
        }
    }

    /// The sum. Concurrent operations may be counted or not.
    pub(crate) fn sum(&self) -> usize {
        self.sum_beside(|| {})
    }

    /// True if there are `items` items. Concurrent operations may be counted or not.
    ///
    /// A sum that a thread is stopped in the middle of can miss any number of inserts whose
    /// removes it sees, so a low one alone does not decide.
    pub(crate) fn is_at_least(&self, items: usize) -> bool {
        self.is_at_least_beside(items, || {})
    }

    fn is_at_least_beside(&self, items: usize, mut others: impl FnMut()) -> bool {
        (0..SUMS).any(|_| self.sum_beside(&mut others) >= items)
    }

    /// The sum; `others` run before each shard is read: in tests.
    fn sum_beside(&self, mut others: impl FnMut()) -> usize {
        // Relaxed: at rest the caller has synchronized with the writers.
        let mut load = |shard: &AtomicU64| {
            others();
            shard.load(Ordering::Relaxed)
        };
        let sum = match &self.shards {
            Shards::One(shard) => load(shard),
            Shards::Many(shards) => shards.iter().map(|s| load(s)).fold(0, u64::wrapping_add),
            Shards::Growing { first, more } => {
                let more = more.get().into_iter().flatten().map(|shard| &**shard);
                let all = std::iter::once(&**first).chain(more);
                all.map(load).fold(0, u64::wrapping_add)
            }
        };
        // Below 0 if it missed an insert whose remove it saw in another shard.
        usize::try_from(sum.cast_signed()).unwrap_or(0)
    }

    pub(crate) fn reset(&mut self) {
        match &mut self.shards {
            Shards::One(shard) => **shard = AtomicU64::new(0),
            Shards::Many(shards) => {
                for shard in shards {
                    **shard = AtomicU64::new(0);
                }
            }
            Shards::Growing { first, more } => {
                **first = AtomicU64::new(0);
                *more = OnceBox::new();
            }
        }
    }
}

/// All shards; `None` if there is no memory.
fn shards() -> Option<Box<[CachePadded<AtomicU64>; MOST]>> {
    let mut shards = Vec::new();
    shards.try_reserve_exact(MOST).ok()?;
    shards.resize_with(MOST, || CachePadded::new(AtomicU64::new(0)));
    shards.try_into().ok()
}

#[cfg(test)]
mod tests;
