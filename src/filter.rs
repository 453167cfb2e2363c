//! The public filter: hashes items and hands them to the protocol of its layout.

mod batch;
mod extend;

use crate::{
    builder::Builder,
    error::InsertError,
    geometry::Geometry,
    hash::SeededState,
    raw::any::{AnyFilter, with_layout},
    stats::Stats,
};
use std::{
    fmt,
    hash::{BuildHasher, Hash},
};

/// A set that many threads share, which answers "surely not" or "probably".
///
/// All methods but [`clear`](Self::clear) take `&self`; share the filter in an
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
/// # Copies
///
/// The filter is a multiset: [`insert`](Self::insert) adds a copy each time,
/// and an item is present until as many copies are removed. Of one item at
/// most 2 × S copies fit, where S is the number of slots of a bucket (2 to 6).
/// [`insert_unique`](Self::insert_unique) keeps one copy.
///
/// # Removing
///
/// Only remove what was inserted. Two items whose hashes agree in the fingerprint
/// and the pair of buckets are of one *class*, and one to the filter, so removing an
/// item that was never inserted may remove another one, which then is a false negative.
///
/// # Keys from attackers
///
/// Whoever knows the seed can make keys that all have the same two buckets. Once
/// those are full, such keys are refused, and so are the few other items with just
/// these buckets (and by [`insert_unique`](Self::insert_unique) those that must use one of
/// the two); no item that is in is lost, and all others go on as before. They can
/// make a filter that can grow double too early, as long as a sixteenth of its slots
/// is used: a full one may so become sixteen times as large as its items need.
///
/// A random seed, the default, makes such keys as good as random, so they cannot be
/// prepared. It does not help against who reads the seed (it is in every snapshot), or
/// works it out from many answers: [`SeededState`] is not a cryptographic hash. For
/// such cases give the [builder](crate::Builder::hasher) one that is, such as the
/// standard library's `RandomState`. And no seed prevents false positives:
/// who may ask often enough finds items that are absent and said to be present.
///
/// # Memory ordering
///
/// An insert that returned `Ok` happens before every call that finds its copy:
/// what a thread wrote before it inserted is visible to a thread that found the
/// item present, if it was present because of that insert.
pub struct CuckooFilter<S = SeededState> {
    pub(crate) hasher: S,
    pub(crate) raw: AnyFilter,
    pub(crate) geometry: Geometry,
}

impl CuckooFilter {
    /// A filter for `capacity` distinct items with a false-positive rate of at
    /// most 0.1 % and a random seed, in about 2 bytes an item.
    ///
    /// # Panics
    ///
    /// If the capacity is too large or there is no memory for it; see
    /// [`Builder::build`] for the way that returns an error.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        match Self::builder().capacity(capacity).build() {
            Ok(filter) => filter,
            Err(error) => panic!("{error}"),
        }
    }

    /// The way to all other configurations.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new()
    }
}

/// The operations on hashes: for callers who have one already. All 64 bits must
/// be as good as random. `filter.insert(item)` is `filter.insert_hash(h)` with
/// `h = filter.hasher().hash_one(item)`.
impl<S> CuckooFilter<S> {
    /// [`insert`](Self::insert) by hash.
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
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_layout!(&self.raw, raw => raw.insert_unique(raw.class(hash)))
    }

    /// [`contains`](Self::contains) by hash.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        with_layout!(&self.raw, raw => raw.contains(raw.class(hash)))
    }

    /// [`remove`](Self::remove) by hash.
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        with_layout!(&self.raw, raw => raw.remove(raw.class(hash)))
    }

    /// [`count`](Self::count) by hash.
    #[inline]
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        with_layout!(&self.raw, raw => raw.count(raw.class(hash)))
    }
}

