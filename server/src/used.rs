//! The bytes that `used_memory` shows, and their peak.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A sum of bytes, and the most that it has ever been.
#[derive(Debug, Default)]
pub struct Used {
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl Used {
    /// Adds bytes, before they are allocated if the caller can. Returns the sum.
    pub(crate) fn add(&self, more: usize) -> usize {
        // Relaxed: the sum orders nothing, and each value that it takes is the result of one call.
        let now = self.bytes.fetch_add(more, Relaxed) + more;
        self.note(now);
        now
    }

    /// Adds bytes unless there would be more than `most`. Returns whether it has.
    pub(crate) fn add_up_to(&self, most: usize, more: usize) -> bool {
        let add = |now: usize| now.checked_add(more).filter(|&sum| sum <= most);
        let before = self.bytes.fetch_update(Relaxed, Relaxed, add);
        before.is_ok_and(|before| {
            self.note(before + more);
            true
        })
    }

    fn note(&self, now: usize) {
        if now > self.peak.load(Relaxed) {
            self.peak.fetch_max(now, Relaxed);
        }
    }

    /// Subtracts bytes, after they were freed.
    pub(crate) fn subtract(&self, fewer: usize) {
        self.bytes.fetch_sub(fewer, Relaxed);
    }

    /// The bytes now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// The most bytes at any time.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn the_peak_is_the_largest_sum() {
        let used = Used::default();
        used.add(5);
        used.subtract(5);
        used.add(3);
        assert_eq!((used.bytes(), used.peak()), (3, 5));
        used.add(4);
        assert_eq!((used.bytes(), used.peak()), (7, 7));
        assert!(!used.add_up_to(10, 4) && !used.add_up_to(10, usize::MAX));
        assert!(used.add_up_to(10, 3) && !used.add_up_to(10, 1) && used.add_up_to(10, 0));
        assert_eq!((used.bytes(), used.peak()), (10, 10));
    }

    /// Each thread holds its bytes until all have added theirs.
    #[test]
    fn no_thread_is_missed() {
        let used = Used::default();
        let all = std::sync::Barrier::new(4);
        thread::scope(|scope| {
            for bytes in [1, 10, 100, 1000] {
                let (used, all) = (&used, &all);
                scope.spawn(move || {
                    used.add(bytes);
                    all.wait();
                    used.subtract(bytes);
                });
            }
        });
        assert_eq!((used.bytes(), used.peak()), (0, 1111));
    }
}
