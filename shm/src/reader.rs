//! Filters that this process only reads.

use crate::{
    error::OpenError,
    file::{self, Access, InFile, Mapped},
    header::{Participants, Seats},
    map::Map,
};
use guira::{
    Expiring, Filter, Forever, Hashable, Hashed, Lifetime, SeededState, Stats,
    shared::{Members, NUMBER_WORD, SEAT_WORD, Seat},
};
use std::{
    fmt,
    fs::File,
    hash::BuildHasher,
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

/// A shared filter that this process only looks items up in: a [`SharedReader`], or a
/// [`SharedExpiringReader`].
///
/// It maps the file so that a store is impossible, and needs no permission to write it. It takes no seat,
/// and no lock: any number of processes can read a filter, and writers do not notice them. Lookups are
/// those of [`Shared`](crate::Shared): wait-free, and right beside writers and dead processes.
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
///
/// # What a reader cannot do
///
/// A snapshot, a digest and a merge scan the filter. A scan has to tell writers how far it is, so that no
/// item moves past it unseen, and a reader cannot write that down. So this type has no such methods. Let
/// a process that may write take a snapshot, and read that.
pub struct Reader<S, T: Lifetime> {
    filter: Filter<S, T>,
    map: Arc<Map>,
    most_members: usize,
}

/// A shared filter that this process only looks items up in, and whose items stay until they are removed.
pub type SharedReader<S = SeededState> = Reader<S, Forever>;

/// A shared expiring filter that this process only looks items up in.
///
/// Like each [`Reader`], it needs no permission to write, takes no seat, and cannot scan.
///
/// ```
/// # use guira::ExpiringFilter;
/// # use guira_shm::{SharedExpiringFilter, SharedExpiringReader};
/// # use std::time::Duration;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("seen");
/// let builder = ExpiringFilter::builder(Duration::from_secs(3600)).epochs(4);
/// // SAFETY: nothing else truncates or writes a file in this directory.
/// let writer = unsafe { SharedExpiringFilter::create(&path, builder) }?;
/// // SAFETY: as above.
/// let reader = unsafe { SharedExpiringReader::open(&path) }?;
/// writer.insert("ani")?;
/// assert!(reader.contains("ani"));
/// // What `tick` does when an epoch is due.
/// for _ in 0..5 {
///     assert!(writer.advance()?);
/// }
/// assert!(!reader.contains("ani"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Time
///
/// A lookup goes by the epoch that writers have begun last, as in a
/// [`SharedExpiringFilter`](crate::SharedExpiringFilter). An item is found for at least the TTL, and an
/// expired one is not found again. Lookups do not go by the clock: an item that was inserted when an epoch
/// was late would expire early.
///
/// A reader begins no epoch. **If no writer calls [`tick`](crate::SharedExpiringFilter::tick), nothing
/// expires**, and items are found for as long as that lasts. [`epoch_age`](SharedExpiringReader::epoch_age)
/// shows it: while a writer ticks, it is at most [`epoch_length`](SharedExpiringReader::epoch_length) plus
/// the time between two ticks.
pub type SharedExpiringReader<S = SeededState> = Reader<S, Expiring>;

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

impl<T: InFile> Reader<SeededState, T> {
    /// Opens the filter in a file for lookups.
    ///
    /// # Safety
    ///
    /// As [`Shared::open`](crate::Shared::open).
    ///
    /// # Errors
    ///
    /// An [`OpenError`] describes what is wrong with the file. It is [`OpenError::Io`] on machines
    /// other than x86-64, ARM64 and RISC-V.
    #[expect(unsafe_code, reason = "the file must not be truncated")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::of_file(&file::open(path.as_ref(), Access::Read)?, SeededState::new)
    }

    /// Opens the filter behind a descriptor of a sealed memfd for lookups. The descriptor need not
    /// be writable, and is closed.
    ///
    /// # Errors
    ///
    /// * [`OpenError::NotSealed`]: the memory can be truncated, or the descriptor is not that of a
    ///   memfd.
    /// * Other errors are as in [`open`](Self::open).
    pub fn from_memfd(descriptor: OwnedFd) -> Result<Self, OpenError> {
        Self::of_file(&file::sealed(descriptor)?, SeededState::new)
    }
}

