//! Each operation on a word, or on a pair of words, against its plain meaning.

use super::*;
use crate::table::word::{Hint, Minus, Pair, Phases};

/// Checks that `contents` and their word agree with `expected`.
#[track_caller]
fn same<L: SemiSorted>(contents: Contents<L>, expected: &Naive) {
    assert_eq!(contents.pack(), expected.word::<L>(), "{expected:?}");
    assert_eq!(Contents::from_bits(contents.pack()), Some(contents));
    assert!(contents.is_sound(), "{expected:?}");
}

/// All operations that are allowed on the word, against their plain meaning.
pub(super) fn operations_agree<L: SemiSorted>(naive: &Naive, fingerprints: &[u64], tokens: &[u64]) {
    let word = naive.word::<L>();
    let contents = Contents::<L>::from_bits(word).expect("a word");
    same(contents, naive);

    // All words of a fixed filter are in one phase.
    assert_eq!((contents.level(), contents.phase()), (0, 0));
    assert!(!contents.is_frozen() && contents.slots() == L::SLOTS);
    assert_eq!(contents.mark(), naive.marked.map(|(mark, _)| mark));
    assert_eq!(contents.is_unmarked(), naive.marked.is_none());
    assert_eq!(contents.is_reserved(), naive.token.is_some());
    let rest = naive.rest.iter().copied().map(Entry::new);
    assert!(contents.residents(Fingerprint::NONE).eq(rest));
    assert_eq!(contents.occupied() as usize, naive.slots_used());
    same(contents.without_reservation(), &naive.with_token(None));
    for &fingerprint in fingerprints {
        let (entry, context) = (Entry::new(fingerprint), (fingerprint, naive));
        let copies = naive.rest.iter().filter(|&&it| it == fingerprint).count();
        assert_eq!(contents.holds(entry), copies > 0, "{context:?}");
        assert_eq!(contents.count(entry), copies, "{context:?}");
        let mark = naive.marked.filter(|&(_, marked)| marked == fingerprint);
        let mark = mark.map(|(mark, _)| mark);
        let found = contents.mark_of(Fingerprint::new(fingerprint));
        assert_eq!(found, mark, "{context:?}");
        for kind in MARKED {
            let found = contents.is_marked(kind, entry);
            assert_eq!(found, mark == Some(kind), "{context:?}");
        }
    }
    if let Some((_, marked)) = naive.marked {
        assert_eq!(contents.marked_entry(Fingerprint::NONE), Entry::new(marked));
        same(contents.without_marked(), &naive.with_mark(None));
        same(contents.unmarked(), &naive.with_mark(None).plus(marked));
        for kind in MARKED {
            let remarked = naive.with_mark(Some((kind, marked)));
            same(contents.remarked(kind), &remarked);
            for &fingerprint in fingerprints {
                let instead = contents.marked_instead(Entry::new(fingerprint), kind);
                same(instead, &naive.with_mark(Some((kind, fingerprint))));
            }
        }
    } else {
        same(contents.unmarked(), naive);
    }

    let mut image = naive.with_token(None).with_mark(None);
    if let Some((Mark::Outline | Mark::Shadow | Mark::Delivered, fingerprint)) = naive.marked {
        image = image.plus(fingerprint);
    }
    let at_rest = Contents::<L>::image(word);
    same(Contents::<L>::unpack(at_rest), &image);
    assert!(is_image::<L>(at_rest));
    let is_quiet = naive.marked.is_none() && naive.token.is_none();
    assert_eq!(is_image::<L>(word), is_quiet, "{naive:?}");

    if naive.token.is_some() {
        return;
    }
    // From here on what may be asked of a word without a reservation only.
    let vacant = naive.slots_used() < L::SLOTS;
    assert_eq!(contents.has_vacancy(), vacant, "{naive:?}");
    for &token in tokens {
        let reserved = contents.with_reservation(token);
        assert_eq!(reserved.is_some(), vacant, "{naive:?}");
        if let Some(reserved) = reserved {
            same(reserved, &naive.with_token(Some(token)));
        }
    }
    for &fingerprint in fingerprints {
        let entry = Entry::new(fingerprint);
        let more = vacant.then(|| naive.plus(fingerprint));
        same(contents.plus(entry), more.as_ref().unwrap_or(naive));
        let less = naive.minus(fingerprint);
        same(contents.minus(entry), less.as_ref().unwrap_or(naive));
        for kind in MARKED {
            let marked = |rest: Option<&Naive>, found: Option<Contents<L>>| {
                let rest = rest.filter(|_| naive.marked.is_none());
                assert_eq!(found.is_some(), rest.is_some(), "{naive:?}");
                if let (Some(found), Some(rest)) = (found, rest) {
                    same(found, &rest.with_mark(Some((kind, fingerprint))));
                }
            };
            marked(less.as_ref(), contents.with_mark(entry, kind));
            let brought = contents.plus_marked(entry, kind);
            marked(vacant.then_some(naive), brought);
        }
    }
}

