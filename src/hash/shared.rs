//! The default hasher, once for several filters.

use super::{SeededHasher, SeededState};
use std::{fmt, hash::BuildHasher, sync::Arc};

/// A [`SeededState`] that filters share.
///
/// Each clone refers to the same keys, so a filter with this hasher is 80 bytes smaller. That
/// matters for many small filters. It hashes as the [`SeededState`] does, and snapshots of the
/// filters have its seed: both hashers read each other's.
///
/// An attacker who learns the seed of one filter knows that of all filters that share it. Items
/// that are of one [class](crate::CuckooFilter#removing) in one of them are of one class in every
/// filter of the same size.
///
/// ```
/// use guira::{CuckooFilter, SeededState, SharedState};
///
/// let state = SharedState::from(SeededState::new(7));
/// let make = || CuckooFilter::builder().capacity(100).hasher(state.clone()).build();
/// let (one, other) = (make()?, make()?);
/// one.insert("ani")?;
/// assert!(!other.contains("ani"));
/// assert!(CuckooFilter::from_bytes(&one.to_bytes())?.contains("ani"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedState(Arc<SeededState>);

impl SharedState {
    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.0.seed()
    }
}

impl From<SeededState> for SharedState {
    fn from(state: SeededState) -> Self {
        Self(Arc::new(state))
    }
}

/// Omits the seed, as that of [`SeededState`].
impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedState").finish_non_exhaustive()
    }
}

impl BuildHasher for SharedState {
    type Hasher = SeededHasher;

    #[inline]
    fn build_hasher(&self) -> SeededHasher {
        self.0.build_hasher()
    }
}
