//! header: an empty filter in 68 bytes.

use crate::{
    filter::Filter,
    lifetime::Lifetime,
    snapshot::header::{Header, with_checksum},
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// The bytes that describe an empty filter like this one.
    ///
    /// They contain its layout, its buckets before growth, its capacities, and the seed of the
    /// default hasher. They begin like a [snapshot](Self::write_to), and `docs/FORMAT.md` in the
    /// repository describes them.
    ///
    /// ```
    /// use guira::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1_000);
    /// filter.insert("ani")?;
    /// let like_it = CuckooFilter::from_header(&filter.header(), 1 << 20)?;
    /// assert!(like_it.is_empty());
    /// like_it.merge(&filter)?;
    /// assert_eq!(like_it.digest(), filter.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn header(&self) -> [u8; 68] {
        with_checksum(Header::of(self).to_bytes())
    }
}
