//! The atomics of the protocol: the standard library's, or in a model those of its
//! checker: loom's under `cfg(guira_loom)`, shuttle's under `cfg(guira_shuttle)`. Under
//! `cfg(guira_faults)` they report each access to the coherence simulator.

#[cfg(guira_faults)]
mod observed;
pub(crate) mod once;
#[cfg(guira_loom)]
mod traced;

/// Atomics that the model checkers do not see. Counters and tokens use them; their files say why.
pub(crate) mod unchecked {
    #[cfg(guira_faults)]
    pub(crate) use super::observed::AtomicU64;
    pub(crate) use std::sync::atomic::AtomicU32;
    #[cfg(not(guira_faults))]
    pub(crate) use std::sync::atomic::AtomicU64;
}

#[cfg(guira_shuttle)]
pub(crate) use checker::sync::atomic::AtomicU64;
#[cfg(any(guira_loom, guira_shuttle))]
use checker::sync::atomic::fence;
#[cfg(guira_loom)]
use loom as checker;
#[cfg(guira_faults)]
pub(crate) use observed::AtomicU64;
#[cfg(guira_shuttle)]
use shuttle as checker;
#[cfg(not(any(guira_loom, guira_shuttle, guira_faults)))]
pub(crate) use std::sync::atomic::AtomicU64;
pub(crate) use std::sync::atomic::Ordering;
#[cfg(not(any(guira_loom, guira_shuttle)))]
use std::sync::atomic::fence;
#[cfg(guira_loom)]
pub(crate) use traced::AtomicU64;

#[cfg(any(guira_loom, guira_shuttle, guira_faults))]
pub(crate) use AtomicU64 as SmallCounter;
/// A counter that stays small. It takes half the memory, because there may be very many filters.
#[cfg(not(any(guira_loom, guira_shuttle, guira_faults)))]
pub(crate) use std::sync::atomic::AtomicU32 as SmallCounter;

/// A word, as the owner of the memory of a filter has it.
#[cfg(not(guira_faults))]
pub(crate) use AtomicU64 as OwnWord;
#[cfg(guira_faults)]
pub(crate) use std::sync::atomic::AtomicU64 as OwnWord;

/// True in a model. The constants are smaller there, and the code is the same.
pub(crate) const IN_MODEL: bool = cfg!(any(guira_loom, guira_shuttle));

/// A SeqCst fence between a write of this thread and its read of what another thread writes.
#[inline(always)]
pub(crate) fn full_fence() {
    crate::fault::faulty!(fence(Ordering::SeqCst), NoFence => ());
}

/// [`full_fence`] after a write that is an exchange.
///
/// On x86-64 an exchange is a locked instruction, which no load passes (Intel, *Software
/// Developer's Manual*, volume 3A, "Loads and Stores Are Not Reordered with Locked Instructions").
/// The exchange is therefore already a SeqCst fence, and only the compiler must be kept from moving
/// loads. A further fence, `mfence`, would cost about thirty cycles.
#[inline(always)]
pub(crate) fn fence_after_exchange() {
    if cfg!(all(target_arch = "x86_64", not(miri))) && !IN_MODEL {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        full_fence();
    }
}

/// Lets another thread run. This is called after a lost race, never in a loop without bound.
pub(crate) fn yield_now() {
    #[cfg(any(guira_loom, guira_shuttle))]
    checker::thread::yield_now();
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    std::thread::yield_now();
}

/// Waits for some time, because another process has to continue before this thread can. The callers
/// bound the number of waits.
pub(crate) fn sleep() {
    #[cfg(any(guira_loom, guira_shuttle))]
    checker::thread::yield_now();
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    std::thread::sleep(std::time::Duration::from_micros(50));
}

/// Gives a thread that is about to finish the time of some instructions.
pub(crate) fn spin() {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    std::hint::spin_loop();
    #[cfg(guira_shuttle)]
    checker::thread::yield_now();
}

