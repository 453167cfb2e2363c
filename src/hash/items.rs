//! The hashes of common items, stated without the standard library's `Hash`.

use super::{SeededState, absorb, hash};

/// What a string absorbs after its bytes. UTF-8 has no such byte.
const END_OF_STRING: u64 = 0xff;

/// The hashes of items that programs in other languages share with Rust. [The snapshot
/// format](https://github.com/guira-rs/guira/blob/main/docs/FORMAT.md#hashers) defines them byte by
/// byte, and they never change. Each equals what [`BuildHasher::hash_one`] returns for the same
/// item, so that either finds what the other one inserted.
///
/// [`BuildHasher::hash_one`]: std::hash::BuildHasher::hash_one
impl SeededState {
    /// The hash of a string.
    ///
    /// ```
    /// use guira::{CuckooFilter, Hashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert(&Hashed(filter.hasher().hash_str("ani")))?;
    /// assert!(filter.contains("ani"));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn hash_str(&self, item: &str) -> u64 {
        let state = absorb(0, hash(item.as_bytes(), self.secrets), self.keys);
        absorb(state, END_OF_STRING, self.keys)
    }

    /// The hash of a slice of bytes, which differs from that of a string of the same bytes.
    ///
    /// ```
    /// use guira::{CuckooFilter, Hashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert(&Hashed(filter.hasher().hash_bytes(&[1, 2, 3])))?;
    /// assert!(filter.contains(&[1_u8, 2, 3]));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn hash_bytes(&self, item: &[u8]) -> u64 {
        let state = absorb(0, item.len() as u64, self.keys);
        absorb(state, hash(item, self.secrets), self.keys)
    }

    /// The hash of an unsigned integer of up to 64 bits.
    ///
    /// ```
    /// use guira::{CuckooFilter, Hashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert(&Hashed(filter.hasher().hash_u64(5)))?;
    /// assert!(filter.contains(&5_u64) && filter.contains(&5_u8));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn hash_u64(&self, item: u64) -> u64 {
        absorb(0, item, self.keys)
    }

    /// The hash of a signed integer of 64 bits: that of its two's complement as a `u64`.
    ///
    /// ```
    /// use guira::{CuckooFilter, Hashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert(&Hashed(filter.hasher().hash_i64(-5)))?;
    /// assert!(filter.contains(&-5_i64));
    /// # Ok::<(), guira::InsertError>(())
    /// ```
    #[inline]
    #[must_use]
    pub const fn hash_i64(&self, item: i64) -> u64 {
        self.hash_u64(item as u64)
    }
}
