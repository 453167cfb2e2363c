//! Inserts that add their copy to a slot to which it does not belong, for negative controls.

use crate::table::{
    entry::Entry,
    layout::{Layout, Word},
    view::Loaded,
    word::{Bits, Bucket, Hint, Mark, Pair},
};

/// [`Pair::plus_in_emptier`], but a marked slot of the class comes first.
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
    let more = Word::<L>::entry_of(entry, copies);
    Some((place == 1, word.marked_instead(more, mark).encode(hint)))
}

/// [`Pair::plus_in_emptier`], but a slot of the class comes first, whatever its tag.
pub(super) fn plus_in_any_epoch<L: Layout>(
    words: [Loaded<'_, L>; 2],
    entry: Entry,
    hint: Hint,
) -> Option<(bool, Bits)> {
    let fingerprint = L::fingerprint(entry);
    let found = words.iter().enumerate().find_map(|(place, loaded)| {
        let word = loaded.word();
        let mut residents = word.residents(fingerprint);
        let found = residents.find(|&other| L::fingerprint(other) == fingerprint)?;
        let more = Word::<L>::entry_of(found, 1 + Word::<L>::copies_of(found));
        let marked = word.with_mark(found, Mark::Withheld)?;
        let new = marked.marked_instead(more, Mark::Withheld).unmarked();
        Some((place == 1, new.encode(hint)))
    });
    found.or_else(|| Word::<L>::plus_in_emptier(words[0].bits, words[1].bits, entry, hint))
}
