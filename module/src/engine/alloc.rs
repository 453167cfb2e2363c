//! The engine's allocator for all of the module, so that `used_memory` and `maxmemory` have it.
//!
//! The engine knows no alignments. It gives 16 bytes of them, as `malloc` does, and the filter's
//! tables want 128. Such memory is asked for with room to spare, and its true address is kept in
//! the word before the aligned one.

use super::{
    api::{Api, loaded},
    fault::{self, Fault},
};
use std::{
    alloc::{GlobalAlloc, Layout},
    ptr,
};

/// The alignment that the engine's memory has if there is as much of it as that.
const NATURAL: usize = 16;

/// From this size on zeroed memory is probed, in Redis 7.0: it has no `TryCalloc`, and its `Calloc`
/// ends the process when the system refuses the memory.
const PROBED: usize = 1 << 20;

/// Bytes of an address.
const ADDRESS: usize = size_of::<*mut u8>();

#[derive(Debug)]
pub(crate) struct EngineAllocator;

// SAFETY: what is handed out has at least the size and the alignment of its layout, by
// `with_alignment`, and goes back to the allocator that it came from. Nothing here panics.
unsafe impl GlobalAlloc for EngineAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(api) = loaded() else {
            return ptr::null_mut();
        };
        // Null, where the engine can say so, is an error that the caller can report; without it the
        // engine ends the process.
        let get = |bytes| {
            // SAFETY: any number of bytes can be asked for.
            unsafe { api.TryAlloc.unwrap_or(api.Alloc)(bytes).cast() }
        };
        // SAFETY: `get` returns memory of the size that it was asked for, or null.
        unsafe { with_alignment(layout, get) }
    }

    /// By `calloc`: what comes from the system is zero already, and is not written through. A table
    /// takes no memory until its buckets are used.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(api) = loaded() else {
            return ptr::null_mut();
        };
        let get = |bytes| match api.TryCalloc {
            // SAFETY: any number of bytes can be asked for, here and below.
            Some(try_calloc) => unsafe { try_calloc(1, bytes).cast() },
            None if bytes >= PROBED && !is_there(api, bytes) => ptr::null_mut(),
            // SAFETY: see above.
            None => unsafe { (api.Calloc)(1, bytes).cast() },
        };
        // SAFETY: as for `alloc`.
        unsafe { with_alignment(layout, get) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // Nothing has been handed out before the functions were there.
        let Some(api) = loaded() else { return };
        // SAFETY: the caller got `at` for this layout from here.
        unsafe { (api.Free)(true_address(at, layout).cast()) }
    }
}

/// True if the system grants this number of bytes. None of them is touched.
fn is_there(api: &Api, bytes: usize) -> bool {
    let Some(try_alloc) = api.TryAlloc else {
        return true;
    };
    // SAFETY: any number of bytes can be asked for. They are given back at once.
    unsafe {
        let probe = try_alloc(bytes);
        if probe.is_null() {
            return false;
        }
        (api.Free)(probe);
    }
    true
}

/// True if the engine's memory for this layout is aligned as it is.
fn is_natural(layout: Layout) -> bool {
    // jemalloc aligns less than 16 bytes to 8 only.
    layout.align() <= ADDRESS
        || (layout.align() <= NATURAL && layout.size() >= NATURAL)
        || fault::is(Fault::Misaligned)
}

/// Memory of this layout, out of what `get` gives for a number of bytes.
///
/// # Safety
///
/// `get` returns null, or memory of the requested size, aligned to [`NATURAL`] if the size is at
/// least that.
unsafe fn with_alignment(layout: Layout, get: impl Fn(usize) -> *mut u8) -> *mut u8 {
    if is_natural(layout) {
        return get(layout.size());
    }
    // No overflow: a layout has at most `isize::MAX` bytes, with its alignment.
    let begin = get(layout.size() + layout.align() + ADDRESS);
    if begin.is_null() {
        return begin;
    }
    // SAFETY: within the memory, as both terms are there to spare. The word before the aligned place
    // is in it, too, and is aligned for an address, since the place is.
    unsafe {
        let after = begin.add(ADDRESS);
        let aligned = after.add(after.addr().wrapping_neg() & (layout.align() - 1));
        aligned.cast::<*mut u8>().sub(1).write(begin);
        aligned
    }
}

/// The address that the engine gave.
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

/// Logs how many of some allocations are not aligned as they should be.
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

    /// An allocator that aligns no more than the engine's has to.
    #[derive(Default)]
    struct Engine(RefCell<HashMap<usize, Layout>>);

    impl Engine {
        fn get(&self, bytes: usize, zeroed: bool) -> *mut u8 {
            // At an odd multiple of the natural alignment, or of 8 for a few bytes.
            let natural = if bytes >= NATURAL { NATURAL } else { ADDRESS };
            let layout = Layout::from_size_align(bytes + natural, 4096).unwrap();
            // SAFETY: the layout is not of no bytes.
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
                // SAFETY: `get` does as it must, and all bytes that are written are in the layout.
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
