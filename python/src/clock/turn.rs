//! A lock that a fork does not leave locked.
//!
//! A mutex that another thread holds during `fork` stays locked in the child, which has no thread to
//! unlock it. This lock holds the id of the process of its holder, so a child takes it over.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// The holder of a lock that is free.
const FREE: u32 = 0;

/// How often a thread yields before it sleeps.
const YIELDS: u32 = 100;

/// How long a thread sleeps between two attempts.
const SLEEP: Duration = Duration::from_micros(200);

/// Held while epochs begin.
#[derive(Default)]
pub(super) struct Turn {
    /// The process of the holder.
    holder: AtomicU32,
}

/// The lock is free after this.
pub(super) struct Held<'a>(&'a Turn);

impl Turn {
    /// Takes the lock, also from a thread of the parent process that does not exist in this one.
    pub(super) fn take(&self) -> Held<'_> {
        let own = process::id();
        let mut attempts = 0;
        loop {
            let holder = self.holder.load(SeqCst);
            let is_free = holder != own;
            if is_free
                && self
                    .holder
                    .compare_exchange(holder, own, SeqCst, SeqCst)
                    .is_ok()
            {
                return Held(self);
            }
            if attempts < YIELDS {
                attempts += 1;
                thread::yield_now();
            } else {
                thread::sleep(SLEEP);
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.holder.store(FREE, SeqCst);
    }
}
