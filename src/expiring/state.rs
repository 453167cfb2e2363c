//! Time, and what the filter holds.

use super::{ExpiringFilter, any::with_layout};
use crate::stats::Stats;
use std::time::Duration;

impl<S> ExpiringFilter<S> {
    /// Begins the next step, and sweeps dead copies out. False if another thread began it
    /// meanwhile. O([`buckets`](Self::buckets)), some 2 ns each; nobody waits for it.
    ///
    /// Call it once in [`step_length`](Self::step_length), and never twice in that time: do not
    /// catch up what was missed. An item that is inserted between two steps that begin at once
    /// lives shorter than the TTL by one of them.
    /// [`tick`](Self::tick) sees to that, with a clock.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(filter.advance());
    /// assert_eq!(filter.step(), 1);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    pub fn advance(&self) -> bool {
        with_layout!(&self.raw, raw => raw.advance())
    }

    /// [`advance`](Self::advance), if the present step has lasted for
    /// [`step_length`](Self::step_length) by your clock. True if this call began a step.
    ///
    /// `elapsed` says how long the clock has been running. It must not go back, and must be the
    /// same clock in all calls. It is read after a step has begun, so no step is too short,
    /// whichever threads call this, and however long they are stopped in it. The first call only
    /// notes the time. One call begins one step at most: what was missed is not caught up.
    ///
    /// Call it several times in a step, as from a thread of its own:
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{sync::Arc, thread, time::{Duration, Instant}};
    ///
    /// let filter = Arc::new(ExpiringFilter::builder(Duration::from_millis(24)).build()?);
    /// filter.insert("ani")?;
    /// let ticked = Arc::downgrade(&filter);
    /// let ticker = thread::spawn(move || {
    ///     let start = Instant::now();
    ///     while let Some(filter) = ticked.upgrade() {
    ///         filter.tick(|| start.elapsed());
    ///         thread::sleep(filter.step_length() / 4);
    ///     }
    /// });
    /// while filter.contains("ani") {
    ///     thread::yield_now();
    /// }
    /// drop(filter);
    /// ticker.join().expect("the ticker ends with the filter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tick(&self, elapsed: impl Fn() -> Duration) -> bool {
        let length = self.step_length();
        with_layout!(&self.raw, raw => raw.tick(length, elapsed))
    }

    /// [`advance`](Self::advance) in two parts: begins the next step, and leaves it to a call of
    /// [`sweep`](Self::sweep) to sweep out what is dead by it. False if another thread began it
    /// meanwhile. O(1) if the present step has been swept; otherwise it is swept first, which takes
    /// O([`buckets`](Self::buckets)). Nobody waits for it.
    ///
    /// It is for a thread that must not be kept, and that decides when a step begins:
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::{thread, time::Duration};
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).steps(1).build()?;
    /// filter.insert("ani")?;
    /// thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         // A program waits for `step_length` between two steps.
    ///         assert!(filter.begin_step());
    ///         scope.spawn(|| filter.sweep());
    ///     }
    ///     // From here on, whether it is swept out or not.
    ///     assert!(!filter.contains("ani"));
    /// });
    /// assert!(filter.is_swept() && filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_step(&self) -> bool {
        with_layout!(&self.raw, raw => raw.begin_epoch().is_some())
    }

    /// [`tick`](Self::tick) in two parts: [`begin_step`](Self::begin_step), if the present step has
    /// lasted for [`step_length`](Self::step_length) by your clock.
    pub fn begin_due_step(&self, elapsed: impl Fn() -> Duration) -> bool {
        let length = self.step_length();
        with_layout!(&self.raw, raw => raw.begin_due_epoch(length, elapsed).is_some())
    }

    /// Sweeps out what is dead in the present step. False if that was done already.
    ///
    /// Any thread may call it, as often as it likes, and beside others. Nobody waits for it.
    /// O([`buckets`](Self::buckets)); O(1) if the step has been swept.
    ///
    /// Dead copies do not count, but take up room, and are in [`len`](Self::len). So call it soon
    /// after [`begin_step`](Self::begin_step). A sweep that is late, or never comes, does no other
    /// harm: whoever begins the next step sweeps first. If further steps begin during a sweep, it
    /// counts for the step in which it was called, and whoever begins the next step sweeps again.
    pub fn sweep(&self) -> bool {
        with_layout!(&self.raw, raw => raw.sweep())
    }

    /// True if there is nothing for [`sweep`](Self::sweep) to do in the present step. That is so in a
    /// filter that is new or was restored, too. O(1), wait-free.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        with_layout!(&self.raw, raw => raw.is_swept())
    }

    /// How long the present step has lasted at the reading `elapsed` of the clock that
    /// [`tick`](Self::tick) reads. O(1), wait-free.
    ///
    /// The next step is due when this is [`step_length`](Self::step_length). When a step began is
    /// known to the millisecond, rounded up: a reading from before that gives 0.
    ///
    /// # Errors
    ///
    /// `None` if nobody knows when the step began: no `tick` has been called in it, or
    /// [`advance`](Self::advance) began it. The next `tick` takes it to begin then.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).steps(6).build()?;
    /// let seconds = Duration::from_secs;
    /// assert_eq!(filter.step_age(seconds(5)), None);
    /// filter.tick(|| seconds(5));
    /// assert_eq!(filter.step_age(seconds(12)), Some(seconds(7)));
    /// assert!(filter.tick(|| seconds(15)));
    /// assert_eq!(filter.step_age(seconds(15)), Some(seconds(0)));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn step_age(&self, elapsed: Duration) -> Option<Duration> {
        with_layout!(&self.raw, raw => raw.time.age(raw.moment(), elapsed))
    }

    /// Removes all live copies that were inserted before the call, while any number of threads go
    /// on: as [`CuckooFilter::clear`](crate::CuckooFilter::clear). O([`buckets`](Self::buckets)),
    /// and a remove for each item. Dead copies stay until they are swept.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) {
        with_layout!(&self.raw, raw => raw.clear());
    }

    /// The number of the present step, from 0.
    #[must_use]
    pub fn step(&self) -> u64 {
        with_layout!(&self.raw, raw => raw.moment().epoch)
    }

    /// The time for which an item is kept at least.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.window.ttl
    }

    /// How many steps the [`ttl`](Self::ttl) has.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.window.steps
    }

    /// The time between two steps: [`ttl`](Self::ttl) / [`steps`](Self::steps), rounded up to
    /// nanoseconds.
    #[must_use]
    pub fn step_length(&self) -> Duration {
        self.window.step_length()
    }

    /// The number of copies in the filter, with those that are dead but not swept yet. Exact while
    /// no thread writes, and otherwise off by at most the writes that overlap the call.
    #[must_use]
    pub fn len(&self) -> usize {
        with_layout!(&self.raw, raw => raw.len.sum())
    }

    /// True if [`len`](Self::len) is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct items within a [`ttl`](Self::ttl), as asked for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.window.capacity
    }

    /// The expected share of absent items for which the filter answers true when it holds what
    /// comes in a TTL and a step, from 0 to 1.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.geometry.rate_at(0)
    }

    /// The share of slots that are used, from 0 to 1.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// The bytes that the filter takes up, itself and on the heap. A hasher's own heap memory is
    /// not counted.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        size_of_val(self) + with_layout!(&self.raw, raw => raw.bytes())
    }

    /// The bits of a fingerprint.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry.series.fingerprint_bits
    }

    /// The slots of a bucket: half the copies of one item that fit.
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        self.geometry.series.slots(0)
    }

    /// The number of buckets, each of 8 bytes.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.geometry.buckets
    }

    /// What the filter has been through: as [`CuckooFilter::stats`](crate::CuckooFilter::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        with_layout!(&self.raw, raw => Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            ..raw.counters.stats()
        })
    }

    /// The hasher of the filter's items.
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }
}
