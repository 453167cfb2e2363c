//! What the filter holds.

use super::{ExpiringFilter, any::with_layout};
use crate::{geometry::Geometry, stats::Stats};

impl<S> ExpiringFilter<S> {
    /// The number of copies in the filter, including dead ones that are not swept yet. Exact while
    /// no thread writes; otherwise off by at most the writes that overlap the call.
    #[must_use]
    pub fn len(&self) -> usize {
        with_layout!(&self.raw, raw => raw.len.sum())
    }

    /// True if [`len`](Self::len) is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct items per [`ttl`](Self::ttl) for which the filter has room at its present
    /// size.
    ///
    /// For a fixed filter, this is the requested capacity. A filter that can grow never reports less
    /// than that.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let standing = self.geometry.capacity_at(self.doublings());
        Geometry::arriving(standing, self.window.epochs)
    }

    /// The number of distinct items per [`ttl`](Self::ttl) for which the filter has room after its last
    /// doubling.
    ///
    /// For a fixed filter, this is [`capacity`](Self::capacity).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60));
    /// let filter = builder.capacity(1_000).max_capacity(8_000).build()?;
    /// assert!(filter.capacity() < 8_000);
    /// for item in 0..9_000_u32 {
    ///     filter.insert(&item)?;
    /// }
    /// assert_eq!(filter.capacity(), 8_000);
    /// assert_eq!(filter.max_capacity(), 8_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.window.max_capacity
    }

    /// Completes the doubling that is in progress, if any.
    ///
    /// As [`CuckooFilter::finish_growth`](crate::CuckooFilter::finish_growth). O(buckets).
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let builder = ExpiringFilter::builder(Duration::from_secs(60));
    /// let filter = builder.capacity(1_000).max_capacity(8_000).build()?;
    /// let mut items = 0..8_000_u32;
    /// while filter.stats().buckets_to_split == 0 {
    ///     filter.insert(&items.next().expect("a doubling begins before"))?;
    /// }
    /// filter.finish_growth();
    /// assert_eq!(filter.stats().doublings, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_growth(&self) {
        with_layout!(&self.raw, raw => raw.table.finish_level());
    }

    /// How many times the filter has doubled.
    fn doublings(&self) -> u32 {
        with_layout!(&self.raw, raw => raw.table.doublings())
    }

    /// The expected share of absent items for which the filter answers true, from 0 to 1, when
    /// [`capacity`](Self::capacity) items have arrived per TTL.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.geometry.rate_at(self.doublings())
    }

    /// The hasher of the filter's items.
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// The bytes that the filter occupies, itself and on the heap. Heap memory of the hasher is not
    /// counted.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        size_of_val(self) + with_layout!(&self.raw, raw => raw.bytes())
    }

    /// Removes all live copies that were inserted before the call, while any number of threads use
    /// the filter.
    ///
    /// As [`CuckooFilter::clear`](crate::CuckooFilter::clear): a copy that is inserted during the
    /// call may be removed, too. O([`buckets`](Self::buckets)), and a remove for each item. Dead
    /// copies stay until they are swept.
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

    /// Removes everything, and returns a filter that has grown to its initial size: O(buckets). The
    /// current epoch and the counters of [`stats`](Self::stats) stay.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use std::time::Duration;
    ///
    /// let mut filter = ExpiringFilter::builder(Duration::from_secs(60)).build()?;
    /// filter.insert("ani")?;
    /// filter.reset();
    /// assert!(filter.is_empty() && filter.is_swept() && !filter.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&mut self) {
        with_layout!(&mut self.raw, raw => {
            raw.table.clear();
            raw.len.reset();
            // Nothing is dead.
            raw.time.sweep_ends(raw.moment());
        });
    }
}

/// Diagnostics: what the table looks like and what it has been through.
impl<S> ExpiringFilter<S> {
    /// The share of slots in use, from 0 to 1. It is approximate during a doubling.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// The size of a fingerprint in bits, before growth.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry.series.fingerprint_bits
    }

    /// The slots of a bucket: half the copies of one item that fit. It can increase with each doubling.
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        self.geometry.series.slots(self.doublings())
    }

    /// The number of buckets, 8 bytes each.
    #[must_use]
    pub fn buckets(&self) -> usize {
        with_layout!(&self.raw, raw => raw.table.words())
    }

    /// The counters of the filter, as [`CuckooFilter::stats`](crate::CuckooFilter::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        with_layout!(&self.raw, raw => Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            doublings: self.doublings(),
            buckets_to_split: raw.table.words_to_split(),
            ..raw.stats()
        })
    }
}
