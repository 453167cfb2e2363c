//! What each operation on a word means, said without any packing.

use super::*;

/// All operations that are allowed on the word, against their plain meaning: for fingerprints that
/// are stored as these numbers.
pub(super) fn operations_agree<L: PackedLayout>(naive: &Naive, stored: &[u64], tokens: &[u64]) {
    let word: Packed<L> = naive.word();
    let with = |change: &dyn Fn(&mut Naive)| -> Packed<L> {
        let mut changed = naive.clone();
        change(&mut changed);
        changed.word()
    };
    // The word with a mark on what is in this slot, unless it has one.
    let marked = |slot: Option<&usize>, stored, mark| {
        let slot = *slot.filter(|_| naive.mark.is_none())?;
        Some(with(&|it| {
            it.slots[slot] = stored;
            it.slots.swap(0, slot);
            it.mark = Some(mark);
        }))
    };
    let all = || {
        let each = stored.iter().map(|&stored| (stored, naive.whole(stored)));
        each.map(|(stored, whole)| (stored, Entry::new(whole), Fingerprint::new(whole)))
    };

    assert_eq!(Packed::<L>::unpack(word.pack()), word);
    assert_eq!(word.mark(), naive.mark);
    assert_eq!(word.is_unmarked(), naive.mark.is_none());
    assert_eq!(word.is_reserved(), naive.token.is_some());
    assert_eq!(word.phase(), naive.phase);
    assert_eq!(word.without_reservation(), with(&|it| it.token = None));
    assert_eq!(word.slots(), naive.slots.len());
    assert_eq!(word.level(), naive.level());
    if L::HAS_PHASE {
        let phase = naive.phase ^ 1;
        assert_eq!(word.set_phase(phase), with(&|it| it.phase = phase));
    }

    for (stored, entry, fingerprint) in all() {
        let mark = naive.mark.filter(|_| naive.slots[0] == stored);
        assert_eq!(word.mark_of(fingerprint), mark, "{entry:?} in {naive:?}");
        for kind in Mark::ALL {
            let expected = mark == Some(kind);
            assert_eq!(word.is_marked(kind, entry), expected, "{kind:?}, {naive:?}");
        }
    }
    if naive.mark.is_some() {
        let (one, marked) = (naive.whole(1), naive.whole(naive.slots[0]));
        assert_eq!(word.marked_entry(Fingerprint::new(one)), Entry::new(marked));
        assert_eq!(word.unmarked(), with(&|it| it.mark = None));
        let without = |it: &mut Naive| (it.mark, it.slots[0]) = (None, 0);
        assert_eq!(word.without_marked(), with(&without), "{naive:?}");
        for mark in Mark::ALL {
            let remarked = with(&|it| it.mark = Some(mark));
            assert_eq!(word.remarked(mark), remarked, "{mark:?} on {naive:?}");
        }
    }

    if naive.token.is_some() {
        return;
    }
    // From here on what only the owner of the word's value may ask: the word
    // has no reservation.
    let vacant: Vec<usize> = (0..word.slots())
        .filter(|&slot| naive.slots[slot] == 0)
        .collect();
    let occupied = word.slots() - vacant.len();
    assert_eq!(word.occupied() as usize, occupied, "{naive:?}");
    assert_eq!(word.has_vacancy(), !vacant.is_empty(), "{naive:?}");
    for (stored, entry, _) in all() {
        let context = format!("{entry:?} and {naive:?}");
        let places = naive.places(stored);
        assert_eq!(word.holds(entry), !places.is_empty(), "{context}");
        assert_eq!(word.count(entry), places.len(), "{context}");
        let put = |place: Option<&usize>, stored| {
            with(&|it| place.into_iter().for_each(|&slot| it.slots[slot] = stored))
        };
        assert_eq!(word.minus(entry), put(places.first(), 0), "{context}");
        assert_eq!(word.plus(entry), put(vacant.first(), stored), "{context}");
        for mark in Mark::ALL {
            let expected = marked(places.first(), stored, mark);
            assert_eq!(word.with_mark(entry, mark), expected, "{mark:?}: {context}");
            let expected = marked(vacant.first(), stored, mark);
            assert_eq!(
                word.plus_marked(entry, mark),
                expected,
                "{mark:?}: {context}"
            );
            if naive.mark.is_some() {
                let instead = with(&|it| (it.mark, it.slots[0]) = (Some(mark), stored));
                assert_eq!(
                    word.marked_instead(entry, mark),
                    instead,
                    "{mark:?}: {context}"
                );
            }
        }
    }
    let first = usize::from(naive.mark.is_some());
    let residents = naive.slots[first..].iter().filter(|&&stored| stored != 0);
    let residents: Vec<Entry> = residents
        .map(|&stored| Entry::new(naive.whole(stored)))
        .collect();
    let one = Fingerprint::new(1 << L::FINGERPRINT_BITS | naive.whole(1));
    assert_eq!(word.residents(one).collect::<Vec<_>>(), residents);

    for &token in tokens {
        let reserved = vacant.first().map(|&slot| {
            with(&|it| {
                it.slots.swap(slot, word.slots() - 1);
                it.token = Some(token & word.lanes().largest);
            })
        });
        let with = word.with_reservation(token);
        assert_eq!(with, reserved, "token {token} into {naive:?}");
    }
}

