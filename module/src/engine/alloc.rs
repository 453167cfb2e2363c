//! The module allocates with the engine's allocator, so `used_memory` and `maxmemory` include it.
//!
//! The engine's allocator has no parameter for alignment. It aligns to 16 bytes, as `malloc` does,
//! and the filter's tables need 128. Such memory is requested with padding, and its original address
//! is kept in the word before the aligned one.

use super::{
    api::{Api, loaded},
    fault::{self, Fault},
};
use std::{
    alloc::{GlobalAlloc, Layout},
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

/// The alignment of the engine's memory, for sizes of at least this many bytes.
const NATURAL: usize = 16;

/// The size from which zeroed memory is probed first in Redis 7.0, which has no `TryCalloc`: its
/// `Calloc` ends the process if the system refuses the memory.
const PROBED: usize = 1 << 20;

/// The size of an address in bytes.
const ADDRESS: usize = size_of::<*mut u8>();

/// The number of allocations so far, on all threads.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// A number that is greater after each allocation. While it stays the same, no value takes more memory.
#[inline(always)]
pub(crate) fn allocations() -> u64 {
    // Relaxed: a thread sees its own allocations.
    ALLOCATIONS.load(Ordering::Relaxed)
}

#[derive(Debug)]
pub(crate) struct EngineAllocator;

// SAFETY: by `with_alignment`, memory has at least the size and the alignment of its layout, and is
// returned to the allocator that it came from. Nothing here panics.
unsafe impl GlobalAlloc for EngineAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(api) = loaded() else {
            return ptr::null_mut();
        };
        // If the engine can report a failure, the result is null, and the caller reports an error.
        // Otherwise the engine ends the process.
        let get = |bytes| {
            // SAFETY: any number of bytes may be requested.
            unsafe { api.TryAlloc.unwrap_or(api.Alloc)(bytes).cast() }
        };
        // SAFETY: `get` returns memory of the size that it was asked for, or null.
        unsafe { with_alignment(layout, get) }
    }

    /// Uses `calloc`: memory from the system is zeroed already and is not written to. A table takes no
    /// physical memory until its buckets are used.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(api) = loaded() else {
            return ptr::null_mut();
        };
        let get = |bytes| match api.TryCalloc {
            // SAFETY: any number of bytes may be requested, here and below.
            Some(try_calloc) => unsafe { try_calloc(1, bytes).cast() },
            None if bytes >= PROBED && !is_there(api, bytes) => ptr::null_mut(),
            // SAFETY: see above.
            None => unsafe { (api.Calloc)(1, bytes).cast() },
        };
        // SAFETY: as for `alloc`.
        unsafe { with_alignment(layout, get) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // Without the engine's functions, nothing has been allocated.
        let Some(api) = loaded() else { return };
        // SAFETY: the caller got `at` for this layout from here.
        unsafe { (api.Free)(true_address(at, layout).cast()) }
    }
}

/// True if the system grants this number of bytes. They are not touched.
fn is_there(api: &Api, bytes: usize) -> bool {
    let Some(try_alloc) = api.TryAlloc else {
        return true;
    };
    // SAFETY: any number of bytes may be requested. They are freed at once.
    unsafe {
        let probe = try_alloc(bytes);
        if probe.is_null() {
            return false;
        }
        (api.Free)(probe);
    }
    true
}

/// True if the engine's memory is sufficiently aligned for this layout.
fn is_natural(layout: Layout) -> bool {
    // jemalloc aligns less than 16 bytes to 8 only.
    layout.align() <= ADDRESS
        || (layout.align() <= NATURAL && layout.size() >= NATURAL)
        || fault::is(Fault::Misaligned)
}

