//! The public filter that forgets by time.

mod any;
mod batch;
mod builder;
mod clock;
mod digest;
mod hashes;
mod header;
mod merge;
#[cfg(feature = "shared")]
pub(crate) mod shared;
mod snapshot;
mod state;
mod time;
mod union;

use crate::{
    error::InsertError,
    geometry::Geometry,
    hash::{SeededState, hash_of},
};
pub(crate) use any::AnyExpiring;
pub use builder::ExpiringBuilder;
use clock::Clock;
pub use snapshot::decoder::ExpiringSnapshotDecoder;
use std::{
    fmt,
    hash::{BuildHasher, Hash},
    time::Duration,
};

/// A concurrent set that forgets each item some time after it was last seen.
///
/// It answers "have I seen this within the last hour?" for a stream of events: deduplication,
/// idempotency keys, replay protection. It is a single table, like a
/// [`CuckooFilter`](crate::CuckooFilter): a lookup reads two buckets, and no thread waits for
/// another.
///
/// **Nothing expires unless you call [`tick`](Self::tick)**, from any thread, several times per
/// [epoch](Self::epoch_length):
///
/// ```
/// use guira::ExpiringFilter;
/// use std::{sync::Arc, thread, time::Duration};
///
/// let seen = ExpiringFilter::builder(Duration::from_secs(3600))
///     .capacity(100_000) // distinct items per hour
///     .build()?;
/// let seen = Arc::new(seen);
///
/// // Lets time pass in the filter, until the filter is dropped.
/// let ticked = Arc::downgrade(&seen);
/// thread::spawn(move || {
///     while let Some(filter) = ticked.upgrade() {
///         filter.tick();
///         thread::sleep(filter.epoch_length() / 4);
///     }
/// });
///
/// assert!(seen.insert_unique("event 1")?);
/// assert!(!seen.insert_unique("event 1")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Time
///
/// The filter divides its TTL into *epochs*: E of them, set by
/// [`epochs`](ExpiringBuilder::epochs). Each copy of an item stores the epoch in which it was last
/// seen. The copy is *live* in that epoch and in the E epochs after it. Then it is *dead*: lookups
/// no longer find it.
///
/// An epoch begins only when you call [`tick`](Self::tick) or [`advance`](Self::advance). Two epochs
/// must begin at least TTL/E apart. `tick` ensures this; if you call `advance`, you must. A late
/// epoch is harmless: items live longer by the delay.
///
/// | promise | |
/// |---|---|
/// | An item is found | for at least the TTL after [`insert`](Self::insert), [`insert_unique`](Self::insert_unique) or [`refresh`](Self::refresh) returned |
/// | It is gone, apart from false positives | after at most TTL · (1 + 1/E), if epochs begin on time |
/// | Nothing expires early | even if the inserting thread is preempted for many epochs: it then inserts again |
///
/// A dead copy occupies its slot until it is swept. The thread that begins an epoch also sweeps:
/// O(buckets), and no thread waits for it. [`begin_epoch`](Self::begin_epoch) leaves the sweep to
/// another thread, which calls [`sweep`](Self::sweep). An insert that finds both its buckets full
/// sweeps these two.
///
/// # Copies
///
/// The filter is a multiset, like a [`CuckooFilter`](crate::CuckooFilter#copies). Each
/// [`insert`](Self::insert) adds a copy with a time of its own, and [`remove`](Self::remove) takes
/// the oldest. Items whose hashes agree in fingerprint and buckets form a *class*: the filter cannot
/// tell them apart. Therefore:
///
/// * Remove only items that were inserted and have not expired.
/// * If `insert_unique` returned `false` (or [`refresh`](Self::refresh) succeeded) because of a
///   colliding item, removing that item removes yours, too. If you remove items on which others
///   rely, use `insert` and do not refresh.
/// * A refresh in whose bucket another thread is at work, or a merge during which an epoch begins,
///   may leave a copy too many. A remove takes one, and the other expires. If the item is refreshed
///   in each TTL, both stay, because a refresh renews the oldest copy.
/// * A refresh of a colliding item keeps an item alive that would have expired. In a small filter
///   with 9-bit fingerprints whose items are refreshed often, most expired items may still be found.
///
/// # Preempted threads
///
/// No thread waits for a preempted one, wherever it stopped. In the at most two buckets where that
/// thread was at work, dead copies are not swept until it continues. If it stays preempted for as
/// many epochs as tags distinguish (8 with 9-bit fingerprints, otherwise 16), these copies become
/// live again for some epochs: they expire late, never early. With the maximum number of
/// [`epochs`](ExpiringBuilder::epochs), the same can happen to a copy whose bucket is in use during
/// each of two sweeps.
pub struct ExpiringFilter<S = SeededState> {
    hasher: S,
    raw: AnyExpiring,
    geometry: Geometry,
    window: Window,
    clock: Clock,
}

