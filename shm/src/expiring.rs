//! An expiring filter that several processes share.

use crate::{
    attached::{Attached, MEMBERS},
    error::{AttachError, NotAlone, OpenError},
    header::Participants,
};
use guira::{
    BatchError, Expiring, ExpiringBuilder, ExpiringFilter, InsertError, SeededState, Stats,
    shared::Repaired,
};
use std::{
    fmt,
    hash::{BuildHasher, Hash},
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
    time::Duration,
};

/// An expiring filter that several processes share. Each process has its own `SharedExpiringFilter`.
///
/// Threads share it by reference, like an [`ExpiringFilter`], and its methods work like the methods of the
/// same names there. It has a fixed size. What [`SharedFilter`](crate::SharedFilter) says of killed and
/// child processes holds here, too.
///
/// # Time
///
/// All processes go by one clock: the time since the machine started, including the time in which it was
/// suspended. **Nothing expires unless a process calls [`tick`](Self::tick).** One process is enough. If it
/// dies, any other one may continue; several may call it at the same time.
///
/// A filter in a file on disk is still there after a restart of the machine. Its current epoch continues
/// then, and the time in which the machine was off does not count: items live longer, never shorter.
///
/// # Killed and stopped processes
///
/// No item expires early, wherever a process dies, and no expired item is found again. To ensure the
/// latter, an epoch does not begin while a *stopped* process keeps others from a copy that would seem
/// live in that epoch. This can only be if the process has stopped among the few instructions that change
/// a bucket, for one epoch at least. (The fewer [epochs](guira::ExpiringBuilder::epochs) a TTL has, the
/// longer it must have stopped.) Items then live longer, until the process continues or is killed.
pub struct SharedExpiringFilter<S = SeededState> {
    shared: Attached<S, Expiring>,
}

