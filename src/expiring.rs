//! The public filter that forgets by time.

mod any;
mod batch;
mod builder;
mod digest;
mod hashes;
mod header;
mod snapshot;
mod state;

use crate::{error::InsertError, geometry::Geometry, hash::SeededState};
use any::AnyExpiring;
pub use builder::ExpiringBuilder;
pub use snapshot::decoder::ExpiringSnapshotDecoder;
use std::{
    fmt,
    hash::{BuildHasher, Hash},
    time::Duration,
};

/// A set that many threads share, and that forgets each item some time after it was last seen.
///
/// It answers "have I seen this in the last hour?" for a stream of events: deduplication,
/// idempotency keys, replay protection. It is one table, as a
/// [`CuckooFilter`](crate::CuckooFilter) is, so a lookup looks at two buckets, whatever the time
/// has done, and no thread waits for another.
///
/// ```
/// use guira::ExpiringFilter;
/// use std::time::{Duration, Instant};
///
/// let seen = ExpiringFilter::builder(Duration::from_secs(3600))
///     .capacity(100_000)
///     .build()?;
/// assert!(seen.insert_unique("event 1")?);
/// assert!(!seen.insert_unique("event 1")?);
///
/// // The time comes from outside: some thread calls this now and then.
/// let start = Instant::now();
/// seen.tick(|| start.elapsed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Time
///
/// The time of the filter is a row of steps. The [TTL](ExpiringBuilder), the time for which an
/// item is kept at least, is a number of steps, E; [`steps`](ExpiringBuilder::steps) sets it. With
/// each copy of an item the filter keeps the step in which it was last seen. A copy is *live* in
/// this step and in the E steps after it, and *dead* from then on: it does not count any more.
///
/// A step begins when somebody says so: by [`tick`](Self::tick), with a clock of your own, or by
/// [`advance`](Self::advance). Two steps must begin TTL/E apart, at least: `tick` sees to this, and
/// whoever calls `advance` has to. It does no harm if a step begins late, but that items live
/// longer by that.
///
/// | | |
/// |---|---|
/// | an item is found | for the TTL, at least, from the moment at which [`insert`](Self::insert), [`insert_unique`](Self::insert_unique) or [`refresh`](Self::refresh) returned |
/// | it is gone, up to false positives | after TTL · (1 + 1/E), if the steps begin in time |
/// | nothing expires early | also not what a thread inserts that is stopped in the middle of its call, for however many steps: it puts its item in again |
///
/// A dead copy takes up its slot until it is swept out. Whoever begins a step does that: it
/// takes O(buckets), and nobody waits for it. With [`begin_step`](Self::begin_step) it is left to
/// another thread, which calls [`sweep`](Self::sweep). An insert that finds both its buckets full
/// sweeps them, too.
///
/// # Copies
///
/// As in a [`CuckooFilter`](crate::CuckooFilter#copies), each [`insert`](Self::insert) adds a copy,
/// which has its own time. [`remove`](Self::remove) takes the oldest one. Two items whose hashes
/// agree in fingerprint and buckets are of one *class*, and to the filter one item. So whoever
/// removes items must only remove those that were inserted, and have not expired. And
/// `insert_unique = false` or a [`refresh`](Self::refresh) that rest on the copy of another item of
/// the class say nothing once that one is removed: where items are removed that others rely on,
/// use `insert`, and no `refresh`. A call that a step crosses may leave two copies of its item, of
/// which a remove takes one; the other one dies by itself.
///
/// # What a stopped thread holds up
///
/// Nobody waits for a thread that is stopped in the middle of a call, wherever that is. But in the
/// buckets in which it is at work, which are two at most, copies are not swept: their slots stay
/// taken, and if the thread does not go on for as long as tags tell steps apart (8 steps with
/// 9-bit fingerprints, and 16 with others), they seem to be live again for some of these steps.
/// That is late, not early. With as many [`steps`](ExpiringBuilder::steps) as a layout has at most, it
/// can also happen to a copy that other calls are at work beside, just when each of two sweeps comes
/// by.
pub struct ExpiringFilter<S = SeededState> {
    hasher: S,
    raw: AnyExpiring,
    geometry: Geometry,
    window: Window,
}

/// The shortest step: clocks are read in milliseconds.
const MIN_STEP: Duration = Duration::from_millis(1);

/// What a filter was asked to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    /// Items within a TTL.
    capacity: usize,
    ttl: Duration,
    /// E: how many steps a TTL has.
    steps: u32,
}

impl Window {
    /// The time between two steps, rounded up.
    fn step_length(self) -> Duration {
        let nanos = self.ttl.as_nanos().div_ceil(u128::from(self.steps));
        let seconds = (nanos / 1_000_000_000) as u64;
        Duration::new(seconds, (nanos % 1_000_000_000) as u32)
    }
}

impl ExpiringFilter {
    /// The way to a filter that remembers each item for `ttl`, at least.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(600))
    ///     .capacity(10_000)
    ///     .false_positive_rate(0.001)
    ///     .build()?;
    /// assert_eq!(filter.ttl(), Duration::from_secs(600));
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn builder(ttl: Duration) -> ExpiringBuilder {
        ExpiringBuilder::new(ttl)
    }
}

