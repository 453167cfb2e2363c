//! The memory of the process: jemalloc, with one arena for all threads.
//!
//! Memory that one thread frees is available to others, and memory that stays unused for some
//! seconds returns to the system. With an arena for each thread, as in the C library's allocator,
//! keys that come and go leave each arena as large as it ever was.

//!
//! Without the feature `jemalloc` the allocator is the C library's.

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// From now on this thread takes its memory from the arena that all share.
#[cfg(feature = "jemalloc")]
pub(crate) fn share() {
    use tikv_jemalloc_ctl::{Access, AsName};

    /// The arena with which the process begins.
    const ARENA: u32 = 0;

    if let Err(error) = b"thread.arena\0"[..].name().write(ARENA) {
        tracing::warn!(%error, "a thread has its own arena: the process may need more memory");
    }
}

/// Nothing.
#[cfg(not(feature = "jemalloc"))]
pub(crate) fn share() {}
