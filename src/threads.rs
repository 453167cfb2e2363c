//! A number for each thread.

/// Shuttle runs all its threads in one thread of the system, and has a number for each.
#[cfg(guira_shuttle)]
pub(crate) fn thread_number() -> usize {
    shuttle::current::me().into()
}

/// The simulator runs all its threads in one thread of the system, and has a number for each.
#[cfg(guira_coherence)]
pub(crate) use crate::coherence::thread_number;

/// A small number that differs between threads while there are few.
#[cfg(not(any(guira_shuttle, guira_coherence)))]
#[inline]
pub(crate) fn thread_number() -> usize {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    static NEXT: AtomicUsize = AtomicUsize::new(1);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(0) });

    let number = NUMBER.get();
    if number != 0 {
        return number;
    }
    // Relaxed: only the atomicity of the count matters.
    NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.get()
}
