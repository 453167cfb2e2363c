//! What counts as a copy of a class, in one word and in both.

use crate::table::{
    layout::Layout,
    word::{Mark, Word},
};

/// True if the word holds a live copy by itself: unmarked or D.
#[inline]
pub(super) fn holds_copy<L: Layout>(word: Word<L>, fingerprint: u64) -> bool {
    word.find(fingerprint).is_some() | word.is_marked(Mark::Delivered, fingerprint)
}

/// The copies of the class in its two words: unmarked, D, and S with T.
/// `None` if the words cannot have stood together.
#[inline]
pub(super) fn copies<L: Layout>(p: Word<L>, q: Word<L>, fingerprint: u64) -> Option<usize> {
    let unmarked = p.count(fingerprint) + q.count(fingerprint);
    if p.is_unmarked() && q.is_unmarked() {
        return Some(unmarked);
    }
    let (p, q) = (p.mark_of(fingerprint), q.mark_of(fingerprint));
    Some(unmarked + marked_copies(p, q)? + marked_copies(q, p)?)
}

/// The copies that the mark in `here` stands for, with the mark in `there`.
fn marked_copies(here: Option<Mark>, there: Option<Mark>) -> Option<usize> {
    match (here, there) {
        (Some(Mark::Delivered), _) => Some(1),
        (Some(Mark::Trailing), Some(Mark::Shadow)) => Some(1),
        // The item is, or was until it was taken, at the other end.
        (Some(Mark::Trailing), Some(Mark::Delivered | Mark::Killed)) => Some(0),
        (Some(Mark::Trailing), _) => None,
        // A shadow counts through its T; what is killed is gone.
        (Some(Mark::Outline | Mark::Shadow | Mark::Killed) | None, _) => Some(0),
    }
}
