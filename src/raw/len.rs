//! The number of items: a counter in shards, so that writers seldom share a line.

mod shared;

use super::counters::{Counters, Counting, SmallCounters};
use crate::{
    memory::{Extra, Kind, Storage},
    stats::Stats,
    threads::thread_number,
};
use crossbeam_utils::CachePadded;
use once_cell::race::OnceBox;
#[cfg(feature = "shared")]
pub(crate) use shared::SHARED_LEN;
use shared::SharedLen;
#[cfg(feature = "shared")]
pub use shared::process_number;
// Unchecked: the counter orders nothing, and in a model each of its accesses would only multiply
// the interleavings.
use crate::sync::{Ordering, unchecked::AtomicU64};

/// Sums over shards, each written by the threads that fall on it: the number of items, and the
/// counters off the fast path.
pub(crate) struct Len<P: Storage, K: Kind> {
    /// The shard of a filter that has no others. In a box, because writers write it and lookups read
    /// the cache line of the other fields.
    first: Box<First>,
    /// The other shards of a fixed filter. A small one has none, so that it stays small.
    fixed: K::IfFixed<Option<Box<[CachePadded<Shard>]>>>,
    /// The other shards of a filter that can grow: none until it is [`LARGE`].
    late: K::IfGrowing<OnceBox<[CachePadded<Shard>; FEW]>>,
    /// The shards that processes share; then there are no others.
    shared: P::Extra<SharedLen>,
}

/// What a group of threads counts. The counters are in the cache line of the items, because these
/// threads write that line anyway.
#[derive(Default)]
struct Shard {
    items: AtomicU64,
    counters: Counters,
}

/// What all threads count in a small filter.
#[derive(Default)]
struct First {
    items: AtomicU64,
    counters: SmallCounters,
}

/// A size class of most allocators. With another counter it takes the next one, of 48 bytes.
const _: () = assert!(size_of::<First>() == 32);

/// The shard of a thread.
pub(crate) struct Count<'a>(&'a AtomicU64);

impl Count<'_> {
    /// As [`Len::add`].
    #[inline(always)]
    pub(crate) fn add(self, by: u64) {
        // Relaxed: as in `Len::add`.
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    /// As [`Len::subtract`].
    #[inline(always)]
    pub(crate) fn subtract(self, by: u64) {
        // Relaxed: as in `Len::add`.
        self.0.fetch_sub(by, Ordering::Relaxed);
    }
}

/// How many low sums in a row show that there are few items. A preemption takes at least
/// microseconds and a sum some nanoseconds, so a thread is not preempted in each of these.
const SUMS: usize = 3;

/// The shards of a table of 64 KiB, and of each larger one that grows.
const FEW: usize = 16;

/// The most shards.
const MOST: usize = 64;

/// Words for each of the first [`FEW`] shards: 4 KiB.
const WORDS_OF_SHARD: usize = 512;

/// Words for each of up to 32 shards: 16 KiB.
const WORDS_OF_MORE_SHARDS: usize = 1 << 11;

/// Words for each of up to [`MOST`] shards: 512 KiB.
const WORDS_OF_MOST_SHARDS: usize = 1 << 16;

/// Words from which a filter that grows has its shards.
const LARGE: usize = FEW * WORDS_OF_SHARD;

/// The shards of a fixed table: one for each 4 KiB up to 16 shards, 32 from 512 KiB on, and one for each
/// 512 KiB up to 64.
fn shards_for(words: usize) -> usize {
    let few = (words / WORDS_OF_SHARD).clamp(1, FEW).next_power_of_two();
    let more = (words / WORDS_OF_MORE_SHARDS).clamp(1, 2 * FEW);
    let most = (words / WORDS_OF_MOST_SHARDS).clamp(1, MOST);
    few.max(1 << more.max(most).ilog2())
}

impl<P: Storage, K: Kind> Len<P, K> {
    /// The length of a filter that has this number of words now.
    pub(crate) fn new(words: usize) -> Self {
        let fixed = || match shards_for(words) {
            1 => None,
            shards => Some((0..shards).map(|_| CachePadded::default()).collect()),
        };
        let len = Self {
            first: Box::default(),
            fixed: Extra::made(fixed),
            late: Extra::made(OnceBox::new),
            shared: Default::default(),
        };
        len.grow(words);
        len
    }

    /// A filter that can grow has this number of words now. If there is no memory for more shards, it
    /// keeps one.
    pub(crate) fn grow(&self, words: usize) {
        if let Some(late) = self.late.get()
            && words >= LARGE
            && late.get().is_none()
            && let Some(shards) = shards()
        {
            // An error says that another thread was first: its shards count.
            let _ = late.set(shards);
        }
    }

