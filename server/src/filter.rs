//! A filter of a key, and what its client asked for.

use crate::keyspace::now;
use guira::{BuildError, Builder, CuckooFilter, InsertError, SnapshotError};
use std::{
    io::{self, Write},
    sync::atomic::{AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use thiserror::Error;
use tokio::task::block_in_place;

/// The false-positive rate of a filter that was made without `ERROR`: RedisBloom's
/// first filter has 1.45 %.
pub const DEFAULT_RATE: f64 = 0.01;

/// A filter that grows has room for so many times its capacity, unless its client asked for more.
///
/// Fingerprints are a bit longer for each doubling to come, so at every size before the last one
/// there are fewer of them in a bucket. A filter for 4000 items that can grow to 4 million has then
/// 14.2 bits an item; one that could grow twice as far, 28.5.
const LARGEST_FACTOR: usize = 1024;

/// A filter that grows is to start with so many times the buckets of a fixed one, at most.
const START_FACTOR: usize = 5;

/// Bytes of a bucket, and the most items that it holds in any layout.
const BUCKET_BYTES: usize = 8;
const BUCKET_SLOTS: usize = 6;

/// Where a filter's header says how often the filter can double: see `docs/FORMAT.md`.
const DOUBLINGS: usize = 14;

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

/// How far a filter grows, and with which fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Items at its full size; `None`: its size is fixed.
    max_capacity: Option<usize>,
    /// Bits of a fingerprint; `None`: as the library chooses.
    fingerprint_bits: Option<u32>,
}

/// A filter cannot grow as asked.
#[derive(Debug, Error)]
pub enum GrowthError {
    /// The library refused.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// It would need too much memory when it has grown.
    #[error("the filter would grow to {needed} bytes")]
    Memory {
        /// Bytes of the filter then, at least.
        needed: usize,
    },
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
    pub(crate) overhead: AtomicU32,
    /// Changes of it that somebody watched; see [`crate::keyspace`].
    pub(crate) changes: AtomicU32,
    /// When its key expires, in milliseconds since 1970; 0 for never.
    pub(crate) deadline: AtomicI64,
    /// Bytes that are charged for it; see [`crate::keyspace`].
    pub(crate) charged: AtomicUsize,
}

/// There is no memory for a copy of a filter.
#[derive(Debug, Error)]
pub enum DuplicateError {
    /// Nor for a snapshot.
    #[error("there is no memory for a snapshot of the filter: {0}")]
    Snapshot(#[from] io::Error),
    /// For what the snapshot holds.
    #[error("the filter could not be copied: {0}")]
    Copy(#[from] SnapshotError),
}

/// A vector of bytes that refuses them where there is no memory, and does not abort.
struct Fallible(Vec<u8>);

impl Write for Fallible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .try_reserve(bytes.len())
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Filter {
    /// The empty filter that `options` ask for, which grows as `growth` says.
    ///
    /// # Errors
    ///
    /// What the library refuses.
    pub fn build(options: Options, growth: Growth) -> Result<Self, BuildError> {
        Ok(Self::new(growth.builder(&options).build()?, options, 0))
    }

    /// Puts together what a save or a dump has taken apart.
    #[must_use]
    pub fn new(cuckoo: CuckooFilter, options: Options, deleted: u64) -> Self {
        Self {
            snapshots: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            charged_buckets: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            overhead: AtomicU32::new(0),
            changes: AtomicU32::new(0),
            deadline: AtomicI64::new(0),
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

    /// A copy of it, which takes a snapshot's memory meanwhile.
    ///
    /// # Errors
    ///
    /// [`DuplicateError`] if there is no memory for it.
    pub fn duplicate(&self) -> Result<Self, DuplicateError> {
        let mut snapshot = Fallible(Vec::new());
        self.write_to(&mut snapshot)?;
        let cuckoo = CuckooFilter::from_bytes(&snapshot.0)?;
        Ok(Self::new(cuckoo, self.options, self.deleted()))
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

    /// When its key expires, in milliseconds since 1970.
    #[must_use]
    pub fn deadline(&self) -> Option<i64> {
        Some(self.deadline.load(Ordering::Relaxed)).filter(|&at| at != 0)
    }

    /// True if its key has expired.
    #[inline]
    #[must_use]
    pub fn has_expired(&self) -> bool {
        self.deadline().is_some_and(|at| at <= now())
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
    let first = BUCKET_BYTES * cuckoo.buckets();
    let others = cuckoo.memory_usage() - first;
    (first << cuckoo.header()[DOUBLINGS]).saturating_add(others)
}

impl Growth {
    const NONE: Self = Self {
        max_capacity: None,
        fingerprint_bits: None,
    };

    /// Up to so many items.
    ///
    /// # Errors
    ///
    /// [`GrowthError`] if that cannot be, or needs more than `memory` bytes.
    pub fn up_to(
        max_capacity: usize,
        options: &Options,
        memory: usize,
    ) -> Result<Self, GrowthError> {
        // The least that it can need, before anything is allocated.
        let needed = max_capacity / BUCKET_SLOTS * BUCKET_BYTES;
        if needed > memory {
            return Err(GrowthError::Memory { needed });
        }
        let growth = Self {
            max_capacity: Some(max_capacity),
            ..Self::NONE
        };
        match grown_bytes(&growth.builder(options).build()?) {
            needed if needed > memory => Err(GrowthError::Memory { needed }),
            _ => Ok(growth),
        }
    }

    /// As far as `LARGEST_FACTOR` times the capacity, the rate and `memory` bytes allow.
    ///
    /// # Errors
    ///
    /// What the library refuses even if the size is fixed.
    pub fn furthest(options: &Options, memory: usize) -> Result<Self, BuildError> {
        let fixed = Self::NONE.builder(options).build()?;
        if options.expansion == 0 {
            return Ok(Self::NONE);
        }
        let mut most = options
            .capacity
            .saturating_mul(LARGEST_FACTOR)
            .min(memory / BUCKET_BYTES * BUCKET_SLOTS);
        while most >= options.capacity.saturating_mul(2) {
            let growth = Self {
                max_capacity: Some(most),
                ..Self::NONE
            };
            let Ok(cuckoo) = growth.builder(options).build() else {
                most /= 2;
                continue;
            };
            let grown = grown_bytes(&cuckoo);
            if grown <= memory {
                return Ok(growth.with_modest_start(&cuckoo, &fixed, options));
            }
            // As many items as would fit, were there as many bytes for each at every size. There
            // are not quite: not to get closer and closer, it is a sixteenth less at least.
            let share = memory as f64 / grown as f64;
            most = ((most as f64 * share) as usize).min(most - most / 16);
        }
        Ok(Self::NONE)
    }

    /// This growth, which that of `cuckoo` is; or one to a half or a quarter of its size, if
    /// that makes the filter start modestly. It does for few items, of which there may be many keys.
    fn with_modest_start(
        self,
        cuckoo: &CuckooFilter,
        fixed: &CuckooFilter,
        options: &Options,
    ) -> Self {
        let is_modest = |it: &CuckooFilter| it.buckets() <= START_FACTOR * fixed.buckets();
        if is_modest(cuckoo) {
            return self;
        }
        let smaller = [2, 4].map(|divisor| Self {
            max_capacity: Some(cuckoo.max_capacity() / divisor),
            // With as many bits it doubles as often, and so begins with less.
            fingerprint_bits: Some(cuckoo.fingerprint_bits()),
        });
        let found = smaller.into_iter().find(|growth| {
            let built = growth.builder(options).build();
            built.is_ok_and(|cuckoo| is_modest(&cuckoo))
        });
        found.unwrap_or(self)
    }

    fn builder(self, options: &Options) -> Builder {
        let mut builder = CuckooFilter::builder()
            .capacity(options.capacity)
            .false_positive_rate(options.rate);
        if let Some(items) = self.max_capacity {
            builder = builder.max_capacity(items);
        }
        if let Some(bits) = self.fingerprint_bits {
            builder = builder.fingerprint_bits(bits);
        }
        builder
    }
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
