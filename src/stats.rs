//! The counters that a filter reports.

/// The counters of a filter, for metrics.
///
/// Returned by [`CuckooFilter::stats`](crate::CuckooFilter::stats) and
/// [`ExpiringFilter::stats`](crate::ExpiringFilter::stats).
///
/// ```
/// use guira::CuckooFilter;
///
/// let filter = CuckooFilter::with_capacity(1_000);
/// let fitted = (0..10_000_u32).take_while(|item| filter.insert(item).is_ok());
/// let fitted = fitted.count();
/// let stats = filter.stats();
/// assert_eq!(stats.items, fitted);
/// assert_eq!(stats.failed_inserts, 1);
/// assert!(stats.load_factor > 0.8 && stats.relocations > 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Copies in the filter, as [`len`](crate::CuckooFilter::len).
    pub items: usize,
    /// The share of slots in use, from 0 to 1.
    pub load_factor: f64,
    /// The bytes that the filter occupies.
    pub memory_usage: usize,
    /// How many times the filter has doubled.
    pub doublings: u32,
    /// Buckets that the current doubling has yet to visit; 0 if no doubling is in progress.
    pub buckets_to_split: usize,
    /// Copies moved to their other bucket to make room.
    pub relocations: u64,
    /// The most relocations that one insert has needed.
    pub longest_path: u64,
    /// Inserts that found no room, other than [`Contended`](crate::InsertError::Contended) ones.
    pub failed_inserts: u64,
    /// Lookups that read again because of a relocation or an `insert_unique` in progress. A filter
    /// below 64 KiB counts 4 billion of them at most.
    pub retried_lookups: u64,
    /// Lookups that returned true without proof, after their last attempt; counted as
    /// [`retried_lookups`](Self::retried_lookups).
    pub conservative_lookups: u64,
}
