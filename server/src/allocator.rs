//! The memory of the process: jemalloc, with one arena for all threads.
//!
//! What one thread gives back another can have then, and what nobody takes for some seconds
//! goes back to the system. With an arena for each thread, as the C library's allocator has them,
//! keys that come and go leave each arena as large as it ever was.

use tikv_jemalloc_ctl::{Access, AsName, Result};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// The arena with which the process begins.
const ARENA: u32 = 0;

/// From now on this thread takes its memory from the arena that all share.
pub(crate) fn share() -> Result<()> {
    b"thread.arena\0"[..].name().write(ARENA)
}
