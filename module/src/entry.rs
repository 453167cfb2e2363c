//! The value of a key.

#[cfg(test)]
mod cost;
mod pieces;
mod rdb;
mod room;

use crate::{
    engine::{self, DataType, Rewrite, Save, Value},
    loading::Loading,
    windows,
    workers::HasFilter,
};
use guira::CuckooFilter;
use guira_commands::{
    DuplicateError, Filter,
    dump::{Header, LoadError},
};
use std::{
    ffi::{CStr, c_int},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};
use thiserror::Error;

pub(crate) use rdb::ReadError;
pub(crate) use room::{NoRoom, Room};

/// The type of the keys that hold filters.
pub(crate) static TYPE: OnceLock<DataType<Entry>> = OnceLock::new();

/// A filter, or the pieces of one that is being loaded. [`totals`] counts it until it is dropped.
///
/// Threads of the module may still use the filter after its key is deleted.
#[derive(Debug)]
pub(crate) struct Entry {
    content: Content,
    /// Its bytes as counted in [`totals`], in units of [`UNIT`].
    counted: AtomicU32,
}

/// A filter has at most 2^32 words. Almost all allocations are multiples of this.
const UNIT: u64 = 8;

/// With the two counts of an `Arc` these are 192 bytes. The next class of the engine's allocator is 224,
/// and there may be very many keys.
const _: () = assert!(size_of::<Entry>() <= 176);

#[derive(Debug)]
pub(crate) enum Content {
    Filter(Filter),
    Loading(Box<Loading>),
}

/// The reason why a value was not loaded or copied.
#[derive(Debug, Error)]
pub(crate) enum EntryError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Duplicate(#[from] DuplicateError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

/// The number of values, and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

// All accesses are relaxed: the numbers are for display.
static ENTRIES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

pub(crate) fn totals() -> Totals {
    Totals {
        entries: ENTRIES.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed),
    }
}

impl Entry {
    pub(crate) fn new(content: Content) -> Self {
        ENTRIES.fetch_add(1, Ordering::Relaxed);
        let entry = Self {
            content,
            counted: AtomicU32::new(0),
        };
        entry.count();
        entry
    }

