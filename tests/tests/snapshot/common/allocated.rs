//! Counts the bytes that one thread allocates, so that concurrent tests in other threads do not
//! count.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// The initial value is a constant and is never dropped, so the allocator can use it at any
    /// time.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: usize) {
    ALLOCATED.with(|allocated| allocated.set(allocated.get().wrapping_add(bytes)));
}

// SAFETY: every call is passed on unchanged to the system allocator. Counting neither allocates nor
// panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the one that the system allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: as above, and all memory was allocated by the system allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Calls `f`. Returns its result and the number of bytes that this thread allocated for it: the sum
/// of all allocations, and of the growth of each reallocation.
pub(crate) fn allocated_by<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = ALLOCATED.get();
    let result = f();
    (result, ALLOCATED.get().wrapping_sub(before))
}

#[test]
fn all_that_this_thread_allocates_is_counted() {
    let (mut bytes, allocated) = allocated_by(|| vec![1_u8; 1_000]);
    assert_eq!(allocated, 1_000);
    let ((), allocated) = allocated_by(|| bytes.reserve_exact(500));
    assert_eq!((bytes.capacity(), allocated), (1_500, 500));
    let (zeros, allocated) = allocated_by(|| vec![0_u8; 300]);
    assert_eq!((zeros.len(), allocated), (300, 300));
    let (other, allocated) = allocated_by(|| std::thread::spawn(|| vec![1_u8; 1 << 20]).join());
    assert_eq!(other.expect("a vector").len(), 1 << 20);
    assert!(
        allocated < 1 << 16,
        "{allocated} bytes of another thread were counted"
    );
}