impl<S: BuildHasher> ExpiringFilter<S> {
    /// Adds a copy of `item`, seen now. Lock-free. O(1) until the filter is nearly full, and bounded
    /// then.
    ///
    /// If a step begins during the call, it may add more than one copy.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).steps(6).build()?;
    /// filter.insert("ani")?;
    /// for _ in 0..6 {
    ///     filter.advance();
    ///     assert!(filter.contains("ani"));
    /// }
    /// filter.advance();
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] as in [`CuckooFilter::insert`](crate::CuckooFilter::insert): no item
    /// has come or gone. But a copy that the call has added may be left, if a step began during
    /// the call: it may make the item found for some steps.
    #[inline]
    pub fn insert<T: Hash + ?Sized>(&self, item: &T) -> Result<(), InsertError> {
        self.insert_hash(self.hasher.hash_one(item))
    }

    /// Adds `item` unless it is present: "first seen within the TTL".
    ///
    /// * `Ok(true)`: it was absent, or had expired, and this call has added it.
    /// * `Ok(false)`: it was present at a moment of the call. Its time goes on as before:
    ///   [`insert_or_refresh`](Self::insert_or_refresh) begins it anew.
    ///
    /// Of any number of threads that race to add one absent item, exactly one
    /// gets `Ok(true)`, also if a step begins meanwhile. None does only if all get an error.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let keys = ExpiringFilter::builder(Duration::from_secs(86_400)).build()?;
    /// assert!(keys.insert_unique("request 4711")?);
    /// assert!(!keys.insert_unique("request 4711")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Obstruction-free, as [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique).
    /// If steps begin between the moment at which the call judged the item absent and its end, the
    /// call makes the item younger. If it cannot, because another call is at work in the very bucket
    /// just then or the item has died already, it adds a copy. Only if there is no room for that
    /// either, the item expires by these steps too early, and the answer is `Ok(true)` all the same.
    ///
    /// # Errors
    ///
    /// As [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique).
    #[inline]
    pub fn insert_unique<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hasher.hash_one(item))
    }

    /// If `item` is present, its time begins anew. False if it is absent, or has expired.
    ///
    /// Lock-free, O(1). An item is written at most once in a step: a call for one that was seen
    /// in this step only reads. While a relocation is under way in the bucket of the item, it
    /// adds a copy in place of a change.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let sessions = ExpiringFilter::builder(Duration::from_secs(60)).steps(2).build()?;
    /// sessions.insert("ani")?;
    /// for _ in 0..10 {
    ///     sessions.advance();
    ///     assert!(sessions.refresh("ani")?);
    /// }
    /// assert!(!sessions.refresh("koel")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`]: the item is present and stays as it is, as its copy could not be
    /// changed just now, and there is no room for another one.
    #[inline]
    pub fn refresh<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.refresh_hash(self.hasher.hash_one(item))
    }

    /// Adds `item`, seen now, if it is absent; if it is present, its time begins anew. `Ok(true)`: it
    /// was absent, or had expired, and this call has added it.
    ///
    /// So the item is present from now on for the TTL, at least: a window that slides.
    /// Of any number of threads that race to add one absent item by this method or by
    /// [`insert_unique`](Self::insert_unique), exactly one gets `Ok(true)`.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let names = ExpiringFilter::builder(Duration::from_secs(60)).steps(2).build()?;
    /// assert!(names.insert_or_refresh("ani")?);
    /// for _ in 0..10 {
    ///     names.advance();
    ///     assert!(!names.insert_or_refresh("ani")?);
    /// }
    /// assert_eq!(names.count("ani"), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`insert_unique`](Self::insert_unique) and [`refresh`](Self::refresh).
    #[inline]
    pub fn insert_or_refresh<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.insert_or_refresh_hash(self.hasher.hash_one(item))
    }

    /// True if `item` is present and has not expired, and false if at some moment of the call it
    /// surely was not. For an absent item the answer is wrongly true with a probability of at most
    /// [`false_positive_rate`](Self::false_positive_rate), as long as no more than
    /// [`capacity`](Self::capacity) items come within a TTL.
    ///
    /// Wait-free, O(1). At rest it takes 6 loads.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// assert!(filter.contains("ani") && !filter.contains("koel"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.contains_hash(self.hasher.hash_one(item))
    }

    /// Takes the oldest live copy of `item` out. True if there was one. Lock-free, O(1).
    ///
    /// Only remove what was inserted and has not expired: see [Copies](Self#copies).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let keys = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(keys.insert_unique("request 4711")?);
    /// // The work failed: the key may come again.
    /// assert!(keys.remove("request 4711"));
    /// assert!(keys.insert_unique("request 4711")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn remove<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.remove_hash(self.hasher.hash_one(item))
    }

    /// The number of live copies of `item`, and of items that share its class. Lock-free, O(1).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count("ani"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<T: Hash + ?Sized>(&self, item: &T) -> usize {
        self.count_hash(self.hasher.hash_one(item))
    }
}

impl<S> fmt::Debug for ExpiringFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringFilter")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("ttl", &self.ttl())
            .field("step", &self.step())
            .field("fingerprint_bits", &self.fingerprint_bits())
            .field("buckets", &self.buckets())
            .finish_non_exhaustive()
    }
}
