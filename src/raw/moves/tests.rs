//! What one move does to its two words.

use super::*;
use crate::{
    raw::tests::{double, filter_and_class, growing, grown, marked, put, word_at},
    table::{
        Levels,
        class::Class,
        entry::{Entry, Fingerprint},
        layout::F10x6,
    },
};

/// A stripe that is held, or a snapshot between the two buckets: a move is given up, and
/// leaves both words as they were. The same of a hop whose outline the hop before has left.
#[test]
fn a_move_gives_way() {
    let (raw, class) = filter_and_class::<F10x6>();
    // Behind slots that are empty again.
    let empty = Word::<F10x6>::EMPTY;
    let word = empty
        .plus(Entry::new(700))
        .plus(Entry::new(701))
        .plus(class.untagged());
    let word = word.minus(Entry::new(700)).minus(Entry::new(701));
    put(&raw, class.p, word);
    let hop = raw.hop_out_of(class.p, class.untagged());
    let outline = marked::<F10x6>(&class, Mark::Outline);
    let given_up = || {
        for outlined in [false, true] {
            put(&raw, class.q, if outlined { outline } else { empty });
            assert_eq!(raw.move_resident(hop, outlined, Fill::Hole), None);
            assert_eq!(word_at(&raw, class.p), word);
            assert_eq!(word_at(&raw, class.q), empty);
        }
    };
    let hold = raw.versions.of(class).hold();
    given_up();
    drop(hold);
    let _snapshot = raw
        .frontiers
        .register(raw.table.buckets(), None, None)
        .expect("memory");
    raw.frontiers.stop_in(0);
    given_up();
    assert!(raw.help_scans(1), "another thread scans the chunk");
    let moved = raw.move_resident(hop, false, Fill::Hole);
    assert_eq!(moved, Some(Left::Hole));
    assert_eq!(word_at(&raw, class.p), empty);
    // From where it is not it cannot be moved.
    assert_eq!(raw.move_resident(hop, false, Fill::Hole), None);
    assert_eq!(raw.count(class), 1);
}

/// What is to be in the slot next is put there if it belongs into the same plane.
#[test]
fn a_move_leaves_behind_what_belongs_there() {
    fn check<L: Layout>(raw: &RawFilter<L>, resident: u64, other: u64, fits: bool) {
        let levels = raw.table.doublings();
        let class = Class::of_resident(Fingerprint::new(resident), 0, 8);
        let entry = class.untagged();
        let [hop, back] = [class.p, class.q].map(|bucket| raw.hop_out_of(bucket, entry));
        let left = if fits { Left::Filled } else { Left::Hole };
        let place = format!("{other} after {resident} at level {levels}");
        let put = |word: Word<L>| Some(word.plus(entry));
        assert!(
            raw.table
                .update(Step::Claim, class.fingerprint, class.p, put)
        );
        let moved = raw.move_resident(hop, false, Fill::Item(Entry::new(other)));
        assert_eq!(moved, Some(left), "{place}");
        let word = raw.table.load_for_update(class.fingerprint, class.p).word();
        assert_eq!(word.count(Entry::new(other)), usize::from(fits), "{place}");
        let moved = raw.move_resident(back, false, Fill::Outline(Entry::new(other)));
        assert_eq!(moved, Some(left), "{place}");
        let word = raw.table.load_for_update(class.fingerprint, class.q).word();
        assert_eq!(
            word.is_marked(Mark::Outline, Entry::new(other)),
            fits,
            "{place}"
        );
        assert_eq!(raw.count(class), 1, "{place}");
    }
    let fixed = RawFilter::<F10x6>::new(8, Levels::FIXED).expect("a few bytes");
    check(&fixed, 700, 501, true);
    for (fingerprint, other, fits) in [(6, 8, true), (6, 7, false), (7, 6, false), (7, 9, true)] {
        let raw = growing(8, 2);
        double(&raw, 1);
        check(&raw, grown(fingerprint), grown(other), fits);
    }
    for (fingerprint, other, fits) in [(6, 10, true), (6, 4, false), (7, 11, true), (7, 9, false)] {
        let raw = growing(8, 2);
        double(&raw, 2);
        check(&raw, grown(fingerprint), grown(other), fits);
    }
}
