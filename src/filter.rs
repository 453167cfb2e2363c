//! The public filter: hashes items and passes them to the protocol of its layout.

mod batch;
mod expiring;
mod state;
mod time;

use crate::{
    error::InsertError,
    geometry::Geometry,
    hash::{SeededState, hash_of},
    lifetime::{Forever, Lifetime, Timing, Window},
    raw::ops::{Layouts, Ops},
};
pub use expiring::ExpiringFilter;
use std::{
    fmt,
    hash::{BuildHasher, Hash},
};

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
    #[cfg(guira_coherence)]
    pub fn fields(&self) -> Vec<crate::coherence::Field> {
        let mut fields = self.raw.fields();
        fields.push(crate::coherence::Field::of("filter", self));
        fields
    }

    /// An empty filter with this geometry; `None` if there is no memory for it.
    pub(crate) fn empty(hasher: S, geometry: &Geometry, window: Window) -> Option<Self> {
        let raw = T::Raw::new(geometry, window.epochs.into())?;
        Some(Self::of_parts(hasher, raw, window))
    }

    /// The filter of these parts. Its clock starts now.
    pub(crate) fn of_parts(hasher: S, raw: T::Raw, window: Window) -> Self {
        Self {
            hasher,
            raw,
            timing: T::Timing::start(window),
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

    /// The filter in its layout, for a write: items that are due have expired.
    #[inline(always)]
    pub(crate) fn raw_for_write(&self) -> &T::Raw {
        T::pass_time(&self.raw, &self.timing);
        &self.raw
    }

    pub(crate) fn geometry(&self) -> Geometry {
        let epochs = self.timing.epochs();
        Geometry {
            series: self.raw.series(),
            buckets: self.raw.buckets(),
            capacity: Geometry::standing_items(self.capacity, epochs),
            max_capacity: Geometry::standing_items(self.max_capacity, epochs),
        }
    }
}

/// Operations on hashes, for callers that already have the hash of an item.
///
/// All 64 bits of a hash must be as good as random, because the filter uses it as it is. Low bits make
/// the fingerprint, and high bits choose the buckets. `filter.insert(item)` is the same as
/// `filter.insert_hash(filter.hash_of(item))`.
impl<S, T: Lifetime> Filter<S, T> {
    /// [`insert`](Self::insert) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert_hash(hash)?;
    /// assert!(filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        self.raw_for_write().insert(hash)
    }

    /// [`insert_unique`](Self::insert_unique) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// assert_eq!(filter.insert_unique_hash(hash), Ok(true));
    /// assert_eq!(filter.insert_unique("ani"), Ok(false));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.raw_for_write().insert_unique(hash)
    }

    /// [`contains`](Self::contains) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// assert!(!filter.contains_hash(hash));
    /// filter.insert("ani")?;
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.raw.contains(hash)
    }

    /// [`remove`](Self::remove) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// assert!(filter.remove_hash(hash));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        self.raw_for_write().remove(hash)
    }

    /// [`count`](Self::count) with a hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hash_of("ani");
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count_hash(hash), 2);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        self.raw.count(hash)
    }
}

impl<S: BuildHasher, T: Lifetime> Filter<S, T> {
    /// The hash by which the filter knows `item`, for the operations on hashes.
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
    /// assert!(filter.contains_hash(hash));
    /// assert_ne!(hash, filter.hasher().hash_one("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn hash_of<Q: Hash + ?Sized>(&self, item: &Q) -> u64 {
        hash_of(&self.hasher, item)
    }

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
    /// * [`InsertError::Contended`]: other threads were in the way again and again, as happens if one
    ///   loses its processor during a relocation in these buckets. Try again.
    /// * [`InsertError::Memory`]: the filter has to grow, and the allocator refuses the memory.
    ///
    /// In an [`ExpiringFilter`] there is an exception. If an epoch begins during the call while another
    /// thread is changing the bucket of the copy, the call may add more than one copy. After an error
    /// a copy of this call may remain, and the item may be found for some epochs.
    #[inline]
    pub fn insert<Q: Hash + ?Sized>(&self, item: &Q) -> Result<(), InsertError> {
        self.insert_hash(self.hash_of(item))
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
    /// A new item can get `Ok(false)`, too: if an item of the same class is present. The
    /// probability is at most the [`false_positive_rate`](Self::false_positive_rate), up to
    /// `capacity` items. Choose a low rate if a repeat is dropped: at 0.1 %, a full filter drops
    /// one new coupon in a thousand.
    ///
    /// In an [`ExpiringFilter`] an item that has expired is absent. A repeat does not reset the time of
    /// the item: [`insert_or_refresh`](ExpiringFilter::insert_or_refresh) does. If epochs begin before
    /// the call ends, it refreshes the copy that it added. If it cannot, because another call is at
    /// work in that bucket or the copy is already dead, it adds a second copy. If there is no room for
    /// that either, the item expires early by these epochs, and the result is still `Ok(true)`. A live
    /// copy of a colliding item counts as the item: then none of the racing calls gets `Ok(true)`. With
    /// 9-bit fingerprints this is some 0.1 % of races in a full filter.
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
    pub fn insert_unique<Q: Hash + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hash_of(item))
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
    pub fn contains<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.contains_hash(self.hash_of(item))
    }

    /// Removes one copy of `item`. True if there was one.
    ///
    /// If an item has n copies, exactly n removes return true, no matter how many threads race.
    /// [Lock-free](crate#promises), O(1).
    ///
    /// Remove only items that were inserted: see [Removing](CuckooFilter#removing).
    /// In an [`ExpiringFilter`] they must not have expired. There the call removes the oldest copy that is
    /// live.
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
    pub fn remove<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.remove_hash(self.hash_of(item))
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
    pub fn count<Q: Hash + ?Sized>(&self, item: &Q) -> usize {
        self.count_hash(self.hash_of(item))
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