    /// The shards.
    #[cfg(guira_coherence)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        let mut fields = self.first.counters.fields();
        for shard in self.shards() {
            fields.extend(shard.counters.fields());
        }
        let of_items = |items: &AtomicU64| Field::of("len.shard", items);
        fields.extend(self.all_items().map(of_items));
        fields
    }

    /// The counters off the fast path, for this thread. They count what happens in this process only.
    pub(crate) fn counters(&self) -> Counting<'_> {
        match self.shard() {
            Some(shard) => Counting::Large(&shard.counters),
            None => Counting::Small(&self.first.counters),
        }
    }

    /// The counters of all threads.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        self.first.counters.add_to(&mut stats);
        for shard in self.shards() {
            shard.counters.add_to(&mut stats);
        }
        stats
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.first) + size_of_val(self.shards())
    }

    /// The [`bytes`](Self::bytes) of a filter that has this number of words.
    pub(crate) fn bytes_for(words: usize) -> usize {
        let shards = match K::GROWS {
            true if words >= LARGE => FEW,
            true => 0,
            false => match shards_for(words) {
                1 => 0,
                shards => shards,
            },
        };
        size_of::<First>() + shards * size_of::<CachePadded<Shard>>()
    }

    /// Counts `by` items more.
    #[inline]
    pub(crate) fn add(&self, by: u64) {
        // Relaxed: the counter orders nothing; words do.
        self.items().fetch_add(by, Ordering::Relaxed);
    }

    /// Where this thread counts, for later.
    #[inline(always)]
    pub(crate) fn to_add(&self) -> Count<'_> {
        Count(self.items())
    }

    /// Counts `by` items less. A shard may go below 0 and wrap; the sum does not.
    #[inline]
    pub(crate) fn subtract(&self, by: u64) {
        // Relaxed: as in `add`.
        self.items().fetch_sub(by, Ordering::Relaxed);
    }

    /// Where this thread counts items.
    #[inline]
    fn items(&self) -> &AtomicU64 {
        if P::SHARED {
            let shared = self.shared.get();
            return shared.map_or(&self.first.items, SharedLen::shard);
        }
        self.shard().map_or(&self.first.items, |shard| &shard.items)
    }

    /// The shard of this thread, if there is more than the first one.
    #[inline]
    fn shard(&self) -> Option<&Shard> {
        if let Some(fixed) = self.fixed.get() {
            let shards = fixed.as_deref()?;
            return Some(&shards[thread_number() & (shards.len() - 1)]);
        }
        let shards = self.late.get()?.get()?;
        Some(&shards[thread_number() % FEW])
    }

    /// The shards beside the first one.
    fn shards(&self) -> &[CachePadded<Shard>] {
        let fixed = self.fixed.get().and_then(Option::as_deref);
        let late = || Some(&self.late.get()?.get()?[..]);
        fixed.or_else(late).unwrap_or(&[])
    }

    /// The shards of a fixed filter, to be changed.
    fn fixed_mut(&mut self) -> Option<&mut [CachePadded<Shard>]> {
        self.fixed.get_mut()?.as_deref_mut()
    }

    fn all_items(&self) -> impl Iterator<Item = &AtomicU64> {
        let shared = self.shared.get().into_iter().flat_map(SharedLen::all);
        let items = self.shards().iter().map(|shard| &shard.items);
        std::iter::once(&self.first.items)
            .chain(items)
            .chain(shared)
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
        let sum = self.all_items().map(&mut load).fold(0, u64::wrapping_add);
        // Below 0 if it missed an insert whose remove it saw in another shard.
        usize::try_from(sum.cast_signed()).unwrap_or(0)
    }

    /// Takes the items from another filter, and adds its counters.
    pub(crate) fn replace(&mut self, other: Self) {
        let mut stats = self.stats();
        other.first.counters.add_to(&mut stats);
        self.first.items = other.first.items;
        (self.fixed, self.late) = (other.fixed, other.late);
        self.continue_from(stats);
    }

    /// Adds `stats`, which include the first shard's, to the counters of the others.
    fn continue_from(&mut self, mut stats: Stats) {
        self.first.counters = SmallCounters::default();
        match self.fixed_mut() {
            Some(shards) => {
                let counters = &mut shards[0].counters;
                counters.add_to(&mut stats);
                *counters = Counters::from(stats);
            }
            None => self.first.counters = SmallCounters::from(stats),
        }
    }

    /// Sets the number of items, while no other thread counts.
    #[cfg(feature = "shared")]
    pub(crate) fn set(&self, items: usize) {
        self.subtract(self.sum() as u64);
        // A sum below 0 reads as 0.
        while self.sum() < items {
            self.add((items - self.sum()) as u64);
        }
    }

    /// There are no items any more. The counters stay.
    pub(crate) fn reset(&mut self) {
        let stats = self.stats();
        self.first.items = AtomicU64::new(0);
        if let Some(shared) = self.shared.get() {
            shared.reset();
        }
        self.late = Extra::made(OnceBox::new);
        if let Some(shards) = self.fixed_mut() {
            shards.fill_with(CachePadded::default);
        }
        self.continue_from(stats);
    }
}

/// The shards of a filter that grows; `None` if there is no memory.
fn shards() -> Option<Box<[CachePadded<Shard>; FEW]>> {
    let mut shards = Vec::new();
    shards.try_reserve_exact(FEW).ok()?;
    shards.resize_with(FEW, CachePadded::default);
    shards.try_into().ok()
}

#[cfg(test)]
mod tests;
