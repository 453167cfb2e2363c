//! A filter in memory that processes share: what the package `guira-shm` needs.

pub use crate::{
    memory::{Members, Memory, NUMBER_WORD, SEAT_WORD, Seat},
    raw::{
        crew::Repaired,
        len::process_number,
        shared::{Census, SharedPlace, SharedWords},
    },
};

use crate::{
    clock::{Clock, ReadShared},
    error::{InsertError, SnapshotError},
    filter::Filter,
    geometry::Geometry,
    lifetime::{Expiring, Forever, Kind, Lifetime, Timing},
    memory,
    raw::{
        any::{AnyFilter, AnyShared, Layouts, Ops, TimedOps},
        shared::words_for,
    },
    snapshot::header::{Header, check_sum},
    table::time::{Epochs, in_words::InWords},
};
use std::{
    hash::BuildHasher,
    panic::{RefUnwindSafe, UnwindSafe},
    time::Duration,
};

/// The clock of a filter that processes share. It is the one of all these processes.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "it is passed on at once")]
pub struct SharedClock<F> {
    /// Identifies the start of the machine: a number that is not 0.
    pub boot: u64,
    /// Returns the time since then.
    pub read: F,
    /// True if the process may write the words of the filter.
    pub may_write: bool,
}

/// Why a filter cannot be in memory that processes share.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Unshared {
    /// It has counters.
    Counters,
    /// It expires and grows.
    Grows,
}

impl<S: BuildHasher + 'static, T: Lifetime> Filter<S, T> {
    /// The words that the filter of this [header](Self::header) takes up in memory that processes
    /// share, if it can be there.
    #[doc(hidden)]
    pub fn shared_words(header: &[u8]) -> Result<Result<SharedWords, Unshared>, SnapshotError> {
        let Geometry {
            series, buckets, ..
        } = check_sum::<T>(header)?.geometry;
        let levels = series.table_levels();
        if series.counter_bits > 0 {
            return Ok(Err(Unshared::Counters));
        }
        if T::EXPIRES && levels.more > 0 {
            return Ok(Err(Unshared::Grows));
        }
        let time = match T::EXPIRES {
            true => <Epochs<memory::Shared> as InWords>::WORDS,
            false => 0,
        };
        let words = words_for(buckets, levels, time);
        words.map(Ok).ok_or(SnapshotError::Memory { buckets })
    }

    /// The filter in these words, and its header; `None` if the words are too few, or it cannot be there.
    fn in_words(
        header: &[u8],
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<Option<Self>, SnapshotError> {
        let Header {
            geometry,
            window,
            hashing,
        } = check_sum::<T>(header)?;
        let hasher = hashing.hasher(hasher)?;
        let raw = <T as Kind>::Raw::in_words(&geometry, window.epochs.into(), place);
        // The processes decide which of them ticks.
        let timing = T::Timing::start_by_hand(window);
        Ok(raw.map(|raw| Self::of_parts(hasher, raw, window, timing)))
    }
}

impl<S: BuildHasher + 'static> Filter<S, Forever> {
    /// The filter of this [header](Self::header) in memory that processes share. Words that are 0 are an
    /// empty filter. `None` if the words are too few.
    #[doc(hidden)]
    pub fn shared(
        header: &[u8],
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<Option<Self>, SnapshotError> {
        Self::in_words(header, hasher, place)
    }
}

impl<S: BuildHasher + 'static> Filter<S, Expiring> {
    /// The filter of this [header](Self::header) in memory that processes share. Words that are 0 are
    /// an empty filter. `None` if the words are too few, or the filter grows.
    #[doc(hidden)]
    pub fn shared(
        header: &[u8],
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
        clock: SharedClock<
            impl Fn() -> Duration + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
        >,
    ) -> Result<Option<Self>, SnapshotError> {
        let Some(mut filter) = Self::in_words(header, hasher, place)? else {
            return Ok(None);
        };
        let SharedClock {
            boot,
            read,
            may_write,
        } = clock;
        // What the clock of the filter showed before this start of the machine.
        let base = Duration::from_nanos(filter.raw.base(boot, may_write));
        let read: ReadShared = Box::new(move || base.saturating_add(read()));
        filter.timing.clock = Clock::shared(read);
        Ok(Some(filter))
    }
}

