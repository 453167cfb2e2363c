//! What a filter says of itself.

/// What a filter has been through; see [`CuckooFilter::stats`](crate::CuckooFilter::stats).
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
    /// Items in the filter, as [`len`](crate::CuckooFilter::len) gives them.
    pub items: usize,
    /// The share of slots that are used, from 0 to 1.
    pub load_factor: f64,
    /// The bytes that the filter takes up.
    pub memory_usage: usize,
    /// How often the filter has doubled.
    pub level: u32,
    /// Buckets that the doubling that has begun has yet to look at, most of which it has
    /// to split; 0 if none has.
    pub buckets_to_split: usize,
    /// Residents moved to their alternate bucket to make room.
    pub relocations: u64,
    /// Relocations that the longest path so far took.
    pub longest_path: u64,
    /// Inserts that were answered with `Full`.
    pub failed_inserts: u64,
    /// Lookups that a relocation, or an `insert_unique` under way, made read again.
    pub retried_lookups: u64,
    /// Lookups that answered true without proof, after their last attempt.
    pub conservative_lookups: u64,
}
