//! An allocator with a limit for the whole process.

use cap::Cap;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Allows the process `bytes` bytes more than it uses now.
pub(crate) fn allow(bytes: usize) {
    let limit = ALLOCATOR.allocated() + bytes;
    ALLOCATOR.set_limit(limit).expect("above what is in use");
}

pub(crate) fn allow_all() {
    ALLOCATOR
        .set_limit(usize::MAX)
        .expect("above what is in use");
}
