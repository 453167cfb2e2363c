//! The parts of a level, each with a split pointer of its own, so that threads split words apart from
//! each other.
//!
//! | promise | a level is complete only after each word of each part is split |
//! |---|---|
//! | how | docs/design/growth.md, "Who splits" |
//! | why | PROOF, section 9 |
//! | checked by | growth_level |
//! | break it | `cargo xtask break OnePartEnough` |

use crate::{
    fault::{self, faulty},
    memory::{Extra, Storage, Words},
    step::Step,
    sync::{self, AtomicU64, Ordering},
};
use crossbeam_utils::CachePadded;

/// The number of words that one insert splits while the filter grows: the words of a cache line.
pub(crate) const SPLITS_PER_INSERT: usize = if sync::IN_MODEL { 1 } else { 8 };

/// The most parts, because one word has a bit for each.
const MOST: usize = if sync::IN_MODEL { 2 } else { 64 };

/// The least words of a part: 128 KiB, for which a pointer takes little memory. The tests of stopped
/// threads have parts in small filters, too.
fn least() -> usize {
    #[cfg(guira_faults)]
    if !crate::coherence::is_observed() {
        return 1 << 6;
    }
    if sync::IN_MODEL { 2 } else { 1 << 14 }
}

/// A prime number above [`MOST`], so that successive threads have different homes. Its multiples are far
/// apart.
const STEP: usize = 101;

/// The number of runs by which threads in the same part work apart.
const LEADS: usize = 4;

/// The words from one pointer that processes share to the next one, so that no two are in one cache line.
const STRIDE: usize = if sync::IN_MODEL {
    1
} else {
    size_of::<CachePadded<u64>>() / size_of::<u64>()
};

/// The words of a level, in parts of equal length; the last one may be shorter.
pub(super) struct Parts<P: Storage> {
    /// The split pointer of each part (Litwin, *Linear Hashing*, VLDB 1980): this number of words are
    /// split, the first ones of the part.
    pointers: Box<[CachePadded<AtomicU64>]>,
    /// A bit for each part whose words are all split.
    ended: AtomicU64,
    /// The pointers that processes share, and behind them the bits; then there are no others.
    shared: P::Extra<Words>,
    /// The number of words of a part.
    len: usize,
    words: usize,
}

/// A part, and where a thread works in it.
pub(super) struct Part<'a> {
    pub(super) number: usize,
    /// How many of the first words are split.
    pointer: &'a AtomicU64,
    /// The number of the first word.
    start: usize,
    /// The number of the word after the last one.
    pub(super) end: usize,
    /// The number of runs by which the thread splits ahead of the pointer, so that threads in one part
    /// keep out of each other's way.
    pub(super) lead: usize,
}

/// The length of a part of a level of `words` words, and the number of its parts.
fn division(words: usize) -> (usize, usize) {
    let most = (words / least()).clamp(1, MOST);
    let len = words.div_ceil(most).next_multiple_of(SPLITS_PER_INSERT);
    // No part is empty, although the others are a little longer than necessary.
    (len, words.div_ceil(len))
}

/// The words that the parts of a level of `words` words take up in memory that processes share.
#[cfg(feature = "shared")]
pub(super) fn shared_words(words: usize) -> usize {
    (division(words).1 + 1) * STRIDE
}

impl Part<'_> {
    /// The number of the word before which all words of the part are split.
    pub(super) fn pointer(&self) -> usize {
        // Acquire: pairs with the Release of `move_to`. Another process may have stored any number.
        let split = self.pointer.load(Ordering::Acquire) as usize;
        self.end.min(self.start.saturating_add(split))
    }

    /// Moves the pointer to this word, before which all words of the part are split.
    pub(super) fn move_to(&self, word: usize) {
        // AcqRel: a thread that reads the pointer finds all words of the part before it split.
        let order = fault::order(Step::MovePointer, Ordering::AcqRel);
        self.pointer.fetch_max((word - self.start) as u64, order);
    }
}

