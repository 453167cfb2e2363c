//! An allocator that counts the allocations of each thread.

use super::Memory;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// The system allocator with counters. A binary declares it as its global allocator.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

#[derive(Clone, Copy)]
struct Counts {
    allocated: usize,
    /// Negative if the thread has freed memory of other threads.
    in_use: isize,
    peak: isize,
}

thread_local! {
    /// The initial value is a constant and is never dropped, so the allocator can use it at any
    /// time.
    static COUNTS: Cell<Counts> = const {
        Cell::new(Counts { allocated: 0, in_use: 0, peak: 0 })
    };
}

fn count(more: usize, less: usize) {
    COUNTS.with(|cell| {
        let mut counts = cell.get();
        counts.allocated = counts.allocated.wrapping_add(more.saturating_sub(less));
        counts.in_use = counts
            .in_use
            .wrapping_add_unsigned(more)
            .wrapping_sub_unsigned(less);
        counts.peak = counts.peak.max(counts.in_use);
        cell.set(counts);
    });
}

// SAFETY: every call is passed on unchanged to the system allocator. Counting neither allocates nor
// panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise is the one that the system allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above, and all memory was allocated by the system allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Calls `work`, and returns the memory that this thread allocated for it with [`Counting`].
pub fn measure(work: &mut dyn FnMut()) -> Memory {
    let before = COUNTS.get();
    COUNTS.set(Counts {
        peak: before.in_use,
        ..before
    });
    work();
    let after = COUNTS.get();
    Memory {
        allocated: after.allocated.wrapping_sub(before.allocated),
        peak: after.peak.wrapping_sub(before.in_use).max(0) as usize,
    }
}
