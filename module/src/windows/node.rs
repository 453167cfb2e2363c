//! The clock of a node, and its filters with windows, ordered by their next epoch.

use crate::workers::{self, HasFilter};
use guira_commands::{Clock, Filter, number};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A shorter queue is not pruned.
const SHORT: usize = 64;

/// The clock and the queue. Only the engine's main thread uses them; forked processes read the
/// atomics. Other threads may hold references to the filters.
#[derive(Debug)]
pub(crate) struct Windows {
    /// The time of the clock in milliseconds.
    time: Arc<AtomicU64>,
    /// The wall-clock time of the last move.
    wall: AtomicI64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    counted: Counted,
    /// Filters whose windows begin when the clock moves.
    waiting: Vec<Weak<dyn HasFilter>>,
    /// Filters by the time of their next epoch and a unique number.
    queue: BTreeMap<(u64, u64), Weak<dyn HasFilter>>,
    number: u64,
    /// The length of the queue at which deleted filters are removed from it.
    prune_at: usize,
}

/// The time up to which the clock has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counted {
    /// The clock has never moved.
    Nothing,
    To(Instant),
    /// A wall-clock time in milliseconds since 1970, which a file contained.
    ToWall(i64),
}

/// One move of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) milliseconds: u64,
    /// The wall-clock time at the end of the move.
    pub(crate) wall: i64,
    /// True if no client has written during this time.
    pub(crate) is_idle: bool,
}

/// The time of a filter as saved in a file, beside its snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// False if the window waits for the clock to move.
    pub(crate) has_begun: bool,
    /// The wall-clock time of the node's last move.
    pub(crate) wall: i64,
}

impl Pass {
    /// The arguments of the replicated command.
    pub(crate) fn words(self) -> [String; 3] {
        [
            self.milliseconds.to_string(),
            self.wall.to_string(),
            u8::from(self.is_idle).to_string(),
        ]
    }

    pub(crate) fn from_words(words: &[&[u8]]) -> Option<Self> {
        let &[milliseconds, wall, is_idle] = words else {
            return None;
        };
        Some(Self {
            milliseconds: number(milliseconds)?,
            wall: number(wall)?,
            is_idle: number::<u8>(is_idle)? != 0,
        })
    }
}

impl Saved {
    /// The length of the encoding in bytes.
    pub(crate) const BYTES: usize = 1 + 8 + 4;

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.has_begun.into();
        bytes[1..9].copy_from_slice(&self.wall.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..9]);
        bytes[9..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        let (has_begun, wall) = body.split_first()?;
        let is_right = crc32fast::hash(body) == u32::from_le_bytes(*sum) && *has_begun < 2;
        is_right.then_some(Self {
            has_begun: *has_begun != 0,
            wall: i64::from_le_bytes(wall.try_into().ok()?),
        })
    }
}

#[cfg(test)]
impl Default for Windows {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Windows {
    pub(crate) fn new(wall: i64) -> Self {
        Self {
            time: Arc::new(AtomicU64::new(0)),
            wall: AtomicI64::new(wall),
            inner: Mutex::new(Inner {
                counted: Counted::Nothing,
                waiting: Vec::new(),
                queue: BTreeMap::new(),
                number: 0,
                prune_at: SHORT,
            }),
        }
    }

    /// The clock for the filters of this node.
    pub(crate) fn clock(&self) -> Clock {
        Clock::Told(self.time.clone())
    }

    /// The state is consistent even if a thread panicked while it held the lock.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn time(&self) -> u64 {
        self.time.load(Ordering::Relaxed)
    }

    /// Adds the filter if it has a window.
    pub(crate) fn add<F: HasFilter>(&self, filter: &Arc<F>) {
        let Some(window) = filter.window() else {
            return;
        };
        let weak: Weak<F> = Arc::downgrade(filter);
        let mut inner = self.lock();
        if window.has_begun() {
            inner.enqueue(self.time(), weak);
        } else {
            inner.waiting.push(weak);
        }
        inner.prune();
    }

    /// Stops the time of the filter until the clock moves.
    pub(crate) fn hold<F: HasFilter>(&self, filter: &Arc<F>) {
        if let Some(window) = filter.window() {
            window.hold();
            self.add(filter);
        }
    }

    /// Adds the filter of a restored value.
    pub(crate) fn restore<F: HasFilter>(&self, filter: &Arc<F>, saved: Saved) {
        if let Some(window) = filter.window() {
            if saved.has_begun {
                window.begin();
            }
            self.add(filter);
        }
    }

    /// The time of the filter to be saved, or `None` if it has no window.
    pub(crate) fn save(&self, filter: &Filter) -> Option<Saved> {
        let window = filter.window()?;
        Some(Saved {
            has_begun: window.has_begun(),
            wall: self.wall.load(Ordering::Relaxed),
        })
    }

    /// Sets the time that a file of this node contained. The time since then counts once the node is a
    /// primary.
    pub(crate) fn is_from_file(&self, wall: i64) {
        let mut inner = self.lock();
        let latest = match inner.counted {
            Counted::Nothing => wall,
            Counted::ToWall(other) => wall.max(other),
            // The process was already running when the file was written.
            Counted::To(_) => return,
        };
        inner.counted = Counted::ToWall(latest);
        self.wall.store(latest, Ordering::Relaxed);
    }

