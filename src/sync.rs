//! The one door to atomics: the standard library's, or in a model those of its
//! checker: loom's under `cfg(guira_loom)`, shuttle's under `cfg(guira_shuttle)`.

use crate::grow::Block;
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) use checker::sync::atomic::{AtomicU64, fence};
#[cfg(guira_loom)]
use loom as checker;
#[cfg(guira_shuttle)]
use shuttle as checker;
pub(crate) use std::sync::atomic::Ordering;
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub(crate) use std::sync::atomic::{AtomicU64, fence};

/// True in a model: the constants are smaller there, the code is the same.
pub(crate) const IN_MODEL: bool = cfg!(any(guira_loom, guira_shuttle));

/// Lets another thread run: after a lost race, never in a loop without bound.
pub(crate) fn yield_now() {
    #[cfg(any(guira_loom, guira_shuttle))]
    checker::thread::yield_now();
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    std::thread::yield_now();
}

/// Gives a thread that is about to finish the time of some instructions.
pub(crate) fn spin() {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    std::hint::spin_loop();
    #[cfg(guira_shuttle)]
    checker::thread::yield_now();
}

/// In a model, lets another thread run before a retry: loom would explore
/// retries that meet nothing new for ever, and of shuttle's threads the one with
/// the highest priority runs until it yields. Otherwise nothing.
#[inline(always)]
pub(crate) fn yield_in_model() {
    #[cfg(any(guira_loom, guira_shuttle))]
    checker::thread::yield_now();
}

/// A load whose value the caller will hand to a compare-exchange.
///
/// loom forgets interleavings of a plain load that the same thread follows
/// with a store to the same atomic. As a
/// read-modify-write that changes nothing the load is explored in full.
#[inline(always)]
pub(crate) fn load_for_update(atomic: &AtomicU64, order: Ordering) -> u64 {
    crate::table::count_load();
    #[cfg(guira_loom)]
    if crate::fault::loads_are_exchanges() {
        return atomic.fetch_or(0, order);
    }
    atomic.load(order)
}

/// Brings a word into the cache, without waiting for it.
#[inline(always)]
pub(crate) fn prefetch(words: &[AtomicU64], index: usize) {
    // Where `prefetch_index` has an instruction for it; elsewhere it does nothing.
    if cfg!(any(
        all(
            any(target_arch = "x86", target_arch = "x86_64"),
            target_feature = "sse"
        ),
        target_arch = "aarch64"
    )) {
        prefetch_index::prefetch_index(words, index);
    } else {
        // Relaxed: nobody uses the value, so nothing waits for it.
        words[index].load(Ordering::Relaxed);
    }
}

/// `len` atomics, all 0.
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) fn zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    Some((0..len).map(|_| AtomicU64::new(0)).collect())
}

/// `len` atomics, all 0, in memory that the allocator hands out zeroed, so that
/// a large table costs nothing until it is touched. `None`: no memory.
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub(crate) fn zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    bytemuck::allocation::try_zeroed_slice_box(len).ok()
}

/// A block that is published once, by whichever thread comes first; the others
/// use that one. Nobody waits.
pub(crate) struct OnceBlock {
    /// An array of one, because a box of an array can be made of a vector, whose
    /// allocation may fail.
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    block: once_cell::race::OnceBox<[Block; 1]>,
    #[cfg(any(guira_loom, guira_shuttle))]
    published: AtomicU64,
    #[cfg(any(guira_loom, guira_shuttle))]
    block: Block,
}

#[cfg(not(any(guira_loom, guira_shuttle)))]
impl OnceBlock {
    /// One that has not been published, of any size.
    pub(crate) fn new(_words: usize) -> Self {
        Self {
            block: once_cell::race::OnceBox::new(),
        }
    }

    /// The block, if it is published. Acquire: its words are seen zeroed.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&Block> {
        self.block.get().map(|[block]| block)
    }

    /// The block, published now if it was not; `None` if there is no memory.
    pub(crate) fn publish(&self, words: usize) -> Option<&Block> {
        if self.get().is_none()
            && let Some(block) = Self::allocate(words)
        {
            // An error says that another thread was first: its block counts.
            let _ = self.block.set(block);
        }
        // Also if there was no memory: another thread may have had it.
        self.get()
    }

    fn allocate(words: usize) -> Option<Box<[Block; 1]>> {
        let mut block = Vec::new();
        block.try_reserve_exact(1).ok()?;
        block.push(Block::new(words)?);
        block.try_into().ok()
    }
}

#[cfg(any(guira_loom, guira_shuttle))]
impl OnceBlock {
    pub(crate) fn new(words: usize) -> Self {
        let block = Block::new(words).expect("a few bytes");
        Self {
            published: AtomicU64::new(0),
            block,
        }
    }

    pub(crate) fn get(&self) -> Option<&Block> {
        // What is never published need not be looked at: that would be a step more.
        let published =
            !self.block.stretch.words.is_empty() && self.published.load(Ordering::Acquire) == 1;
        published.then_some(&self.block)
    }

    pub(crate) fn publish(&self, words: usize) -> Option<&Block> {
        if crate::fault::memory_is_refused() {
            return self.get();
        }
        debug_assert!(words > 0 && words == self.block.stretch.words.len());
        // AcqRel: stands for what `once_cell` does; Release pairs with the load of `get`.
        self.published.fetch_max(1, Ordering::AcqRel);
        Some(&self.block)
    }
}