impl SharedExpiringFilter {
    /// Opens the filter in a file, and takes a seat for this process.
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// * [`OpenError::DoesNotExpire`]: the filter in the file is one without time.
    /// * [`OpenError::TimeNamespace`]: the clock of this process differs from that of others.
    /// * The errors of [`SharedFilter::open`](crate::SharedFilter::open).
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let shared = Attached::open(path.as_ref(), SeededState::new)?;
        Ok(Self { shared })
    }

    /// Opens the filter in a file, or [creates](Self::create) it if no file has this name.
    ///
    /// As [`SharedFilter::open_or_create`](crate::SharedFilter::open_or_create).
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Different`]: the filter in the file has another TTL, capacity or other fingerprints
    ///   than the builder asks for.
    /// * The errors of [`open`](Self::open) and [`create`](Self::create), except
    ///   [`Exists`](OpenError::Exists).
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn open_or_create(
        path: impl AsRef<Path>,
        builder: ExpiringBuilder,
    ) -> Result<Self, OpenError> {
        let shared = Attached::open_or_create(path.as_ref(), builder)?;
        Ok(Self { shared })
    }

    /// Opens the filter behind a descriptor that another process has made by
    /// [`create_memfd`](Self::create_memfd), and takes a seat for this process.
    ///
    /// As [`SharedFilter::from_memfd`](crate::SharedFilter::from_memfd).
    ///
    /// # Errors
    ///
    /// * [`OpenError::NotSealed`]: the memory can be truncated, or the descriptor is not that of a memfd.
    /// * Other errors are as in [`open`](Self::open).
    pub fn from_memfd(descriptor: OwnedFd) -> Result<Self, OpenError> {
        let shared = Attached::from_memfd(descriptor, SeededState::new)?;
        Ok(Self { shared })
    }
}

impl<S: BuildHasher + Clone + 'static> SharedExpiringFilter<S> {
    /// Creates a file with an empty filter, for at most 63 processes.
    ///
    /// As [`SharedFilter::create`](crate::SharedFilter::create). All memory is allocated immediately.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Exists`]: a file with this name exists.
    /// * [`OpenError::Build`]: the builder's settings cannot be met.
    /// * [`OpenError::Grows`]: the builder asks for a filter that grows.
    /// * [`OpenError::TimeNamespace`]: the clock of this process differs from that of others.
    /// * [`OpenError::FileSystem`]: the file system is not supported.
    /// * [`OpenError::Io`]: the file cannot be created, or the file system has no room for it.
    ///
    /// ```
    /// use guira::ExpiringFilter;
    /// use guira_shm::SharedExpiringFilter;
    /// use std::time::Duration;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// let builder = ExpiringFilter::builder(Duration::from_secs(3600)).capacity(10_000);
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let here = unsafe { SharedExpiringFilter::create(&path, builder) }?;
    /// // Usually in another process.
    /// let there = unsafe { SharedExpiringFilter::open(&path) }?;
    /// assert_eq!(there.insert_unique("event 1"), Ok(true));
    /// assert_eq!(here.insert_unique("event 1"), Ok(false));
    /// // Several times an epoch, in at least one process.
    /// here.tick()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create(
        path: impl AsRef<Path>,
        builder: ExpiringBuilder<S>,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create(path.as_ref(), builder, MEMBERS)?;
        Ok(Self { shared })
    }

    /// [`create`](Self::create) for at most `max_processes` processes, from 1 to 255.
    ///
    /// As [`SharedFilter::create_for`](crate::SharedFilter::create_for). Here also calls that refresh
    /// items or begin epochs count as calls in flight.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), and [`OpenError::TooManyProcesses`].
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create_for(
        path: impl AsRef<Path>,
        builder: ExpiringBuilder<S>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create(path.as_ref(), builder, max_processes)?;
        Ok(Self { shared })
    }

    /// Creates a file with a copy of `filter`, for at most `max_processes` processes.
    ///
    /// So a snapshot becomes a shared filter, and a shared one gets a new file. Other threads may use
    /// `filter` during the call, which copies as [`try_clone`](ExpiringFilter::try_clone) does, and keeps
    /// the times of its items. The file gets its name when the copy is complete. O(buckets).
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// As [`create_for`](Self::create_for), and [`OpenError::Copy`].
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create_copy(
        path: impl AsRef<Path>,
        filter: &ExpiringFilter<S>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create_copy(path.as_ref(), filter, max_processes)?;
        Ok(Self { shared })
    }

    /// [`create_copy`](Self::create_copy) in memory that has no name, as
    /// [`create_memfd`](Self::create_memfd).
    ///
    /// # Errors
    ///
    /// As [`create_memfd_for`](Self::create_memfd_for), and [`OpenError::Copy`].
    pub fn create_memfd_copy(
        filter: &ExpiringFilter<S>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create_memfd_copy(filter, max_processes)?;
        Ok(Self { shared })
    }

    /// Like [`open`](SharedExpiringFilter::open), for a filter with another hasher.
    ///
    /// # Safety
    ///
    /// As [`SharedFilter::open`](crate::SharedFilter::open).
    ///
    /// # Errors
    ///
    /// As [`open`](SharedExpiringFilter::open).
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn open_with_hasher(path: impl AsRef<Path>, hasher: S) -> Result<Self, OpenError> {
        let shared = Attached::open(path.as_ref(), |_| hasher)?;
        Ok(Self { shared })
    }

    /// Creates an empty filter in memory that has no name, for at most 63 processes.
    ///
    /// As [`SharedFilter::create_memfd`](crate::SharedFilter::create_memfd).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Build`]: the builder's settings cannot be met.
    /// * [`OpenError::Grows`]: the builder asks for a filter that grows.
    /// * [`OpenError::TimeNamespace`]: the clock of this process differs from that of others.
    /// * [`OpenError::Io`]: there is no memory, or `/proc` is not mounted.
    pub fn create_memfd(builder: ExpiringBuilder<S>) -> Result<Self, OpenError> {
        Self::create_memfd_for(builder, MEMBERS)
    }

    /// [`create_memfd`](Self::create_memfd) for at most `max_processes` processes, from 1 to 255.
    ///
    /// # Errors
    ///
    /// As [`create_memfd`](Self::create_memfd), and [`OpenError::TooManyProcesses`].
    pub fn create_memfd_for(
        builder: ExpiringBuilder<S>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create_memfd(builder, max_processes)?;
        Ok(Self { shared })
    }

    /// Like [`from_memfd`](SharedExpiringFilter::from_memfd), for a filter with another hasher.
    ///
    /// # Errors
    ///
    /// As [`from_memfd`](SharedExpiringFilter::from_memfd).
    pub fn from_memfd_with_hasher(descriptor: OwnedFd, hasher: S) -> Result<Self, OpenError> {
        let shared = Attached::from_memfd(descriptor, |_| hasher)?;
        Ok(Self { shared })
    }

    /// The descriptor of a filter that has no path: `None` for the others.
    ///
    /// As [`SharedFilter::memfd`](crate::SharedFilter::memfd).
    #[must_use]
    pub fn memfd(&self) -> Option<BorrowedFd<'_>> {
        self.shared.memfd()
    }
}