/// Returns memory of this layout, which `get` allocates.
///
/// # Safety
///
/// `get` returns null, or memory of the requested size, which is aligned to [`NATURAL`] if the size is
/// at least that.
unsafe fn with_alignment(layout: Layout, get: impl Fn(usize) -> *mut u8) -> *mut u8 {
    // Relaxed: as in `allocations`.
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    if is_natural(layout) {
        return get(layout.size());
    }
    // No overflow: a layout has at most `isize::MAX` bytes, with its alignment.
    let begin = get(layout.size() + layout.align() + ADDRESS);
    if begin.is_null() {
        return begin;
    }
    // SAFETY: the address is within the memory, because the request included both terms as padding.
    // The word before the aligned address is within it as well, and aligned for an address.
    unsafe {
        let after = begin.add(ADDRESS);
        let aligned = after.add(after.addr().wrapping_neg() & (layout.align() - 1));
        aligned.cast::<*mut u8>().sub(1).write(begin);
        aligned
    }
}

/// Returns the address that the engine's allocator returned.
///
/// # Safety
///
/// `at` came from [`with_alignment`] for this layout.
unsafe fn true_address(at: *mut u8, layout: Layout) -> *mut u8 {
    if is_natural(layout) {
        at
    } else {
        // SAFETY: `with_alignment` has written it there.
        unsafe { at.cast::<*mut u8>().sub(1).read() }
    }
}

/// Logs how many of several allocations are not aligned as required.
#[cfg(feature = "faults")]
pub(crate) fn log_alignments() {
    const COUNT: usize = 2000;
    #[repr(align(128))]
    struct Padded([u8; 128]);
    let all: Vec<_> = (0..COUNT).map(|_| Box::new(Padded([0; 128]))).collect();
    let places = std::hint::black_box(&all)
        .iter()
        .map(|padded| padded.0.as_ptr().addr());
    let wrong = places.filter(|place| place & 127 != 0).count();
    super::api::warn(&format!("{wrong} of {COUNT} allocations are misaligned"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{alloc::System, cell::RefCell, collections::HashMap};

    /// An allocator that aligns memory no more than the engine's is required to.
    #[derive(Default)]
    struct Engine(RefCell<HashMap<usize, Layout>>);

    impl Engine {
        fn get(&self, bytes: usize, zeroed: bool) -> *mut u8 {
            // Uses an odd multiple of the natural alignment, or of 8 for a few bytes.
            let natural = if bytes >= NATURAL { NATURAL } else { ADDRESS };
            let layout = Layout::from_size_align(bytes + natural, 4096).unwrap();
            // SAFETY: the layout has a size of at least one byte.
            let begin = unsafe {
                if zeroed {
                    System.alloc_zeroed(layout)
                } else {
                    System.alloc(layout)
                }
            };
            let at = begin.wrapping_add(natural);
            self.0.borrow_mut().insert(at.addr(), layout);
            at
        }

        fn free(&self, at: *mut u8) {
            let layout = self.0.borrow_mut().remove(&at.addr());
            let layout = layout.expect("it was handed out, and not freed");
            let begin = at.wrapping_sub(at.addr() % layout.align());
            // SAFETY: it came from `get`.
            unsafe { System.dealloc(begin, layout) };
        }
    }

    #[test]
    fn memory_is_aligned_as_asked_for_and_goes_back() {
        let engine = Engine::default();
        for align in (0..13).map(|power| 1 << power) {
            for size in [1, 7, 8, 9, 15, 16, 17, 64, 127, 128, 1000, 4096, 5000] {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: `get` fulfils its contract, and all written bytes are within the layout.
                unsafe {
                    let at = with_alignment(layout, |bytes| engine.get(bytes, true));
                    assert_eq!(at.addr() % align, 0, "{layout:?}");
                    for byte in 0..size {
                        assert_eq!(at.add(byte).read(), 0, "{layout:?}");
                        at.add(byte).write(0xff);
                    }
                    engine.free(true_address(at, layout));
                }
            }
        }
        assert!(engine.0.borrow().is_empty());
    }

    #[test]
    fn no_memory_is_null() {
        for align in [1, 16, 128] {
            let layout = Layout::from_size_align(100, align).unwrap();
            // SAFETY: null is allowed.
            let at = unsafe { with_alignment(layout, |_| ptr::null_mut()) };
            assert!(at.is_null());
        }
    }
}
