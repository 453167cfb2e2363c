//! An expiring filter in memory that processes share: what the package `guira-shm` needs.

use super::{
    AnyExpiring, ExpiringFilter,
    any::{of_shared_series, with_layout, with_layout_or, with_shared},
    clock::{Clock, ReadShared},
    snapshot::header::Header,
};
use crate::{
    error::SnapshotError,
    memory,
    raw::{
        RawFilter,
        crew::Repaired,
        shared::{Census, SharedPlace, SharedWords, words_for},
    },
    snapshot::header::check_sum,
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

impl<S: BuildHasher + 'static> ExpiringFilter<S> {
    /// The words that the filter of this [header](Self::header) takes up in memory that processes
    /// share; `None` if it cannot be there, because it grows.
    #[doc(hidden)]
    pub fn shared_words(header: &[u8]) -> Result<Option<SharedWords>, SnapshotError> {
        let geometry = check_sum(header, Header::from_bytes)?.geometry;
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let time = <Epochs<memory::Shared> as InWords>::WORDS;
        let words = (levels.more == 0).then(|| words_for(buckets, levels, time));
        Ok(words.flatten())
    }

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
        let header = check_sum(header, Header::from_bytes)?;
        let hasher = header.hashing.hasher(hasher)?;
        let (geometry, window) = (header.geometry, header.window);
        let (buckets, levels) = (geometry.buckets, geometry.series.table_levels());
        let oldest = u64::from(window.epochs);
        let raw: Option<AnyExpiring> = of_shared_series!(geometry.series, L => {
            RawFilter::<L>::in_words(buckets, levels, oldest, place)
        });
        let Some(raw) = raw else {
            return Ok(None);
        };
        let SharedClock {
            boot,
            read,
            may_write,
        } = clock;
        let base = base(&raw, boot, may_write);
        let read: ReadShared = Box::new(move || base.saturating_add(read()));
        let filter = Self {
            clock: Clock::shared(read),
            ..Self::from_parts(hasher, raw, geometry, window)
        };
        Ok(Some(filter))
    }
}

/// What the clock of the filter showed before this start of the machine.
fn base(raw: &AnyExpiring, boot: u64, store: bool) -> Duration {
    let nanos = with_layout_or!(
        raw,
        _raw => 0,
        shared => with_shared!(shared, raw => raw.time.base(boot, store))
    );
    Duration::from_nanos(nanos)
}

impl<S> ExpiringFilter<S> {
    /// Notes that the current epoch has begun, if that is not known: the filter is new, or a process
    /// has died that began the epoch.
    #[doc(hidden)]
    pub fn note_epoch(&self) {
        let epoch = self.epoch();
        with_layout_or!(
            &self.raw,
            _raw => (),
            shared => with_shared!(shared, raw => raw.time.begin())
        );
        with_layout!(&self.raw, raw => {
            raw.time.beginning.is_due(epoch, Duration::MAX, self.clock.read());
        });
    }

    /// Ends what dead processes have begun.
    #[doc(hidden)]
    pub fn repair_dead(&self) -> Repaired {
        with_layout!(&self.raw, raw => raw.repair_dead(true))
    }

    /// The most holds that a stripe has.
    #[doc(hidden)]
    pub fn most_holds(&self) -> u64 {
        with_layout!(&self.raw, raw => raw.versions.most_holds())
    }

    /// A number of the filter's time, if the time cannot be right.
    #[doc(hidden)]
    pub fn wrong_time(&self) -> Option<u64> {
        with_layout_or!(
            &self.raw,
            _raw => None,
            shared => with_shared!(shared, raw => raw.time.wrong_time())
        )
    }

    /// The numbers by which filters of one seed differ, with their names.
    #[doc(hidden)]
    pub fn numbers(&self) -> [(&'static str, u64); 6] {
        let (geometry, window) = (&self.geometry, self.window);
        let nanos = u64::try_from(window.ttl.as_nanos()).unwrap_or(u64::MAX);
        [
            ("capacity", window.capacity as u64),
            ("TTL in nanoseconds", nanos),
            ("number of epochs", window.epochs.into()),
            ("length of fingerprints", geometry.series.bits().into()),
            (
                "number of slots in a bucket",
                geometry.series.slots(0) as u64,
            ),
            ("number of buckets", geometry.buckets as u64),
        ]
    }

    /// Looks at all words, which no other thread uses.
    #[doc(hidden)]
    pub fn census(&self) -> Census {
        with_layout!(&self.raw, raw => raw.census())
    }

    /// Sets the number of items, while no other thread uses the filter.
    #[doc(hidden)]
    pub fn recount(&self) -> usize {
        with_layout!(&self.raw, raw => {
            let items = raw.census().items;
            raw.len.set(items);
            items
        })
    }
}
