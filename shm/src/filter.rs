//! A filter that several processes share.

use crate::{
    attached::{Attached, MEMBERS},
    error::{AttachError, NotAlone, OpenError},
    file::InFile,
    header::Participants,
};
use guira::{
    BatchError, Builder, Filter, Forever, Hashable, Hashed, InsertError, Lifetime, SeededState,
    Stats, shared::Repaired,
};
use std::{
    fmt,
    hash::BuildHasher,
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::Path,
};

/// A filter that several processes share: a [`SharedFilter`], or a
/// [`SharedExpiringFilter`](crate::SharedExpiringFilter).
///
/// Each process has its own `Shared`. Threads share it by reference, like a [`Filter`], and its methods
/// work like the methods of the same names there. A child process may use the `Shared` of its parent.
///
/// # Killed processes
///
/// A process may be killed at any instruction. The items that it has inserted stay, and its last call
/// has either taken effect completely or not at all. Other processes complete or undo an interrupted
/// relocation: [`repair`](Self::repair) looks for dead processes, and so does an insert that finds no
/// room. No call waits for a repair.
///
/// A process that is *stopped* is not dead. While it is stopped, no item moves between the buckets of
/// its last relocation, so inserts into a nearly full filter can fail.
///
/// # Child processes
///
/// A child has no seat until a call needs one. If none is free then, that call fails with
/// [`TooManyInFlight`](InsertError::TooManyInFlight), and a remove that meets a relocation waits for its
/// end. If that does not come soon, the remove returns false for a present item. A child that calls
/// [`attach`](Self::attach) first learns from an error that it has no seat.
pub struct Shared<S, T: Lifetime> {
    pub(crate) shared: Attached<S, T>,
}

/// A filter that several processes share, and whose items stay until they are removed.
pub type SharedFilter<S = SeededState> = Shared<S, Forever>;

impl<T: InFile> Shared<SeededState, T> {
    /// Opens the filter in a file, and takes a seat for this process.
    ///
    /// Takes microseconds, whatever the size of the filter. The buckets are not checked: with any
    /// contents, calls neither panic nor loop forever.
    ///
    /// # Safety
    ///
    /// While the result is in use, no program may truncate the file, or write to it except through this
    /// package. After a truncation, the next access ends the process with SIGBUS. After other writes,
    /// answers are wrong.
    ///
    /// # Errors
    ///
    /// * [`OpenError::Attach`]: all seats are taken.
    /// * [`OpenError::Expires`], [`OpenError::DoesNotExpire`]: the filter in the file is of the other kind.
    /// * [`OpenError::TimeNamespace`]: the filter expires, and the clock of this process differs from that
    ///   of others.
    /// * Other [`OpenError`]s describe what is wrong with the file.
    #[expect(unsafe_code, reason = "the file must not change in other ways")]
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let shared = Attached::open(path.as_ref(), SeededState::new)?;
        Ok(Self { shared })
    }

    /// Opens the filter in a file, or [creates](Self::create) it if no file has this name.
    ///
    /// Of all processes that do this at the same time, one creates the filter, and the others open it. The
    /// seed of the builder counts only for a new file.
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Different`]: the filter in the file has another capacity, TTL or other fingerprints
    ///   than the builder asks for.
    /// * The errors of [`open`](Self::open) and [`create`](Self::create), except
    ///   [`Exists`](OpenError::Exists).
    ///
    /// ```
    /// # use guira::CuckooFilter;
    /// # use guira_shm::SharedFilter;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// let builder = || CuckooFilter::builder().capacity(10_000);
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let one = unsafe { SharedFilter::open_or_create(&path, builder()) }?;
    /// // SAFETY: as above.
    /// let other = unsafe { SharedFilter::open_or_create(&path, builder()) }?;
    /// one.insert("ani")?;
    /// assert!(other.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn open_or_create(
        path: impl AsRef<Path>,
        builder: Builder<SeededState, T>,
    ) -> Result<Self, OpenError> {
        let shared = Attached::open_or_create(path.as_ref(), builder)?;
        Ok(Self { shared })
    }

    /// Opens the filter behind a descriptor that another process has made by
    /// [`create_memfd`](Self::create_memfd), and takes a seat for this process.
    ///
    /// The contents are as untrusted as those of a file: with any contents, calls neither panic nor loop
    /// forever. Processes that write to the memory in other ways make answers wrong, and nothing worse.
    ///
    /// # Errors
    ///
    /// * [`OpenError::NotSealed`]: the memory can be truncated, or the descriptor is not that of a memfd.
    /// * [`OpenError::Attach`]: all seats are taken.
    /// * Other [`OpenError`]s describe what is wrong with the contents.
    pub fn from_memfd(descriptor: OwnedFd) -> Result<Self, OpenError> {
        let shared = Attached::from_memfd(descriptor, SeededState::new)?;
        Ok(Self { shared })
    }
}

