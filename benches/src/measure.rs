//! Rates over several rounds: their median, and how far they scatter.

use crate::crew::crew;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// What the rounds of one measurement gave.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds the result of a round.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The median, or NaN of none.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Half the distance between the quartiles, as a share of the median.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / 2.0 / self.median()
    }

    /// The ratios to what the same rounds gave in `others`: what slows the machine down
    /// for longer than a round slows down both sides of a ratio.
    ///
    /// # Panics
    ///
    /// If their numbers differ.
    #[must_use]
    pub fn ratios(&self, others: &Self) -> Self {
        assert_eq!(self.0.len(), others.0.len(), "contestants take turns");
        Self(self.0.iter().zip(&others.0).map(|(a, b)| a / b).collect())
    }

    /// True without a round.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Linear between the samples.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let place = last as f64 * share;
        let (below, above) = (
            sorted[place.floor() as usize],
            sorted[place.ceil() as usize],
        );
        below + (above - below) * place.fract()
    }
}

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

/// The rate of `run`, which does `operations` operations on this thread alone.
pub fn rate<R>(operations: u64, run: impl FnOnce() -> R) -> f64 {
    let start = thread_time();
    std::hint::black_box(run());
    mops(operations, thread_time() - start)
}

/// The rate of `threads` threads by the processor time of each: as if other
/// jobs left them alone. Fair where no thread waits for another.
pub(crate) fn rate_of_crew(threads: u64, operations: u64, work: impl Fn(u64) -> u64 + Sync) -> f64 {
    let timed = |index: usize| {
        let start = thread_time();
        std::hint::black_box(work(index as u64));
        thread_time() - start
    };
    let (times, _) = crew(threads as usize, timed);
    times
        .into_iter()
        .map(|time: Duration| mops(operations / threads, time))
        .sum()
}

/// "64 K", "32 M".
#[must_use]
pub fn size(log_slots: u32) -> String {
    match log_slots {
        20.. => format!("{} M", 1 << (log_slots - 20)),
        _ => format!("{} K", 1 << (log_slots - 10)),
    }
}

/// The items that fill a table of 2^`log_slots` slots to 95 %: what a table of
/// four slots a bucket takes, whether its size is a power of two or not.
#[must_use]
pub const fn items(log_slots: u32) -> u64 {
    (1 << log_slots) / 100 * 95
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_quartiles_of_known_samples() {
        let samples = Samples(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert!((samples.median() - 3.0).abs() < 1e-12);
        assert!((samples.spread() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn ratios_are_those_of_the_rounds() {
        let (ours, theirs) = (Samples(vec![8.0, 3.0, 1.0]), Samples(vec![2.0, 1.0, 2.0]));
        assert!((ours.ratios(&theirs).median() - 3.0).abs() < 1e-12);
    }
}