impl<P: Storage> Parts<P> {
    /// The parts of a level of `words` words; `None` if there is no memory.
    pub(super) fn new(words: usize) -> Option<Self> {
        let (len, count) = division(words);
        let mut pointers = Vec::new();
        pointers.try_reserve_exact(count).ok()?;
        pointers.resize_with(count, || CachePadded::new(AtomicU64::new(0)));
        Some(Self {
            pointers: pointers.into(),
            ended: AtomicU64::new(0),
            shared: P::Extra::default(),
            len,
            words,
        })
    }

    /// The parts of a level of `words` words, whose pointers are in these [`shared_words`].
    #[cfg(feature = "shared")]
    pub(super) fn in_words(words: usize, pointers: Words) -> Self {
        Self {
            pointers: Box::new([]),
            ended: AtomicU64::new(0),
            shared: P::Extra::made(|| pointers),
            len: division(words).0,
            words,
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.pointers)
    }

    /// The [`bytes`](Self::bytes) of the parts of a level of `words` words.
    pub(super) fn bytes_for(words: usize) -> usize {
        division(words).1 * size_of::<CachePadded<AtomicU64>>()
    }

    /// The number of parts.
    fn count(&self) -> usize {
        match self.shared.get() {
            Some(shared) => shared.len() / STRIDE - 1,
            None => self.pointers.len(),
        }
    }

    /// A bit for each part whose words are all split.
    fn ended(&self) -> &AtomicU64 {
        match self.shared.get() {
            Some(shared) => &shared[shared.len() - STRIDE],
            None => &self.ended,
        }
    }

    /// The part with this number.
    fn part(&self, number: usize) -> Part<'_> {
        Part {
            number,
            pointer: match self.shared.get() {
                Some(shared) => &shared[number * STRIDE],
                None => &self.pointers[number],
            },
            start: number * self.len,
            end: self.words.min((number + 1) * self.len),
            lead: 0,
        }
    }

    /// The part in which this thread works: its home, or the nearest one that has not ended. `None` if
    /// all of them have.
    pub(super) fn of_thread(&self, thread: usize) -> Option<Part<'_>> {
        let count = self.count();
        // Acquire: pairs with the Release of `end`, because this thread may complete the level.
        let order = fault::order(Step::SeeParts, Ordering::Acquire);
        let open = !self.ended().load(order) & self.all();
        if open == 0 {
            return None;
        }
        let home = thread.wrapping_mul(STEP) % count;
        let ahead = (open >> home).trailing_zeros() as usize;
        let behind = (open << (63 - home)).leading_zeros() as usize;
        let (number, distance) = if ahead <= behind {
            (home + ahead, ahead)
        } else {
            (home - behind, behind)
        };
        // Guests work apart from the thread whose home it is.
        let lead = (thread / count + distance) % LEADS;
        Some(Part {
            lead,
            ..self.part(number)
        })
    }

    /// Records that all words of this part are split. Returns true if all parts have ended.
    pub(super) fn end(&self, number: usize) -> bool {
        // AcqRel: the thread that sets the last bit finds all words of the other parts split.
        let order = fault::order(Step::EndPart, Ordering::AcqRel);
        let bit = 1 << number;
        let ended = self.ended().fetch_or(bit, order) | bit;
        faulty!(ended & self.all() == self.all(), OnePartEnough => true)
    }

    /// The bits of all parts.
    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.count())
    }

    /// The number of words that no split pointer has passed yet.
    pub(super) fn words_to_split(&self) -> usize {
        let left = |number| {
            let part = self.part(number);
            part.end - part.pointer()
        };
        (0..self.count()).map(left).sum()
    }

    /// The split pointers.
    #[cfg(guira_faults)]
    pub(super) fn fields(&self) -> impl Iterator<Item = crate::coherence::Field> {
        use crate::coherence::Field;
        let pointers = self.pointers.iter();
        let fields = pointers.map(|it| Field::of("table.split_pointer", &**it));
        fields.chain([Field::of("table.ended_parts", &self.ended)])
    }
}