/// In a model, lets another thread run before a retry. Otherwise loom would explore retries that
/// meet nothing new for ever, and shuttle would keep running its thread with the highest priority.
/// Outside of models it does nothing.
#[inline(always)]
pub(crate) fn yield_in_model() {
    #[cfg(any(guira_loom, guira_shuttle))]
    checker::thread::yield_now();
}

/// A load whose value the caller will hand to a compare-exchange.
///
/// loom omits some interleavings of a plain load that the same thread follows with a store to the
/// same atomic. It explores all of them if the load is a read-modify-write that changes nothing.
#[inline(always)]
pub(crate) fn load_for_update(atomic: &AtomicU64, order: Ordering) -> u64 {
    count_load();
    #[cfg(guira_faults)]
    crate::fault::touch(atomic);
    #[cfg(guira_loom)]
    if crate::fault::loads_are_exchanges() {
        return atomic.fetch_or(0, order);
    }
    atomic.load(order)
}

/// Brings a word into the cache, without waiting for it.
#[cfg(all(
    not(any(miri, guira_faults)),
    any(
        target_arch = "aarch64",
        all(
            any(target_arch = "x86", target_arch = "x86_64"),
            target_feature = "sse"
        )
    )
))]
#[inline(always)]
pub(crate) fn prefetch(words: &[AtomicU64], index: usize) {
    prefetch_index::prefetch_index(words, index);
}

/// Brings a word into the cache. Here no instruction is available that only prefetches, so this is
/// a load. Nothing waits for its value.
#[cfg(not(all(
    not(any(miri, guira_faults)),
    any(
        target_arch = "aarch64",
        all(
            any(target_arch = "x86", target_arch = "x86_64"),
            target_feature = "sse"
        )
    )
)))]
#[inline(always)]
pub(crate) fn prefetch(words: &[AtomicU64], index: usize) {
    // Relaxed: the value is not used.
    words[index].load(Ordering::Relaxed);
}

/// `len` atomics, all 0.
#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) fn zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    Some((0..len).map(|_| AtomicU64::new(0)).collect())
}

/// `len` atomics, all 0, or `None` if there is no memory. The allocator hands out zeroed memory, so
/// a large table costs nothing until it is touched.
#[cfg(not(any(guira_loom, guira_shuttle)))]
pub(crate) fn zeroed(len: usize) -> Option<Box<[AtomicU64]>> {
    bytemuck::allocation::try_zeroed_slice_box(len).ok()
}

/// A small number that differs between threads while there are few.
#[cfg(not(guira_shuttle))]
#[inline]
pub(crate) fn thread_number() -> usize {
    use std::{cell::Cell, sync::atomic::AtomicUsize};

    static NEXT: AtomicUsize = AtomicUsize::new(1);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(0) });

    #[cfg(guira_faults)]
    if let Some(number) = crate::coherence::thread_number() {
        return number;
    }
    let number = NUMBER.get();
    if number != 0 {
        return number;
    }
    // Relaxed: only the atomicity of the count matters.
    NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.get()
}

/// Shuttle runs all its threads in one thread of the system, and has a number for each.
#[cfg(guira_shuttle)]
pub(crate) fn thread_number() -> usize {
    shuttle::current::me().into()
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) fn count_load() {}

#[cfg(test)]
pub(crate) use loads::count_load;

/// Counts the loads of lookups, for the test of their wait-freedom.
#[cfg(test)]
pub(crate) mod loads {
    use std::cell::Cell;

    thread_local!(static LOADS: Cell<usize> = const { Cell::new(0) });

    pub(crate) fn count_load() {
        LOADS.set(LOADS.get() + 1);
    }

    /// The loads of this thread while `f` ran.
    pub(crate) fn during<R>(f: impl FnOnce() -> R) -> (R, usize) {
        let before = LOADS.get();
        let result = f();
        (result, LOADS.get() - before)
    }
}