impl<S: BuildHasher> CuckooFilter<S> {
    /// Adds a copy of `item`. Lock-free; O(1) until the filter is nearly full.
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] if there is no room for it: no item has come or gone. (Some may
    /// be in the other one of their buckets now, and a filter that can grow may have grown.)
    /// With up to `capacity` distinct items this does not happen in practice, as long as no
    /// thread is stopped in the middle of a relocation at the very place, and no snapshot is
    /// being taken: see [`write_to`](Self::write_to). [`InsertError::Memory`] if a filter that
    /// can grow would have to, and the allocator refuses: no item has come or gone, either.
    #[inline]
    pub fn insert<T: Hash + ?Sized>(&self, item: &T) -> Result<(), InsertError> {
        self.insert_hash(self.hasher.hash_one(item))
    }

    /// Adds `item` unless it is present. `Ok(true)`: it was absent and now is in,
    /// added by this call. `Ok(false)`: it was present at a moment of the call.
    ///
    /// Of any number of threads that race to add one absent item, exactly one
    /// gets `Ok(true)`; none, only if all get an error. As always, "present" may be
    /// said of an item that only shares its class with one that is. A plain
    /// [`insert`](Self::insert) of the item that runs at the same time may add its copy
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
    /// Obstruction-free: two calls on one bucket can each undo the reservation
    /// of the other, but each first gives the other time to finish.
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] as for [`insert`](Self::insert) (it needs its slot in a
    /// certain one of the item's two buckets, so of a hundred thousand small filters of
    /// the widest fingerprints one may be too full below its capacity), and
    /// [`InsertError::TooManyInFlight`] if there is no free reservation token: the
    /// process has 512, and a call holds one, and [`InsertError::Memory`] as for `insert`.
    /// No item has come or gone in any case.
    #[inline]
    pub fn insert_unique<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hasher.hash_one(item))
    }

    /// True if `item` is present; false if it surely was not at some moment of
    /// the call. Wait-free: 4 loads, and 46 at most when relocations or calls of
    /// [`insert_unique`](Self::insert_unique) interfere; a filter that can grow adds
    /// those that find the word of each bucket.
    ///
    /// For an absent item the answer is true with the probability that
    /// [`false_positive_rate`](Self::false_positive_rate) gives for a full filter.
    #[inline]
    #[must_use]
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.contains_hash(self.hasher.hash_one(item))
    }

    /// Takes one copy of `item` out. True if there was one: of n copies, exactly
    /// n removes get true, however many race. Lock-free, O(1).
    ///
    /// Only remove what was inserted: see [Removing](Self#removing).
    #[inline]
    pub fn remove<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.remove_hash(self.hasher.hash_one(item))
    }

    /// The copies of `item`, and of items that share its class, at one moment of the
    /// call, as long as copies of the class are only moved meanwhile; beside inserts and
    /// removes of the class it may differ by those that overlap the call. Lock-free, O(1).
    #[inline]
    #[must_use]
    pub fn count<T: Hash + ?Sized>(&self, item: &T) -> usize {
        self.count_hash(self.hasher.hash_one(item))
    }
}

impl<S> CuckooFilter<S> {
    /// The number of copies in the filter. Exact while no thread writes, and
    /// otherwise off by at most the writes that overlap the call.
    #[must_use]
    pub fn len(&self) -> usize {
        with_layout!(&self.raw, raw => raw.len.sum())
    }

    /// True if [`len`](Self::len) is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct items that fit: as asked for; of a filter that can grow,
    /// what fits at its present size, which is at least that.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.geometry.capacity_at(self.level())
    }

    /// The number of distinct items that fit when the filter has grown as far as
    /// it may; for a fixed filter [`capacity`](Self::capacity).
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.geometry.max_capacity
    }

    /// Completes the doubling that has begun, if any: O(buckets). While inserts
    /// go on they do this piece by piece; this is for a filter that falls idle.
    pub fn finish_growth(&self) {
        with_layout!(&self.raw, raw => raw.table.sweep_all());
    }

    /// Used slots of all slots, from 0 to 1.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.len() as f64 / (self.buckets() * self.bucket_slots()) as f64
    }

    /// Bytes that the filter takes up, itself and on the heap; a hasher's own
    /// heap memory is not counted.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        size_of_val(self) + with_layout!(&self.raw, raw => raw.bytes())
    }

    /// The expected share of absent items for which the filter answers true when
    /// it holds [`capacity`](Self::capacity) items.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.geometry.rate_at(self.level())
    }

    /// The bits of a fingerprint.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        self.geometry.layout.fingerprint_bits
    }

    /// The slots of a bucket: half the copies of one item that fit.
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        self.geometry.layout.slots
    }

    /// The number of buckets, each of 8 bytes.
    #[must_use]
    pub fn buckets(&self) -> usize {
        with_layout!(&self.raw, raw => raw.table.words())
    }

    /// How often the filter has doubled.
    fn level(&self) -> u32 {
        with_layout!(&self.raw, raw => raw.table.level())
    }

    /// What the filter has been through. The counters are kept off the fast
    /// path and are approximate while threads are at work.
    #[must_use]
    pub fn stats(&self) -> Stats {
        with_layout!(&self.raw, raw => Stats {
            items: self.len(),
            load_factor: self.load_factor(),
            memory_usage: self.memory_usage(),
            level: self.level(),
            buckets_to_split: raw.table.words_to_split(),
            ..Stats::of(raw.counters.counts())
        })
    }

    /// The hasher of the filter's items.
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Removes everything; a filter that has grown has its first size again. The
    /// counters of [`stats`](Self::stats) go on. O(buckets).
    pub fn clear(&mut self) {
        with_layout!(&mut self.raw, raw => {
            raw.table.clear();
            raw.len.reset();
        });
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
