//! The number of copies: counters in shards, so that writers seldom share a line.
//!
//! A copy counts as a slot in use, or as a repeat: one beyond the first of its slot. A filter grows by the number
//! of slots in use, whatever the number of copies.

mod shared;

use super::counters::{Counters, Counting, SmallCounters};
use crate::{
    memory::{Extra, Kind, Storage},
    stats::Stats,
    sync::thread_number,
    table::{counted::Counted, word::Bucket},
};
use crossbeam_utils::CachePadded;
use once_cell::race::OnceBox;
#[cfg(feature = "shared")]
pub(crate) use shared::SHARED_LEN;
use shared::SharedLen;
#[cfg(feature = "shared")]
pub use shared::process_number;
use std::hint::select_unpredictable;
// Unchecked: the counter orders nothing, and in a model each of its accesses would only multiply
// the interleavings.
use crate::sync::{Ordering, unchecked::AtomicU64};

/// Sums over shards, each written by the threads that fall on it: the numbers of slots and of repeats, and the
/// counters off the fast path.
pub(crate) struct Len<P: Storage, K: Kind, C: Counted> {
    /// The shard of a filter that has no others. In a box, because writers write it and lookups read
    /// the cache line of the other fields.
    first: Box<First<C::Repeats>>,
    /// The other shards of a fixed filter. A small one has none, so that it stays small.
    fixed: K::IfFixed<Option<Box<[ShardOf<C>]>>>,
    /// The other shards of a filter that can grow: none until it is [`LARGE`].
    late: K::IfGrowing<OnceBox<[ShardOf<C>; FEW]>>,
    /// The shards that processes share; then there are no others.
    shared: P::Extra<SharedLen>,
}

/// What a group of threads counts. The counters are in the cache line of the slots, because these
/// threads write that line anyway.
#[derive(Default)]
struct Shard<R> {
    slots: AtomicU64,
    repeats: R,
    counters: Counters,
}

type ShardOf<C> = CachePadded<Shard<<C as Counted>::Repeats>>;

/// What all threads count in a small filter.
#[derive(Default)]
struct First<R> {
    slots: AtomicU64,
    repeats: R,
    counters: SmallCounters,
}

/// A size class of most allocators. With another counter it takes the next one, of 48 bytes.
const _: () = assert!(size_of::<First<()>>() == 32);

/// Where a thread counts.
#[derive(Clone, Copy)]
pub(crate) struct Count<'a> {
    slots: &'a AtomicU64,
    repeats: Option<&'a AtomicU64>,
}

