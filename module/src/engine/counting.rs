//! The allocator of tests and of the fuzzer, which run without an engine. It measures the peak memory
//! use of a thread.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    // Initialized at compile time and never dropped, so the allocator can use them at any time.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// A reallocation briefly holds both the old and the new memory, as in the engine.
struct Counting;

fn count(bytes: isize) {
    let live = LIVE.get().wrapping_add(bytes);
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call is passed to the system's allocator. Counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller fulfils the contract of the system's allocator, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Calls `work`. Returns its result, and the peak of the bytes that this thread allocated during
/// the call, beyond what it had before.
pub(crate) fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_one_time_is_counted() {
        let (_, peak) = peak_of(|| {
            drop(vec![1_u8; 1000]);
            vec![0_u8; 300]
        });
        assert_eq!(peak, 1000);
        let mut bytes = vec![1_u8; 1000];
        let ((), peak) = peak_of(|| bytes.reserve_exact(500));
        assert_eq!(peak, 1500);
        let (other, peak) = peak_of(|| std::thread::spawn(|| vec![1_u8; 1 << 20]).join());
        assert_eq!(other.expect("a vector").len(), 1 << 20);
        assert!(peak < 1 << 16, "{peak}: another thread's");
    }
}
