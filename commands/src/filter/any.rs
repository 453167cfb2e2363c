//! Both kinds of filter behind one face.

use crate::Windowed;
use guira::CuckooFilter;

/// The filter of a key.
#[derive(Debug)]
pub(super) enum Any {
    /// One that remembers everything.
    Plain(CuckooFilter),
    /// One that forgets.
    Windowed(Box<Windowed>),
}

/// Runs `$body` with `$filter` bound to the filter, of either kind.
macro_rules! in_either {
    ($any:expr, $filter:ident => $body:expr) => {
        match $any {
            Any::Plain($filter) => $body,
            Any::Windowed(windowed) => {
                let $filter = windowed.filter();
                $body
            }
        }
    };
}

pub(super) use in_either;

impl Any {
    /// The capacity that its client requested. It is not stored twice, because there may be very many
    /// filters.
    pub(super) fn requested(&self) -> usize {
        /// The place of the capacity in the headers of both kinds: see `docs/FORMAT.md`.
        const CAPACITY: usize = 24;
        let header = match self {
            Self::Plain(cuckoo) => cuckoo.header(),
            Self::Windowed(windowed) => windowed.filter().header(),
        };
        let capacity = header[CAPACITY..].first_chunk();
        capacity.map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
    }

    /// Distinct items that fit when it has grown.
    pub(super) fn max_capacity(&self) -> usize {
        match self {
            Self::Plain(cuckoo) => cuckoo.max_capacity(),
            Self::Windowed(windowed) => windowed.filter().max_capacity(),
        }
    }

    /// Items that it holds at one time when it is full.
    pub(super) fn most_items(&self) -> usize {
        match self {
            Self::Plain(cuckoo) => cuckoo.max_capacity(),
            Self::Windowed(windowed) => windowed.most_items(),
        }
    }

    /// What counts towards [`most_items`](Self::most_items): with counters, copies of an item count once.
    pub(super) fn in_use(&self) -> usize {
        match self {
            Self::Plain(cuckoo) => cuckoo.slots_in_use(),
            Self::Windowed(windowed) => windowed.filter().slots_in_use(),
        }
    }

    /// Bits of a slot's counter; 0 if slots have none.
    pub(super) fn counter_bits(&self) -> u32 {
        match self {
            Self::Plain(cuckoo) => cuckoo.counter_bits(),
            Self::Windowed(windowed) => windowed.filter().counter_bits(),
        }
    }

    pub(super) fn memory_usage(&self) -> usize {
        match self {
            Self::Plain(cuckoo) => cuckoo.memory_usage(),
            // What is in the place of the other kind, and what is beside it.
            Self::Windowed(windowed) => {
                let beside = size_of::<Windowed>() - size_of_val(windowed.filter());
                size_of::<CuckooFilter>() + beside + windowed.filter().memory_usage()
            }
        }
    }
}
