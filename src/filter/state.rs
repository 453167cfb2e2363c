//! What a filter holds, and how much it can: len, capacity, rate, memory.

use crate::{filter::CuckooFilter, raw::any::with_layout, stats::Stats};

impl<S> CuckooFilter<S> {
    /// The number of copies in the filter. Exact while no thread writes, and
    /// otherwise off by at most the writes that overlap the call.
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
        with_layout!(&self.raw, raw => raw.len.sum())
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

    /// The number of distinct items that fit, as asked for. Of a filter that can grow it is
    /// the number that fits at its present size, which is at least the one asked for.
    ///
    /// This is not where the first [`Full`](crate::InsertError::Full) comes: as a rule more items
    /// fit.
    /// The false-positive rate is kept up to the capacity, and rises with each item beyond it.
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
        self.geometry.capacity_at(self.doublings())
    }

    /// The number of distinct items that fit when the filter has grown as far as
    /// it may. For a fixed filter it is [`capacity`](Self::capacity).
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
        self.geometry.max_capacity
    }

    /// Completes the doubling that has begun, if any: O(buckets). While inserts
    /// go on they do this piece by piece. This method is for a filter that falls idle.
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
        with_layout!(&self.raw, raw => raw.table.finish_level());
    }

    /// The share of slots that are used, from 0 to 1. While the filter doubles it is a little off,
    /// as some buckets have more slots than others then.
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
        self.len() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// The bytes that the filter takes up, itself and on the heap. A hasher's own
    /// heap memory is not counted.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000_000);
    /// assert!(filter.memory_usage() < 2_200_000);
    /// ```
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        size_of_val(self) + with_layout!(&self.raw, raw => raw.bytes())
    }

    /// The expected share of absent items for which the filter answers true when
    /// it holds [`capacity`](Self::capacity) items, from 0 to 1.
    ///
    /// It is lower while the filter holds fewer items. It is higher when the filter holds
    /// more, up to the first [`Full`](crate::InsertError::Full).
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
        self.geometry.rate_at(self.doublings())
    }

    /// The bits of a fingerprint; in a filter that [prefers space](crate::Prefer::Space) rounded
    /// down, as there need not be a power of two of them. A filter that has doubled stores one less
    /// for each time, as the place of a fingerprint says that one.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// assert_eq!(filter.fingerprint_bits(), 15);
    /// ```
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry.series.bits()
    }

    /// The slots of a bucket, from 2 to 7: half the copies of one item that fit. A filter that
    /// has doubled may have more of them than before, as each is shorter.
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
        self.geometry.series.slots(self.doublings())
    }

    /// The number of buckets, each of 8 bytes.
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
        with_layout!(&self.raw, raw => raw.table.words())
    }

    /// How often the filter has doubled.
    fn doublings(&self) -> u32 {
        with_layout!(&self.raw, raw => raw.table.doublings())
    }

    /// What the filter has been through. The counters are kept off the fast
    /// path and are approximate while threads are at work.
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
        with_layout!(&self.raw, raw => Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            doublings: self.doublings(),
            buckets_to_split: raw.table.words_to_split(),
            ..raw.counters.stats()
        })
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

    /// Removes all that was inserted before the call, while any number of threads go on.
    ///
    /// When it returns, no copy is left of those that were in the filter when it began. One that is
    /// inserted meanwhile may be removed, too. So beside this call `Ok` of an insert does not mean
    /// that the item stays. Lock-free; it scans the filter as [`write_to`](Self::write_to) does.
    ///
    /// O(buckets), and a remove for each item. A filter that has grown keeps its size. Where you
    /// have the filter for yourself, [`reset`](Self::reset) is faster; where you can exchange it
    /// for a new one, that is clearer.
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
        with_layout!(&self.raw, raw => raw.clear());
    }

    /// Removes everything: O(buckets). A filter that has grown has its first size again. The
    /// counters of [`stats`](Self::stats) go on.
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
        with_layout!(&mut self.raw, raw => {
            raw.table.clear();
            raw.len.reset();
        });
    }
}