impl<S: BuildHasher + Clone + 'static, T: InFile> Shared<S, T> {
    /// Creates a file with an empty filter, for at most 63 processes.
    ///
    /// All memory of a fixed filter is allocated immediately. The file of a filter that
    /// [grows](guira::Builder::max_capacity) has its final length immediately, but each doubling allocates
    /// its part. Only the owner can read and write the file. Prefer tmpfs, for example `/dev/shm`: the
    /// kernel writes a file on disk back.
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Exists`]: a file with this name exists.
    /// * [`OpenError::Build`]: the builder's settings cannot be met.
    /// * [`OpenError::Counters`]: the builder asks for a filter with counters.
    /// * [`OpenError::Grows`]: the builder asks for an expiring filter that grows.
    /// * [`OpenError::TimeNamespace`]: as in [`open`](Self::open).
    /// * [`OpenError::FileSystem`]: the file system is not supported.
    /// * [`OpenError::Io`]: the file cannot be created, or the file system has no room for it.
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create(
        path: impl AsRef<Path>,
        builder: Builder<S, T>,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create(path.as_ref(), builder, MEMBERS)?;
        Ok(Self { shared })
    }

    /// [`create`](Self::create) for at most `max_processes` processes, from 1 to 255.
    ///
    /// At most 511 calls can relocate items, run `insert_unique` or scan the filter at the same time.
    /// Each process can make an equal share of these calls, and at most 32. Idle threads can reserve up to
    /// half of the share of their process.
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), and [`OpenError::TooManyProcesses`].
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create_for(
        path: impl AsRef<Path>,
        builder: Builder<S, T>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create(path.as_ref(), builder, max_processes)?;
        Ok(Self { shared })
    }

    /// Creates a file with a copy of `filter`, for at most `max_processes` processes.
    ///
    /// So a snapshot becomes a shared filter, and a shared one gets a new file. Other threads may use
    /// `filter` during the call, which copies as [`try_clone`](Filter::try_clone) does, with the times of the
    /// items. The file gets its name when the copy is complete. O(buckets).
    ///
    /// ```
    /// # use guira::CuckooFilter;
    /// # use guira_shm::SharedFilter;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// let saved = CuckooFilter::with_capacity(10_000);
    /// saved.insert("ani")?;
    /// let restored = CuckooFilter::from_bytes(&saved.to_bytes())?;
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let shared = unsafe { SharedFilter::create_copy(&path, &restored, 63) }?;
    /// assert!(shared.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// As [`create_for`](Self::create_for), and [`OpenError::Copy`].
    #[expect(unsafe_code, reason = "as `open`")]
    pub unsafe fn create_copy(
        path: impl AsRef<Path>,
        filter: &Filter<S, T>,
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
        filter: &Filter<S, T>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create_memfd_copy(filter, max_processes)?;
        Ok(Self { shared })
    }

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
        let shared = Attached::open(path.as_ref(), |_| hasher)?;
        Ok(Self { shared })
    }

    /// Creates an empty filter in memory that has no name, for at most 63 processes.
    ///
    /// Children share it, and other processes that get [its descriptor](Self::memfd), for example over a
    /// Unix socket; they call [`from_memfd`](Self::from_memfd). The memory is freed with the last
    /// process that uses the filter.
    ///
    /// The memory is sealed: it cannot be truncated. So this function is safe, unlike
    /// [`create`](Self::create).
    ///
    /// # Errors
    ///
    /// * [`OpenError::Build`]: the builder's settings cannot be met.
    /// * [`OpenError::Counters`], [`OpenError::Grows`], [`OpenError::TimeNamespace`]: as in
    ///   [`create`](Self::create).
    /// * [`OpenError::Io`]: there is no memory, or `/proc` is not mounted.
    ///
    /// ```
    /// use guira::CuckooFilter;
    /// use guira_shm::SharedFilter;
    ///
    /// let here = SharedFilter::create_memfd(CuckooFilter::builder().capacity(10_000))?;
    /// // Usually in another process, which has received the descriptor.
    /// let descriptor = here.memfd().unwrap().try_clone_to_owned()?;
    /// let there = SharedFilter::from_memfd(descriptor)?;
    /// there.insert("ani")?;
    /// assert!(here.contains("ani"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_memfd(builder: Builder<S, T>) -> Result<Self, OpenError> {
        Self::create_memfd_for(builder, MEMBERS)
    }

    /// [`create_memfd`](Self::create_memfd) for at most `max_processes` processes, from 1 to 255, which
    /// share the calls as those of [`create_for`](Self::create_for) do.
    ///
    /// # Errors
    ///
    /// As [`create_memfd`](Self::create_memfd), and [`OpenError::TooManyProcesses`].
    pub fn create_memfd_for(
        builder: Builder<S, T>,
        max_processes: usize,
    ) -> Result<Self, OpenError> {
        let shared = Attached::create_memfd(builder, max_processes)?;
        Ok(Self { shared })
    }

    /// Like [`from_memfd`](Self::from_memfd), for a filter with another hasher.
    ///
    /// # Errors
    ///
    /// As [`from_memfd`](Self::from_memfd).
    pub fn from_memfd_with_hasher(descriptor: OwnedFd, hasher: S) -> Result<Self, OpenError> {
        let shared = Attached::from_memfd(descriptor, |_| hasher)?;
        Ok(Self { shared })
    }

    /// The descriptor of a filter that has no path: `None` for the others.
    ///
    /// It is closed by `exec`. The filter needs it: if other code of the process closes it, the process
    /// can neither take a seat nor repair.
    #[must_use]
    pub fn memfd(&self) -> Option<BorrowedFd<'_>> {
        self.shared.memfd()
    }
}

