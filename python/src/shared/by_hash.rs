//! A hasher for a filter whose items are hashes already.

use super::Table;
use guira::{SeededHasher, SeededState};
use guira_shm::OpenError;
use std::{
    hash::{BuildHasher, Hasher},
    path::Path,
};

/// Hashes a `u64` to itself, and all else as [`SeededState`] does.
///
/// A file can only be opened with its own hasher, which is recognised by the hash of a probe. The probe
/// is a `u64` and a string, so this hasher passes as the [`SeededState`].
#[derive(Clone, Debug)]
pub(crate) struct ByHash(SeededState);

impl ByHash {
    /// Opens a file that has the default hasher.
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    pub(super) fn open(path: &Path) -> Result<Table, OpenError> {
        // SAFETY: the documentation of the class forbids to truncate the file. In Python there is no
        // other place to say so, as for `mmap` and `numpy.memmap`.
        let seeded = unsafe { guira_shm::SharedFilter::open(path) }?
            .hasher()
            .clone();
        // SAFETY: as above.
        unsafe { Table::open_with_hasher(path, Self(seeded)) }
    }

    pub(super) fn seeded(&self) -> &SeededState {
        &self.0
    }
}

impl BuildHasher for ByHash {
    type Hasher = ByHashHasher;

    #[inline]
    fn build_hasher(&self) -> ByHashHasher {
        ByHashHasher {
            hash: None,
            seeded: self.0.build_hasher(),
        }
    }
}

/// The [`Hasher`] of [`ByHash`].
#[derive(Debug)]
pub(crate) struct ByHashHasher {
    /// The `u64`, if nothing else was written.
    hash: Option<u64>,
    seeded: SeededHasher,
}

impl Hasher for ByHashHasher {
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.hash = Some(value);
        self.seeded.write_u64(value);
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.hash = None;
        self.seeded.write(bytes);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.hash = None;
        self.seeded.write_u8(value);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.hash.unwrap_or_else(|| self.seeded.finish())
    }
}