impl<S: BuildHasher + 'static, T: InFile> Reader<S, T> {
    /// Like [`open`](Self::open), for a filter with another hasher.
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn open_with_hasher(path: impl AsRef<Path>, hasher: S) -> Result<Self, OpenError> {
        Self::of_file(&file::open(path.as_ref(), Access::Read)?, |_| hasher)
    }

    /// Like [`from_memfd`](Self::from_memfd), for a filter with another hasher.
    ///
    /// # Errors
    ///
    /// As [`from_memfd`](Self::from_memfd).
    pub fn from_memfd_with_hasher(descriptor: OwnedFd, hasher: S) -> Result<Self, OpenError> {
        Self::of_file(&file::sealed(descriptor)?, |_| hasher)
    }

    fn of_file(file: &File, hasher: impl FnOnce(u64) -> S) -> Result<Self, OpenError> {
        let mapped = Mapped::new::<T>(file, Access::Read)?;
        // A reader has no seat, and counts nothing.
        let own: Box<[AtomicU64]> = [SEAT_WORD, NUMBER_WORD].map(|_| AtomicU64::new(0)).into();
        let place = mapped.place(Arc::new(Outside), mapped.map.clone(), Arc::new(own));
        Ok(Self {
            filter: T::filter(&mapped, hasher, place)?,
            most_members: mapped.header.members,
            map: mapped.map,
        })
    }

    /// [`Filter::hash_of`].
    #[inline]
    #[must_use]
    pub fn hash_of<Q: Hashable + ?Sized>(&self, item: &Q) -> Hashed {
        self.filter.hash_of(item)
    }

    /// [`Filter::contains`].
    #[inline]
    #[must_use]
    pub fn contains<Q: Hashable + ?Sized>(&self, item: &Q) -> bool {
        T::contains(&self.filter, self.hash_of(item).0)
    }

    /// [`Filter::contains_batch`].
    pub fn contains_batch<Q: Hashable>(&self, items: &[Q], results: &mut [bool]) {
        self.filter.contains_batch(items, results);
    }

    /// [`Filter::count`].
    #[must_use]
    pub fn count<Q: Hashable + ?Sized>(&self, item: &Q) -> usize {
        self.filter.count(item)
    }

    /// [`Filter::len`], which processes that died may have left a little off.
    #[must_use]
    pub fn len(&self) -> usize {
        self.filter.len()
    }

    /// [`Filter::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// [`Filter::capacity`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.filter.capacity()
    }

    /// [`Filter::max_capacity`].
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.filter.max_capacity()
    }

    /// [`Filter::stats`]. The counters only count lookups of this reader.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.filter.stats()
    }

    /// [`Filter::hasher`].
    #[must_use]
    pub fn hasher(&self) -> &S {
        self.filter.hasher()
    }

    /// The filter, for calls that this type does not have.
    ///
    /// # Safety
    ///
    /// The memory is not writable: no call may change the filter, or scan it.
    #[doc(hidden)]
    #[expect(unsafe_code, reason = "the memory is mapped for reading")]
    #[must_use]
    pub unsafe fn as_filter(&self) -> &Filter<S, T> {
        &self.filter
    }

    /// Returns how many processes share the filter. Readers are not counted.
    #[must_use]
    pub fn participants(&self) -> Participants {
        self.map.participants(self.most_members)
    }
}

impl<S, T: Lifetime> fmt::Debug for Reader<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// Time, as writers let it pass.
impl<S: BuildHasher + 'static> SharedExpiringReader<S> {
    /// [`Filter::is_swept`].
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.filter.is_swept()
    }

    /// [`Filter::epoch`]: the last one that a writer has begun.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.filter.epoch()
    }

    /// [`Filter::epoch_age`], by the clock of the writers. If it is much more than
    /// [`epoch_length`](Self::epoch_length), no writer ticks, or a stopped process keeps them from the next
    /// epoch.
    #[must_use]
    pub fn epoch_age(&self) -> Option<Duration> {
        self.filter.epoch_age()
    }

    /// [`Filter::epoch_length`].
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.filter.epoch_length()
    }

    /// [`Filter::ttl`].
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.filter.ttl()
    }

    /// [`Filter::epochs`].
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.filter.epochs()
    }
}
