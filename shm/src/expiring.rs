//! An expiring filter that several processes share.

use crate::{error::AttachError, filter::Shared};
use guira::{Expiring, ExpiringFilter, Hashable, InsertError, SeededState};
use std::{hash::BuildHasher, time::Duration};

/// An expiring filter that several processes share. Each process has its own `SharedExpiringFilter`.
///
/// Threads share it by reference, like an [`ExpiringFilter`], and its methods work like the methods of the
/// same names there. It has a fixed size. What [`SharedFilter`](crate::SharedFilter) says of killed and
/// child processes holds here, too.
///
/// # Time
///
/// All processes go by one clock: the time since the machine started, including the time in which it was
/// suspended. **Nothing expires unless a process calls [`tick`](SharedExpiringFilter::tick).** One process
/// is enough. If it dies, any other one may continue; several may call it at the same time.
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
/// Calls that refresh items or begin epochs count as calls in flight, too.
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
pub type SharedExpiringFilter<S = SeededState> = Shared<S, Expiring>;

/// Time.
impl<S: BuildHasher + 'static> SharedExpiringFilter<S> {
    /// The filter, in which this process has a seat.
    fn seated(&self) -> Result<&ExpiringFilter<S>, AttachError> {
        self.attach()?;
        Ok(self.as_filter())
    }

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
        self.seated().map(ExpiringFilter::tick)
    }

    /// [`ExpiringFilter::begin_due_epoch`]: [`tick`](Self::tick) without the sweep of the epoch that
    /// begins.
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn begin_due_epoch(&self) -> Result<bool, AttachError> {
        self.seated().map(ExpiringFilter::begin_due_epoch)
    }

    /// [`ExpiringFilter::advance`]: begins the next epoch, whatever the clock shows. False also if a
    /// stopped process keeps this one from a copy, as in [`tick`](Self::tick).
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn advance(&self) -> Result<bool, AttachError> {
        self.seated().map(ExpiringFilter::advance)
    }

    /// [`ExpiringFilter::sweep`].
    ///
    /// # Errors
    ///
    /// As [`tick`](Self::tick).
    pub fn sweep(&self) -> Result<bool, AttachError> {
        self.seated().map(ExpiringFilter::sweep)
    }

    /// [`ExpiringFilter::is_swept`]. A process that was stopped in a call can keep it false.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.as_filter().is_swept()
    }

    /// [`ExpiringFilter::epoch`].
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.as_filter().epoch()
    }

    /// [`ExpiringFilter::epoch_age`].
    #[must_use]
    pub fn epoch_age(&self) -> Option<Duration> {
        self.as_filter().epoch_age()
    }

    /// [`ExpiringFilter::epoch_length`].
    #[must_use]
    pub fn epoch_length(&self) -> Duration {
        self.as_filter().epoch_length()
    }

    /// [`ExpiringFilter::ttl`].
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.as_filter().ttl()
    }

    /// [`ExpiringFilter::epochs`].
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.as_filter().epochs()
    }
}

/// Items.
impl<S: BuildHasher + 'static> SharedExpiringFilter<S> {
    /// [`ExpiringFilter::refresh`]. A process that changes an item of the same buckets just then can also
    /// make the call add a copy.
    ///
    /// # Errors
    ///
    /// As [`ExpiringFilter::refresh`], and [`InsertError::TooManyInFlight`].
    #[inline]
    pub fn refresh<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.as_filter().refresh(item)
    }

    /// [`ExpiringFilter::insert_or_refresh`].
    ///
    /// # Errors
    ///
    /// As [`insert_unique`](Self::insert_unique) and [`refresh`](Self::refresh).
    #[inline]
    pub fn insert_or_refresh<Q: Hashable + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.as_filter().insert_or_refresh(item)
    }
}
