//! What can go wrong. Each error is printed once: its text does not repeat that of its source.

mod build;
mod load;
mod snapshot;

pub use build::BuildError;
pub use load::{Difference, LoadError};
pub use snapshot::SnapshotError;
use std::{error::Error, fmt, time::Duration};

/// An item was not inserted. No other item was added or removed.
///
/// [`is_transient`](Self::is_transient) says whether it is worthwhile to try again.
///
/// ```
/// use guira::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(1_000);
/// let refused = (0..).find_map(|item: u64| filter.insert(&item).err());
/// assert_eq!(refused, Some(InsertError::Full));
///
/// let copies = CuckooFilter::with_capacity(1_000);
/// let refused = (0..).find_map(|_: u64| copies.insert("ani").err());
/// assert_eq!(refused, Some(InsertError::TooManyCopies));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// No room was found: both buckets of the item are full, and a search of bounded length found no
    /// chain of relocations that empties a slot.
    Full,
    /// Both buckets of the item are full of copies of the item, or of items that hash alike. Only a
    /// remove makes room.
    TooManyCopies,
    /// A scan of the filter is in progress, such as a snapshot, merge, digest or clear. It forbids
    /// relocations that might make room, and the insert cannot help it, because the allocator refuses
    /// the memory or another process scans. Transient: try again when it has ended.
    BlockedByScan,
    /// Both buckets of the item are full, and calls of other threads are in the way of every chain of
    /// relocations. Transient, and rare: a thread has lost its processor in the middle of a call.
    Contended,
    /// All reservation tokens are in use. Transient. Only `insert_unique` and `insert_or_refresh`
    /// need a token. The process has 512 for all its filters, and idle threads keep at most 128.
    TooManyInFlight,
    /// The filter has to grow, and the allocator refuses the memory. The filter remains usable at
    /// its size, and later inserts try again.
    Memory,
}

impl InsertError {
    /// True if the cause ends by itself: the same call may succeed soon, though nothing is removed.
    ///
    /// ```
    /// use guira::InsertError;
    ///
    /// assert!(InsertError::Contended.is_transient());
    /// assert!(!InsertError::Full.is_transient());
    /// ```
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::BlockedByScan | Self::Contended | Self::TooManyInFlight
        )
    }
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the filter is full",
            Self::TooManyCopies => "the filter is full of copies of this item",
            Self::BlockedByScan => "the filter has no room while it is being scanned: try again",
            Self::Contended => "other threads are in the way of this insert: try again",
            Self::TooManyInFlight => "all 512 tokens of insert_unique are in use",
            Self::Memory => "no memory for the filter to grow",
        })
    }
}

impl Error for InsertError {}

/// A batch of inserts ended at an item that was not inserted. Its source is the error of that item.
///
/// The items before it are decided, and this call did not insert it or any item after it. To continue
/// after it, pass the rest.
///
/// ```
/// use guira::CuckooFilter;
///
/// let filter = CuckooFilter::builder().capacity(100).build()?;
/// let items: Vec<u32> = (0..1_000).collect();
/// let (mut rest, mut refused) = (&items[..], 0);
/// while let Err(error) = filter.insert_batch(rest) {
///     refused += 1;
///     rest = &rest[error.index + 1..];
/// }
/// assert_eq!(filter.len(), items.len() - refused);
/// # Ok::<(), guira::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchError {
    /// The index of the item that was not inserted: the number of items that are decided.
    ///
    /// An item is decided if it is in the filter; for
    /// [`insert_unique_batch`](crate::CuckooFilter::insert_unique_batch), also if it was already
    /// present.
    pub index: usize,
    /// The error of this item.
    pub error: InsertError,
}

impl BatchError {
    /// The error in a longer batch. The failed batch is the part of it after `before` items.
    pub(crate) fn after(self, before: usize) -> Self {
        Self {
            index: before + self.index,
            ..self
        }
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of the batch was not inserted", self.index)
    }
}

impl Error for BatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// A filter was not merged into another one, or only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// Both filters are the same one: its copies would be merged again and again.
    SameFilter,
    /// The filters differ in a property on which the places of items depend.
    Geometry(Mismatch),
    /// The filters hash items differently: their seeds or their hashers differ.
    Hasher {
        /// The hash of a fixed probe in the filter into which the other one was to be merged.
        this: u64,
        /// The hash of the probe in the other filter.
        other: u64,
    },
    /// A copy was not inserted. The copies before it were, and nothing else was added or removed.
    Insert {
        /// The number of copies that were inserted.
        merged: usize,
        /// Why the next one was not: the source of this error.
        error: InsertError,
    },
    /// The filter could not be scanned to its end, so more of its copies may have to be removed.
    Scan {
        /// Why it could not: the source of this error.
        error: InsertError,
    },
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameFilter => f.write_str("a filter cannot be merged into itself"),
            Self::Geometry(mismatch) => mismatch.fmt(f),
            Self::Hasher { this, other } => write!(
                f,
                "the filters have different hashers: make both with one seed (the probe hashes to \
                 {this:#x} in this one and to {other:#x} in the other one)"
            ),
            Self::Insert { merged, .. } => {
                write!(f, "{merged} copies were merged, and the next one was not")
            }
            Self::Scan { .. } => f.write_str("the filter was not read to its end"),
        }
    }
}

impl Error for MergeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Insert { error, .. } | Self::Scan { error } => Some(error),
            _ => None,
        }
    }
}

/// A property in which two filters differ: `this`, into which the `other` was to be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // Each variant has the same two fields, which the line above describes.
pub enum Mismatch {
    /// The size of fingerprints in bits.
    FingerprintBits { this: u32, other: u32 },
    /// Whether words are semi-sorted, as with [`Prefer::Space`](crate::Prefer::Space).
    SemiSorted { this: bool, other: bool },
    /// Whether the filter can grow.
    Growth { this: bool, other: bool },
    /// The number of buckets before growth.
    Buckets { this: usize, other: usize },
    /// The TTL.
    Ttl { this: Duration, other: Duration },
    /// The number of epochs in a TTL.
    Epochs { this: u32, other: u32 },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, this, other): (_, &dyn fmt::Debug, &dyn fmt::Debug) = match self {
            Self::FingerprintBits { this, other } => ("fingerprint bits", this, other),
            Self::SemiSorted { this, other } => ("whether words are semi-sorted", this, other),
            Self::Growth { this, other } => ("whether they can grow", this, other),
            Self::Buckets { this, other } => ("buckets before growth", this, other),
            Self::Ttl { this, other } => ("TTL", this, other),
            Self::Epochs { this, other } => ("epochs of a TTL", this, other),
        };
        write!(
            f,
            "the filters differ in {what}: {this:?} in this one, {other:?} in the other one"
        )
    }
}