/// Processes.
impl<S: BuildHasher + 'static> SharedExpiringFilter<S> {
    /// Takes a seat for this process, unless it has one.
    ///
    /// As [`SharedFilter::attach`](crate::SharedFilter::attach).
    ///
    /// # Errors
    ///
    /// Returns an [`AttachError`] if all seats are taken, or if the file cannot be opened again.
    pub fn attach(&self) -> Result<(), AttachError> {
        self.shared.attach()
    }

    /// Completes or undoes what dead processes have begun.
    ///
    /// Each [`tick`](Self::tick) that begins an epoch does this, too, and so do inserts that find no room.
    pub fn repair(&self) -> Repaired {
        self.shared.filter.repair_dead()
    }

    /// Returns how many processes share the filter.
    #[must_use]
    pub fn participants(&self) -> Participants {
        self.shared.participants()
    }

    /// Counts the copies, and makes [`len`](Self::len) exact again. O(buckets).
    ///
    /// As [`SharedFilter::recount`](crate::SharedFilter::recount).
    ///
    /// # Errors
    ///
    /// Returns [`NotAlone`] if another process has a seat.
    pub fn recount(&mut self) -> Result<usize, NotAlone> {
        self.shared.recount()
    }

    /// [`SharedFilter::was_closed_cleanly`](crate::SharedFilter::was_closed_cleanly).
    #[must_use]
    pub fn was_closed_cleanly(&self) -> bool {
        self.shared.was_closed_cleanly
    }
}

/// Time.
impl<S: BuildHasher + 'static> SharedExpiringFilter<S> {
    /// [`ExpiringFilter::tick`]: begins the next epoch if it is due, and sweeps dead copies. **Without
    /// these calls nothing expires.**
    ///
    /// The next call tries again if a stopped process keeps this one from a copy that would seem live in
    /// the next epoch.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach): a call that begins an epoch needs a seat.
    pub fn tick(&self) -> Result<bool, AttachError> {
        self.attach()?;
        Ok(self.shared.filter.tick())
    }

    /// [`ExpiringFilter::begin_due_epoch`]: [`tick`](Self::tick) without the sweep of the epoch that
    /// begins.
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn begin_due_epoch(&self) -> Result<bool, AttachError> {
        self.attach()?;
        Ok(self.shared.filter.begin_due_epoch())
    }

    /// [`ExpiringFilter::advance`]: begins the next epoch, whatever the clock shows. False also if a
    /// stopped process keeps this one from a copy, as in [`tick`](Self::tick).
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn advance(&self) -> Result<bool, AttachError> {
        self.attach()?;
        Ok(self.shared.filter.advance())
    }

    /// [`ExpiringFilter::sweep`].
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn sweep(&self) -> Result<bool, AttachError> {
        self.attach()?;
        Ok(self.shared.filter.sweep())
    }

    /// [`ExpiringFilter::is_swept`]. A process that was stopped in a call can keep it false.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.shared.filter.is_swept()
    }

    /// [`ExpiringFilter::epoch`].
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.filter.epoch()
    }

    /// [`ExpiringFilter::epoch_age`].
    #[must_use]
    pub fn epoch_age(&self) -> Option<Duration> {
        self.shared.filter.epoch_age()
    }

    /// [`ExpiringFilter::epoch_length`].
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.shared.filter.epoch_length()
    }

    /// [`ExpiringFilter::ttl`].
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.shared.filter.ttl()
    }

    /// [`ExpiringFilter::epochs`].
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.shared.filter.epochs()
    }
}