impl Count<'_> {
    /// Counts a copy that was added.
    #[inline(always)]
    pub(crate) fn add(self, copy: impl Counted) {
        // Relaxed: the counters order nothing; words do.
        self.of(copy).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a copy that was taken. A shard may go below 0 and wrap; the sum does not.
    #[inline(always)]
    pub(crate) fn subtract(self, copy: impl Counted) {
        // Relaxed: as in `add`.
        self.of(copy).fetch_sub(1, Ordering::Relaxed);
    }

    #[inline(always)]
    fn of(&self, copy: impl Counted) -> &AtomicU64 {
        match self.repeats {
            // A branch would be unpredictable.
            Some(repeats) => select_unpredictable(copy.is_repeat(), repeats, self.slots),
            None => self.slots,
        }
    }

    /// Moves `more` copies, modulo 2^64, from the slots to the repeats.
    fn share(self, more: u64) {
        if let Some(repeats) = self.repeats {
            // Relaxed: as in `add`.
            repeats.fetch_add(more, Ordering::Relaxed);
            self.slots.fetch_sub(more, Ordering::Relaxed);
        }
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

impl<P: Storage, K: Kind, C: Counted> Len<P, K, C> {
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
    #[cfg(guira_faults)]
    pub(crate) fn fields(&self) -> Vec<crate::coherence::Field> {
        use crate::coherence::Field;
        let mut fields = self.first.counters.fields();
        for shard in self.shards() {
            fields.extend(shard.counters.fields());
        }
        let of_slots = |slots: &AtomicU64| Field::of("len.shard", slots);
        fields.extend(self.all_slots().map(of_slots));
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
        size_of::<First<C::Repeats>>() + shards * size_of::<ShardOf<C>>()
    }

    /// Counts `by` slots more, modulo 2^64.
    #[inline]
    pub(crate) fn add(&self, by: u64) {
        // Relaxed: as in `Count::add`.
        self.count().slots.fetch_add(by, Ordering::Relaxed);
    }

    /// Counts `by` slots less.
    #[inline]
    pub(crate) fn subtract(&self, by: u64) {
        self.add(by.wrapping_neg());
    }

    /// Counts `by` repeats more, modulo 2^64.
    pub(crate) fn add_repeats(&self, by: u64) {
        if let Some(repeats) = self.count().repeats
            && by != 0
        {
            // Relaxed: as in `Count::add`.
            repeats.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// Counts `by` repeats less.
    pub(crate) fn subtract_repeats(&self, by: u64) {
        self.add_repeats(by.wrapping_neg());
    }

    /// Counts a copy as a repeat that was, or will be, counted as a slot.
    pub(crate) fn share(&self, copy: C) {
        if copy.is_repeat() {
            self.count().share(1);
        }
    }

    /// Counts copies as repeats that were counted as slots, or the reverse: those by which `new` differs from
    /// the word `old` that it has replaced.
    pub(crate) fn share_of<W: Bucket>(&self, old: W, new: W) {
        let more = new.repeats().wrapping_sub(old.repeats());
        if more != 0 {
            self.count().share(more);
        }
    }

    /// Where this thread counts.
    #[inline]
    pub(crate) fn count(&self) -> Count<'_> {
        if P::SHARED {
            let shared = self.shared.get();
            return Count {
                slots: shared.map_or(&self.first.slots, SharedLen::shard),
                repeats: None,
            };
        }
        match self.shard() {
            Some(shard) => Count {
                slots: &shard.slots,
                repeats: C::number(&shard.repeats),
            },
            None => Count {
                slots: &self.first.slots,
                repeats: C::number(&self.first.repeats),
            },
        }
    }

    /// The shard of this thread, if there is more than the first one.
    #[inline]
    fn shard(&self) -> Option<&ShardOf<C>> {
        if let Some(fixed) = self.fixed.get() {
            let shards = fixed.as_deref()?;
            return Some(&shards[thread_number() & (shards.len() - 1)]);
        }
        let shards = self.late.get()?.get()?;
        Some(&shards[thread_number() % FEW])
    }

    /// The shards beside the first one.
    fn shards(&self) -> &[ShardOf<C>] {
        let fixed = self.fixed.get().and_then(Option::as_deref);
        let late = || Some(&self.late.get()?.get()?[..]);
        fixed.or_else(late).unwrap_or(&[])
    }

    /// The shards of a fixed filter, to be changed.
    fn fixed_mut(&mut self) -> Option<&mut [ShardOf<C>]> {
        self.fixed.get_mut()?.as_deref_mut()
    }

    fn all_slots(&self) -> impl Iterator<Item = &AtomicU64> {
        let shared = self.shared.get().into_iter().flat_map(SharedLen::all);
        let slots = self.shards().iter().map(|shard| &shard.slots);
        std::iter::once(&self.first.slots)
            .chain(slots)
            .chain(shared)
    }

    fn all_repeats(&self) -> impl Iterator<Item = &AtomicU64> {
        let repeats = self.shards().iter().map(|shard| &shard.repeats);
        std::iter::once(&self.first.repeats)
            .chain(repeats)
            .filter_map(C::number)
    }

    /// The number of copies. Concurrent operations may be counted or not.
    pub(crate) fn copies(&self) -> usize {
        sum_beside(self.all_slots().chain(self.all_repeats()), || {})
    }

    /// The number of slots in use. Concurrent operations may be counted or not.
    pub(crate) fn slots(&self) -> usize {
        self.slots_beside(|| {})
    }

    /// [`slots`](Self::slots); `others` run before each shard is read: in tests.
    fn slots_beside(&self, others: impl FnMut()) -> usize {
        sum_beside(self.all_slots(), others)
    }

    /// True if this number of slots is in use. Concurrent operations may be counted or not.
    ///
    /// A sum that a thread is stopped in the middle of can miss any number of inserts whose
    /// removes it sees, so a low one alone does not decide.
    pub(crate) fn uses_at_least(&self, slots: usize) -> bool {
        self.uses_at_least_beside(slots, || {})
    }

    fn uses_at_least_beside(&self, slots: usize, mut others: impl FnMut()) -> bool {
        (0..SUMS).any(|_| self.slots_beside(&mut others) >= slots)
    }

    /// Takes the numbers of copies from another filter, and adds its counters.
    pub(crate) fn replace(&mut self, other: Self) {
        let mut stats = self.stats();
        other.first.counters.add_to(&mut stats);
        self.first.slots = other.first.slots;
        self.first.repeats = other.first.repeats;
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
        self.subtract(self.slots() as u64);
        // A sum below 0 reads as 0.
        while self.slots() < items {
            self.add((items - self.slots()) as u64);
        }
    }

    /// There are no items any more. The counters stay.
    pub(crate) fn reset(&mut self) {
        let stats = self.stats();
        self.first.slots = AtomicU64::new(0);
        self.first.repeats = C::Repeats::default();
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

/// The sum; `others` run before each number is read.
fn sum_beside<'a>(numbers: impl Iterator<Item = &'a AtomicU64>, mut others: impl FnMut()) -> usize {
    // Relaxed: at rest the caller has synchronized with the writers.
    let load = |number: &AtomicU64| {
        others();
        number.load(Ordering::Relaxed)
    };
    let sum = numbers.map(load).fold(0, u64::wrapping_add);
    // Below 0 if it missed an insert whose remove it saw in another shard.
    usize::try_from(sum.cast_signed()).unwrap_or(0)
}

/// The shards of a filter that grows; `None` if there is no memory.
fn shards<S: Default>() -> Option<Box<[S; FEW]>> {
    let mut shards = Vec::new();
    shards.try_reserve_exact(FEW).ok()?;
    shards.resize_with(FEW, S::default);
    shards.try_into().ok()
}

#[cfg(test)]
mod tests;