/// The shortest epoch: a sweep of all buckets takes up to the order of this time.
const MIN_EPOCH: Duration = Duration::from_millis(1);

/// What a filter was asked to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    /// Items within a TTL, before the filter doubles.
    capacity: usize,
    /// Items within a TTL at the last level.
    max_capacity: usize,
    ttl: Duration,
    /// E: how many epochs a TTL has.
    epochs: u32,
}

impl Window {
    /// The shortest time between two epochs, rounded up.
    fn epoch_length(self) -> Duration {
        from_nanos(self.ttl.as_nanos().div_ceil(u128::from(self.epochs)))
    }

    /// The epochs that begin within `elapsed` in a filter that is not in use, and the ages of the last E
    /// epochs then, the last one first. These are the ages before that.
    ///
    /// At most E + 1 epochs are counted: every copy is dead then.
    ///
    /// An epoch that is overdue counts as one that is due in a nanosecond, because items that came after
    /// it was due have the TTL before them. So in no time none begins.
    fn pass(self, ages: &[Duration], elapsed: Duration) -> (u64, Vec<Duration>) {
        let (length, most) = (self.epoch_length(), u64::from(self.epochs) + 1);
        let age = self.unless_overdue(ages.first().copied().unwrap_or_default());
        let passed = age.as_nanos() + elapsed.as_nanos();
        let begun = u64::try_from(passed / length.as_nanos());
        let begun = begun.map_or(most, |begun| begun.min(most));
        let age = from_nanos(passed % length.as_nanos());
        let new = (0..begun as u32).map(|before| age.saturating_add(length.saturating_mul(before)));
        let old = ages.iter().map(|age| age.saturating_add(elapsed));
        (begun, new.chain(old).take(self.epochs as usize).collect())
    }

    /// The age of the oldest live copies, by the ages of the last E epochs. A copy was last seen before
    /// the epoch after its own began.
    fn oldest_live(self, ages: &[Duration]) -> u64 {
        ages.iter().take_while(|&&age| age < self.ttl).count() as u64
    }
}

/// Durations have at most 2^64 seconds.
fn from_nanos(nanos: u128) -> Duration {
    let seconds = (nanos / 1_000_000_000) as u64;
    Duration::new(seconds, (nanos % 1_000_000_000) as u32)
}

impl Window {
    /// The age of an epoch, or the greatest one at which the next epoch is not due.
    fn unless_overdue(self, age: Duration) -> Duration {
        age.min(self.epoch_length() - Duration::from_nanos(1))
    }

    /// The ages of the last epochs for a snapshot, in nanoseconds, the last one first. All that are more
    /// than a TTL are alike. If epochs go by number, all count as if they had been on time.
    fn ages_in_snapshot(self, ages: Vec<Duration>, by_number: bool) -> impl Iterator<Item = u64> {
        let last = self.unless_overdue(ages.first().copied().unwrap_or_default());
        let on_time = move |before| last.saturating_add(self.epoch_length().saturating_mul(before));
        let ages = (0..).zip(ages).map(move |(before, age)| match by_number {
            true => on_time(before),
            false => age,
        });
        ages.map(move |age| u64::try_from(age.min(self.ttl).as_nanos()).unwrap_or(u64::MAX))
    }
}

impl<S> ExpiringFilter<S> {
    /// The filter of these parts, with a clock that starts now.
    fn from_parts(hasher: S, raw: AnyExpiring, geometry: Geometry, window: Window) -> Self {
        Self {
            hasher,
            raw,
            geometry,
            window,
            clock: Clock::start(),
        }
    }

    pub(crate) fn raw(&self) -> &AnyExpiring {
        &self.raw
    }
}

impl<S: BuildHasher> ExpiringFilter<S> {
    /// The hash by which the filter knows `item`, for the operations on hashes: see
    /// [`CuckooFilter::hash_of`](crate::CuckooFilter::hash_of).
    #[inline]
    #[must_use]
    pub fn hash_of<T: Hash + ?Sized>(&self, item: &T) -> u64 {
        hash_of(&self.hasher, item)
    }

