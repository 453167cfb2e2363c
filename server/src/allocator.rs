//! The allocator of the process: jemalloc, with one arena for all threads.
//!
//! Memory that one thread frees is available to others, and memory that stays unused for some seconds
//! returns to the system. With one arena per thread, as in the C library's allocator, each arena would
//! stay as large as it ever was when keys come and go.

//!
//! Without the feature `jemalloc` the allocator is the C library's.

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Makes this thread allocate from the arena that all threads share.
#[cfg(feature = "jemalloc")]
pub(crate) fn share() {
    use tikv_jemalloc_ctl::{Access, AsName};

    /// The arena that exists when the process starts.
    const ARENA: u32 = 0;

    if let Err(error) = b"thread.arena\0"[..].name().write(ARENA) {
        tracing::warn!(%error, "a thread has its own arena: the process may need more memory");
    }
}

/// Does nothing: the C library's allocator has no such setting.
#[cfg(not(feature = "jemalloc"))]
pub(crate) fn share() {}
