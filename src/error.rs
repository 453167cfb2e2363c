//! What can go wrong, and the values it went wrong with.

use std::{io, time::Duration};
use thiserror::Error;

/// An item was not inserted; no other one has come or gone.
///
/// ```
/// use guira::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(1_000);
/// let refused = (0..).find_map(|item: u64| filter.insert(&item).err());
/// assert_eq!(refused, Some(InsertError::Full));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InsertError {
    /// No room was found for the item. There is no empty slot in its two buckets. A search of
    /// bounded length found no chain of relocations that empties one, or other threads were in
    /// the way of each that it found.
    #[error("the filter is full")]
    Full,
    /// The call found no free reservation token. As many calls of `insert_unique` are in
    /// flight in this process, all filters taken together, as there are tokens, or up to 128
    /// fewer: threads keep so many tokens for their next calls. `insert` does not need one.
    #[error("too many calls of insert_unique are in flight: there are 512 tokens")]
    TooManyInFlight,
    /// The filter would have to grow, and the allocator refused the memory. The filter
    /// goes on at its present size, and later inserts try again.
    #[error("no memory for the filter to grow")]
    Memory,
}

/// A batch of inserts ended at an item that got an error.
///
/// The items before it are decided, and none from it on was inserted by this call.
/// To go on behind it, hand in the rest.
///
/// ```
/// use guira::{BatchError, CuckooFilter};
///
/// let filter = CuckooFilter::builder().capacity(100).build()?;
/// let items: Vec<u32> = (0..1_000).collect();
/// let (mut rest, mut refused) = (&items[..], 0);
/// while let Err(BatchError { index, .. }) = filter.insert_batch(rest) {
///     refused += 1;
///     rest = &rest[index + 1..];
/// }
/// assert_eq!(filter.len(), items.len() - refused);
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("item {index} of the batch was not inserted: {error}")]
pub struct BatchError {
    /// The index of the item that got the error, so the number of items that are decided.
    ///
    /// Decided means: in the filter; of
    /// [`insert_unique_batch`](crate::CuckooFilter::insert_unique_batch), in the filter
    /// or found to be present.
    pub index: usize,
    /// The error of this item.
    #[source]
    pub error: InsertError,
}

/// A filter was not merged into another one, or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Both filters are one and the same: its copies would be merged again and again.
    #[error("a filter cannot be merged into itself")]
    SameFilter,
    /// An item has one place in this filter and another in the other one.
    #[error("the filters differ in {what}: {this} in this one, {other} in the one to be merged")]
    Geometry {
        /// What differs.
        what: &'static str,
        /// Its value in the filter into which the other one was to be merged.
        this: usize,
        /// Its value in the other filter.
        other: usize,
    },
    /// The filters hash their items differently: their seeds or their hashers differ.
    #[error(
        "the filters differ in their hashers: this one hashes the probe to {this:#x}, the one to \
         be merged to {other:#x}"
    )]
    Hasher {
        /// The probe's hash in the filter into which the other one was to be merged.
        this: u64,
        /// The probe's hash in the other filter.
        other: u64,
    },
    /// A copy was not inserted. Those before it are in, and nothing else has come or gone.
    #[error("{merged} copies were merged, and the next one was not: {error}")]
    Insert {
        /// How many copies were inserted.
        merged: usize,
        /// Why the next one was not.
        #[source]
        error: InsertError,
    },
}

