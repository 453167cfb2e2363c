//! A filter in memory that processes share: what the package `guira-shm` needs.

pub use crate::{
    expiring::shared::SharedClock,
    memory::{Members, Memory, NUMBER_WORD, SEAT_WORD, Seat},
    raw::{
        crew::Repaired,
        len::process_number,
        shared::{Census, SharedPlace, SharedWords},
    },
};

use crate::{
    error::{InsertError, SnapshotError},
    filter::CuckooFilter,
    geometry::Geometry,
    raw::{
        RawFilter,
        any::{AnyFilter, AnyShared, of_shared_series, with_layout, with_shared_layout},
        shared::words_for,
    },
    snapshot::header::{Header, check_sum},
};
use std::hash::BuildHasher;

impl<S: BuildHasher + 'static> CuckooFilter<S> {
    /// The words that the filter of this [header](Self::header) takes up in memory that processes
    /// share; `None` if it cannot be there, because it has counters.
    #[doc(hidden)]
    pub fn shared_words(header: &[u8]) -> Result<Option<SharedWords>, SnapshotError> {
        let Geometry {
            series, buckets, ..
        } = check_sum(header, Header::from_bytes)?.geometry;
        let counts = series.counter_bits != 0;
        let words = (!counts).then(|| words_for(buckets, series.table_levels(), 0));
        Ok(words.flatten())
    }

    /// The filter of this [header](Self::header) in memory that processes share. Words that are 0 are an
    /// empty filter. `None` if the words are too few.
    #[doc(hidden)]
    pub fn shared(
        header: &[u8],
        hasher: impl FnOnce(u64) -> S,
        place: SharedPlace,
    ) -> Result<Option<Self>, SnapshotError> {
        let header = check_sum(header, Header::from_bytes)?;
        let hasher = header.hashing.hasher(hasher)?;
        let geometry = header.geometry;
        let raw = of_shared_series!(geometry.series, L => {
            RawFilter::<L>::in_words(geometry.buckets, geometry.series.table_levels(), 0, place)
        });
        Ok(raw.map(|raw| Self::of_parts(hasher, raw, geometry)))
    }

    /// [`contains_hash`](Self::contains_hash) in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn contains_hash_shared(&self, hash: u64) -> bool {
        // As in `contains_hash`: the usual layouts inline.
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.contains(raw.class(hash)),
            AnyFilter::Shared(AnyShared::Growing(raw)) => raw.contains(raw.class(hash)),
            _ => self.contains_in_other_layouts(hash),
        }
    }

    /// [`insert_hash`](Self::insert_hash) in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn insert_hash_shared(&self, hash: u64) -> Result<(), InsertError> {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.insert_hash(hash),
            other => insert_in_other_layouts(other, hash),
        }
    }

    /// [`insert_unique_hash`](Self::insert_unique_hash) in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn insert_unique_hash_shared(&self, hash: u64) -> Result<bool, InsertError> {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.insert_unique_hash(hash),
            other => insert_unique_in_other_layouts(other, hash),
        }
    }

    /// [`remove_hash`](Self::remove_hash) in a filter that processes share.
    #[doc(hidden)]
    #[inline(always)]
    pub fn remove_hash_shared(&self, hash: u64) -> bool {
        match &self.raw {
            AnyFilter::Shared(AnyShared::F15x4(raw)) => raw.remove_hash(hash),
            other => remove_in_other_layouts(other, hash),
        }
    }

    /// Ends what dead processes have begun.
    #[doc(hidden)]
    pub fn repair_dead(&self) -> Repaired {
        with_layout!(&self.raw, raw => raw.repair_dead(true))
    }

    /// Ends what a dead process has begun. No other process may take its seat or repair it during the call.
    #[doc(hidden)]
    pub fn repair_member(&self, member: usize) -> Repaired {
        with_layout!(&self.raw, raw => raw.repair(member))
    }

    /// The most holds that a stripe has.
    #[doc(hidden)]
    pub fn most_holds(&self) -> u64 {
        with_layout!(&self.raw, raw => raw.versions.most_holds())
    }

    /// The number of levels that are said to be complete, and that of segments that are said to be in
    /// use, if they cannot be right.
    #[doc(hidden)]
    pub fn wrong_progress(&self) -> Option<[u64; 2]> {
        with_shared_layout!(&self.raw, raw => raw.table.wrong_progress(), else { None })
    }

    /// The numbers by which filters of one seed differ, with their names.
    #[doc(hidden)]
    pub fn numbers(&self) -> [(&'static str, u64); 6] {
        let Geometry {
            series,
            buckets,
            capacity,
            max_capacity,
        } = self.geometry();
        [
            ("capacity", capacity as u64),
            ("maximal capacity", max_capacity as u64),
            ("number of buckets", buckets as u64),
            ("number of slots in a bucket", series.slots(0) as u64),
            ("length of fingerprints", series.bits().into()),
            ("number of doublings", series.levels.into()),
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

#[inline(never)]
fn insert_in_other_layouts(raw: &AnyFilter, hash: u64) -> Result<(), InsertError> {
    with_shared_layout!(raw, raw => raw.insert_hash(hash), else {
        with_layout!(raw, raw => raw.insert(raw.class(hash)))
    })
}

#[inline(never)]
fn insert_unique_in_other_layouts(raw: &AnyFilter, hash: u64) -> Result<bool, InsertError> {
    with_shared_layout!(raw, raw => raw.insert_unique_hash(hash), else {
        with_layout!(raw, raw => raw.insert_unique(raw.class(hash)))
    })
}

#[inline(never)]
fn remove_in_other_layouts(raw: &AnyFilter, hash: u64) -> bool {
    with_shared_layout!(raw, raw => raw.remove_hash(hash), else {
        with_layout!(raw, raw => raw.remove(raw.class(hash)))
    })
}