/// Items. Each method is that of [`ExpiringFilter`] with the same name.
impl<S: BuildHasher + 'static> SharedExpiringFilter<S> {
    /// [`ExpiringFilter::hash_of`].
    #[inline]
    #[must_use]
    pub fn hash_of<T: Hash + ?Sized>(&self, item: &T) -> u64 {
        self.shared.filter.hash_of(item)
    }

    /// [`ExpiringFilter::contains`].
    #[inline]
    #[must_use]
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.shared.filter.contains(item)
    }

    /// [`ExpiringFilter::contains_hash`].
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.shared.filter.contains_hash(hash)
    }

    /// [`ExpiringFilter::contains_batch`].
    pub fn contains_batch<T: Hash>(&self, items: &[T], results: &mut [bool]) {
        self.shared.filter.contains_batch(items, results);
    }

    /// [`ExpiringFilter::contains_hash_batch`].
    pub fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        self.shared.filter.contains_hash_batch(hashes, results);
    }

    /// [`ExpiringFilter::count`].
    #[must_use]
    pub fn count<T: Hash + ?Sized>(&self, item: &T) -> usize {
        self.shared.filter.count(item)
    }

    /// [`ExpiringFilter::count_hash`].
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        self.shared.filter.count_hash(hash)
    }

    /// [`ExpiringFilter::insert`].
    ///
    /// # Errors
    ///
    /// As [`SharedFilter::insert`](crate::SharedFilter::insert) and [`ExpiringFilter::insert`].
    #[inline]
    pub fn insert<T: Hash + ?Sized>(&self, item: &T) -> Result<(), InsertError> {
        self.shared.filter.insert(item)
    }

    /// [`ExpiringFilter::insert_hash`].
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        self.shared.filter.insert_hash(hash)
    }

    /// [`ExpiringFilter::insert_unique`]: of all racing calls in all processes, exactly one returns true.
    ///
    /// A process that is killed during the call may have inserted the item.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert). A call for an absent item needs a seat.
    #[inline]
    pub fn insert_unique<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.shared.filter.insert_unique(item)
    }

    /// [`ExpiringFilter::insert_unique_hash`].
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique).
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.shared.filter.insert_unique_hash(hash)
    }

    /// [`ExpiringFilter::insert_batch`].
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_batch<T: Hash>(&self, items: &[T]) -> Result<(), BatchError> {
        self.shared.filter.insert_batch(items)
    }

    /// [`ExpiringFilter::refresh`]. A process that changes an item of the same buckets just then can also
    /// make the call add a copy.
    ///
    /// # Errors
    ///
    /// As [`ExpiringFilter::refresh`], and [`InsertError::TooManyInFlight`].
    #[inline]
    pub fn refresh<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.shared.filter.refresh(item)
    }

    /// [`ExpiringFilter::refresh_hash`].
    ///
    /// # Errors
    ///
    /// As [`refresh`](Self::refresh).
    #[inline]
    pub fn refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.shared.filter.refresh_hash(hash)
    }

    /// [`ExpiringFilter::insert_or_refresh`].
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique) and [`refresh`](Self::refresh).
    #[inline]
    pub fn insert_or_refresh<T: Hash + ?Sized>(&self, item: &T) -> Result<bool, InsertError> {
        self.shared.filter.insert_or_refresh(item)
    }

    /// [`ExpiringFilter::insert_or_refresh_hash`].
    ///
    /// # Errors
    ///
    /// As [`insert_or_refresh`](Self::insert_or_refresh).
    #[inline]
    pub fn insert_or_refresh_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.shared.filter.insert_or_refresh_hash(hash)
    }

    /// [`ExpiringFilter::remove`].
    #[inline]
    pub fn remove<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.shared.filter.remove(item)
    }

    /// [`ExpiringFilter::remove_hash`].
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        self.shared.filter.remove_hash(hash)
    }

    /// [`ExpiringFilter::clear`].
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub fn clear(&self) -> Result<(), AttachError> {
        self.attach()?;
        self.shared.filter.clear();
        Ok(())
    }

    /// [`ExpiringFilter::write_to`]. [`ExpiringFilter::restore`] reads the snapshot into a filter of one
    /// process.
    ///
    /// # Errors
    ///
    /// The errors of [`ExpiringFilter::write_to`] and of [`attach`](Self::attach).
    pub fn write_to(&self, writer: impl io::Write) -> io::Result<()> {
        self.attach().map_err(io::Error::other)?;
        self.shared.filter.write_to(writer)
    }

    /// [`ExpiringFilter::len`].
    ///
    /// Exact at rest, unless processes have died: as [`SharedFilter::len`](crate::SharedFilter::len), or
    /// by the copies that a sweep was emptying. [`recount`](Self::recount) makes it exact.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.filter.len()
    }

    /// [`ExpiringFilter::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.filter.is_empty()
    }

    /// [`ExpiringFilter::capacity`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.filter.capacity()
    }

    /// [`ExpiringFilter::max_capacity`]: that of a filter that does not grow.
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.shared.filter.max_capacity()
    }

    /// [`ExpiringFilter::stats`]. The counters only count events in this process.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.filter.stats()
    }

    /// [`ExpiringFilter::hasher`].
    #[must_use]
    pub fn hasher(&self) -> &S {
        self.shared.filter.hasher()
    }

    /// This filter, for the methods of [`ExpiringFilter`] that `SharedExpiringFilter` does not have.
    ///
    /// As [`SharedFilter::as_filter`](crate::SharedFilter::as_filter). Its methods that take a clock of the
    /// caller begin no epoch: a shared filter goes by its own clock.
    #[must_use]
    pub fn as_filter(&self) -> &ExpiringFilter<S> {
        &self.shared.filter
    }

    /// The traces that operations have left, for tests.
    #[doc(hidden)]
    pub fn census(&self) -> guira::shared::Census {
        self.shared.filter.census()
    }
}

impl<S> fmt::Debug for SharedExpiringFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedExpiringFilter")
            .finish_non_exhaustive()
    }
}
