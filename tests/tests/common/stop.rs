//! Ends the threads of a test.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag on drop, so that the other threads also end if an assertion fails.
pub(crate) struct Stop<'a>(pub(crate) &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        // Relaxed: the flag publishes nothing else.
        self.0.store(true, Ordering::Relaxed);
    }
}
