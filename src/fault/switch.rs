//! The switch: what is weakened now.

use super::{Fault, Operation, Ordering, Step};
use atomic::Atomic;

/// What is weakened now: read by every operation, set between models.
#[derive(Clone, Copy, bytemuck::NoUninit)]
#[repr(C, align(8))] // so that the processor can load it as one
struct Weakness {
    fault: Fault,
    relaxed: u8,
    loads_are_exchanges: bool,
    /// Attempts of a lookup; 0: as many as in a normal build.
    attempts: u8,
    memory_is_refused: bool,
    unused: [u8; 3],
}

const NO_STEP: u8 = u8::MAX;

static WEAKNESS: Atomic<Weakness> = Atomic::new(Weakness {
    fault: Fault::None,
    relaxed: NO_STEP,
    loads_are_exchanges: false,
    attempts: 0,
    memory_is_refused: false,
    unused: [0; 3],
});

// Outside the models' memory. Relaxed, both: it changes only before and between
// threads, or only says whether there is memory.
fn weakness() -> Weakness {
    WEAKNESS.load(Ordering::Relaxed)
}

// Relaxed: as in `weakness`. Starting a thread publishes what was set before.
fn set(weakness: Weakness) {
    WEAKNESS.store(weakness, Ordering::Relaxed);
}

/// Breaks one thing, for all threads, until the next call.
pub fn weaken(fault: Fault, relaxed: Option<Step>, loads_are_exchanges: bool) {
    set(Weakness {
        fault,
        relaxed: relaxed.map_or(NO_STEP, |step| step as u8),
        loads_are_exchanges,
        attempts: 0,
        memory_is_refused: false,
        unused: [0; 3],
    });
}

/// Lets a lookup make at most `attempts`, until the next call of [`weaken`]:
/// a model cannot disturb as many as a normal build makes.
pub fn limit_attempts(attempts: u8) {
    set(Weakness {
        attempts,
        ..weakness()
    });
}

/// Says whether there is no memory to grow, until the next call of [`weaken`].
pub fn refuse_memory(refuse: bool) {
    set(Weakness {
        memory_is_refused: refuse,
        ..weakness()
    });
}

#[cfg(any(guira_loom, guira_shuttle))]
pub(crate) fn memory_is_refused() -> bool {
    weakness().memory_is_refused
}

/// The attempts of a lookup: `normal`, or the limit.
pub(crate) fn attempts(normal: usize) -> usize {
    match weakness().attempts {
        0 => normal,
        limit => limit.into(),
    }
}

pub(crate) fn is(fault: Fault) -> bool {
    weakness().fault == fault
}

/// True if a step is done wrong.
pub(crate) fn is_weakened() -> bool {
    weakness().fault != Fault::None
}

/// True if a fault of this operation is switched on.
pub(crate) fn is_in(operation: Operation) -> bool {
    let on = weakness().fault.operation();
    on == operation || on == Operation::All
}

/// The fault that is switched on.
pub(crate) fn now() -> Fault {
    weakness().fault
}

pub(crate) fn order(step: Step, strong: Ordering) -> Ordering {
    #[cfg(not(any(guira_loom, guira_shuttle)))]
    {
        super::watch::see(step);
        give_way();
    }
    #[cfg(guira_loom)]
    crate::trace::name(step);
    if weakness().relaxed == step as u8 {
        Ordering::Relaxed
    } else {
        strong
    }
}

/// Lets another thread run between two steps, at random: on few cores the
/// threads would otherwise hardly ever meet in the middle of an operation.
#[cfg(not(any(guira_loom, guira_shuttle)))]
fn give_way() {
    use std::{cell::Cell, sync::atomic::AtomicU64};

    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        // Relaxed: only the atomicity of the count matters.
        static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
        static STATE: Cell<u64> = const { Cell::new(0) };
    }

    // A Weyl sequence, scrambled by a multiplication; each thread has its own.
    let thread = THREAD.with(|&thread| thread);
    let state = STATE
        .get()
        .wrapping_add(0x9e37_79b9_7f4a_7c15 ^ thread << 32);
    STATE.set(state);
    if state.wrapping_mul(0xd134_2543_de82_ef95) >> 59 == 0 {
        std::thread::yield_now();
    }
}

#[cfg(guira_loom)]
pub(crate) fn loads_are_exchanges() -> bool {
    weakness().loads_are_exchanges
}
