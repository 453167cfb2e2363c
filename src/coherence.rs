//! What the coherence simulator sees: each access to a shared word, and which field it belongs to.
//! Exists only under `cfg(guira_faults)`; the package `guira-coherence` uses it.

use std::{
    cell::Cell,
    ops::Range,
    sync::{OnceLock, atomic::Ordering},
};

/// What an access does to its cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The line is needed for reading.
    Load,
    /// The line is needed exclusively.
    Store,
    /// A read-modify-write, which on x86-64 also waits for all earlier loads.
    Exchange,
}

/// An access to one atomic, just before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The address of the atomic.
    pub address: usize,
    /// What the access does.
    pub kind: Kind,
    /// Its memory ordering.
    pub order: Ordering,
}

static OBSERVER: OnceLock<fn(Access)> = OnceLock::new();

thread_local!(static NUMBER: Cell<Option<usize>> = const { Cell::new(None) });

/// From now on `observer` is called before each access that a simulated thread makes. Call this before
/// the first filter is made.
///
/// # Panics
///
/// If it is called twice.
pub fn observe(observer: fn(Access)) {
    OBSERVER.set(observer).expect("one observer in a process");
}

/// The calling thread simulates the thread with this number until the next call; with `None` it
/// simulates no thread, and its accesses are not observed.
pub fn simulate_thread(number: Option<usize>) {
    NUMBER.set(number);
}

/// True if there is an observer: the sizes are then those of normal builds.
pub(crate) fn is_observed() -> bool {
    OBSERVER.get().is_some()
}

/// The number of the simulated thread, which is 0 outside of its operations. `None` without an observer.
pub(crate) fn thread_number() -> Option<usize> {
    is_observed().then(|| NUMBER.get().unwrap_or(0))
}

/// Reports an access to `atomic`.
pub(crate) fn report<A>(atomic: &A, kind: Kind, order: Ordering) {
    if NUMBER.get().is_some()
        && let Some(observer) = OBSERVER.get()
    {
        observer(Access {
            address: std::ptr::from_ref(atomic).addr(),
            kind,
            order,
        });
    }
}

/// Addresses of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What is there.
    pub name: &'static str,
    /// Where it is.
    pub addresses: Range<usize>,
    /// True if it holds items: a word of the table.
    pub holds_items: bool,
}

impl Field {
    pub(crate) fn of<T: ?Sized>(name: &'static str, value: &T) -> Self {
        let start = std::ptr::from_ref(value).cast::<u8>().addr();
        Self {
            name,
            addresses: start..start + size_of_val(value),
            holds_items: false,
        }
    }
}
