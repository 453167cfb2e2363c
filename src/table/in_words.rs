//! Tables in memory that processes share: which words are where.
//!
//! All places follow from the number of buckets and the levels. A filter that grows has two further parts
//! before its planes: the numbers of its progress, and the split pointers of all levels. The planes follow
//! each other, each at its final place.

use super::{
    Growth, Levels, Table,
    layout::Layout,
    parts::{Parts, shared_words},
    segment::{Segment, Segments},
    shared::{self, Progress},
};
use crate::memory::{self, Extra, Shared, Storage};

/// The words of a filter in memory that processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The words before plane 0: of progress, and of split pointers. 0 if the filter is fixed.
    pub(crate) control: usize,
    /// The words of plane 0.
    pub(crate) first: usize,
    /// The words of all planes, at the last level.
    pub(crate) planes: usize,
}

impl Extent {
    /// The words of a filter of these buckets; `None` if they have no addresses.
    pub(crate) fn new(buckets: usize, levels: Levels) -> Option<Self> {
        let planes = buckets.checked_mul(1 << levels.more)?;
        let pointers = (0..levels.more).map(|level| shared_words(buckets << level));
        let control = match levels.more {
            0 => 0,
            _ => shared::WORDS + pointers.sum::<usize>(),
        };
        Some(Self {
            control,
            first: buckets,
            planes,
        })
    }
}

impl<L: Layout<Storage = Shared>> Table<L> {
    /// The table in these words, whose planes begin with a page if `page` says how long that is; `None` if
    /// the words are too few.
    pub(crate) fn in_words(
        buckets: usize,
        levels: Levels,
        page: Option<usize>,
        parts: &mut memory::Parts,
    ) -> Option<Self> {
        let numbers = match levels.more {
            0 => None,
            _ => Some(parts.take(shared::WORDS)?),
        };
        let pointers = (0..levels.more)
            .map(|level| parts.take(shared_words(buckets << level)))
            .collect::<Option<Vec<_>>>()?;
        if let Some(page) = page {
            parts.skip_to(parts.position().checked_next_multiple_of(page)?)?;
        }
        let first = parts.peek(0, buckets)?;
        let Some(numbers) = numbers else {
            return Self::with_first(first, levels);
        };
        let later = pointers.into_iter().enumerate().map(|(level, pointers)| {
            let words = buckets.checked_mul(1 << level)?;
            let planes = parts.peek(words, words)?;
            Some(Segment::of(planes, Parts::in_words(words, pointers)))
        });
        let segments = Segments::shared(first, levels.more, later)?;
        let (owner, start) = (parts.owner(), parts.position());
        let progress = Progress::new(numbers, owner, start, buckets, levels.more as usize);
        let growth = Growth {
            progress: <Shared as Storage>::Extra::made(|| progress),
            begins_early: true,
            ..Growth::new(levels, buckets, segments)
        };
        let table = Self {
            first: Extra::of(None)?,
            growth: Extra::of(Some(growth.into()))?,
        };
        // The hint of this process begins with that of the others.
        table.level();
        Some(table)
    }
}

impl<L: Layout> Table<L> {
    /// The numbers of the progress, if they cannot be right: how many levels are complete, and how many
    /// segments are in use.
    pub(crate) fn wrong_progress(&self) -> Option<[u64; 2]> {
        self.progress()?.wrong()
    }
}
