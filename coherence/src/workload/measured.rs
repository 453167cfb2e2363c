//! Workloads with threads of this machine, each on its own core.

use super::{Event, Length, Stage, work};
use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// The part by which the time of a round may exceed the time that its threads were running, and in
/// which they may miss each other. On a busy machine most rounds are worse.
const DISTURBED: f64 = 0.1;

/// The times of a thread.
struct Times {
    begin: Instant,
    end: Instant,
    /// The time for which the thread was running.
    running: Duration,
}

impl Stage {
    /// Millions of operations per second of `threads` threads; `None` if the system did not run all of
    /// them at once.
    ///
    /// # Panics
    ///
    /// If there are fewer cores than threads.
    pub fn measure(&mut self, threads: usize, length: Length) -> Option<f64> {
        let (job, filter) = (self.workload.job, &self.filter);
        let windows = &self.windows();
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        assert!(
            threads <= cores.len(),
            "{threads} threads need as many cores"
        );
        let ready = &AtomicUsize::new(0);
        let times: Vec<Times> = thread::scope(|scope| {
            let lanes = self.lanes[..threads].iter_mut().zip(cores);
            let running: Vec<_> = lanes
                .map(|(lane, core)| {
                    scope.spawn(move || {
                        core_affinity::set_for_current(core);
                        // Threads that wait for a lock would not begin at the same time.
                        ready.fetch_add(1, Ordering::Relaxed);
                        while ready.load(Ordering::Relaxed) < threads {
                            std::hint::spin_loop();
                        }
                        let mut begin = (Instant::now(), running_time());
                        work(job, filter, lane, windows, length, |event| {
                            if event == Event::WarmedUp {
                                begin = (Instant::now(), running_time());
                            }
                        });
                        Times {
                            begin: begin.0,
                            end: Instant::now(),
                            running: running_time() - begin.1,
                        }
                    })
                })
                .collect();
            let times = running.into_iter().map(|thread| thread.join());
            times
                .map(|times| times.expect("no thread panics"))
                .collect()
        });
        let first = times.iter().map(|it| it.begin).min()?;
        let (begin, end) = (
            times.iter().map(|it| it.begin).max()?,
            times.iter().map(|it| it.end).min()?,
        );
        let together = end.saturating_duration_since(begin).as_secs_f64();
        let all = times.iter().map(|it| it.end).max()? - first;
        let ran = |it: &Times| {
            let elapsed = it.end - it.begin;
            elapsed.as_secs_f64() <= it.running.as_secs_f64() * (1.0 + DISTURBED)
        };
        let undisturbed =
            times.iter().all(ran) && together >= all.as_secs_f64() * (1.0 - DISTURBED);
        let rate = |it: &Times| length.measured as f64 / it.running.as_secs_f64();
        undisturbed.then(|| times.iter().map(rate).sum::<f64>() / 1e6)
    }
}

/// The time for which this thread has been running.
fn running_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
