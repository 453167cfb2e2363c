//! A filter that this process only reads.

use crate::{
    error::OpenError,
    file::{self, Access, Kind, Mapped},
    header::{Participants, Seats},
    map::Map,
};
use guira::{
    CuckooFilter, SeededState, Stats,
    shared::{Members, NUMBER_WORD, SEAT_WORD, Seat},
};
use std::{
    fmt,
    fs::File,
    hash::{BuildHasher, Hash},
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

/// A shared filter that this process only looks items up in.
///
/// It maps the file so that a store is impossible, and needs no permission to write it. It takes no seat,
/// and no lock: any number of processes can read a filter, and writers do not notice them. Lookups are
/// those of [`SharedFilter`](crate::SharedFilter): wait-free, and right beside writers and dead processes.
///
/// # What a reader cannot do
///
/// A snapshot, a digest and a merge scan the filter. A scan has to tell writers how far it is, so that no
/// item moves past it unseen, and a reader cannot write that down. So this type has no such methods. Let
/// a process that may write take a snapshot, and read that.
pub struct SharedReader<S = SeededState> {
    filter: CuckooFilter<S>,
    map: Arc<Map>,
    most_members: usize,
}

/// The processes, as a reader sees them: it has no seat, and never takes one.
struct Outside;

impl Members for Outside {
    fn seat(&self) -> Option<Seat> {
        None
    }

    fn is_alive(&self, _: usize) -> bool {
        true
    }

    fn repair_dead(&self, _: bool, _: &mut dyn FnMut(usize) -> bool) -> bool {
        false
    }
}

impl SharedReader {
    /// Opens the filter in a file for lookups.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// An [`OpenError`] describes what is wrong with the file. It is [`OpenError::Io`] on machines other
    /// than x86-64, ARM64 and RISC-V.
    ///
    /// ```
    /// # use guira::CuckooFilter;
    /// # use guira_shm::{SharedFilter, SharedReader};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let writer = unsafe { SharedFilter::create(&path, CuckooFilter::builder().capacity(100)) }?;
    /// // SAFETY: as above.
    /// let reader = unsafe { SharedReader::open(&path) }?;
    /// writer.insert("ani")?;
    /// assert!(reader.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(unsafe_code, reason = "the file must not be truncated")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::of_file(&file::open(path.as_ref(), Access::Read)?, SeededState::new)
    }

    /// Opens the filter behind a descriptor of a sealed memfd for lookups. The descriptor need not be
    /// writable, and is closed.
    ///
    /// # Errors
    ///
    /// * [`OpenError::NotSealed`]: the memory can be truncated, or the descriptor is not that of a memfd.
    /// * Other errors are as in [`open`](Self::open).
    pub fn from_memfd(descriptor: OwnedFd) -> Result<Self, OpenError> {
        Self::of_file(&file::sealed(descriptor)?, SeededState::new)
    }
}

impl<S: BuildHasher + 'static> SharedReader<S> {
    /// Like [`open`](SharedReader::open), for a filter with another hasher.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// As [`open`](SharedReader::open).
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn open_with_hasher(path: impl AsRef<Path>, hasher: S) -> Result<Self, OpenError> {
        Self::of_file(&file::open(path.as_ref(), Access::Read)?, |_| hasher)
    }

    /// Like [`from_memfd`](SharedReader::from_memfd), for a filter with another hasher.
    ///
    /// # Errors
    ///
    /// As [`from_memfd`](SharedReader::from_memfd).
    pub fn from_memfd_with_hasher(descriptor: OwnedFd, hasher: S) -> Result<Self, OpenError> {
        Self::of_file(&file::sealed(descriptor)?, |_| hasher)
    }

    fn of_file(file: &File, hasher: impl FnOnce(u64) -> S) -> Result<Self, OpenError> {
        let mapped = Mapped::new(file, Access::Read, Kind::Plain)?;
        // A reader has no seat, and counts nothing.
        let own: Box<[AtomicU64]> = [SEAT_WORD, NUMBER_WORD].map(|_| AtomicU64::new(0)).into();
        let place = mapped.place(Arc::new(Outside), mapped.map.clone(), Arc::new(own));
        Ok(Self {
            filter: mapped.filter(hasher, place)?,
            most_members: mapped.header.members,
            map: mapped.map,
        })
    }

    /// [`CuckooFilter::contains`].
    #[inline]
    #[must_use]
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.contains_hash(self.hasher().hash_one(item))
    }

    /// [`CuckooFilter::contains_hash`].
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.filter.contains_hash_shared(hash)
    }

    /// [`CuckooFilter::contains_batch`].
    pub fn contains_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        self.filter.contains_batch(items, results);
    }

    /// [`CuckooFilter::contains_hash_batch`].
    pub fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        self.filter.contains_hash_batch(hashes, results);
    }

    /// [`CuckooFilter::count`].
    #[must_use]
    pub fn count<T: Hash + ?Sized>(&self, item: &T) -> usize {
        self.filter.count(item)
    }

    /// [`CuckooFilter::count_hash`].
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        self.filter.count_hash(hash)
    }

    /// [`CuckooFilter::len`], which processes that died may have left a little off.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filter.len()
    }

    /// [`CuckooFilter::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// [`CuckooFilter::capacity`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.filter.capacity()
    }

    /// [`CuckooFilter::max_capacity`].
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.filter.max_capacity()
    }

    /// [`CuckooFilter::stats`]. The counters only count lookups of this reader.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.filter.stats()
    }

    /// [`CuckooFilter::hasher`].
    #[must_use]
    pub fn hasher(&self) -> &S {
        self.filter.hasher()
    }

    /// Returns how many processes share the filter. Readers are not counted.
    #[must_use]
    pub fn participants(&self) -> Participants {
        self.map.participants(self.most_members)
    }
}

impl<S> fmt::Debug for SharedReader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReader").finish_non_exhaustive()
    }
}
