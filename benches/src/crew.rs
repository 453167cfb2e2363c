//! Threads that begin together.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

/// Runs `work` once on each of `threads` threads. What they returned, and the
/// time from the first to begin to the last to finish.
pub fn crew<R: Send>(threads: usize, work: impl Fn(usize) -> R + Sync) -> (Vec<R>, Duration) {
    let parts = (0..threads).collect();
    crew_with(parts, work)
}

/// [`crew`] with a thread for each part of the work.
///
/// # Panics
///
/// If there is no part, or a thread panics.
pub fn crew_with<P: Send, R: Send>(
    parts: Vec<P>,
    work: impl Fn(P) -> R + Sync,
) -> (Vec<R>, Duration) {
    let barrier = Barrier::new(parts.len());
    let run = |part| {
        barrier.wait();
        let start = Instant::now();
        let result = work(part);
        (result, start, Instant::now())
    };
    let run = &run;
    let done: Vec<(R, Instant, Instant)> = thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| scope.spawn(move || run(part)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect()
    });
    let first = done
        .iter()
        .map(|&(_, start, _)| start)
        .min()
        .expect("at least one part");
    let last = done
        .iter()
        .map(|&(_, _, end)| end)
        .max()
        .expect("at least one part");
    (
        done.into_iter().map(|(result, ..)| result).collect(),
        last - first,
    )
}