/// A filter cannot be built as asked.
///
/// ```
/// use guira::{BuildError, CuckooFilter};
///
/// let error = CuckooFilter::builder().capacity(100).max_capacity(10).build();
/// let expected = BuildError::MaxCapacity { asked: 10, capacity: 100 };
/// assert_eq!(error.err(), Some(expected));
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The capacity needs more buckets than a filter can have.
    #[error(
        "capacity {asked} is too large: with {fingerprint_bits}-bit fingerprints at most {max} items fit"
    )]
    Capacity {
        /// The capacity asked for; of a filter that can grow, the largest one.
        asked: usize,
        /// The fingerprint bits asked for, or of the layout with the most room.
        fingerprint_bits: u32,
        /// The largest capacity allowed.
        max: usize,
    },
    /// The false-positive rate is no rate, or no layout reaches it.
    #[error("false-positive rate {asked} is not in the range [{min}, 1)")]
    FalsePositiveRate {
        /// The rate asked for.
        asked: f64,
        /// The lowest rate that any layout reaches.
        min: f64,
    },
    /// There is no layout with fingerprints of this size.
    #[error("{asked} fingerprint bits are not on offer: choose one of {allowed:?}")]
    FingerprintBits {
        /// The number of bits asked for.
        asked: u32,
        /// The numbers of bits that there are.
        allowed: Vec<u32>,
    },
    /// Fingerprints of the size asked for, or else the longest that such a filter can
    /// have, do not reach the rate asked for.
    #[error(
        "{fingerprint_bits}-bit fingerprints do not reach a false-positive rate of {asked}: allowed is [{min}, 1)"
    )]
    RateOfFingerprint {
        /// The rate asked for.
        asked: f64,
        /// The number of bits.
        fingerprint_bits: u32,
        /// The lowest rate that this fingerprint allows.
        min: f64,
    },
    /// A filter that may grow was asked to prefer space. Only one that does not grow can.
    #[error(
        "a filter that may grow, to max_capacity {max_capacity}, cannot prefer space: \
         it may prefer speed"
    )]
    GrowthInSpace {
        /// The maximal capacity asked for.
        max_capacity: usize,
    },
    /// The filter is to grow to less than it starts with.
    #[error("max_capacity {asked} is less than the capacity, {capacity}")]
    MaxCapacity {
        /// The maximal capacity asked for.
        asked: usize,
        /// The capacity asked for.
        capacity: usize,
    },
    /// No layout can double often enough at this rate.
    #[error(
        "a filter for {asked} items cannot grow to {max_capacity} at a false-positive rate of \
         {rate}: it must start with a capacity of at least {min}"
    )]
    Growth {
        /// The capacity asked for.
        asked: usize,
        /// The maximal capacity asked for.
        max_capacity: usize,
        /// The rate asked for.
        rate: f64,
        /// The least capacity from which the filter can grow as far.
        min: usize,
    },
    /// A TTL cannot have so many steps.
    #[error("a TTL of {asked} steps is not on offer: it has 1 to {max}")]
    Steps {
        /// The number of steps asked for.
        asked: u32,
        /// The largest number of steps; with the fingerprint bits asked for, if any.
        max: u32,
    },
    /// The steps of the TTL would be too short.
    #[error("a TTL of {asked:?} is too short for its steps: {min:?} at least")]
    Ttl {
        /// The TTL asked for.
        asked: Duration,
        /// The shortest TTL with so many steps.
        min: Duration,
    },
    /// The allocator refused the memory for the table.
    #[error("no memory for {buckets} buckets of 8 bytes")]
    Memory {
        /// Buckets of the table.
        buckets: usize,
    },
}

/// Bytes are not a snapshot, or not a header, that can be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The reader failed.
    #[error("the snapshot could not be read: {0}")]
    Io(#[from] io::Error),
    /// The bytes end before the snapshot does.
    #[error("the snapshot is truncated")]
    Truncated,
    /// The bytes go on after the snapshot.
    #[error("{count} bytes follow the snapshot")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// The bytes do not begin as a snapshot does.
    #[error("this is not a snapshot: it does not begin with the magic number")]
    Magic,
    /// The snapshot has a format that this release does not know.
    #[error("the snapshot has format version {found}; this release reads version {supported}")]
    Version {
        /// The version of the snapshot.
        found: u32,
        /// The version that can be read.
        supported: u32,
    },
    /// The bytes were changed.
    #[error(
        "the snapshot is damaged: its checksum is {stored:#010x}, that of its bytes {computed:#010x}"
    )]
    Checksum {
        /// The checksum in the snapshot.
        stored: u32,
        /// The checksum of the bytes before it.
        computed: u32,
    },
    /// The snapshot's filter hashed its items with another hasher.
    #[error(
        "the snapshot was made with another hasher: that one hashes the probe to {found:#x}, this one to \
         {expected:#x}; `read_from_with_hasher` takes a hasher of your own"
    )]
    Hasher {
        /// The probe's hash in the snapshot.
        found: u64,
        /// The probe's hash by the hasher at hand.
        expected: u64,
    },
    /// The snapshot describes no filter: in its header, or in what comes before its words.
    #[error("the snapshot describes an impossible filter: {what} {found}")]
    Geometry {
        /// What cannot be.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A bucket holds what no filter can have written.
    #[error("bucket {bucket} of plane {plane} cannot hold the word {bits:#018x}")]
    Word {
        /// The bucket.
        bucket: usize,
        /// The plane; 0 unless the filter has grown.
        plane: usize,
        /// The word.
        bits: u64,
    },
    /// The filter that a header describes is larger than the caller allows.
    #[error("the filter's buckets take up {asked} bytes: {allowed} are allowed")]
    TooLarge {
        /// The bytes of its buckets.
        asked: usize,
        /// The bytes allowed.
        allowed: usize,
    },
    /// The allocator refused the memory for the filter.
    #[error("no memory for {buckets} buckets of 8 bytes")]
    Memory {
        /// Buckets of the filter.
        buckets: usize,
    },
}
