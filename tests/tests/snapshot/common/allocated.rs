//! The bytes that one thread allocates: concurrent tests, in their threads, do not count.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Constant at first and never dropped: the allocator can use it at any time.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: usize) {
    ALLOCATED.with(|allocated| allocated.set(allocated.get().wrapping_add(bytes)));
}

// SAFETY: every call goes to the system's allocator as it came. Counting does not allocate, and it
// does not panic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the one that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: as above; all memory comes from the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Calls `f`; what it returns, and how many bytes this thread has allocated for it, all allocations
/// together, and of each reallocation what it added.
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
    assert!(allocated < 1 << 16, "{allocated}: another thread's");
}
