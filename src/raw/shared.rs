//! A filter in words that processes share.

use super::{
    RawFilter,
    crew::{Crew, MAX_LINES, places::Places},
    frontier::{Frontiers, chunk_buckets},
    len::{Len, SHARED_LEN},
    version::{MOST_STRIPES, Versions},
};
use crate::{
    memory::{Extra, Members, Memory, Parts},
    sync,
    table::{
        Table,
        entry::Fingerprint,
        layout::{self, Layout, Word},
        word::Bucket,
    },
};
use std::sync::Arc;

/// The words of a page. The buckets begin with a page of their own.
const PAGE: usize = 512;

/// The most stripes and gates of a filter, and the words around them.
const CONTROL: usize = SHARED_LEN
    + Places::words(MAX_LINES)
    + Crew::words_of_lines(MAX_LINES)
    + MOST_STRIPES
    + Crew::MAX_GATES;

/// The number of words that a filter of these buckets occupies; `None` if it has no addresses.
pub(crate) fn words_for(buckets: usize) -> Option<usize> {
    CONTROL.next_multiple_of(PAGE).checked_add(buckets)
}

/// Where a filter is that processes share.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "it is passed on at once")]
pub struct SharedPlace {
    /// Who owns the words.
    pub memory: Arc<dyn Memory>,
    /// The first word of the filter.
    pub start: usize,
    /// The most processes that share it, at least 1.
    pub most_members: usize,
    /// The processes that share it.
    pub members: Arc<dyn Members>,
    /// Differs between processes, if possible: it chooses where they count their items.
    pub salt: usize,
}

impl<L: Layout> RawFilter<layout::Shared<L>> {
    /// The fixed filter in these words, which are 0 if it is empty; `None` if they are too few.
    pub(crate) fn in_words(buckets: usize, place: SharedPlace) -> Option<Self> {
        let SharedPlace {
            memory,
            start,
            most_members: most,
            members,
            salt,
        } = place;
        let of_member = Crew::lines_of_member(most);
        let lines = if sync::IN_MODEL {
            most * of_member
        } else {
            MAX_LINES
        };
        let mut parts = Parts::new(memory, start);
        let len = Len::in_words(salt, &mut parts)?;
        let crew = Crew::in_words(buckets, lines, of_member, members, &mut parts)?;
        let versions = Versions::in_words(buckets, &mut parts)?;
        if !sync::IN_MODEL {
            parts.skip_to(start + CONTROL.next_multiple_of(PAGE))?;
        }
        Some(Self {
            table: Table::in_words(parts.take(buckets)?),
            versions,
            frontiers: Frontiers::new(chunk_buckets(0)),
            len,
            repeats: Extra::made(|| Len::new(buckets)),
            time: L::Time::default(),
            crew: Some(Box::new(crew)),
        })
    }
}

/// What operations have left in a filter, and how many items it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// The items. (About right while operations are in progress.)
    pub items: usize,
    /// Words with a mark.
    pub marks: usize,
    /// Words with a reservation.
    pub reservations: usize,
    /// Gates that are taken.
    pub gates: usize,
    /// Stripes that are held.
    pub holds: usize,
    /// True if a scan is in progress.
    pub is_scanned: bool,
}

impl<L: Layout> RawFilter<L> {
    /// Looks at all words of a fixed filter.
    pub(crate) fn census(&self) -> Census {
        let mut census = Census {
            gates: self.crew().map_or(0, Crew::taken_gates),
            holds: self.versions.held(),
            is_scanned: !self
                .frontiers
                .are_idle(self.crew().map(|crew| &*crew.places)),
            ..Census::default()
        };
        for bucket in 0..self.table.buckets() {
            let loaded = self.table.load_for_update(Fingerprint::NONE, bucket);
            let image = Word::<L>::unpack(Word::<L>::image(loaded.bits).0);
            census.items += image.occupied() as usize;
            census.marks += usize::from(!loaded.word().is_unmarked());
            census.reservations += usize::from(loaded.is_reserved());
        }
        census
    }
}
