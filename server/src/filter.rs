//! A filter of a key, and what its client asked for.

use guira::{BuildError, CuckooFilter, InsertError};
use std::{
    io::{self, Write},
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use tokio::task::block_in_place;

/// The false-positive rate of a filter that was made without `ERROR`: RedisBloom's
/// first filter has 1.45 %.
pub const DEFAULT_RATE: f64 = 0.01;

/// A filter that grows has room for so many times its capacity at most.
const LARGEST_FACTOR: usize = 1024;

/// How long an insert waits, at most, for a snapshot that is in its way.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Inserts into a filter that wait at one time.
const WAITING: u32 = 16;

/// What `CF.RESERVE` was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Distinct items that must fit.
    pub capacity: usize,
    /// The false-positive rate, at every size.
    pub rate: f64,
    /// RedisBloom's slots of a bucket; this filter chooses its own.
    pub bucket_size: u8,
    /// RedisBloom's bound on relocations; this filter has its own.
    pub max_iterations: u16,
    /// 0: the filter does not grow.
    pub expansion: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            capacity: 1024,
            rate: DEFAULT_RATE,
            bucket_size: 2,
            max_iterations: 20,
            expansion: 1,
        }
    }
}

/// The value of a key.
#[derive(Debug)]
pub struct Filter {
    /// The filter itself.
    pub cuckoo: CuckooFilter,
    /// What its client asked for.
    pub options: Options,
    /// Items deleted so far.
    pub deleted: AtomicU64,
    /// Snapshots under way.
    snapshots: AtomicU32,
    /// Inserts that wait for one of them.
    waiting: AtomicU32,
    /// Buckets when its memory was last charged.
    pub(crate) charged_buckets: AtomicUsize,
    /// Bytes that its key takes up beside it.
    pub(crate) overhead: usize,
    /// Bytes that are charged for it; see [`crate::keyspace`].
    pub(crate) charged: AtomicUsize,
}

impl Filter {
    /// The empty filter that `options` ask for. One that grows can do so until
    /// it has room for 1024 times its capacity; for less if it needed more than
    /// `memory` bytes then, or if the rate could not be kept.
    ///
    /// # Errors
    ///
    /// Those of the library for a filter that does not grow at all.
    pub fn build(options: Options, memory: usize) -> Result<Self, BuildError> {
        let builder = || {
            CuckooFilter::builder()
                .capacity(options.capacity)
                .false_positive_rate(options.rate)
        };
        let limits = (options.expansion > 0).then(|| {
            let most = options.capacity.saturating_mul(LARGEST_FACTOR);
            let halved = |limit: &usize| Some(limit / 2);
            std::iter::successors(Some(most), halved)
                .take_while(|&limit| limit >= options.capacity.saturating_mul(2))
        });
        for limit in limits.into_iter().flatten() {
            if let Ok(cuckoo) = builder().max_capacity(limit).build()
                && grown_bytes(&cuckoo) <= memory
            {
                return Ok(Self::new(cuckoo, options, 0));
            }
        }
        Ok(Self::new(builder().build()?, options, 0))
    }

    /// Puts together what a save or a dump has taken apart.
    #[must_use]
    pub fn new(cuckoo: CuckooFilter, options: Options, deleted: u64) -> Self {
        Self {
            snapshots: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            charged_buckets: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            overhead: 0,
            cuckoo,
            options,
            deleted: AtomicU64::new(deleted),
        }
    }

    /// Adds a copy of `item`.
    ///
    /// # Errors
    ///
    /// As the library's; a `Full` that a snapshot may be the reason for comes late.
    #[inline]
    pub fn insert(&self, item: &[u8]) -> Result<(), InsertError> {
        self.cuckoo
            .insert(item)
            .or_else(|error| self.again(item, error, || self.cuckoo.insert(item)))
    }

