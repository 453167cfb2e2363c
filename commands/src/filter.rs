//! The filter of a key, and the options that its client requested.

mod any;
mod combine;
mod decoder;
mod duplicate;
pub(crate) mod header;

use crate::{Clock, Growth, Options, Seed, Wanted, Window, Windowed};
use any::{Any, in_either};
pub(crate) use combine::CombineError;
pub use decoder::FilterDecoder;
pub use duplicate::DuplicateError;
use guira::{
    BatchError, BuildError, Builder, CuckooFilter, Hashed, InsertError, Lifetime, SeededState,
    SnapshotError, Stats,
};
use header::{Header, Kind};
use std::{
    io::{self, Read, Write},
    sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// The maximum time that an insert waits for a snapshot or a sweep to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum number of inserts that wait for one filter.
const WAITING: u16 = 16;

/// The number of items that must be left until the limit, so that inserts seldom look.
///
/// Of items that threads take at once, only some may be subtracted from
/// [`known_room`](Filter::known_room). This is more than 256 threads can lose in that way.
const PLENTY: usize = 1 << 16;

/// A filter.
#[derive(Debug)]
pub struct Filter {
    /// The kind of the filter, which only this module knows.
    any: Any,
    /// The options, one by one: the other fields then fit into fewer bytes, and there may be very many
    /// filters.
    rate: f64,
    max_iterations: u16,
    expansion: u16,
    bucket_size: u8,
    /// The number of items for which there is room for sure. Without it, each insert of a strict host
    /// would sum up the shards of the length, which takes as long as the insert itself.
    known_room: AtomicU8,
    /// The number of inserts that wait until a transient cause of failure ends.
    waiting: AtomicU16,
    /// The number of items deleted so far.
    deleted: AtomicU64,
}

/// The allocator's next size class is larger by an eighth. Eight bytes more would need it in the module,
/// and 16 bytes more in the server.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Filter>() == 168);

impl Filter {
    /// An empty filter with `options`, which grows according to `growth`.
    ///
    /// # Errors
    ///
    /// The errors of the library's builder.
    pub fn build(options: Options, growth: Growth) -> Result<Self, BuildError> {
        Self::wanted(&options.into(), growth, Clock::Process)
    }

    /// An empty filter with `options` and a window, which grows according to `growth`.
    ///
    /// # Errors
    ///
    /// The errors of the library's builder.
    pub fn build_window(
        options: Options,
        growth: Growth,
        window: Window,
        clock: Clock,
    ) -> Result<Self, BuildError> {
        let wanted = Wanted {
            window: Some(window),
            ..options.into()
        };
        Self::wanted(&wanted, growth, clock)
    }

    /// The empty filter that is `wanted`, which grows according to `growth`. If it has a window, it goes
    /// by `clock`.
    ///
    /// # Errors
    ///
    /// The errors of the library's builder.
    pub fn wanted(wanted: &Wanted, growth: Growth, clock: Clock) -> Result<Self, BuildError> {
        let Wanted {
            options,
            window,
            seed,
            ..
        } = *wanted;
        let any = match window {
            None => Any::Plain(seeded(growth.builder(&options), seed).build()?),
            Some(window) => {
                let builder = seeded(growth.window_builder(&options, window), seed);
                Any::Windowed(Windowed::build(builder, clock)?.into())
            }
        };
        Ok(Self::of(any, options, 0))
    }

    /// The empty filter with this [header](Self::header), whose buckets take up at most `max_bytes`,
    /// and `like` the filter with that one. If it has a window, it goes by `clock`.
    ///
    /// # Errors
    ///
    /// What is wrong with the header.
    pub fn from_header(
        header: &[u8],
        like: Header,
        clock: Clock,
        max_bytes: usize,
    ) -> Result<Self, SnapshotError> {
        let any = match like.kind {
            Kind::Plain => Any::Plain(CuckooFilter::from_header(header, max_bytes)?),
            Kind::Windowed => {
                Any::Windowed(Windowed::from_header(header, clock, max_bytes)?.into())
            }
        };
        Ok(Self::of(any, like.options, 0))
    }

    /// The filter of a snapshot that [`write_to`](Self::write_to) wrote, which is `like` the filter
    /// that wrote it. Reads no further. If it has a window, it goes by `clock`, and its epoch is as
    /// old as it was; see [`elapse`](Self::elapse) for the time since then.
    ///
    /// # Errors
    ///
    /// What is wrong with the snapshot, and those of `reader`.
    pub fn read_from(reader: impl Read, like: Header, clock: Clock) -> Result<Self, SnapshotError> {
        let any = match like.kind {
            Kind::Plain => Any::Plain(CuckooFilter::read_from(reader)?),
            Kind::Windowed => Any::Windowed(Windowed::read_from(reader, clock)?.into()),
        };
        Ok(Self::of(any, like.options, like.deleted))
    }

    pub(crate) fn new(cuckoo: CuckooFilter, options: Options, deleted: u64) -> Self {
        Self::of(Any::Plain(cuckoo), options, deleted)
    }

    fn windowed(windowed: Windowed, options: Options, deleted: u64) -> Self {
        Self::of(Any::Windowed(windowed.into()), options, deleted)
    }

    fn of(any: Any, options: Options, deleted: u64) -> Self {
        let Options {
            capacity: _,
            rate,
            bucket_size,
            max_iterations,
            expansion,
        } = options;
        Self {
            any,
            rate,
            max_iterations,
            expansion,
            bucket_size,
            known_room: AtomicU8::new(0),
            waiting: AtomicU16::new(0),
            deleted: AtomicU64::new(deleted),
        }
    }

    /// Adds a copy of `item`.
    ///
    /// # Errors
    ///
    /// Like the library's. If a snapshot for whose rest there is no memory, another thread, or unswept
    /// copies may be the reason, it tries again while `wait` returns true. `wait` waits a little, and the tries
    /// take about a second in all.
    #[inline]
    pub fn insert(&self, item: &[u8], wait: impl FnMut() -> bool) -> Result<(), InsertError> {
        let insert = || self.insert_at_once(item);
        insert().or_else(|error| self.again(error, wait, insert))
    }

    /// Adds a copy of `item`, and returns how many copies there are now; see
    /// [`CuckooFilter::insert_and_count`].
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_and_count(
        &self,
        item: &[u8],
        wait: impl FnMut() -> bool,
    ) -> Result<usize, InsertError> {
        let insert = || in_either!(&self.any, filter => filter.insert_and_count(item));
        insert().or_else(|error| self.again(error, wait, insert))
    }

    /// Adds `item` if it is absent; whether it was.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn insert_unique(
        &self,
        item: &[u8],
        wait: impl FnMut() -> bool,
    ) -> Result<bool, InsertError> {
        let insert = || self.insert_unique_at_once(item);
        insert().or_else(|error| self.again(error, wait, insert))
    }

    /// [`insert`](Self::insert) without another attempt.
    #[inline(always)]
    pub(crate) fn insert_at_once(&self, item: &[u8]) -> Result<(), InsertError> {
        match &self.any {
            Any::Plain(filter) => filter.insert(&Hashed(filter.hasher().hash_bytes(item))),
            Any::Windowed(windowed) => insert_in_window(windowed, item),
        }
    }

    /// [`insert_unique`](Self::insert_unique) without another attempt.
    #[inline(always)]
    pub(crate) fn insert_unique_at_once(&self, item: &[u8]) -> Result<bool, InsertError> {
        in_either!(&self.any, filter => {
            filter.insert_unique(&Hashed(filter.hasher().hash_bytes(item)))
        })
    }

    /// Resets the time of `item` if it is present; returns whether it is. `None` if the filter has
    /// no window.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn refresh(
        &self,
        item: &[u8],
        wait: impl FnMut() -> bool,
    ) -> Option<Result<bool, InsertError>> {
        let filter = self.window()?.filter();
        let refresh = || filter.refresh(item);
        Some(refresh().or_else(|error| self.again(error, wait, refresh)))
    }

    /// Adds `item` if it is absent, and resets its time if it is present; returns whether it was
    /// absent. `None` if the filter has no window.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_or_refresh(
        &self,
        item: &[u8],
        wait: impl FnMut() -> bool,
    ) -> Option<Result<bool, InsertError>> {
        let filter = self.window()?.filter();
        let insert = || filter.insert_or_refresh(item);
        Some(insert().or_else(|error| self.again(error, wait, insert)))
    }

    /// Adds a copy of each of `items`, at once.
    ///
    /// # Errors
    ///
    /// The first item for which there is no room; those before it are added.
    #[inline]
    pub fn insert_batch(&self, items: &[&[u8]]) -> Result<(), BatchError> {
        in_either!(&self.any, filter => filter.insert_batch(items))
    }

    /// True if `item` is present, or looks like one that is.
    #[inline]
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        match &self.any {
            Any::Plain(filter) => filter.contains(&Hashed(filter.hasher().hash_bytes(item))),
            Any::Windowed(windowed) => is_in_window(windowed, item),
        }
    }

    /// The same of each of `items`.
    #[inline]
    pub fn contains_batch(&self, items: &[&[u8]], results: &mut [bool]) {
        in_either!(&self.any, filter => filter.contains_batch(items, results));
    }

    /// Copies of `item`, and of items that look like it.
    #[inline]
    #[must_use]
    pub fn count(&self, item: &[u8]) -> usize {
        in_either!(&self.any, filter => filter.count(item))
    }

    /// Removes a copy of `item`; whether there was one.
    #[inline]
    pub fn remove(&self, item: &[u8]) -> bool {
        let removed = in_either!(&self.any, filter => filter.remove(&Hashed(filter.hasher().hash_bytes(item))));
        if removed {
            // Relaxed: a number to be shown.
            self.deleted.fetch_add(1, Ordering::Relaxed);
        }
        removed
    }

    /// Completes a doubling that has begun.
    pub fn finish_growth(&self) {
        in_either!(&self.any, filter => filter.finish_growth());
    }

    /// Tries to insert again where the filter should not be full.
    #[cold]
    fn again<T>(
        &self,
        error: InsertError,
        wait: impl FnMut() -> bool,
        insert: impl FnMut() -> Result<T, InsertError>,
    ) -> Result<T, InsertError> {
        let is_full = || self.has_grown_full() && !self.is_unswept();
        let may_end = matches!(
            error,
            InsertError::Full | InsertError::BlockedByScan | InsertError::Contended
        );
        if !may_end || is_full() {
            return Err(error);
        }
        self.when_free(wait, insert)
    }

    /// Tries again until no transient cause is left. Causes are a snapshot for whose rest there was no
    /// memory, another thread in the middle of a relocation, and unswept copies that take up room.
    fn when_free<T>(
        &self,
        mut wait: impl FnMut() -> bool,
        mut insert: impl FnMut() -> Result<T, InsertError>,
    ) -> Result<T, InsertError> {
        // Relaxed: the number only chooses who waits.
        let others = self.waiting.fetch_add(1, Ordering::Relaxed);
        let until = Instant::now() + PATIENCE;
        let result = loop {
            let was_unswept = self.is_unswept();
            let result = insert();
            let may_end = match result {
                Err(InsertError::BlockedByScan | InsertError::Contended) => true,
                // What was swept during the attempt may have made room after it.
                Err(InsertError::Full) => was_unswept || self.is_unswept(),
                _ => false,
            };
            if !may_end || others >= WAITING || Instant::now() >= until || !wait() {
                break result;
            }
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
        match &self.any {
            Any::Plain(filter) => filter.write_to(writer),
            Any::Windowed(windowed) => windowed.write_to(writer),
        }
    }

    /// True if there are as many items as it promises to hold.
    #[must_use]
    pub fn has_grown_full(&self) -> bool {
        self.any.in_use() >= self.most_items()
    }

    /// Items deleted so far.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted.load(Ordering::Relaxed)
    }

    /// What its client asked for.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            capacity: self.any.requested(),
            rate: self.rate,
            bucket_size: self.bucket_size,
            max_iterations: self.max_iterations,
            expansion: self.expansion,
        }
    }

    /// The growth that its client asked for, as in [`options`](Self::options).
    pub(crate) fn expansion(&self) -> u16 {
        self.expansion
    }

    /// Items in it.
    #[must_use]
    pub fn len(&self) -> usize {
        in_either!(&self.any, filter => filter.len())
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        in_either!(&self.any, filter => filter.is_empty())
    }

    /// Distinct items that fit at its size, or come within its window.
    #[must_use]
    pub fn capacity(&self) -> usize {
        in_either!(&self.any, filter => filter.capacity())
    }

    /// Distinct items that fit when it has grown.
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        self.any.max_capacity()
    }

    /// Bits of a slot's counter; 0 if slots have none. See [`CuckooFilter::counter_bits`].
    #[must_use]
    pub fn counter_bits(&self) -> u32 {
        self.any.counter_bits()
    }

    /// The most copies of one item that fit.
    pub(crate) fn most_copies(&self) -> usize {
        (2 * self.bucket_slots()) << self.counter_bits()
    }

    /// True if a copy of the item needs no further slot, as far as can be seen.
    pub(crate) fn counts(&self, item: &[u8]) -> bool {
        self.counter_bits() > 0 && self.contains(item)
    }

    /// Items that it promises to hold at one time.
    pub(crate) fn most_items(&self) -> usize {
        self.any.most_items()
    }

    /// The number of the `wanted` items to come that are within [`most_items`](Self::most_items). The caller
    /// inserts no more than that.
    #[inline]
    pub(crate) fn take_room(&self, wanted: usize) -> usize {
        // Relaxed: it orders nothing, and for lost subtractions see `PLENTY`.
        let known = self.known_room.load(Ordering::Relaxed);
        match u8::try_from(wanted) {
            Ok(taken) if taken <= known => {
                self.known_room.store(known - taken, Ordering::Relaxed);
                wanted
            }
            _ => self.look_for_room(wanted),
        }
    }

    /// As [`take_room`](Self::take_room), by the number of items.
    #[inline(never)]
    fn look_for_room(&self, wanted: usize) -> usize {
        let left = self.most_items().saturating_sub(self.any.in_use());
        let is_plenty = left.saturating_sub(wanted) >= PLENTY;
        // A large batch may take what was known before.
        let known = if is_plenty { u8::MAX } else { 0 };
        self.known_room.store(known, Ordering::Relaxed);
        left.min(wanted)
    }

    /// Its window, if it has one. Its host has to let that [move on](Windowed::tick).
    #[inline]
    #[must_use]
    pub fn window(&self) -> Option<&Windowed> {
        match &self.any {
            Any::Plain(_) => None,
            Any::Windowed(windowed) => Some(windowed),
        }
    }

    /// [Sweeps](Windowed::sweep) out what it has forgotten; whether that was left to this call.
    pub fn sweep(&self) -> bool {
        self.window().is_some_and(Windowed::sweep)
    }

    /// True if there may be something to [`sweep`](Self::sweep).
    fn is_unswept(&self) -> bool {
        self.window().is_some_and(|window| !window.is_swept())
    }

    /// Lets time pass at once for a filter with a window: time in which no client wrote.
    pub fn elapse(&self, elapsed: Duration) {
        if let Any::Windowed(windowed) = &self.any {
            windowed.elapse(elapsed);
        }
    }

    /// How many buckets it has now.
    #[inline]
    #[must_use]
    pub fn buckets(&self) -> usize {
        in_either!(&self.any, filter => filter.buckets())
    }

    /// How many copies a bucket holds.
    #[must_use]
    pub fn bucket_slots(&self) -> usize {
        in_either!(&self.any, filter => filter.bucket_slots())
    }

    /// Bits of a fingerprint.
    #[must_use]
    pub fn fingerprint_bits(&self) -> u32 {
        in_either!(&self.any, filter => filter.fingerprint_bits())
    }

    /// Bytes that its table takes up.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.any.memory_usage()
    }

    /// What has happened in it.
    #[must_use]
    pub fn stats(&self) -> Stats {
        in_either!(&self.any, filter => filter.stats())
    }

    /// The bytes that an empty filter [can be made from](Self::from_header) which differs from this
    /// one in nothing but what it holds.
    #[must_use]
    pub fn header(&self) -> [u8; 68] {
        match &self.any {
            Any::Plain(cuckoo) => cuckoo.header(),
            Any::Windowed(windowed) => windowed.filter().header(),
        }
    }

    /// A number that is the same for filters with one [header](Self::header) and the same copies;
    /// with a window, copies that were seen the same number of epochs ago.
    #[must_use]
    pub fn digest(&self) -> u128 {
        match &self.any {
            Any::Plain(cuckoo) => cuckoo.digest(),
            Any::Windowed(windowed) => windowed.filter().digest(),
        }
    }
}

/// The builder of a filter with this seed, if there is one, or else with a random one.
fn seeded<T: Lifetime>(
    builder: Builder<SeededState, T>,
    seed: Option<Seed>,
) -> Builder<SeededState, T> {
    match seed {
        None => builder,
        Some(Seed(seed)) => builder.seed(seed),
    }
}

/// Not inlined, so that the code for filters without a window is short.
#[inline(never)]
fn insert_in_window(windowed: &Windowed, item: &[u8]) -> Result<(), InsertError> {
    let filter = windowed.filter();
    filter.insert(&Hashed(filter.hasher().hash_bytes(item)))
}

/// Not inlined: as [`insert_in_window`].
#[inline(never)]
fn is_in_window(windowed: &Windowed, item: &[u8]) -> bool {
    let filter = windowed.filter();
    filter.contains(&Hashed(filter.hasher().hash_bytes(item)))
}

impl AsRef<Self> for Filter {
    #[inline]
    fn as_ref(&self) -> &Self {
        self
    }
}