/// Processes.
impl<S: BuildHasher + 'static, T: InFile> Shared<S, T> {
    /// Takes a seat for this process, unless it has one.
    ///
    /// Opening a filter takes a seat, but a child process has to take its own one. Its first call that
    /// relocates items, runs `insert_unique` or scans the filter does so. This method does it before, and
    /// reports a failure.
    ///
    /// # Errors
    ///
    /// Returns an [`AttachError`] if all seats are taken, or if the file cannot be opened again.
    pub fn attach(&self) -> Result<(), AttachError> {
        self.shared.attach()
    }

    /// Completes or undoes what dead processes have begun.
    ///
    /// Inserts do this automatically when they find no room, and so does a tick that begins an epoch.
    /// Call this method after a process was killed, for example when its parent notices.
    pub fn repair(&self) -> Repaired {
        self.shared.filter.repair_dead()
    }

    /// Returns how many processes share the filter.
    #[must_use]
    pub fn participants(&self) -> Participants {
        self.shared.participants()
    }

    /// Counts the items, and makes [`len`](Self::len) exact again. O(buckets).
    ///
    /// No other process may have a seat. The call does not notice a child that has not taken one yet.
    ///
    /// # Errors
    ///
    /// Returns [`NotAlone`] if another process has a seat.
    pub fn recount(&mut self) -> Result<usize, NotAlone> {
        self.shared.recount()
    }

    /// Returns false if a process was killed while it used the filter, before this `SharedFilter` was
    /// opened and after the last [`recount`](Self::recount).
    ///
    /// No item is lost then, but [`len`](Self::len) may be off. A power failure can damage a file on disk
    /// in a way that this method does not notice.
    ///
    /// ```
    /// # use guira::CuckooFilter;
    /// # use guira_shm::SharedFilter;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// # let builder = CuckooFilter::builder().capacity(10_000);
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let mut filter = unsafe { SharedFilter::open_or_create(&path, builder) }?;
    /// if !filter.was_closed_cleanly() {
    ///     filter.recount()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn was_closed_cleanly(&self) -> bool {
        self.shared.was_closed_cleanly
    }
}

