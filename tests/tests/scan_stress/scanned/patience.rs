//! Inserts that other threads are in the way of.

use guira::InsertError;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

static CONTENDED: AtomicU64 = AtomicU64::new(0);

/// The number of inserts so far that other threads were in the way of. One test runs at a time.
pub(crate) fn contended() -> u64 {
    CONTENDED.load(Ordering::Relaxed)
}

/// Repeats an insert as long as only other threads are in its way.
pub(crate) fn patiently<T>(insert: impl Fn() -> Result<T, InsertError>) -> Result<T, InsertError> {
    loop {
        match insert() {
            Err(InsertError::Contended) => {
                CONTENDED.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
            }
            decided => return decided,
        }
    }
}
