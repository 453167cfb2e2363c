//! A thread that a test can stop, for ever if it likes, before any step.

use super::Step;
use std::cell::{Cell, RefCell};

type Watcher = Box<dyn FnMut(Step)>;

thread_local!(static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) });

thread_local!(static TOUCHED: Cell<usize> = const { Cell::new(0) });

/// Notes that this thread has loaded a word for an update: the step does not say which.
pub(crate) fn touch<A>(atomic: &A) {
    TOUCHED.set(std::ptr::from_ref(atomic).addr());
}

/// True if `atomic` was the last one that this thread has loaded for an update.
pub(crate) fn is_touched<A>(atomic: &A) -> bool {
    TOUCHED.get() == std::ptr::from_ref(atomic).addr()
}

/// From now on calls `watcher` before each step of this thread.
pub fn watch(watcher: impl FnMut(Step) + 'static) {
    WATCHER.set(Some(Box::new(watcher)));
}

/// Removes the watcher.
pub fn unwatch() {
    WATCHER.set(None);
}

pub(crate) fn see(step: Step) {
    // Out of its place while it runs: it may use a filter itself.
    if let Some(mut watcher) = WATCHER.take() {
        watcher(step);
        WATCHER.set(Some(watcher));
    }
}