/// Items. Each method is that of [`Filter`] with the same name.
impl<S: BuildHasher + 'static, T: InFile> Shared<S, T> {
    /// [`Filter::hash_of`].
    #[inline]
    #[must_use]
    pub fn hash_of<Q: Hashable + ?Sized>(&self, item: &Q) -> Hashed {
        self.shared.filter.hash_of(item)
    }

    /// [`Filter::contains`].
    #[inline]
    #[must_use]
    pub fn contains<Q: Hashable + ?Sized>(&self, item: &Q) -> bool {
        T::contains(&self.shared.filter, self.hash_of(item).0)
    }

    /// [`Filter::contains_batch`].
    pub fn contains_batch<Q: Hashable>(&self, items: &[Q], results: &mut [bool]) {
        self.shared.filter.contains_batch(items, results);
    }

    /// [`Filter::count`].
    #[must_use]
    pub fn count<Q: Hashable + ?Sized>(&self, item: &Q) -> usize {
        self.shared.filter.count(item)
    }

    /// [`Filter::insert`].
    ///
    /// # Errors
    ///
    /// * [`InsertError::TooManyInFlight`]: the insert needs a relocation, and this process has no seat,
    ///   or too many calls in flight.
    /// * [`InsertError::BlockedByScan`]: a scan by another process blocks the relocation.
    /// * The other errors of [`Filter::insert`].
    #[inline]
    pub fn insert<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<(), InsertError> {
        T::insert(&self.shared.filter, self.hash_of(item).0)
    }

    /// [`Filter::insert_unique`]: of all racing calls in all processes, exactly one returns true.
    ///
    /// A process that is killed during the call may have inserted the item.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert). A call for an absent item needs a seat.
    #[inline]
    pub fn insert_unique<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        T::insert_unique(&self.shared.filter, self.hash_of(item).0)
    }

    /// [`Filter::insert_batch`].
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_batch<Q: Hashable>(&self, items: &[Q]) -> Result<(), BatchError> {
        self.shared.filter.insert_batch(items)
    }

    /// [`Filter::remove`].
    #[inline]
    pub fn remove<Q: Hashable + ?Sized>(&self, item: &Q) -> bool {
        T::remove(&self.shared.filter, self.hash_of(item).0)
    }

    /// [`Filter::clear`].
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub fn clear(&self) -> Result<(), AttachError> {
        self.attach()?;
        self.shared.filter.clear();
        Ok(())
    }

    /// [`Filter::write_to`]. [`Filter::read_from`] reads the snapshot into a filter of one
    /// process.
    ///
    /// # Errors
    ///
    /// The errors of [`Filter::write_to`] and of [`attach`](Self::attach).
    pub fn write_to(&self, writer: impl io::Write) -> io::Result<()> {
        self.attach().map_err(io::Error::other)?;
        self.shared.filter.write_to(writer)
    }

    /// [`Filter::len`].
    ///
    /// Exact at rest, unless processes have died. Each dead process may have left it off by one, by
    /// the items of its current batch, or by the copies that a sweep was emptying.
    /// [`recount`](Self::recount) makes it exact.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.filter.len()
    }

    /// [`Filter::is_empty`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.filter.is_empty()
    }

    /// [`Filter::capacity`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.filter.capacity()
    }

    /// [`Filter::max_capacity`].
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.shared.filter.max_capacity()
    }

    /// [`Filter::stats`]. The counters only count events in this process.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.filter.stats()
    }

    /// [`Filter::hasher`].
    #[must_use]
    pub fn hasher(&self) -> &S {
        self.shared.filter.hasher()
    }

    /// This filter, for the methods of [`Filter`] that `Shared` does not have: other batches,
    /// `digest`, `try_clone`, and [`merge`](Filter::merge) or [`union_with`](Filter::union_with)
    /// of this filter with others.
    ///
    /// The calls named here scan the filter, and need a seat. In a child process, call
    /// [`attach`](Self::attach) first. A scan without a seat returns an error; `digest` has none to return,
    /// and panics. Methods that take a clock of the caller begin no epoch: a shared filter goes by its own.
    ///
    /// ```
    /// # use guira::CuckooFilter;
    /// # use guira_shm::SharedFilter;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen");
    /// // SAFETY: nothing else truncates or writes a file in this directory.
    /// let shared = unsafe { SharedFilter::create(&path, CuckooFilter::builder().capacity(100)) }?;
    /// shared.insert("ani")?;
    /// let copy: CuckooFilter = shared.as_filter().try_clone()?;
    /// assert_eq!(copy.digest(), shared.as_filter().digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn as_filter(&self) -> &Filter<S, T> {
        &self.shared.filter
    }

    /// The traces that operations have left, for tests.
    #[doc(hidden)]
    pub fn census(&self) -> guira::shared::Census {
        self.shared.filter.census()
    }
}

impl<S, T: Lifetime> fmt::Debug for Shared<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
