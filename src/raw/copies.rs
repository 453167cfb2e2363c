//! What counts as a copy of a class at a moment, in one word and in both.

use crate::{
    fault::faulty,
    table::{
        class::Class,
        entry::{Entry, Fingerprint},
        layout::{Layout, Word},
        time::Moment,
        view::Loaded,
        word::{Bucket, Mark},
    },
};

/// A copy that a scan has met: its class, and the epochs since it was seen.
pub(crate) type Seen = (Class, u64);

/// True if the word holds a live copy by itself: unmarked, D or W.
#[inline]
pub(super) fn holds_copy<L: Layout>(
    word: Word<L>,
    fingerprint: Fingerprint,
    now: impl Moment<Word<L>>,
) -> bool {
    now.is_in(word, fingerprint) | holds_marked::<L>(word, fingerprint, now)
}

/// True if the mark of the word stands for a live copy, whatever the other word: D or W.
#[inline]
pub(super) fn holds_marked<L: Layout>(
    word: Word<L>,
    fingerprint: Fingerprint,
    now: impl Moment<Word<L>>,
) -> bool {
    if !L::EXPIRES {
        return word.is_marked(Mark::Delivered, Entry::untagged(fingerprint));
    }
    let stands = match word.mark_of(fingerprint) {
        Some(Mark::Delivered) => true,
        Some(Mark::Withheld) => faulty!(true, WithheldOverlooked => false),
        _ => false,
    };
    stands && now.is_live(word.marked_entry(fingerprint))
}

/// The live copies of the class in its two words: unmarked, D, W, and S with T.
/// `None` if the words cannot have stood together.
#[inline]
pub(super) fn copies<L: Layout>(
    p: Word<L>,
    q: Word<L>,
    fingerprint: Fingerprint,
    now: impl Moment<Word<L>>,
) -> Option<usize> {
    let unmarked = now.count_in(p, fingerprint) + now.count_in(q, fingerprint);
    if p.is_unmarked() && q.is_unmarked() {
        return Some(unmarked);
    }
    Some(unmarked + both_marked_copies::<L>(p, q, fingerprint, now)?)
}

/// The live copies that the marks of both words stand for.
#[cold]
fn both_marked_copies<L: Layout>(
    p: Word<L>,
    q: Word<L>,
    fingerprint: Fingerprint,
    now: impl Moment<Word<L>>,
) -> Option<usize> {
    let of = |here, there| marked_copies::<L>(here, there, fingerprint, now);
    Some(of(p, q)? + of(q, p)?)
}

/// The live copies that the mark in `here` stands for, with the mark in `there`.
fn marked_copies<L: Layout>(
    here: Word<L>,
    there: Word<L>,
    fingerprint: Fingerprint,
    now: impl Moment<Word<L>>,
) -> Option<usize> {
    let live_of = |word: Word<L>| {
        let entry = word.marked_entry(fingerprint);
        let copies = Word::<L>::copies_of(entry);
        if now.is_live(entry) { copies } else { 0 }
    };
    let live = || live_of(here);
    match (here.mark_of(fingerprint), there.mark_of(fingerprint)) {
        (Some(Mark::Delivered), _) => Some(live()),
        (Some(Mark::Withheld), _) => Some(faulty!(live(), WithheldOverlooked => 0)),
        // In an expiring filter both have one tag: a move is decided for an original with the tag of
        // its outline. In a counting filter a remove has changed the counter of the shadow only.
        (Some(Mark::Trailing), Some(Mark::Shadow)) => {
            Some(faulty!(live_of(there), CountFromTrailing => live()))
        }
        // The item is, or was until it was taken, at the other end.
        (Some(Mark::Trailing), Some(Mark::Delivered | Mark::Killed)) => Some(0),
        (Some(Mark::Trailing), _) => None,
        // A shadow counts through its T; what is killed is gone.
        (Some(Mark::Outline | Mark::Shadow | Mark::Killed) | None, _) => Some(0),
    }
}

/// The first of two words that is unmarked and has copies like `single`, with its bucket, and their whole
/// entry.
pub(super) fn unmarked_like_in<L: Layout>(
    places: [(Loaded<'_, L>, usize); 2],
    single: Entry,
) -> Option<(Entry, (Loaded<'_, L>, usize))> {
    places.into_iter().find_map(|place| {
        let word = place.0.word();
        let entry = word.is_unmarked().then(|| word.like(single))??;
        Some((entry, place))
    })
}
