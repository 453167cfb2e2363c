//! Which accesses a model makes, and in which order.
//!
//! `cargo xtask break` shows the interleaving in which a weakened protocol fails. An access is
//! recorded when it has been made, with the [`Step`] that [`fault::order`](crate::fault::order)
//! named just before: between the two loom may switch to another thread.

use crate::step::Step;
use loom::thread::{self, ThreadId};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// One access to a shared word, version or counter.
#[derive(Clone, Debug)]
pub struct Access {
    /// The thread that made it.
    pub thread: ThreadId,
    /// The step that it is; `None` if the code does not name it.
    pub step: Option<Step>,
    /// What it did: the values that were read and written.
    pub effect: String,
}

struct Trace {
    accesses: Vec<Access>,
    /// The step that each thread has named, and not made yet.
    named: Vec<(ThreadId, Step)>,
}

static IS_ON: AtomicBool = AtomicBool::new(false);

static TRACE: Mutex<Trace> = Mutex::new(Trace {
    accesses: Vec::new(),
    named: Vec::new(),
});

fn with_trace<R>(f: impl FnOnce(&mut Trace) -> R) -> R {
    f(&mut TRACE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Starts a new trace.
pub fn start_trace() {
    with_trace(|trace| {
        trace.accesses.clear();
        trace.named.clear();
    });
    // Relaxed: loom runs all threads of a model in one thread of the system.
    IS_ON.store(true, Ordering::Relaxed);
}

/// Ends the trace, and returns the accesses since it started in the order in which they were made.
pub fn end_trace() -> Vec<Access> {
    IS_ON.store(false, Ordering::Relaxed);
    with_trace(|trace| std::mem::take(&mut trace.accesses))
}

/// This thread is about to make `step`.
pub(crate) fn name(step: Step) {
    if IS_ON.load(Ordering::Relaxed) {
        let me = thread::current().id();
        with_trace(|trace| {
            trace.named.retain(|(thread, _)| *thread != me);
            trace.named.push((me, step));
        });
    }
}

/// This thread has made an access.
pub(crate) fn record(effect: impl FnOnce() -> String) {
    if IS_ON.load(Ordering::Relaxed) {
        let me = thread::current().id();
        with_trace(|trace| {
            let named = trace.named.iter().position(|(thread, _)| *thread == me);
            let step = named.map(|index| trace.named.swap_remove(index).1);
            trace.accesses.push(Access {
                thread: me,
                step,
                effect: effect(),
            });
        });
    }
}
