//! A filter in words that processes share.

use super::{
    RawFilter,
    crew::{Crew, MAX_LINES, places::Places},
    frontier::{Frontiers, chunk_buckets},
    len::{Len, SHARED_LEN},
    version::{MOST_STRIPES, Versions},
};
use crate::{
    memory::{Members, Memory, NUMBER_WORD, Parts, SEAT_WORD},
    sync,
    table::{
        Levels, Table,
        in_words::Extent,
        layout::{self, Layout, Word},
        time::in_words::InWords,
        view::Loaded,
        word::{Bucket, Phases},
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

/// The words that a filter occupies in memory that processes share.
///
/// For the package `guira-shm` only.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWords {
    /// All words.
    pub all: usize,
    /// The first words, which need memory from the start. Growth commits the others.
    pub first: usize,
}

/// Where plane 0 of this extent begins.
fn start_of_planes(time: usize, extent: Extent) -> Option<usize> {
    let control = CONTROL.next_multiple_of(PAGE) + time;
    let control = control.checked_add(extent.control)?;
    control.checked_next_multiple_of(PAGE)
}

/// The words of a filter of these buckets that goes through these levels, and whose time has `time` words;
/// `None` if they have no addresses.
pub(crate) fn words_for(buckets: usize, levels: Levels, time: usize) -> Option<SharedWords> {
    let extent = Extent::new(buckets, levels)?;
    let start = start_of_planes(time, extent)?;
    Some(SharedWords {
        all: start.checked_add(extent.planes)?,
        first: start.checked_add(extent.first)?,
    })
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
    /// The words [`SEAT_WORD`] and [`NUMBER_WORD`] of this process. In a new child process they are 0.
    pub own: Arc<dyn Memory>,
}

impl<L: Layout> RawFilter<layout::Shared<L>> {
    /// The filter in these words; `None` if they are too few. Words that are 0 are an empty filter.
    ///
    /// In an expiring filter, copies with an age of at most `oldest` are live.
    pub(crate) fn in_words(
        buckets: usize,
        levels: Levels,
        oldest: u64,
        place: SharedPlace,
    ) -> Option<Self> {
        let SharedPlace {
            memory,
            start,
            most_members: most,
            members,
            own,
        } = place;
        let of_member = Crew::lines_of_member(most);
        let lines = if sync::IN_MODEL {
            most * of_member
        } else {
            MAX_LINES
        };
        let own = Parts::new(own, 0);
        let mut parts = Parts::new(memory, start);
        let len = Len::in_words(own.peek(NUMBER_WORD, 1)?, &mut parts)?;
        let members = (members, own.peek(SEAT_WORD, 1)?);
        let first = levels.first;
        let crew = Crew::in_words((buckets, first), lines, of_member, members, &mut parts)?;
        let versions = Versions::in_words(buckets, &mut parts)?;
        if !sync::IN_MODEL {
            parts.skip_to(start + CONTROL.next_multiple_of(PAGE))?;
        }
        let time = InWords::in_words(oldest, &mut parts)?;
        let page = (!sync::IN_MODEL).then_some(PAGE);
        Some(Self {
            table: Table::in_words(buckets, levels, page, &mut parts)?,
            versions,
            frontiers: Frontiers::new(chunk_buckets(levels.more)),
            len,
            time,
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
    /// Words whose splits have begun, and not ended. Any writer ends them.
    pub frozen: usize,
    /// True if a scan is in progress.
    pub is_scanned: bool,
}

impl<L: Layout> RawFilter<L> {
    /// Looks at all words.
    pub(crate) fn census(&self) -> Census {
        let mut census = Census {
            gates: self.crew().map_or(0, Crew::taken_gates),
            holds: self.versions.held(),
            is_scanned: !self
                .frontiers
                .are_idle(self.crew().map(|crew| crew.places.at_hand())),
            ..Census::default()
        };
        let level = self.table.scan_level();
        let mut image = vec![0; self.table.planes_at(level)];
        for bucket in 0..self.table.buckets() {
            // No level begins during the call. A word that a split has made, and that does not count yet, is
            // not in the image.
            self.table.read_chunk(bucket..bucket + 1, level, &mut image);
            let occupied = |&bits: &u64| Word::<L>::unpack(bits).occupied() as usize;
            census.items += image.iter().map(occupied).sum::<usize>();
        }
        for word in self.table.all_words() {
            let loaded = Loaded::<L>::load(word, self.table.base());
            census.marks += usize::from(!loaded.word().is_unmarked());
            census.reservations += usize::from(loaded.is_reserved());
            census.frozen += usize::from(loaded.word().is_frozen());
        }
        census
    }
}
