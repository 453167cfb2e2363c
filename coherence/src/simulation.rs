//! Simulated threads. Each is a coroutine, and the one with the earliest time runs.

use crate::{
    machine::{Kind, Machine},
    processor::Time,
};
use generator::{Generator, Gn};
use std::{cell::RefCell, cmp::Reverse, collections::BinaryHeap};

/// The stack of a coroutine in words, 128 KiB.
const STACK: usize = 1 << 14;

/// A simulated thread.
pub type Body<'a> = Box<dyn FnOnce() + Send + 'a>;

struct Running {
    machine: Machine,
    /// The cycles of the instructions around an access.
    around: u64,
    threads: Vec<Thread>,
    current: usize,
    /// The earliest time of the other threads.
    horizon: Time,
    /// The number of threads that have not warmed up yet.
    cold: usize,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    clock: Time,
    /// The time at which the thread had warmed up.
    warm: Time,
    operations: u64,
}

thread_local!(static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) });

fn with<R>(f: impl FnOnce(&mut Running) -> R) -> Option<R> {
    RUNNING.with_borrow_mut(|running| running.as_mut().map(f))
}

/// The results of a simulation.
#[derive(Debug)]
pub struct Outcome {
    /// Operations of all threads per simulated nanosecond, after the warm-up.
    pub rate: f64,
    /// The caches, with the costs of lines since all threads had warmed up.
    pub machine: Machine,
}

/// Runs each body as a thread on its own core. `around` is the number of cycles of other work per
/// access. `on_switch` is called with the thread that runs next, and at the end with `None`.
///
/// # Panics
///
/// If a body panics, or if a body calls this function.
pub fn run(
    machine: Machine,
    around: u64,
    on_switch: fn(Option<usize>),
    bodies: Vec<Body<'_>>,
) -> Outcome {
    let count = bodies.len();
    let running = Running {
        machine,
        around,
        threads: vec![Thread::default(); count],
        current: 0,
        horizon: 0,
        cold: count,
    };
    let before = RUNNING.replace(Some(running));
    assert!(before.is_none(), "a simulation inside a simulation");
    let mut coroutines: Vec<Generator<'_, (), ()>> = bodies
        .into_iter()
        .map(|body| Gn::new_opt(STACK, body))
        .collect();
    let mut ready: BinaryHeap<_> = (0..count).map(|thread| Reverse((0, thread))).collect();
    while let Some(Reverse((_, thread))) = ready.pop() {
        let horizon = ready.peek().map_or(Time::MAX, |&Reverse((clock, _))| clock);
        with(|running| (running.current, running.horizon) = (thread, horizon));
        on_switch(Some(thread));
        coroutines[thread].resume();
        if !coroutines[thread].is_done() {
            let clock = with(|running| running.threads[thread].clock).expect("it runs");
            ready.push(Reverse((clock, thread)));
        }
    }
    on_switch(None);
    let running = RUNNING.take().expect("it has run");
    let rate = |thread: &Thread| {
        let nanoseconds = (thread.clock - thread.warm) as f64 / 1000.0;
        thread.operations as f64 / nanoseconds
    };
    Outcome {
        rate: running.threads.iter().map(rate).sum(),
        machine: running.machine,
    }
}

/// Called when the running thread is about to access this address. Returns when it is its turn.
pub fn access(address: usize, kind: Kind) {
    let passed = with(|running| {
        let cycle = running.machine.processor().cycle;
        let core = running.current;
        let now = running.threads[core].clock + running.around * cycle;
        let now = running.machine.access(core, now, address, kind);
        running.threads[core].clock = now;
        now > running.horizon
    });
    if passed == Some(true) {
        give_way();
    }
}

// The scope that replaces this function is not available inside the calls of the library.
#[expect(deprecated)]
fn give_way() {
    generator::yield_with(());
}

/// Adds some cycles of work to the running thread.
pub fn work(cycles: u64) {
    with(|running| {
        let cycle = running.machine.processor().cycle;
        running.threads[running.current].clock += cycles * cycle;
    });
}

/// Called when the running thread has completed an operation.
pub fn complete() {
    with(|running| running.threads[running.current].operations += 1);
}

/// Called when the running thread has warmed up. Its earlier operations do not count.
pub fn warmed_up() {
    with(|running| {
        let thread = &mut running.threads[running.current];
        (thread.warm, thread.operations) = (thread.clock, 0);
        running.cold -= 1;
        if running.cold == 0 {
            running.machine.reset_costs();
        }
    });
}
