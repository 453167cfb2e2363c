//! The state of a filter: length, capacity, rate, memory.

use crate::{
    filter::Filter,
    geometry::Geometry,
    lifetime::{Lifetime, Timing},
    raw::any::Ops,
    stats::Stats,
};

impl<S, T: Lifetime> Filter<S, T> {
    /// The number of copies in the filter.
    ///
    /// Exact while no thread writes; otherwise off by at most the writes that overlap the call. In an
    /// [`ExpiringFilter`](crate::ExpiringFilter), copies that have expired count until they are swept.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_batch(&["ani", "koel", "ani"])?;
    /// assert_eq!(filter.len(), 3);
    /// # Ok::<(), guira::BatchError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// True if [`len`](Self::len) is 0.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// assert!(filter.is_empty());
    /// filter.insert("ani")?;
    /// assert!(!filter.is_empty());
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct items for which the filter has room at its present size: in an
    /// [`ExpiringFilter`](crate::ExpiringFilter), of the items that arrive within a TTL.
    ///
    /// For a fixed filter, this is the requested capacity. A filter that can grow never reports
    /// less than that.
    ///
    /// Usually more items fit before the first [`Full`](crate::InsertError::Full). The
    /// false-positive rate is kept up to the capacity, and rises with each further item.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// assert_eq!(filter.capacity(), 1_000);
    /// let fitted = (0..10_000_u32).take_while(|item| filter.insert(item).is_ok());
    /// assert!(fitted.count() > 1_000);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        let standing = self.geometry().capacity_at(self.doublings());
        Geometry::arriving(standing, self.timing.epochs())
    }

    /// The number of distinct items for which the filter has room after its last doubling.
    ///
    /// For a fixed filter, this is [`capacity`](Self::capacity).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1_000).max_capacity(8_000).build()?;
    /// assert!(filter.capacity() < 8_000);
    /// for item in 0..8_000_u32 {
    ///     filter.insert(&item)?;
    /// }
    /// assert_eq!(filter.capacity(), 8_000);
    /// assert_eq!(filter.max_capacity(), 8_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.window().max_capacity
    }

    /// Completes the doubling that is in progress, if any.
    ///
    /// Inserts do this piece by piece. Call this method for a filter that becomes idle. O(buckets).
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(1_000).max_capacity(8_000).build()?;
    /// let mut items = 0..8_000_u32;
    /// while filter.stats().buckets_to_split == 0 {
    ///     filter.insert(&items.next().expect("a doubling begins before"))?;
    /// }
    /// filter.finish_growth();
    /// assert_eq!(filter.stats().buckets_to_split, 0);
    /// assert_eq!(filter.stats().doublings, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_growth(&self) {
        self.raw.finish_growth();
    }

    /// The share of slots in use, from 0 to 1.
    ///
    /// It is approximate during a doubling, when buckets differ in their number of slots.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// for item in 0..1_000_u32 {
    ///     filter.insert(&item)?;
    /// }
    /// let slots = filter.buckets() * filter.bucket_slots();
    /// assert_eq!(filter.load_factor(), 1_000.0 / slots as f64);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.slots_in_use() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// The number of slots in use.
    ///
    /// This is [`len`](Self::len), except in a filter with
    /// [counters](crate::Builder::counter_bits). There a slot holds up to 2^`counter_bits` copies of
    /// an item, so the result is about the number of distinct items. An item has a second slot after
    /// its counter is full, or if it is inserted while another thread moves it.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(100).counter_bits(4).build()?;
    /// filter.insert_batch(&["ani", "koel", "ani"])?;
    /// assert_eq!((filter.len(), filter.slots_in_use()), (3, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn slots_in_use(&self) -> usize {
        self.raw.in_use()
    }

    /// The bytes that the filter occupies, itself and on the heap.
    ///
    /// Heap memory of the hasher is not counted.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000_000);
    /// assert!(filter.memory_usage() < 2_200_000);
    /// ```
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        size_of_val(self) + self.raw.bytes()
    }

    /// The expected share of absent items for which [`contains`](Self::contains) returns true, from
    /// 0 to 1.
    ///
    /// It applies when the filter holds [`capacity`](Self::capacity) items. With fewer items the
    /// rate is lower. With more, up to the first [`Full`](crate::InsertError::Full), it is higher.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().false_positive_rate(0.01).build()?;
    /// assert!(filter.false_positive_rate() <= 0.01);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.geometry().rate_at(self.doublings())
    }

    /// The size of a fingerprint in bits, before growth.
    ///
    /// In a filter that [prefers space](crate::Prefer::Space) the number is rounded down, because
    /// the number of fingerprints need not be a power of two. After each doubling a filter stores
    /// one bit less of each fingerprint: the position of the fingerprint implies that bit.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// assert_eq!(filter.fingerprint_bits(), 15);
    /// ```
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry().series.bits()
    }

    /// The number of slots of a bucket, which is half the number of copies of one item that fit.
    ///
    /// It can increase with each doubling, because fingerprints become shorter.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// let copies = (0..100).take_while(|_| filter.insert("ani").is_ok());
    /// assert_eq!(copies.count(), 2 * filter.bucket_slots());
    /// ```
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        self.geometry().series.slots(self.doublings())
    }

    /// The size of a slot's counter in bits; 0 if slots have none.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// assert_eq!(CuckooFilter::with_capacity(100).counter_bits(), 0);
    /// let filter = CuckooFilter::builder().counter_bits(4).build()?;
    /// let copies = (0..1_000).take_while(|_| filter.insert("ani").is_ok());
    /// assert_eq!(copies.count(), (2 * filter.bucket_slots()) << filter.counter_bits());
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn counter_bits(&self) -> u32 {
        self.geometry().series.counter_bits
    }

    /// The number of buckets, 8 bytes each.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000_000);
    /// assert!(8 * filter.buckets() < filter.memory_usage());
    /// assert!(filter.capacity() <= filter.bucket_slots() * filter.buckets());
    /// ```
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.raw.words()
    }

    /// How many times the filter has doubled.
    fn doublings(&self) -> u32 {
        self.raw.doublings()
    }

    /// The counters of the filter.
    ///
    /// The fast path does not update them. They are approximate while threads use the filter.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// for item in 0..1_000_u32 {
    ///     filter.insert(&item)?;
    /// }
    /// let stats = filter.stats();
    /// assert_eq!((stats.items, stats.failed_inserts), (1_000, 0));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            doublings: self.doublings(),
            buckets_to_split: self.raw.words_to_split(),
            ..self.raw.stats()
        }
    }

    /// The hasher of the filter's items.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().seed(42).build()?;
    /// assert_eq!(filter.hasher().seed(), 42);
    /// # Ok::<(), guira::BuildError>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Removes all items that were inserted before the call, while other threads use the filter.
    ///
    /// When the call returns, no copy is left that was in the filter when it began. A copy that is
    /// inserted during the call may be removed, too. An insert that overlaps the call can therefore
    /// return `Ok` although its item does not stay.
    ///
    /// Lock-free, although concurrent inserts of one item can keep the call busy with that item.
    /// O(buckets), and a remove per copy. Copies that have expired stay until they are swept. The call scans the filter as
    /// [`write_to`](Self::write_to) does.
    ///
    /// A filter that has grown keeps its size. If you have exclusive access, [`reset`](Self::reset)
    /// is faster. If you can replace the filter by a new one, that is simpler.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// filter.clear();
    /// assert!(filter.is_empty() && !filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    pub fn clear(&self) {
        self.raw.clear();
    }

    /// Removes all items, and returns a filter that has grown to its initial size. O(buckets).
    ///
    /// The counters of [`stats`](Self::stats) and the current epoch are not reset.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let mut filter = CuckooFilter::with_capacity(100);
    /// filter.insert("ani")?;
    /// filter.reset();
    /// assert!(filter.is_empty() && !filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    pub fn reset(&mut self) {
        self.raw.reset();
    }

    /// Undoes doublings that the filter no longer needs. True if the filter became smaller.
    ///
    /// The call copies the filter into a new one and keeps the smaller of the two, so it needs
    /// memory for both. O(buckets), and an insert per copy.
    ///
    /// The filter does not change, and the result is false, in each of these cases:
    ///
    /// * The filter cannot grow, or has not grown.
    /// * The new filter would not be smaller.
    /// * There is no memory for the new filter.
    /// * An item has more copies than two buckets of the smaller filter can hold.
    ///
    /// [`clear`](Self::clear) and [`remove`](Self::remove) do not shrink a filter;
    /// [`reset`](Self::reset) does.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter) each copy keeps its time.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let mut filter = CuckooFilter::builder().capacity(1_000).max_capacity(100_000).build()?;
    /// filter.try_extend(0..50_000_u32)?;
    /// let grown = filter.memory_usage();
    /// for item in 100..50_000_u32 {
    ///     filter.remove(&item);
    /// }
    /// assert!(filter.shrink_to_fit());
    /// assert!(filter.memory_usage() < grown / 10);
    /// assert!((0..100_u32).all(|item| filter.contains(&item)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shrink_to_fit(&mut self) -> bool {
        self.raw.shrink_to_fit()
    }
}
