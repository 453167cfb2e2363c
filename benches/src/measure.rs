//! Times, rates and sizes.

use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Millions of operations per second.
#[must_use]
pub fn mops(operations: u64, elapsed: Duration) -> f64 {
    operations as f64 / elapsed.as_secs_f64() / 1e6
}

/// The processor time that the calling thread has used: what other jobs on the
/// machine take does not count.
#[must_use]
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// What `run` takes of this thread's processor time.
pub(crate) fn timed<R>(run: impl FnOnce() -> R) -> (R, Duration) {
    let start = thread_time();
    let result = std::hint::black_box(run());
    (result, thread_time() - start)
}

/// The rate of `run`, which does `operations` operations on this thread alone.
pub(crate) fn rate<R>(operations: u64, run: impl FnOnce() -> R) -> f64 {
    mops(operations, timed(run).1)
}

/// "64 K", "32 M".
#[must_use]
pub fn size(log: u32) -> String {
    match log {
        20.. => format!("{} M", 1 << (log - 20)),
        _ => format!("{} K", 1 << (log - 10)),
    }
}

/// The items that fill a table of 2^`log_slots` slots to 95 %: what a table of
/// four slots a bucket takes, whether its size is a power of two or not.
#[must_use]
pub const fn items(log_slots: u32) -> u64 {
    (1 << log_slots) / 100 * 95
}

/// Says on the terminal what is measured next.
pub(crate) fn say(what: &str) {
    static START: OnceLock<Instant> = OnceLock::new();
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    eprintln!("{seconds:4} s: {what}");
}
