//! When the writes of a filter have to let time pass.

use crate::{
    clock::coarse::{self, NEVER, Runner},
    sync::unchecked::AtomicU64,
};
use arc_swap::ArcSwapOption;
use std::{sync::atomic::Ordering, time::Duration};

/// For how long other writes leave the work to the one that has begun it.
const LEASE: Duration = Duration::from_millis(1);

/// The moment at which a write has something to do, by the clock of the process.
///
/// Relaxed throughout: a write that comes too late or in vain does no harm, because it asks the filter's
/// time what is due.
pub(crate) struct Due {
    at: AtomicU64,
    /// Keeps the clock of the process running, until the caller decides what time it is.
    runner: ArcSwapOption<Runner>,
}

impl Due {
    /// The first moment is after an epoch of this length. Later ones come within an eighth of it, or a
    /// quarter of a second.
    pub(crate) fn after(epoch: Duration) -> Self {
        // The standard library has no clock here.
        if cfg!(all(target_family = "wasm", target_os = "unknown")) {
            return Self::never();
        }
        let period = (epoch / 8).clamp(Duration::from_millis(1), Duration::from_millis(250));
        Self {
            runner: ArcSwapOption::new(coarse::run(period)),
            at: AtomicU64::new(coarse::after(epoch)),
        }
    }

    /// The caller of the filter decides what time it is.
    pub(crate) fn never() -> Self {
        Self {
            at: AtomicU64::new(NEVER),
            runner: ArcSwapOption::empty(),
        }
    }

    /// The same moment, for a copy of the filter.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            at: AtomicU64::new(self.at()),
            runner: ArcSwapOption::new(self.runner.load_full()),
        }
    }

    #[inline(always)]
    fn at(&self) -> u64 {
        // Relaxed: as the field says.
        self.at.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn may_have_come(&self) -> bool {
        coarse::may_have_come(self.at())
    }

    /// From now on the caller of the filter decides what time it is.
    pub(crate) fn end(&self) {
        if self.at() != NEVER {
            // Relaxed: a write that does not see it yet may let time pass once more.
            self.at.store(NEVER, Ordering::Relaxed);
            self.runner.store(None);
        }
    }

    /// Leaves the time to a caller who ticks, unless no tick comes within this time.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub(crate) fn put_off(&self, time: Duration) {
        self.move_on(self.at(), coarse::after(time));
    }

    /// If the moment has come, calls `pass`, which returns the time until the next one. While a call is
    /// at it, others return at once.
    pub(crate) fn pass(&self, pass: impl FnOnce() -> Duration) {
        let at = self.at();
        if coarse::read() < at || at == NEVER {
            return;
        }
        let lease = coarse::after(LEASE);
        if self.move_on(at, lease) {
            let time = pass();
            let next = if time.is_zero() {
                0
            } else {
                coarse::after(time)
            };
            self.move_on(lease, next);
        }
    }

    /// False if another thread has set the moment since, or the caller decides what time it is.
    fn move_on(&self, from: u64, to: u64) -> bool {
        let (set, seen) = (Ordering::Relaxed, Ordering::Relaxed);
        from != NEVER && self.at.compare_exchange(from, to, set, seen).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_who_decides_needs_no_thread() {
        let due = Due::after(Duration::from_millis(1));
        due.end();
        assert!(due.runner.load().is_none());
        assert_eq!(due.at(), NEVER);
        due.put_off(Duration::ZERO);
        due.pass(|| panic!("it never comes"));
        assert!(!due.may_have_come());
        assert!(!due.duplicate().may_have_come());
    }

    #[test]
    fn a_moment_comes_once() {
        let (due, mut calls) = (Due::after(Duration::ZERO), 0);
        due.pass(|| {
            calls += 1;
            Duration::from_secs(3600)
        });
        due.pass(|| panic!("an hour has not passed"));
        assert_eq!(calls, 1);
    }
}
