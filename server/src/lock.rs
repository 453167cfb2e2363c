//! Mutexes whose data stays consistent when a thread panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. No user of this function leaves the data half changed, so a thread that panicked
/// while it held the lock has left the data consistent.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
