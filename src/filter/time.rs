//! The public interface to a filter's time: when an epoch begins, and what it leaves to sweep.

use crate::{
    filter::Filter,
    lifetime::{Expiring, Timing},
    raw::any::{Ops, TimedOps},
    table::time::beginning::Reading,
};
use std::time::Duration;

/// Time, by the filter's own clock: a monotonic clock that starts when the filter is made,
/// restored or cloned. On Linux it stops while the machine is suspended.
///
/// These methods do not exist on `wasm32-unknown-unknown`, where the standard library has no clock.
/// Use [`tick_at`](Self::tick_at) there, for example with `performance.now()`.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl<S> Filter<S, Expiring> {
    /// Lets time pass: expires what is due. If the current epoch has lasted for
    /// [`epoch_length`](Self::epoch_length), begins the next one and sweeps dead copies. True if this
    /// call began an epoch.
    ///
    /// Writes let time pass by themselves, so no program has to call this. Calls keep that work out of the
    /// writes, and serve a filter that is read for long without a write. Make them about four times per
    /// epoch, from any thread or from several. If none comes for two epochs, writes let time pass again.
    ///
    /// One call begins at most one epoch, but it expires all items that were last seen more than a TTL
    /// before the current epoch began, however late it is. So an item is gone at most one epoch and one
    /// gap between two calls after its TTL.
    ///
    /// O(1) if no epoch is due, and otherwise O([`buckets`](Self::buckets)), 2 to 8 ns for each. No
    /// thread waits for it. [`begin_due_epoch`](Self::begin_due_epoch) does not sweep.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{thread, time::Duration};
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_millis(24)).build()?;
    /// filter.insert("ani")?;
    /// while filter.contains("ani") {
    ///     filter.tick();
    ///     thread::sleep(filter.epoch_length() / 4);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tick(&self) -> bool {
        let length = self.epoch_length();
        let begun = self.raw.tick(length, &|| self.timing.read());
        self.timing.ticked();
        begun
    }

    /// [`tick`](Self::tick) without the sweep: begins the next epoch if it is due, and leaves dead
    /// copies to a call of [`sweep`](Self::sweep).
    pub fn begin_due_epoch(&self) -> bool {
        let length = self.epoch_length();
        let begun = self.raw.begin_due_epoch(length, &|| self.timing.read());
        self.timing.ticked();
        begun
    }

    /// How long the current epoch has lasted. O(1), wait-free.
    ///
    /// The next epoch is due when this reaches [`epoch_length`](Self::epoch_length).
    ///
    /// The epoch in which the filter was made began then, or earlier if it was restored or cloned.
    ///
    /// `None` if it is unknown when the epoch began, because [`advance`](Self::advance) or
    /// [`begin_epoch`](Self::begin_epoch) began it. The next `tick` then starts to measure it.
    #[must_use]
    pub fn epoch_age(&self) -> Option<Duration> {
        self.epoch_age_by(self.timing.read())
    }
}

/// Time, by a clock of the caller, such as simulated time, the time stamps of a log, or a clock that
/// continues while the machine is suspended.
///
/// All calls for one filter must use the same clock: do not mix them with [`tick`](Self::tick).
/// Readings after 292 years count as 292 years, and no epoch is due by them.
impl<S> Filter<S, Expiring> {
    /// [`tick`](Self::tick) by a clock of the caller: `clock` returns the time since an arbitrary
    /// fixed moment. A reading that is not later than an earlier one changes nothing. The first call
    /// only notes the time.
    ///
    /// It is a function because the call reads the clock a second time after it has begun an epoch.
    /// Otherwise a thread that is preempted between reading the clock and beginning the epoch would
    /// record too early a beginning, and the next epoch would begin too soon. If your time changes
    /// only between calls, as in a simulation or a log, return it: `tick_at(|| now)`. However long the
    /// gaps of a log are, an item is gone at most one epoch and one gap after its TTL.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).build()?;
    /// let events = [(0, "ani"), (30, "koel"), (65, "guira"), (95, "quail"), (1000, "rhea")];
    /// for (second, name) in events {
    ///     filter.tick_at(|| Duration::from_secs(second));
    ///     // The next event after "ani" was at 30 s, and its TTL ends 60 s after that.
    ///     assert_eq!(filter.contains("ani"), (1..90).contains(&second));
    ///     filter.insert(name)?;
    /// }
    /// assert!(!filter.contains("koel"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tick_at(&self, clock: impl Fn() -> Duration) -> bool {
        self.tick_by_hand();
        let length = self.epoch_length();
        self.raw.tick(length, &|| Reading::of_caller(clock()))
    }

    /// [`tick_at`](Self::tick_at) without the sweep: begins the next epoch if it is due, and leaves
    /// dead copies to a call of [`sweep`](Self::sweep).
    pub fn begin_due_epoch_at(&self, clock: impl Fn() -> Duration) -> bool {
        self.tick_by_hand();
        let length = self.epoch_length();
        self.raw
            .begin_due_epoch(length, &|| Reading::of_caller(clock()))
    }

    /// How long the current epoch has lasted at the reading `now` of the caller's clock. O(1),
    /// wait-free.
    ///
    /// The age is zero at a reading from before the beginning. `None` if the beginning is unknown, as
    /// for [`tick_at`](Self::tick_at)'s first call.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).build()?;
    /// let seconds = Duration::from_secs;
    /// assert_eq!(filter.epoch_age_at(seconds(5)), None);
    /// filter.tick_at(|| seconds(5));
    /// assert_eq!(filter.epoch_age_at(seconds(12)), Some(seconds(7)));
    /// assert!(filter.tick_at(|| seconds(15)));
    /// assert_eq!(filter.epoch_age_at(seconds(15)), Some(seconds(0)));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn epoch_age_at(&self, now: Duration) -> Option<Duration> {
        self.epoch_age_by(Reading::of_caller(now))
    }

    fn epoch_age_by(&self, reading: Reading) -> Option<Duration> {
        self.raw.epoch_age(reading)
    }
}

