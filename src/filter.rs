//! The public filter: hashes items and hands them to the protocol of its layout.

mod batch;
mod shrink;
mod state;

use crate::{
    error::InsertError,
    geometry::Geometry,
    hash::SeededState,
    raw::any::{AnyFilter, with_layout},
};
use std::{
    fmt,
    hash::{BuildHasher, Hash},
};

/// A set that many threads share, which answers "surely not" or "probably".
///
/// All methods but [`reset`](Self::reset) take `&self`; share the filter in an
/// [`Arc`](std::sync::Arc) or a `static`. No method waits for another thread.
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
/// An item is any value that has [`Hash`]; the filter keeps only a fingerprint of its hash.
/// So two values are one item if they hash alike. With the default hasher:
///
/// | values | one item? |
/// |---|---|
/// | `"a"` and `String::from("a")` | yes, as an owned value and its borrowed form always are |
/// | `"a"` and `b"a"` | no |
/// | `5_u32` and `5_u64` | yes: the width of an integer does not matter |
/// | `-1_i32` and `-1_i64` | no: the width of a negative integer does matter |
///
/// # Copies
///
/// The filter is a multiset. Each [`insert`](Self::insert) adds a copy,
/// and an item is present until as many copies are removed.
/// At most 2 × [`bucket_slots`](Self::bucket_slots) copies of one item fit, which is 4 to 12.
/// [`insert_unique`](Self::insert_unique) keeps one copy.
///
/// # Removing
///
/// Only remove what was inserted. Two items whose hashes agree in the fingerprint
/// and the pair of buckets are of one *class*: to the filter they are one item. So to remove
/// an item that was never inserted may remove another one, which then is a false negative.
///
/// # Determinism
///
/// With a [seed](crate::Builder::seed), the same calls in one thread make the same filter: each
/// call has the same answer, and [`to_bytes`](Self::to_bytes) gives the same bytes.
/// This holds in each thread and in each process.
///
/// A filter that [grows](crate::Builder::max_capacity) needs one thing more, as threads split
/// different words first. Its bytes are the same if one thread makes both filters, or if
/// each process uses filters in one thread only.
///
/// # Keys from attackers
///
/// Whoever knows the seed can make keys that all have the same two buckets. Once
/// those are full, such keys are refused. So are the few other items with just
/// these buckets. No item that is in is lost, and all other items go on as before.
/// Such keys can also make a filter that can grow double too early, as long as a sixteenth
/// of its slots is used. So a full one may become sixteen times as large as its items need.
///
/// A random seed, the default, makes such keys as good as random, so they cannot be
/// prepared. It does not help against whoever reads the seed, which is in every snapshot, or
/// works it out from many answers: [`SeededState`] is not a cryptographic hash. For
/// such cases give the [builder](crate::Builder::hasher) one that is, such as the
/// standard library's `RandomState`. No seed prevents false positives:
/// whoever may ask often enough finds items that are absent and said to be present.
///
/// # Memory ordering
///
/// An insert that returned `Ok` happens before every call that finds its copy.
/// So what a thread wrote before it inserted an item is visible to a thread that found the
/// item present, if it was present because of that insert.
///
/// # Huge pages
///
/// A lookup in a filter that is larger than the caches waits for two words at random places, and
/// with pages of 4 KiB for two entries of the page table as well. Linux has pages of 2 MiB, which
/// a program need not be changed for:
///
/// | | |
/// |---|---|
/// | glibc's allocator | start the program with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` |
/// | jemalloc | start it with `MALLOC_CONF=thp:always` (the crate `tikv-jemallocator` reads `_RJEM_MALLOC_CONF`) |
/// | any other | `echo always > /sys/kernel/mm/transparent_hugepage/enabled`, for all programs |
///
/// The first two need `madvise` or `always` in that file. With 32 million slots, batches of 1024
/// lookups were 1.56 times as fast, batches of inserts 1.35 times, and single lookups 1.1 times.
/// A page in use takes 2 MiB of memory, however little of it is written.
pub struct CuckooFilter<S = SeededState> {
    pub(crate) hasher: S,
    pub(crate) raw: AnyFilter,
    pub(crate) geometry: Geometry,
}

impl<S> CuckooFilter<S> {
    /// The empty filter of this geometry; `None` if there is no memory for it.
    pub(crate) fn empty(hasher: S, geometry: Geometry) -> Option<Self> {
        Some(Self {
            raw: AnyFilter::new(&geometry)?,
            hasher,
            geometry,
        })
    }
}