    pub(crate) fn of_filter(filter: Filter) -> Self {
        Self::new(Content::Filter(filter))
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// The content, to be changed. The caller [counts](Self::count) its bytes afterwards.
    pub(crate) fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// Updates [`totals`] to the current number of bytes.
    pub(crate) fn count(&self) {
        let units = (self.memory_usage() as u64).div_ceil(UNIT);
        let now = u32::try_from(units).unwrap_or(u32::MAX);
        // A load is cheaper than an exchange, and the memory seldom changes.
        if now != self.counted.load(Ordering::Relaxed) {
            let before = self.counted.swap(now, Ordering::Relaxed);
            // The difference may be negative; arithmetic modulo 2^64 handles that.
            let more = u64::from(now).wrapping_sub(u64::from(before));
            BYTES.fetch_add(more.wrapping_mul(UNIT), Ordering::Relaxed);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        ENTRIES.fetch_sub(1, Ordering::Relaxed);
        let bytes = u64::from(*self.counted.get_mut()) * UNIT;
        BYTES.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl HasFilter for Entry {
    fn filter(&self) -> Option<&Filter> {
        match &self.content {
            Content::Filter(filter) => Some(filter),
            Content::Loading(_) => None,
        }
    }
}

/// The filter of an entry that commands use.
impl AsRef<Filter> for Entry {
    #[inline(always)]
    fn as_ref(&self) -> &Filter {
        match &self.content {
            Content::Filter(filter) => filter,
            Content::Loading(_) => unreachable!("commands get no entry that is being loaded"),
        }
    }
}

/// The engine counts one unit of effort to free a value for this number of bytes.
const EFFORT_BYTES: usize = 64 << 10;

impl Value for Entry {
    type Error = EntryError;

    const NAME: &'static CStr = c"guira--CF";
    const VERSION: c_int = rdb::VERSION;

    fn load(from: &mut impl engine::Load, version: c_int) -> Result<Arc<Self>, EntryError> {
        Ok(rdb::read(
            from,
            version,
            windows::of_engine(),
            Room::of_engine(),
        )?)
    }

    fn save(&self, to: &mut impl Save) {
        rdb::write(&self.content, to, windows::of_engine());
    }

    fn rewrite(&self, to: &mut impl Rewrite) {
        pieces::rewrite(&self.content, to, windows::of_engine());
    }

    fn memory_usage(&self) -> usize {
        size_of::<Self>()
            + match &self.content {
                Content::Filter(filter) => filter.memory_usage() - size_of::<CuckooFilter>(),
                Content::Loading(loading) => loading.memory_usage(),
            }
    }

    fn digest(&self) -> Vec<u8> {
        match &self.content {
            Content::Filter(filter) => {
                // The digest covers the visible options and the contents.
                let mut bytes = Header::of(filter).to_bytes().to_vec();
                bytes.extend(filter.digest().to_le_bytes());
                bytes
            }
            Content::Loading(loading) => {
                let mut bytes = loading.header().to_vec();
                let mut sum = crc32fast::Hasher::new();
                let mut come = 0;
                for piece in loading.pieces() {
                    sum.update(piece);
                    come += piece.len() as u64;
                }
                bytes.extend(come.to_le_bytes());
                bytes.extend(sum.finalize().to_le_bytes());
                bytes
            }
        }
    }

    fn free_effort(&self) -> usize {
        1 + self.memory_usage() / EFFORT_BYTES
    }

    fn copy(&self) -> Result<Arc<Self>, EntryError> {
        let content = match &self.content {
            Content::Filter(filter) => {
                Room::of_engine().admit(filter.memory_usage())?;
                let copy = Arc::new(Self::of_filter(filter.duplicate()?));
                windows::of_engine().add(&copy);
                return Ok(copy);
            }
            Content::Loading(loading) => {
                Room::of_engine().admit(loading.memory_usage())?;
                let mut copy = Loading::restore(loading.header(), loading.clock())?;
                loading
                    .pieces()
                    .try_for_each(|piece| copy.restore_piece(piece))?;
                Content::Loading(Box::new(copy))
            }
        };
        Ok(Arc::new(Self::new(content)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use guira_commands::{Growth, Options, Wanted, Window};
    use std::time::Duration;

    /// A growing filter with some items.
    pub(crate) fn some_filter(items: u32) -> Filter {
        let options = Options::default();
        let growth = Growth::furthest(&options, 1 << 20).unwrap();
        let filter = Filter::build(options, growth).unwrap();
        for item in 0..items {
            filter.insert(&item.to_le_bytes(), || false).unwrap();
        }
        assert!(filter.remove(&0_u32.to_le_bytes()));
        filter
    }

    /// A filter with a window on the engine's clock, with some items.
    pub(crate) fn some_window(items: u32) -> Filter {
        some_window_of(windows::of_engine(), items)
    }

    pub(crate) fn some_window_of(windows: &windows::Windows, items: u32) -> Filter {
        let window = Window {
            length: Duration::from_secs(3600),
            epochs: None,
        };
        let options = Options {
            capacity: items.max(100) as usize,
            ..Options::default()
        };
        let wanted = Wanted {
            window: Some(window),
            ..options.into()
        };
        let growth = Growth::of(&wanted, 1 << 24).unwrap();
        let filter = Filter::build_window(options, growth, window, windows.clock()).unwrap();
        for item in 0..items {
            filter.insert(&item.to_le_bytes(), || false).unwrap();
        }
        filter
    }

    #[test]
    fn values_are_counted_as_long_as_they_are_there() {
        // Other tests create values concurrently; this one is larger than all of them together.
        const LARGE: u64 = 64 << 20;
        assert!(totals().bytes < LARGE);
        let options = Options {
            capacity: 100_000_000,
            expansion: 0,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        let entry = Entry::of_filter(Filter::build(options, growth).unwrap());
        assert!(totals().entries > 0 && totals().bytes > LARGE);
        drop(entry);
        assert!(totals().bytes < LARGE);
    }

    #[test]
    fn a_copy_has_the_same_digest() {
        for filter in [some_filter(1000), some_window(1000)] {
            let entry = Entry::of_filter(filter);
            let copy = entry.copy().unwrap();
            assert_eq!(copy.digest(), entry.digest());
            let Content::Filter(filter) = copy.content() else {
                panic!("a filter has become {copy:?}");
            };
            filter.insert(b"new", || false).unwrap();
            assert_ne!(copy.digest(), entry.digest());
        }
    }

    #[test]
    fn large_values_are_much_work_to_free() {
        let entry = Entry::of_filter(some_filter(10));
        assert!(entry.free_effort() < 64);
    }
}
