//! What the filter holds.

use super::{ExpiringFilter, any::with_layout};
use crate::stats::Stats;

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

    /// The number of distinct items per [`ttl`](Self::ttl), as requested.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.window.capacity
    }

    /// The expected share of absent items for which the filter answers true, from 0 to 1, when
    /// [`capacity`](Self::capacity) items have arrived per TTL.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.geometry.rate_at(0)
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

    /// Removes everything: O(buckets). The current epoch and the counters of
    /// [`stats`](Self::stats) stay.
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
    /// The share of slots in use, from 0 to 1.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// The size of a fingerprint in bits.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry.series.fingerprint_bits
    }

    /// The slots of a bucket: half the copies of one item that fit.
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        self.geometry.series.slots(0)
    }

    /// The number of buckets, 8 bytes each.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.geometry.buckets
    }

    /// The counters of the filter, as [`CuckooFilter::stats`](crate::CuckooFilter::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        with_layout!(&self.raw, raw => Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            ..raw.counters.stats()
        })
    }
}
