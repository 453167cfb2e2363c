//! What only a filter does whose items expire: it resets their time.

use crate::{
    error::InsertError,
    filter::Filter,
    hash::{Hashable, SeededState},
    lifetime::Expiring,
    raw::any::Ops,
};
use std::hash::BuildHasher;

/// A concurrent set that forgets each item some time after it was last seen.
///
/// It answers "have I seen this within the last hour?" for a stream of events: deduplication,
/// idempotency keys, replay protection. It is a single table, like a
/// [`CuckooFilter`](crate::CuckooFilter): a lookup reads two buckets, and no thread waits for
/// another.
///
/// Time passes in writes: an insert, refresh or remove first expires what is due. **A lookup does not**,
/// so an item that has expired may be found until the next write. If the filter is read for long without
/// one, or if writes must not do this work, let a thread call [`tick`](Self::tick) several times per
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
/// [`epochs`](crate::ExpiringBuilder::epochs). Each copy of an item stores the epoch in which it was last
/// seen. The copy is *live* in that epoch and in the E epochs after it. Then it is *dead*: lookups
/// no longer find it.
///
/// An epoch begins in a write or in [`tick`](Self::tick), when it is due by the filter's clock. A write
/// notices that at most an eighth of an epoch late, or a quarter of a second. The caller of
/// [`tick_at`](Self::tick_at) brings a clock. A caller of [`advance`](Self::advance) must let TTL/E pass
/// between two epochs. A late epoch is harmless: items live longer by the delay.
///
/// The first filter of a process starts a thread, which reads the clock for all of them until the last one
/// is dropped. After `fork`, a filter that the child has from its parent expires nothing until a thread
/// ticks, or the child makes a filter.
///
/// | promise | |
/// |---|---|
/// | An item is found | for at least the TTL after [`insert`](Self::insert), [`insert_unique`](Self::insert_unique) (with an exception that is named there) or [`refresh`](Self::refresh) returned |
/// | It is gone, apart from false positives | after at most TTL · (1 + 1/E), if epochs begin on time; otherwise after the next writes |
/// | Nothing expires early | even if the inserting thread is preempted for many epochs: it then inserts again |
///
/// A dead copy occupies its slot until it is swept. A write sweeps 1024 buckets of an epoch, or for 50 µs
/// if the sweep is late; `tick` sweeps all: O(buckets), and no thread waits for it.
/// [`begin_epoch`](Self::begin_epoch) leaves the sweep to another thread, which calls
/// [`sweep`](Self::sweep). An insert that finds both its buckets full sweeps these two.
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
/// [`epochs`](crate::ExpiringBuilder::epochs), the same can happen to a copy whose bucket is in use during
/// each of two sweeps.
pub type ExpiringFilter<S = SeededState> = Filter<S, Expiring>;

impl<S: BuildHasher> Filter<S, Expiring> {
    /// Resets the time of `item` if it is present. False if it is absent or has expired. If the item has
    /// several copies, the time of the oldest one is reset.
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
    /// time is usually unchanged.
    #[inline]
    pub fn refresh<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.raw_for_write().refresh(self.hash_of(item).0)
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
    pub fn insert_or_refresh<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.raw_for_write().insert_or_refresh(self.hash_of(item).0)
    }
}
