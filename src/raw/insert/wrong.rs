//! An insert that adds its copy to a slot that is moved, for a negative control.

use crate::table::{
    entry::Entry,
    layout::{Layout, Word},
    loaded::Loaded,
    word::{Bits, Bucket, Hint},
};

/// [`Bucket::plus_in_emptier`], but a marked slot of the class comes first.
pub(super) fn plus_in_marked<L: Layout>(
    words: [Loaded<'_, L>; 2],
    entry: Entry,
    hint: Hint,
) -> Option<(bool, Bits)> {
    let fingerprint = L::fingerprint(entry);
    let marked = words
        .iter()
        .position(|word| word.word().mark_of(fingerprint).is_some());
    let Some((place, mark)) =
        marked.and_then(|place| Some((place, words[place].word().mark_of(fingerprint)?)))
    else {
        return Word::<L>::plus_in_emptier(words[0].bits, words[1].bits, entry, hint);
    };
    let word = words[place].word();
    let copies = 1 + Word::<L>::copies_of(word.marked_entry(fingerprint));
    let more = Word::<L>::entry_of(fingerprint, copies);
    Some((place == 1, word.marked_instead(more, mark).encode(hint)))
}