impl<S> Filter<S, Forever> {
    /// [`contains`](Self::contains) of a hash, in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn contains_shared(&self, hash: u64) -> bool {
        // As in `contains`: the usual layouts inline.
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.contains(raw.class(hash)),
            AnyFilter::Shared(AnyShared::Growing(raw)) => raw.contains(raw.class(hash)),
            _ => self.raw.contains_in_other_layouts(hash),
        }
    }

    /// [`insert`](Self::insert) of a hash, in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn insert_shared(&self, hash: u64) -> Result<(), InsertError> {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.insert_hash(hash),
            other => insert_in_other_layouts(other, hash),
        }
    }

    /// [`insert_unique`](Self::insert_unique) of a hash, in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn insert_unique_shared(&self, hash: u64) -> Result<bool, InsertError> {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.insert_unique_hash(hash),
            other => insert_unique_in_other_layouts(other, hash),
        }
    }

    /// [`remove`](Self::remove) of a hash, in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn remove_shared(&self, hash: u64) -> bool {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.remove_hash(hash),
            other => remove_in_other_layouts(other, hash),
        }
    }
}

impl<S, T: Lifetime> Filter<S, T> {
    /// Ends what dead processes have begun.
    #[doc(hidden)]
    pub fn repair_dead(&self) -> Repaired {
        self.raw.repair_dead()
    }

    /// Ends what a dead process has begun. No other process may take its seat or repair it during the call.
    #[doc(hidden)]
    pub fn repair_member(&self, member: usize) -> Repaired {
        self.raw.repair(member)
    }

    /// The most holds that a stripe has.
    #[doc(hidden)]
    pub fn most_holds(&self) -> u64 {
        self.raw.most_holds()
    }

    /// The numbers of the growth, if they cannot be right.
    #[doc(hidden)]
    pub fn wrong_progress(&self) -> Option<[u64; 2]> {
        self.raw.wrong_progress()
    }

    /// The numbers by which filters of one seed differ, with their names.
    #[doc(hidden)]
    pub fn numbers(&self) -> [(&'static str, u64); 8] {
        let (geometry, window) = (self.geometry(), self.window());
        let nanos = u64::try_from(window.ttl.as_nanos()).unwrap_or(u64::MAX);
        [
            ("capacity", window.capacity as u64),
            ("maximal capacity", window.max_capacity as u64),
            ("TTL in nanoseconds", nanos),
            ("number of epochs", window.epochs.into()),
            ("length of fingerprints", geometry.series.bits().into()),
            (
                "number of slots in a bucket",
                geometry.series.slots(0) as u64,
            ),
            ("number of buckets", geometry.buckets as u64),
            ("number of doublings", geometry.series.levels.into()),
        ]
    }

    /// Looks at all words, which no other thread uses.
    #[doc(hidden)]
    pub fn census(&self) -> Census {
        self.raw.census()
    }

    /// Sets the number of items, while no other thread uses the filter.
    #[doc(hidden)]
    pub fn recount(&self) -> usize {
        let items = self.raw.census().items;
        self.raw.set_len(items);
        items
    }
}

impl<S> Filter<S, Expiring> {
    /// Notes that the current epoch has begun, if that is not known: the filter is new, or a process
    /// has died that began the epoch.
    #[doc(hidden)]
    pub fn note_epoch(&self) {
        self.raw.note_epoch(&|| self.timing.read());
    }

    /// A number of the filter's time, if the time cannot be right.
    #[doc(hidden)]
    pub fn wrong_time(&self) -> Option<u64> {
        self.raw.wrong_time()
    }
}

#[inline(never)]
fn insert_in_other_layouts(raw: &AnyFilter, hash: u64) -> Result<(), InsertError> {
    raw.insert(hash)
}

#[inline(never)]
fn insert_unique_in_other_layouts(raw: &AnyFilter, hash: u64) -> Result<bool, InsertError> {
    raw.insert_unique(hash)
}

#[inline(never)]
fn remove_in_other_layouts(raw: &AnyFilter, hash: u64) -> bool {
    raw.remove(hash)
}
