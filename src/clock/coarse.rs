//! A clock of the process whose reading costs one load: a thread of its own advances it.
//!
//! The thread runs while there is a filter that needs it. If it cannot be started, the reading is later
//! than any moment, so that each call asks the real clock. After `fork` the child has no such thread until
//! it makes a filter.

use crossbeam_utils::CachePadded;
use std::{
    io, process,
    sync::{
        Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};

/// A moment that never comes.
pub(crate) const NEVER: u64 = u64::MAX;

/// The reading of a clock that no thread advances.
const UNKNOWN: u64 = NEVER - 1;

/// The nanoseconds since [`START`], when a thread last looked.
///
/// Relaxed throughout: it is only a hint that it may be worth while to read the real clock.
static NOW: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(UNKNOWN));

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

static RUNNER: Mutex<Weak<Runner>> = Mutex::new(Weak::new());

/// True if the moment has come, or might have. One load and a comparison.
#[inline(always)]
pub(crate) fn may_have_come(moment: u64) -> bool {
    NOW.load(Ordering::Relaxed) >= moment
}

/// The real time, in nanoseconds.
pub(crate) fn read() -> u64 {
    nanos(START.elapsed())
}

/// The moment `later` from now.
pub(crate) fn after(later: Duration) -> u64 {
    read().saturating_add(nanos(later)).min(UNKNOWN - 1)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

/// The thread that advances the clock, until the last owner drops this.
pub(crate) struct Runner {
    process: u32,
    thread: OnceLock<Thread>,
    /// The nanoseconds between two readings. Relaxed: it counts from the next reading on.
    period: AtomicU64,
}

/// Has the clock advanced at least every `period`, as long as the result exists. `None` if there is no
/// thread for it: then the clock always asks for the real time.
pub(crate) fn run(period: Duration) -> Option<Arc<Runner>> {
    // A model checker wants all threads to end.
    if cfg!(any(miri, target_family = "wasm")) {
        return None;
    }
    let mut runner = RUNNER.lock().unwrap_or_else(PoisonError::into_inner);
    let running = runner
        .upgrade()
        .filter(|runner| runner.process == process::id());
    if let Some(running) = running {
        // Relaxed: as the field says.
        if running.period.fetch_min(nanos(period), Ordering::Relaxed) > nanos(period) {
            running.thread.get().map(Thread::unpark);
        }
        return Some(running);
    }
    let started = Arc::new(Runner {
        process: process::id(),
        thread: OnceLock::new(),
        period: AtomicU64::new(nanos(period)),
    });
    *runner = Arc::downgrade(&started);
    match started.start() {
        Ok(_) => Some(started),
        Err(_) => {
            // Relaxed: as the number says.
            NOW.store(UNKNOWN, Ordering::Relaxed);
            None
        }
    }
}

impl Runner {
    fn start(self: &Arc<Self>) -> io::Result<JoinHandle<()>> {
        let runner = Arc::downgrade(self);
        let advance = move || {
            while let Some(period) = runner.upgrade().map(|runner| runner.period()) {
                thread::park_timeout(period);
                // Relaxed: as the number says. It stays unknown if it is.
                NOW.fetch_max(read(), Ordering::Relaxed);
            }
        };
        let name = "guira-clock".to_owned();
        let thread = thread::Builder::new().name(name).spawn(advance)?;
        let _ = self.thread.set(thread.thread().clone());
        // Relaxed: as the number says.
        NOW.store(read(), Ordering::Relaxed);
        Ok(thread)
    }

    fn period(&self) -> Duration {
        // Relaxed: as the field says.
        Duration::from_nanos(self.period.load(Ordering::Relaxed))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // The thread ends at once, and not when its period is over.
        self.thread.get().map(Thread::unpark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs_while_a_runner_exists() {
        let runner = run(Duration::from_millis(1));
        let soon = after(Duration::from_millis(5));
        while !may_have_come(soon) {
            thread::yield_now();
        }
        assert!(read() >= soon);
        assert!(!may_have_come(after(Duration::from_secs(3600))) || runner.is_none());
        assert!(!may_have_come(NEVER));
    }

    #[test]
    fn the_thread_ends_with_its_last_owner() {
        let runner = Arc::new(Runner {
            process: process::id(),
            thread: OnceLock::new(),
            period: AtomicU64::new(NEVER),
        });
        let thread = runner.start().expect("a thread");
        drop(runner);
        thread
            .join()
            .expect("the end, although the period is not over");
    }

    #[test]
    fn filters_share_one_thread() {
        let (slow, fast) = (run(Duration::from_secs(60)), run(Duration::from_millis(2)));
        let (Some(slow), Some(fast)) = (slow, fast) else {
            return;
        };
        assert!(Arc::ptr_eq(&slow, &fast));
        assert!(slow.period() <= Duration::from_millis(2));
    }
}