    /// Adds `item` if it is absent; whether it was.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_unique(&self, item: &[u8]) -> Result<bool, InsertError> {
        self.cuckoo
            .insert_unique(item)
            .or_else(|error| self.again(item, error, || self.cuckoo.insert_unique(item)))
    }

    /// Tries to insert again where the filter should not be full.
    #[cold]
    fn again<T>(
        &self,
        item: &[u8],
        error: InsertError,
        insert: impl FnMut() -> Result<T, InsertError>,
    ) -> Result<T, InsertError> {
        if error != InsertError::Full || self.has_grown_full() || self.is_full_of(item) {
            return Err(error);
        }
        self.after_snapshots(insert)
    }

    /// Tries until snapshots are no longer in the way: they forbid relocations
    /// between the part that is written already and the one to come.
    fn after_snapshots<T>(
        &self,
        mut insert: impl FnMut() -> Result<T, InsertError>,
    ) -> Result<T, InsertError> {
        // Relaxed: the number only chooses who waits.
        let others = self.waiting.fetch_add(1, Ordering::Relaxed);
        let until = Instant::now() + PATIENCE;
        let result = loop {
            // What ends during the attempt, or begins, may have been in its way.
            let saved_before = self.is_being_saved();
            let result = insert();
            let goes_on = matches!(result, Err(InsertError::Full))
                && (saved_before || self.is_being_saved())
                && others < WAITING
                && Instant::now() < until;
            if !goes_on {
                break result;
            }
            // Others that share this thread must not wait, too.
            block_in_place(|| thread::sleep(PAUSE));
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Writes a snapshot; see [`CuckooFilter::write_to`].
    ///
    /// # Errors
    ///
    /// Those of `writer`.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        // Relaxed: it only tells inserts that waiting may help.
        self.snapshots.fetch_add(1, Ordering::Relaxed);
        let result = self.cuckoo.write_to(writer);
        // Release: who sees no snapshot sees that it is no longer in the way.
        self.snapshots.fetch_sub(1, Ordering::Release);
        result
    }

    /// True if there are as many copies of `item` as fit.
    #[must_use]
    pub fn is_full_of(&self, item: &[u8]) -> bool {
        self.cuckoo.count(item) >= 2 * self.cuckoo.bucket_slots()
    }

    /// True if there are as many items as it promises to hold.
    #[must_use]
    pub fn has_grown_full(&self) -> bool {
        self.cuckoo.len() >= self.cuckoo.max_capacity()
    }

    /// True while a snapshot is under way.
    #[must_use]
    pub fn is_being_saved(&self) -> bool {
        // Acquire: pairs with the Release of `write_to`.
        self.snapshots.load(Ordering::Acquire) > 0
    }

    /// Items deleted so far.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }

    /// True if it has grown since this was last asked. Cheap, for after every insert.
    pub(crate) fn has_grown(&self) -> bool {
        let buckets = self.cuckoo.buckets();
        // Relaxed: it only chooses who charges for it. By an exchange, so that one does: too
        // much would be charged until a second one has seen that.
        self.charged_buckets.load(Ordering::Relaxed) != buckets
            && self.charged_buckets.swap(buckets, Ordering::Relaxed) != buckets
    }
}

/// Bytes of the filter when it has grown as far as it may.
fn grown_bytes(cuckoo: &CuckooFilter) -> usize {
    let factor = cuckoo.max_capacity().div_ceil(cuckoo.capacity().max(1));
    cuckoo
        .memory_usage()
        .saturating_mul(factor.next_power_of_two())
}

impl Options {
    /// Bytes of its encoding.
    pub const BYTES: usize = 8 + 8 + 1 + 2 + 2;

    /// For saves and dumps.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..8].copy_from_slice(&(self.capacity as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rate.to_le_bytes());
        bytes[16] = self.bucket_size;
        bytes[17..19].copy_from_slice(&self.max_iterations.to_le_bytes());
        bytes[19..21].copy_from_slice(&self.expansion.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made; `None` if it cannot have.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let at = |start: usize| std::array::from_fn(|i| bytes[start + i]);
        let options = Self {
            capacity: u64::from_le_bytes(at(0)).try_into().ok()?,
            rate: f64::from_le_bytes(at(8)),
            bucket_size: bytes[16],
            max_iterations: u16::from_le_bytes([bytes[17], bytes[18]]),
            expansion: u16::from_le_bytes([bytes[19], bytes[20]]),
        };
        (options.rate > 0.0 && options.rate < 1.0).then_some(options)
    }
}
