//! Threads that begin together, each pinned to a core.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How many threads the machine runs at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The numbers of threads that are compared: the powers of two to twice the cores, and at least 8. More
/// threads than cores on purpose: a thread that is stopped in the middle of an operation is where locks
/// hurt.
pub(crate) fn thread_counts() -> Vec<usize> {
    let most = (2 * cores()).next_power_of_two().max(8);
    (0..=most.ilog2()).map(|log| 1 << log).collect()
}

/// "1 thread", "2 threads".
pub(crate) fn named(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Keeps this thread on one of the cores that the process may use: thread i on core i, modulo their
/// number. A system that forbids it moves threads as it likes.
fn pin(index: usize) -> bool {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let core = cores.get(index % cores.len().max(1));
    core.is_some_and(|core| core_affinity::set_for_current(*core))
}

/// Runs `work` once on each of `threads` threads. What they returned, and the
/// time from the first to begin to the last to finish.
pub(crate) fn crew<R: Send>(
    threads: usize,
    work: impl Fn(usize) -> R + Sync,
) -> (Vec<R>, Duration) {
    crew_with((0..threads).collect(), work)
}

/// [`crew`] with a thread for each part of the work.
///
/// # Panics
///
/// If there is no part, or a thread panics.
pub(crate) fn crew_with<P: Send, R: Send>(
    parts: Vec<P>,
    work: impl Fn(P) -> R + Sync,
) -> (Vec<R>, Duration) {
    let (barrier, work) = (&Barrier::new(parts.len()), &work);
    let run = move |(index, part)| {
        pin(index);
        barrier.wait();
        let start = Instant::now();
        (work(part), start, Instant::now())
    };
    let done: Vec<(R, Instant, Instant)> = thread::scope(|scope| {
        let parts = parts.into_iter().enumerate();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.expect("no thread panics"))
            .collect()
    });
    let first = done.iter().map(|&(_, start, _)| start).min();
    let last = done.iter().map(|&(.., end)| end).max();
    let elapsed = last.zip(first).map(|(last, first)| last - first);
    (
        done.into_iter().map(|(result, ..)| result).collect(),
        elapsed.expect("at least one part"),
    )
}

/// Does `work` while another thread does `other`, which is to end soon after its flag is set.
///
/// # Panics
///
/// If the other thread panics.
pub(crate) fn beside<A, B: Send>(
    work: impl FnOnce() -> A,
    other: impl FnOnce(&AtomicBool) -> B + Send,
) -> (A, B) {
    let stop = &AtomicBool::new(false);
    thread::scope(|scope| {
        let other = scope.spawn(move || other(stop));
        let result = work();
        stop.store(true, Ordering::Relaxed);
        (result, other.join().expect("no thread panics"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_reach_twice_the_cores() {
        let counts = thread_counts();
        assert_eq!(counts[..4], [1, 2, 4, 8]);
        assert!(counts.last().is_some_and(|&most| most >= 2 * cores()));
    }

    #[test]
    fn each_part_is_done_once_on_a_core_of_its_own() {
        let (done, _) = crew_with(vec![3, 5, 7], |part| {
            let cores = core_affinity::get_core_ids().map_or(1, |cores| cores.len());
            (part, cores)
        });
        assert_eq!(done, [(3, 1), (5, 1), (7, 1)]);
    }
}
