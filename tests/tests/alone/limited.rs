//! An allocator with a limit for the whole process.

use cap::Cap;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// The number of bytes that are in use now.
pub(crate) fn allocated() -> usize {
    ALLOCATOR.allocated()
}

/// Allows the process `bytes` bytes more than it uses now.
pub(crate) fn allow(bytes: usize) {
    let limit = allocated() + bytes;
    ALLOCATOR.set_limit(limit).expect("above what is in use");
}

pub(crate) fn allow_all() {
    ALLOCATOR
        .set_limit(usize::MAX)
        .expect("above what is in use");
}