/// Time, without a clock: the caller decides when an epoch begins.
impl<S> Filter<S, Expiring> {
    /// From now on, time passes only by the caller's calls: writes do not let it pass.
    ///
    /// [`tick_at`](Self::tick_at), [`begin_due_epoch_at`](Self::begin_due_epoch_at),
    /// [`advance`](Self::advance) and [`begin_epoch`](Self::begin_epoch) have this effect, too. Until then
    /// the filter goes by its own clock. So call this first if the first of those calls may come more than
    /// an [`epoch_length`](Self::epoch_length) after the filter was made, restored or cloned.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_millis(1)).epochs(1).build()?;
    /// filter.tick_by_hand();
    /// filter.insert("ani")?;
    /// std::thread::sleep(Duration::from_millis(5));
    /// filter.insert("koel")?;
    /// assert!(filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tick_by_hand(&self) {
        self.timing.due.end();
    }

    /// Begins the next epoch, and sweeps dead copies. False if another thread began it during the
    /// call. O([`buckets`](Self::buckets)), 2 to 8 ns for each; no thread waits for it.
    ///
    /// Call it at most once per [`epoch_length`](Self::epoch_length), and do not catch up on missed
    /// epochs. If two epochs begin at once, an item inserted between them does not live for the whole
    /// TTL. [`tick`](Self::tick) ensures this by a clock.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(filter.advance());
    /// assert_eq!(filter.epoch(), 1);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    pub fn advance(&self) -> bool {
        self.tick_by_hand();
        self.raw.advance()
    }

    /// [`advance`](Self::advance) without the sweep, for a thread that must not be delayed: begins
    /// the next epoch, and leaves dead copies to a call of [`sweep`](Self::sweep).
    ///
    /// False if another thread began the epoch during the call. O(1) if the current epoch has been
    /// swept. Otherwise it is swept first: O([`buckets`](Self::buckets)).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{thread, time::Duration};
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(1).build()?;
    /// filter.insert("ani")?;
    /// thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         // A program waits for `epoch_length` between two epochs.
    ///         assert!(filter.begin_epoch());
    ///         scope.spawn(|| filter.sweep());
    ///     }
    ///     // The item has expired, whether it has been swept or not.
    ///     assert!(!filter.contains("ani"));
    /// });
    /// assert!(filter.is_swept() && filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_epoch(&self) -> bool {
        self.tick_by_hand();
        self.raw.begin_epoch()
    }

    /// Sweeps the copies that are dead in the current epoch. False if that was already done.
    ///
    /// Any thread may call it, at any time and concurrently. O([`buckets`](Self::buckets)), or O(1)
    /// if the epoch has been swept. No thread waits for it.
    ///
    /// Dead copies are not found, but occupy slots and count in [`len`](Self::len). So call it soon
    /// after [`begin_epoch`](Self::begin_epoch). A late or missing sweep does no other harm: the
    /// call that begins the next epoch sweeps first. If further epochs begin during a sweep, it
    /// counts for the epoch in which it was called.
    pub fn sweep(&self) -> bool {
        self.raw.sweep()
    }

    /// True if the current epoch has been swept, as in a new or restored filter. O(1), wait-free.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.raw.is_swept()
    }

    /// The number of the current epoch, from 0.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.raw.epoch()
    }

    /// The minimum time for which an item is kept.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.timing.ttl()
    }

    /// The number of epochs in a [`ttl`](Self::ttl).
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.timing.epochs()
    }

    /// The shortest time between two epochs: [`ttl`](Self::ttl) / [`epochs`](Self::epochs), rounded
    /// up to nanoseconds.
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.timing.epoch_length()
    }
}
