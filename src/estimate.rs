//! What a filter will take, before it is made: arithmetic only.

use crate::{
    geometry::Geometry,
    lifetime::Window,
    raw::RawFilter,
    table::layout::{C12x3, F15x4, Growing, GrowingCounting},
};

/// What a filter will take at each size, from [`Builder::estimate`](crate::Builder::estimate).
///
/// ```
/// use guira::CuckooFilter;
///
/// let seen = CuckooFilter::builder().capacity(1_000_000).max_capacity(50_000_000);
/// let estimate = seen.false_positive_rate(1e-4).estimate()?;
/// assert_eq!(estimate.doublings(), 4);
/// assert_eq!(estimate.bytes() / 1_000_000, 9);
/// assert_eq!(estimate.bytes_at(5_000_000) / 1_000_000, 36);
/// assert_eq!(estimate.max_bytes() / 1_000_000, 145);
/// assert!(estimate.false_positive_rate() <= 1e-4);
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    sizes: Vec<Size>,
    fingerprint_bits: u32,
    false_positive_rate: f64,
}

/// A filter between two doublings: see [`Estimate::sizes`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Size {
    /// Distinct items that fit, as [`capacity`](crate::CuckooFilter::capacity) returns it.
    pub items: usize,
    /// Bytes of the filter, as [`memory_usage`](crate::CuckooFilter::memory_usage) returns it.
    pub bytes: usize,
    /// Buckets of the filter, 8 bytes each.
    pub buckets: usize,
    /// Slots of a bucket.
    pub bucket_slots: usize,
    /// Copies of one item that fit.
    pub copies: usize,
    /// The share of absent items that seem present, when the filter holds `items` items.
    pub false_positive_rate: f64,
}

impl Estimate {
    /// The sizes of a filter with this geometry, whose own fields take `inline` bytes.
    pub(crate) fn of(geometry: &Geometry, window: Window, inline: usize) -> Self {
        let size = |doublings| {
            let bucket_slots = geometry.series.slots(doublings);
            let standing = geometry.capacity_at(doublings);
            Size {
                items: Geometry::arriving(standing, window.epochs),
                bytes: inline + bytes_on_heap(geometry, doublings),
                buckets: geometry.buckets << doublings,
                bucket_slots,
                copies: (2 * bucket_slots) << geometry.series.counter_bits,
                false_positive_rate: geometry.rate_at(doublings),
            }
        };
        Self {
            sizes: (0..=geometry.series.levels).map(size).collect(),
            fingerprint_bits: geometry.series.bits(),
            false_positive_rate: geometry.highest_rate(),
        }
    }

    /// The sizes that the filter goes through, the first one first. There is one more of them than
    /// there are [`doublings`](Self::doublings).
    #[must_use]
    pub fn sizes(&self) -> &[Size] {
        &self.sizes
    }

    /// The bytes of the empty filter, itself and on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.first().bytes
    }

    /// The bytes when the filter holds this number of distinct items. If they are more than fit, the
    /// bytes at the end.
    ///
    /// A filter can double later than it may, above all one that is small or whose buckets have one slot.
    /// Then it takes less at first. One whose buckets have one slot can also double a little earlier.
    ///
    /// In an [`ExpiringFilter`](crate::ExpiringFilter), they are the items that arrive within a TTL.
    #[must_use]
    pub fn bytes_at(&self, items: usize) -> usize {
        let fits = |size: &&Size| items <= size.items;
        self.sizes.iter().find(fits).unwrap_or(self.last()).bytes
    }

    /// The bytes after the last doubling.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.last().bytes
    }

    /// The bits per item of the full filter after its last doubling.
    #[must_use]
    pub fn bits_per_item(&self) -> f64 {
        8.0 * self.max_bytes() as f64 / self.last().items as f64
    }

    /// The highest rate of any size.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.false_positive_rate
    }

    /// How many times the filter can double.
    #[must_use]
    pub fn doublings(&self) -> u32 {
        self.sizes.len() as u32 - 1
    }

    /// How many copies of one item fit at first. [`sizes`](Self::sizes) has the number at each size.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.first().copies
    }

    /// The size of a fingerprint in bits, before growth.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    fn first(&self) -> &Size {
        &self.sizes[0]
    }

    fn last(&self) -> &Size {
        &self.sizes[self.sizes.len() - 1]
    }
}

/// The bytes on the heap of a filter that has doubled so often. They depend on the kind of the layout only.
fn bytes_on_heap(geometry: &Geometry, doublings: u32) -> usize {
    let Geometry {
        series, buckets, ..
    } = *geometry;
    let bytes = match (series.levels, series.counter_bits) {
        (0, 0) => RawFilter::<F15x4>::bytes_for,
        (0, _) => RawFilter::<C12x3>::bytes_for,
        (_, 0) => RawFilter::<Growing>::bytes_for,
        _ => RawFilter::<GrowingCounting<8>>::bytes_for,
    };
    bytes(buckets, series.table_levels().more, doublings)
}
