//! The public filter: hashes items and passes them to the protocol of its layout.

// The documentation has the methods in the order of these modules.
mod items;

mod time;

mod expiring;

mod batch;

use crate::{
    geometry::Geometry,
    hash::SeededState,
    lifetime::{Forever, Lifetime, Timing, Window},
    raw::any::{Layouts, Ops},
};
pub use expiring::ExpiringFilter;
use std::fmt;

/// A concurrent approximate set of hashable items.
///
/// A lookup answers "certainly absent" or "probably present". Threads share the filter by reference,
/// in an [`Arc`](std::sync::Arc) or in a `static`: all methods take `&self`, except
/// [`reset`](Self::reset) and [`shrink_to_fit`](Self::shrink_to_fit). No method waits for another
/// thread.
///
/// ```
/// use guira::CuckooFilter;
/// use std::thread;
///
/// let seen = CuckooFilter::with_capacity(10_000);
/// thread::scope(|scope| {
///     for worker in 0..4_u32 {
///         let seen = &seen;
///         scope.spawn(move || {
///             for request in 0..1_000_u32 {
///                 seen.insert(&(worker, request)).expect("4 000 items fit");
///             }
///         });
///     }
/// });
/// assert_eq!(seen.len(), 4_000);
/// assert!(seen.contains(&(3_u32, 999_u32)));
/// ```
///
/// # Items
///
/// An item is any value that implements [`Hash`]. The filter stores only a fingerprint of its hash,
/// so values with equal hashes are the same item. With the default hasher:
///
/// | values | same item? |
/// |---|---|
/// | `"a"` and `String::from("a")` | yes: an owned value hashes like its borrowed form |
/// | `"a"` and `b"a"` | no |
/// | `5_u32` and `5_u64` | yes: the width of an integer does not matter |
/// | `-1_i32` and `-1_i64` | no: the width of a negative integer matters |
///
/// # Copies
///
/// The filter is a multiset. Each [`insert`](Self::insert) adds a copy of its item, and an item
/// with n copies is present until n removes. At most 2 × [`bucket_slots`](Self::bucket_slots)
/// copies of one item fit. With [counters](crate::Builder::counter_bits), up to 1536 fit.
/// [`insert_unique`](Self::insert_unique) keeps one copy.
///
/// # Removing
///
/// Remove only items that were inserted. Items whose hashes agree in the fingerprint and the pair
/// of buckets form a *class*, and the filter cannot tell them apart. Removing an item that was
/// never inserted can therefore remove another item of its class, which becomes a false negative.
///
/// # Determinism
///
/// With a [seed](crate::Builder::seed), the same calls in one thread make the same filter, in any
/// thread and in any process. Each call returns the same result, and [`to_bytes`](Self::to_bytes)
/// returns the same bytes.
///
/// In a filter that [grows](crate::Builder::max_capacity), each thread starts to split at a
/// different place. Its bytes are the same if one thread makes both filters, or if each process
/// uses filters in one thread only.
///
/// # Keys from attackers
///
/// An attacker who knows the seed can choose keys that all have the same two buckets. When these
/// are full, the filter refuses further keys of the pair, and the few other items that have just
/// these buckets. No item is lost, and all other items are unaffected. In a filter that can grow,
/// such keys can also cause doublings too early, while at least 1/16 of its slots is in use. It can
/// become up to 16 times as large as its items need.
///
/// The default is a random seed, so keys cannot be prepared. An attacker can still read the seed
/// from a snapshot, or infer it from many answers: [`SeededState`] is not a cryptographic hash. If
/// this is a concern, pass a cryptographic hasher to the [builder](crate::Builder::hasher), such as
/// the standard library's `RandomState`. No hasher prevents false positives: an attacker who can
/// query the filter often enough finds absent items that it reports as present.
///
/// # Memory ordering
///
/// An insert that returned `Ok` happens before every call that finds its copy. What a thread wrote
/// before it inserted an item is therefore visible to a thread that found the item because of that
/// insert.
///
/// # Huge pages
///
/// A lookup in a filter larger than the caches waits for two words at random addresses. With pages
/// of 4 KiB it also waits for two entries of the page table. On Linux, pages of 2 MiB avoid that
/// without a change of the program:
///
/// | allocator | setting |
/// |---|---|
/// | glibc | start the program with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` |
/// | jemalloc | start it with `MALLOC_CONF=thp:always` (the crate `tikv-jemallocator` reads `_RJEM_MALLOC_CONF`) |
/// | any other | `echo always > /sys/kernel/mm/transparent_hugepage/enabled`, for all programs |
///
/// The first two require `madvise` or `always` in that file. With 32 million slots, batches of 1024
/// lookups were 1.56 times as fast, batches of inserts 1.35 times, and single lookups 1.1 times. A
/// huge page occupies 2 MiB of memory even if the program uses little of it.
pub type CuckooFilter<S = SeededState> = Filter<S, Forever>;

/// A concurrent approximate set of items, which stay in it for the [`Lifetime`] `T`.
///
/// Its two kinds are [`CuckooFilter`] and [`ExpiringFilter`].
pub struct Filter<S, T: Lifetime> {
    pub(crate) hasher: S,
    pub(crate) raw: T::Raw,
    pub(crate) timing: T::Timing,
    /// As the builder was asked; the rest of the geometry follows from the layout and the table.
    capacity: usize,
    max_capacity: usize,
}

impl<S, T: Lifetime> Filter<S, T> {
    /// What threads share of the filter.
    #[cfg(guira_faults)]
    pub fn fields(&self) -> Vec<crate::coherence::Field> {
        let mut fields = self.raw.fields();
        fields.push(crate::coherence::Field::of("filter", self));
        fields
    }

    /// An empty filter with this geometry, and the time that `start` makes; `None` if there is no memory
    /// for it.
    pub(crate) fn empty(
        hasher: S,
        geometry: &Geometry,
        window: Window,
        start: impl FnOnce(Window) -> T::Timing,
    ) -> Option<Self> {
        let raw = T::Raw::new(geometry, window.epochs.into())?;
        Some(Self::of_parts(hasher, raw, window, start(window)))
    }

    /// The filter of these parts.
    pub(crate) fn of_parts(hasher: S, raw: T::Raw, window: Window, timing: T::Timing) -> Self {
        Self {
            hasher,
            raw,
            timing,
            capacity: window.capacity,
            max_capacity: window.max_capacity,
        }
    }

    /// What the filter was asked to remember.
    pub(crate) fn window(&self) -> Window {
        Window {
            capacity: self.capacity,
            max_capacity: self.max_capacity,
            ttl: self.timing.ttl(),
            epochs: self.timing.epochs(),
        }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        let epochs = self.timing.epochs();
        Geometry {
            series: self.raw.series(),
            buckets: self.raw.buckets(),
            capacity: Geometry::standing(self.capacity, epochs),
            max_capacity: Geometry::standing(self.max_capacity, epochs),
        }
    }
}

impl<S, T: Lifetime> fmt::Debug for Filter<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut filter = f.debug_struct(T::NAME);
        filter
            .field("len", &self.len())
            .field("capacity", &self.capacity());
        if T::EXPIRES {
            filter
                .field("max_capacity", &self.max_capacity())
                .field("ttl", &self.timing.ttl())
                .field("epoch", &self.raw.epoch());
        }
        filter
            .field("fingerprint_bits", &self.fingerprint_bits())
            .field("buckets", &self.buckets())
            .finish_non_exhaustive()
    }
}