    /// Adds a copy of `item`, seen now. Lock-free; O(1) until the filter is nearly full, and bounded
    /// then.
    ///
    /// The call may add more than one copy, if an epoch begins during it while another thread is
    /// changing the bucket of the copy.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let filter = ExpiringFilter::builder(Duration::from_secs(60)).epochs(6).build()?;
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
    /// As [`CuckooFilter::insert`](crate::CuckooFilter::insert). No item was added or removed, with
    /// one exception. If an epoch began during the call, a copy that the call has added may remain,
    /// and the item may be found for some epochs.
    #[inline]
    pub fn insert<T: Hash + ?Sized>(&self, item: &T) -> Result<(), InsertError> {
        self.insert_hash(self.hash_of(item))
    }

    /// Adds `item` unless it is present: "first seen within the TTL".
    ///
    /// * `Ok(true)`: the item was absent or had expired, and this call added it.
    /// * `Ok(false)`: the item was present at some moment of the call. Its time is not reset; use
    ///   [`insert_or_refresh`](Self::insert_or_refresh) for that. An absent item can get this
    ///   answer, too: with a probability of at most the
    ///   [false-positive rate](Self::false_positive_rate).
    ///
    /// When threads race to add the same absent item, exactly one gets `Ok(true)`, even if an epoch
    /// begins during the race. If every call fails, none does.
    ///
    /// A live copy of a colliding item counts as the item: then none of the racing calls gets
    /// `Ok(true)`. With 9-bit fingerprints this is some 0.1 % of races in a full filter.
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
    /// Obstruction-free, like [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique).
    /// If epochs begin before the call ends, it refreshes the copy that it added. If it cannot,
    /// because another call is at work in that bucket or the copy is already dead, it adds a second
    /// copy. If there is no room for a second copy either, the item expires early by these epochs,
    /// and the result is still `Ok(true)`.
    ///
    /// # Errors
    ///
    /// As [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique).
    #[inline]
    pub fn insert_unique<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hash_of(item))
    }

    /// Resets the time of `item` if it is present. False if it is absent or has expired.
    ///
    /// Lock-free, O(1). An item is written at most once per epoch: a call for an item that was
    /// already seen in this epoch only reads. If a relocation is in progress in the item's bucket,
    /// the call adds a copy instead of changing one.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let sessions = ExpiringFilter::builder(Duration::from_secs(60)).epochs(2).build()?;
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
    /// [`InsertError`] if a copy had to be added and there was no room. The item is present, and its
    /// time has not changed.
    #[inline]
    pub fn refresh<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.refresh_hash(self.hash_of(item))
    }

    /// Adds `item` if it is absent, and resets its time if it is present: a sliding window.
    ///
    /// `Ok(true)` means that the item was absent or had expired, and that this call added it. Either
    /// way the item is present for at least the TTL from now on. When threads race to add the same
    /// absent item by this method or [`insert_unique`](Self::insert_unique), exactly one gets
    /// `Ok(true)`.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let names = ExpiringFilter::builder(Duration::from_secs(60)).epochs(2).build()?;
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
        self.insert_or_refresh_hash(self.hash_of(item))
    }

    /// True if `item` is present and has not expired.
    ///
    /// False means that it was surely absent at some moment of the call. For an absent item the
    /// result is wrongly true with a probability of at most
    /// [`false_positive_rate`](Self::false_positive_rate), while no more than
    /// [`capacity`](Self::capacity) distinct items arrive per TTL. Wait-free, O(1).
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
        self.contains_hash(self.hash_of(item))
    }

    /// Removes the oldest live copy of `item`. True if there was one. Lock-free, O(1).
    ///
    /// Remove only items that were inserted and have not expired: see [Copies](Self#copies).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let keys = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// assert!(keys.insert_unique("request 4711")?);
    /// // The work failed: allow the client to retry.
    /// assert!(keys.remove("request 4711"));
    /// assert!(keys.insert_unique("request 4711")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn remove<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.remove_hash(self.hash_of(item))
    }

    /// The number of live copies of `item`, and of items of its class. Lock-free, O(1).
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
        self.count_hash(self.hash_of(item))
    }
}

impl<S> fmt::Debug for ExpiringFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringFilter")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("max_capacity", &self.max_capacity())
            .field("ttl", &self.ttl())
            .field("epoch", &self.epoch())
            .field("fingerprint_bits", &self.fingerprint_bits())
            .field("buckets", &self.buckets())
            .finish_non_exhaustive()
    }
}
