//! What a filter does with an item.

use crate::{
    error::InsertError,
    filter::Filter,
    hash::{Hashable, Hashed},
    lifetime::Lifetime,
    raw::any::Ops,
};
use std::hash::BuildHasher;

impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// Adds a copy of `item`, seen now.
    ///
    /// [Lock-free](crate#promises). O(1) until the filter is nearly full; then the search for a
    /// free slot is bounded.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count("ani"), 2);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// After an error, no item has been added or removed. Some items may have moved to their other
    /// bucket, and a filter that can grow may have grown.
    ///
    /// * [`InsertError::Full`]: there is no room for the item. In practice this does not happen
    ///   while the filter holds at most `capacity` distinct items.
    /// * [`InsertError::TooManyCopies`]: copies of the item's class fill both its buckets.
    /// * [`InsertError::BlockedByScan`]: a snapshot, merge, digest or clear of this filter is in the
    ///   way, and the allocator refuses the memory to scan the rest: see
    ///   [`write_to`](Self::write_to). Try again later.
    /// * [`InsertError::Contended`]: other threads were repeatedly in the way, as happens if one loses
    ///   its processor during a relocation in these buckets. Try again.
    /// * [`InsertError::Memory`]: the filter has to grow, and the allocator refuses the memory.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) there is an exception. If an epoch begins during
    /// the call while another thread is changing the bucket of the copy, the call may add more than one
    /// copy. After an error a copy of this call may remain, and the item may be found for some epochs.
    #[inline]
    pub fn insert<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<(), InsertError> {
        self.raw_for_write().insert(self.hash_of(item).0)
    }

    /// Adds a copy of `item`, seen now, and returns how many copies there are now: [`insert`](Self::insert)
    /// and then [`count`](Self::count).
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) that is the number of occurrences within the TTL, so
    /// that this call is a rate limit. Each call counts its own copy, and those of all calls that returned
    /// before it. So of racing calls at most n get a number up to n. If calls may pause for longer than an
    /// epoch, let a thread [`tick`](crate::ExpiringFilter::tick): otherwise what came before the pause still
    /// counts after it.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let logins = ExpiringFilter::builder(Duration::from_secs(60)).counter_bits(4).build()?;
    /// for attempt in 1..=5 {
    ///     assert_eq!(logins.insert_and_count("ani")?, attempt);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
    #[inline]
    pub fn insert_and_count<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<usize, InsertError> {
        self.raw_for_write().insert_and_count(self.hash_of(item).0)
    }

    /// Adds `item` unless it is present.
    ///
    /// * `Ok(true)`: the item was absent, and this call added it.
    /// * `Ok(false)`: the item was present at some moment of the call.
    ///
    /// When threads race to add the same absent item, exactly one gets `Ok(true)`. If every call
    /// fails, none does. A concurrent [`insert`](Self::insert) of the item may still add a second
    /// copy.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let coupons = CuckooFilter::with_capacity(1_000);
    /// assert_eq!(coupons.insert_unique("SUMMER-7QX"), Ok(true));
    /// assert_eq!(coupons.insert_unique("SUMMER-7QX"), Ok(false));
    /// assert_eq!(coupons.count("SUMMER-7QX"), 1);
    /// ```
    ///
    /// A new item gets `Ok(false)`, too, if an item of the same class is present. The probability is at
    /// most the [`false_positive_rate`](Self::false_positive_rate), up to `capacity` items. Choose a low
    /// rate if your program drops repeats: at 0.1 %, a full filter drops one new item in a thousand.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) an item that has expired is absent. A repeat does
    /// not reset the time of the item:
    /// [`insert_or_refresh`](crate::ExpiringFilter::insert_or_refresh) does. If epochs begin before the
    /// call ends, it refreshes the copy that it added. If it cannot, because another call is at work in
    /// that bucket or the copy is already dead, it adds a second copy. If there is no room for that
    /// either, the item expires early by these epochs, and the result is still `Ok(true)`. A live copy
    /// of a colliding item counts as the item: then none of the racing calls gets `Ok(true)`. With 9-bit
    /// fingerprints this is some 0.1 % of races in a full filter.
    ///
    /// Obstruction-free: two calls whose items share a bucket can undo each other's reservation.
    /// Each backs off exponentially before it does. O(1) until the filter is nearly full, as
    /// [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// After an error, no item has been added or removed.
    ///
    /// * [`InsertError::TooManyInFlight`]: all reservation tokens are in use. Each call holds one.
    ///   The process has 512, and idle threads keep at most 128 of them.
    /// * All errors of [`insert`](Self::insert).
    #[inline]
    pub fn insert_unique<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.raw_for_write().insert_unique(self.hash_of(item).0)
    }

    /// True if `item` is present, and has not expired.
    ///
    /// False means that the item was certainly absent at some moment of the call. For an absent
    /// item the result is wrongly true with a probability of at most
    /// [`false_positive_rate`](Self::false_positive_rate), while the filter holds at most
    /// `capacity` items.
    ///
    /// Wait-free, O(1). A lookup makes 4 loads, and at most 46 if relocations or calls of
    /// [`insert_unique`](Self::insert_unique) interfere. A filter that can grow needs further loads
    /// to find the word of each bucket.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert!(!filter.contains("ani"));
    /// filter.insert("ani")?;
    /// assert!(filter.contains("ani"));
    /// // An owned value and its borrowed form are one item.
    /// assert!(filter.contains(&String::from("ani")));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Hashable + ?Sized>(&self, item: &Q) -> bool {
        self.raw.contains(self.hash_of(item).0)
    }

    /// Removes one copy of `item`. True if there was one.
    ///
    /// If an item has n copies, exactly n removes return true, no matter how many threads race.
    /// [Lock-free](crate#promises), O(1).
    ///
    /// Remove only items that were inserted: see [Removing](crate::CuckooFilter#removing).
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) they must not have expired, and the call removes
    /// the oldest live copy.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// assert!(filter.remove("ani"));
    /// assert!(!filter.remove("ani"));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    pub fn remove<Q: Hashable + ?Sized>(&self, item: &Q) -> bool {
        self.raw_for_write().remove(self.hash_of(item).0)
    }

    /// The number of live copies of `item`, and of items of its class.
    ///
    /// [Lock-free](crate#promises), O(1). Relocations do not change the result: it is the number at
    /// one moment of the call. Concurrent inserts and removes of the class may be counted or not.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count("ani"), 2);
    /// assert_eq!(filter.count("koel"), 0);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count<Q: Hashable + ?Sized>(&self, item: &Q) -> usize {
        self.raw.count(self.hash_of(item).0)
    }

    /// The hash by which the filter knows `item`, in place of the item.
    ///
    /// With the default hasher it is [`BuildHasher::hash_one`] of the [`hasher`](Self::hasher). With
    /// any other hasher it is that result, hashed again by the default hasher with the seed 0: see
    /// [`Builder::hasher`](crate::Builder::hasher).
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::{BuildHasher, RandomState};
    ///
    /// let filter = CuckooFilter::builder().hasher(RandomState::new()).build()?;
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// assert!(filter.contains(&hash));
    /// assert_ne!(hash.0, filter.hasher().hash_one("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn hash_of<Q: Hashable + ?Sized>(&self, item: &Q) -> Hashed {
        item.hash_by(&self.hasher)
    }
}

impl<S, T: Lifetime> Filter<S, T> {
    /// The filter in its layout, for a write: items that are due have expired.
    #[inline(always)]
    pub(crate) fn raw_for_write(&self) -> &T::Raw {
        T::pass_time(&self.raw, &self.timing);
        &self.raw
    }
}