/// A split against its plain meaning, for words that can be split. Each fingerprint moves or stays
/// according to its lowest bit, which is no longer stored. They are in the first slots, in their
/// order, and the mark is on the fingerprint of slot 0.
pub(super) fn split_agrees<L: PackedLayout>(naive: &Naive) {
    let last = u64::from(naive.level()) + 1 >= levels::<L>();
    // Without that bit no number may be 0.
    let lasting = naive.slots.iter().all(|&stored| stored != 1);
    if naive.token.is_some() || naive.phase & 1 == 1 || last || !lasting {
        return;
    }
    let word: Packed<L> = naive.word();
    assert!(!word.is_frozen() && word.frozen().is_frozen());
    let part = |bit| {
        let mut part = Naive {
            phase: naive.phase + 2,
            ..naive.clone()
        };
        part.slots
            .retain(|&stored| stored != 0 && stored & 1 == bit);
        for stored in &mut part.slots {
            *stored >>= 1;
        }
        let slots = part.lanes::<L>().slots;
        assert!(slots >= word.slots());
        part.slots.resize(slots, 0);
        // An empty slot 0 has no mark.
        if naive.slots[0] == 0 || naive.slots[0] & 1 != bit {
            part.mark = None;
        }
        part.word()
    };
    assert_eq!(word.frozen().split(), (part(0), part(1)), "{naive:?}");
}

/// What a snapshot keeps of a word, and what it takes for one, against their plain meaning.
pub(super) fn image_agrees<L: PackedLayout>(naive: &Naive) {
    let word: Packed<L> = naive.word();
    let mut image = Naive {
        mark: None,
        token: None,
        phase: naive.phase & !1,
        ..naive.clone()
    };
    if let Some(Mark::Trailing | Mark::Killed) = naive.mark {
        image.slots[0] = 0;
    }
    assert_eq!(image_of(word), image.word(), "{naive:?}");
    is_image_agrees::<L>(naive);
    is_image_agrees::<L>(&image);
}

fn image_of<L: PackedLayout>(word: Packed<L>) -> Packed<L> {
    Packed::unpack(Packed::<L>::image(word.pack()))
}

fn is_image<L: PackedLayout>(word: Packed<L>) -> bool {
    Packed::<L>::is_image(word.pack())
}

fn is_image_agrees<L: PackedLayout>(naive: &Naive) {
    let word: Packed<L> = naive.word();
    let at_rest = naive.mark.is_none() && naive.token.is_none() && naive.phase & 1 == 0;
    let level = naive.level();
    let to_lose = levels::<L>() as u32 - 1 - level;
    let lasting = |&stored: &u64| stored == 0 || stored >> to_lose != 0;
    let expected = at_rest && naive.slots.iter().all(lasting);
    assert_eq!(is_image(word), expected, "{naive:?}");
    let unused = !(naive.lanes::<L>().payload | L::CONTROL | L::PHASE);
    for bit in (0..u64::BITS).filter(|bit| unused >> bit & 1 == 1) {
        let more = Packed::<L>::unpack(word.pack() | 1 << bit);
        assert!(!is_image(more), "bit {bit} and {naive:?}");
    }
}