/// The operations on hashes: for callers who have one already.
/// All 64 bits of a hash must be as good as random.
/// `filter.insert(item)` is `filter.insert_hash(h)` with
/// `h = filter.hasher().hash_one(item)`.
impl<S> CuckooFilter<S> {
    /// [`insert`](Self::insert) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hasher().hash_one("ani");
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
        with_layout!(&self.raw, raw => raw.insert(raw.class(hash)))
    }

    /// [`insert_unique`](Self::insert_unique) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hasher().hash_one("ani");
    /// assert_eq!(filter.insert_unique_hash(hash), Ok(true));
    /// assert_eq!(filter.insert_unique("ani"), Ok(false));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_layout!(&self.raw, raw => raw.insert_unique(raw.class(hash)))
    }

    /// [`contains`](Self::contains) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hasher().hash_one("ani");
    /// assert!(!filter.contains_hash(hash));
    /// filter.insert("ani")?;
    /// assert!(filter.contains_hash(hash));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        // The usual layouts first and in place: comparisons instead of a jump, and no call.
        match &self.raw {
            AnyFilter::F15x4(raw) => raw.contains(raw.class(hash)),
            AnyFilter::Growing(raw) => raw.contains(raw.class(hash)),
            _ => self.contains_in_other_layouts(hash),
        }
    }

    #[inline(never)]
    fn contains_in_other_layouts(&self, hash: u64) -> bool {
        with_layout!(&self.raw, raw => raw.contains_hash(hash))
    }

    /// [`remove`](Self::remove) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hasher().hash_one("ani");
    /// filter.insert("ani")?;
    /// assert!(filter.remove_hash(hash));
    /// assert!(!filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        with_layout!(&self.raw, raw => raw.remove(raw.class(hash)))
    }

    /// [`count`](Self::count) by hash.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use std::hash::BuildHasher;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hash = filter.hasher().hash_one("ani");
    /// filter.insert("ani")?;
    /// filter.insert("ani")?;
    /// assert_eq!(filter.count_hash(hash), 2);
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        with_layout!(&self.raw, raw => raw.count(raw.class(hash)))
    }
}

impl<S: BuildHasher> CuckooFilter<S> {
    /// Adds a copy of `item`. Lock-free. O(1) until the filter is nearly full, and bounded
    /// then.
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
    /// After an error no item has come or gone. Some may be in the other one of their
    /// buckets, and a filter that can grow may have grown.
    ///
    /// * [`InsertError::Full`]: there is no room for the item. With up to `capacity` distinct
    ///   items this does not happen in practice, with two exceptions: a thread is stopped in
    ///   the middle of a relocation at the very place; or during a snapshot, merge, digest or clear
    ///   of this filter there is no memory, as [`write_to`](Self::write_to) says.
    /// * [`InsertError::Memory`]: the filter would have to grow, and the allocator refuses.
    #[inline]
    pub fn insert<T: Hash + ?Sized>(&self, item: &T) -> Result<(), InsertError> {
        self.insert_hash(self.hasher.hash_one(item))
    }

    /// Adds `item` unless it is present.
    ///
    /// * `Ok(true)`: it was absent, and this call has added it.
    /// * `Ok(false)`: it was present at a moment of the call.
    ///
    /// Of any number of threads that race to add one absent item, exactly one
    /// gets `Ok(true)`. None does only if all get an error.
    /// As always, an item counts as present if one of its class is.
    /// A plain [`insert`](Self::insert) of the item that runs at the same time may add its copy
    /// beside this one's.
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
    /// Obstruction-free: two calls whose items share a bucket can each undo the reservation
    /// of the other, but each first gives the other time to finish.
    ///
    /// # Errors
    ///
    /// After an error no item has come or gone.
    ///
    /// * [`InsertError::Full`] and [`InsertError::Memory`] as for [`insert`](Self::insert).
    /// * [`InsertError::TooManyInFlight`]: there is no free reservation token. A call holds
    ///   one, and the process has 512, of which idle threads keep 128 at most.
    #[inline]
    pub fn insert_unique<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hasher.hash_one(item))
    }

    /// True if `item` is present, and false if it surely was not at some moment of
    /// the call. For an absent item the answer is wrongly true with a probability of at most
    /// [`false_positive_rate`](Self::false_positive_rate), as long as the filter holds no more
    /// than `capacity` items.
    ///
    /// Wait-free, O(1). At rest it takes 4 loads, and 46 at most when relocations or calls of
    /// [`insert_unique`](Self::insert_unique) interfere. In a filter that can grow, loads to
    /// find the word of each bucket come on top.
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
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.contains_hash(self.hasher.hash_one(item))
    }

    /// Takes one copy of `item` out. True if there was one: of n copies exactly
    /// n removes get true, however many race. Lock-free, O(1).
    ///
    /// Only remove what was inserted: see [Removing](Self#removing).
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
    pub fn remove<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.remove_hash(self.hasher.hash_one(item))
    }

    /// The number of copies of `item`, and of items that share its class. Lock-free, O(1).
    ///
    /// It is the number at one moment of the call, as long as copies of the class are only
    /// moved meanwhile. Beside inserts and removes of the class it may differ by those that
    /// overlap the call.
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
    pub fn count<T: Hash + ?Sized>(&self, item: &T) -> usize {
        self.count_hash(self.hasher.hash_one(item))
    }
}

impl<S> fmt::Debug for CuckooFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuckooFilter")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("fingerprint_bits", &self.fingerprint_bits())
            .field("buckets", &self.buckets())
            .finish_non_exhaustive()
    }
}