    /// Notes that a primary has sent its values: from now on the primary moves the clock.
    pub(crate) fn is_from_primary(&self, now: Instant, wall: i64) {
        self.lock().counted = Counted::To(now);
        self.wall.store(wall, Ordering::Relaxed);
    }

    /// Notes that there is a primary, which also counts the time since a file was written.
    pub(crate) fn is_led(&self, now: Instant) {
        let mut inner = self.lock();
        if matches!(inner.counted, Counted::ToWall(_)) {
            inner.counted = Counted::To(now);
        }
    }

    /// The next move of the clock, if a filter waits for one.
    pub(crate) fn due(&self, now: Instant, wall: i64) -> Option<Pass> {
        let mut inner = self.lock();
        let (milliseconds, is_idle) = match inner.counted {
            Counted::Nothing => (0, false),
            // Rounds up: everything that arrived until now arrived before the clock shows this time.
            Counted::To(then) => {
                let passed = now.saturating_duration_since(then);
                (passed.as_nanos().div_ceil(1_000_000) as u64, false)
            }
            Counted::ToWall(then) => {
                let passed = wall.saturating_sub(then);
                (u64::try_from(passed).unwrap_or(0), true)
            }
        };
        let first = inner.queue.first_key_value();
        let time = self.time().saturating_add(milliseconds);
        let is_due = first.is_some_and(|((due, _), _)| *due <= time);
        if !is_due && !is_idle && inner.waiting.is_empty() {
            return None;
        }
        inner.counted = match inner.counted {
            Counted::To(then) => Counted::To(then + Duration::from_millis(milliseconds)),
            _ => Counted::To(now),
        };
        Some(Pass {
            milliseconds,
            wall,
            is_idle,
        })
    }

    /// Moves the clock as the primary or an AOF requires.
    pub(crate) fn pass_as_told(&self, pass: Pass, is_from_file: bool, now: Instant, wall: i64) {
        self.pass(pass);
        if is_from_file {
            self.lock().counted = Counted::ToWall(pass.wall);
        } else {
            self.is_from_primary(now, wall);
        }
    }

    /// Moves the clock and begins the epochs that are due. Sweeps expired items at once as far as that
    /// is quick, and leaves the rest to another thread.
    pub(crate) fn pass(&self, pass: Pass) {
        /// Longer than any window, in milliseconds.
        const LONGEST: u64 = 1 << 45;
        /// The bytes of a table that are swept at once, which takes about a millisecond.
        const AT_ONCE: usize = 1 << 20;
        let (mut at_once, mut unswept) = (AT_ONCE, Vec::new());
        let passed = pass.milliseconds.min(LONGEST);
        let now = self.time().saturating_add(passed);
        self.time.store(now, Ordering::Relaxed);
        self.wall.store(pass.wall, Ordering::Relaxed);
        let mut inner = self.lock();
        for waiting in std::mem::take(&mut inner.waiting) {
            if let Some(filter) = waiting.upgrade()
                && let Some(window) = filter.window()
            {
                window.begin();
                inner.enqueue(now, waiting);
            }
        }
        while let Some(first) = inner.queue.first_entry()
            && first.key().0 <= now
        {
            let weak = first.remove();
            let Some(filter) = weak.upgrade() else {
                continue;
            };
            let Some(window) = filter.window() else {
                continue;
            };
            // The filter has been held since, and is queued at another time or waits.
            if !window.has_begun() || !window.until_next_epoch().is_zero() {
                continue;
            }
            match pass.is_idle {
                true => window.catch_up(),
                false => _ = window.begin_due_epoch(),
            }
            let bytes = filter.filter().map_or(0, Filter::memory_usage);
            if bytes <= at_once {
                at_once -= bytes;
                window.sweep();
            } else {
                unswept.push(weak.clone());
            }
            inner.enqueue(now, weak);
        }
        drop(inner);
        unswept.into_iter().for_each(workers::sweep);
    }

    /// The time until the next epoch is due, if any.
    pub(crate) fn until_due(&self, now: Instant) -> Duration {
        let inner = self.lock();
        let first = inner.queue.first_key_value();
        let (Some(((due, _), _)), Counted::To(then)) = (first, inner.counted) else {
            return Duration::MAX;
        };
        let left = Duration::from_millis(due.saturating_sub(self.time()));
        left.saturating_sub(now.saturating_duration_since(then))
    }

    /// The number of filters with windows.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        let inner = self.lock();
        let weak = inner.queue.values().chain(&inner.waiting);
        weak.filter(|weak| weak.strong_count() > 0).count()
    }
}

impl Inner {
    fn enqueue(&mut self, now: u64, filter: Weak<dyn HasFilter>) {
        let Some(left) = filter
            .upgrade()
            .and_then(|filter| Some(filter.window()?.until_next_epoch()))
        else {
            return;
        };
        // Adds a millisecond, because the clock can be ahead by a fraction of one.
        let left = left.as_nanos().div_ceil(1_000_000) as u64 + 1;
        self.number += 1;
        self.queue.insert((now + left, self.number), filter);
    }

    /// Removes deleted filters once the queue has grown enough.
    fn prune(&mut self) {
        let length = self.queue.len() + self.waiting.len();
        if length >= self.prune_at {
            self.queue.retain(|_, filter| filter.strong_count() > 0);
            self.waiting.retain(|filter| filter.strong_count() > 0);
            let left = self.queue.len() + self.waiting.len();
            self.prune_at = SHORT.max(2 * left);
        }
    }
}

#[cfg(test)]
mod tests;