/// What the first attempt of a lookup asks, and where an insert goes.
pub(super) fn pair_agrees<L: SemiSorted>(p: &Naive, q: &Naive, fingerprints: &[u64]) {
    let words = [p, q].map(Naive::word::<L>);
    let quiet = [p, q].map(|it| it.marked.is_none() && it.token.is_none());
    for &fingerprint in fingerprints {
        let expected = p.holds(fingerprint) || q.holds(fingerprint);
        let [p, q] = words.map(Bits);
        let settled = quiet == [true; 2];
        assert_eq!(
            Contents::<L>::match_settled(p, q, Fingerprint::new(fingerprint), Hint::FIXED),
            (settled, settled && expected),
            "{fingerprint} in {words:?}"
        );
    }
    let [of_p, of_q] = words.map(|word| Contents::<L>::from_bits(word).expect("a word"));
    let unmarked = p.marked.is_none() && q.marked.is_none();
    assert_eq!(Contents::both_unmarked(of_p, of_q), unmarked);
    if p.token.is_some() || q.token.is_some() {
        return;
    }
    // A full word is the fuller one in any case; between others the mark may decide.
    let alike = p.marked.is_some() == q.marked.is_some();
    if alike || [p, q].iter().any(|it| it.slots_used() == L::SLOTS) {
        let more = p.slots_used() > q.slots_used();
        assert_eq!(of_p.is_fuller_than(of_q), more, "{p:?} and {q:?}");
    }
}

/// What an insert and a remove make of two words.
pub(super) fn writes_agree<L: SemiSorted>(p: &Naive, q: &Naive, fingerprints: &[u64]) {
    let words = [p, q].map(|it| Bits(it.word::<L>()));
    let quiet = [p, q].map(|it| it.marked.is_none() && it.token.is_none()) == [true; 2];
    let [p, q] = [p, q].map(|it| it.with_token(None));
    let vacant = [&p, &q].map(|it| it.slots_used() < L::SLOTS);
    for &fingerprint in fingerprints {
        let entry = Entry::new(fingerprint);
        let plus = Contents::<L>::plus_in_emptier(words[0], words[1], entry, Hint::FIXED);
        assert_eq!(plus.is_some(), vacant != [false; 2], "{p:?} and {q:?}");
        if let Some((in_q, Bits(new))) = plus {
            let into = if in_q { &q } else { &p };
            assert!(vacant[usize::from(in_q)], "{p:?} and {q:?}");
            assert_eq!(new, into.plus(fingerprint).word::<L>(), "{p:?} and {q:?}");
            // Where one is marked, either may count as the fuller one.
            let alike = p.marked.is_some() == q.marked.is_some();
            let more = p.slots_used() > q.slots_used();
            assert!(!alike || in_q == more, "{p:?} and {q:?}");
        }

        let less = p.minus(fingerprint).map(|it| (true, it));
        let less = less.or_else(|| Some((false, q.minus(fingerprint)?)));
        let less = less.map(|(in_p, it)| (in_p, Bits(it.word::<L>())));
        match Contents::<L>::minus_in_first(words[0], words[1], entry, Hint::FIXED) {
            Minus::Taken { in_p, new } => assert_eq!(Some((in_p, new)), less),
            Minus::Nothing => assert_eq!(less, None, "{fingerprint} in {p:?} and {q:?}"),
            Minus::Marked => assert!(!quiet, "{p:?} and {q:?}"),
        }
    }
}
