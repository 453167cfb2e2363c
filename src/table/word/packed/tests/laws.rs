//! What each operation on a word means, said without any packing.

use super::*;

/// All operations that are allowed on the word, against their plain meaning: for fingerprints that
/// are stored as these numbers.
pub(super) fn operations_agree<L: PackedLayout>(naive: &Naive, stored: &[u64], tokens: &[u64]) {
    let word: Packed<L> = naive.word();
    let last = word.slots() - 1;
    let fingerprints = || stored.iter().map(|&stored| (stored, naive.whole(stored)));

    assert_eq!(Packed::<L>::unpack(word.pack()), word);
    assert_eq!(word.mark(), naive.mark);
    assert_eq!(word.is_unmarked(), naive.mark.is_none());
    assert_eq!(word.is_reserved(), naive.token.is_some());
    assert_eq!(word.phase(), naive.phase);

    let freed = Naive {
        token: None,
        ..naive.clone()
    };
    assert_eq!(
        word.without_reservation(),
        freed.word(),
        "without_reservation of {naive:?}"
    );

    assert_eq!(word.slots(), naive.slots.len());
    assert_eq!(word.level(), naive.level());
    if L::HAS_PHASE {
        let phase = naive.phase ^ 1;
        let other = Naive {
            phase,
            ..naive.clone()
        };
        assert_eq!(word.set_phase(phase), other.word());
    }

    for mark in Mark::ALL {
        if naive.mark.is_some() {
            let remarked = Naive {
                mark: Some(mark),
                ..naive.clone()
            };
            assert_eq!(
                word.remarked(mark),
                remarked.word(),
                "{mark:?} on {naive:?}"
            );
        }
        for (stored, fingerprint) in fingerprints() {
            let expected = naive.mark == Some(mark) && naive.slots[0] == stored;
            assert_eq!(
                word.is_marked(mark, Entry::new(fingerprint)),
                expected,
                "{mark:?} on {naive:?}"
            );
        }
    }
    for (stored, fingerprint) in fingerprints() {
        let expected = if naive.slots[0] == stored {
            naive.mark
        } else {
            None
        };
        assert_eq!(
            word.mark_of(Fingerprint::new(fingerprint)),
            expected,
            "mark_of {fingerprint} in {naive:?}"
        );
    }
    if naive.mark.is_some() {
        assert_eq!(
            word.unmarked(),
            Naive {
                mark: None,
                ..naive.clone()
            }
            .word()
        );
        let mut gone = Naive {
            mark: None,
            ..naive.clone()
        };
        gone.slots[0] = 0;
        assert_eq!(
            word.without_marked(),
            gone.word(),
            "without_marked of {naive:?}"
        );
    }

    if naive.token.is_some() {
        return;
    }
    // From here on what only the owner of the word's value may ask: the word
    // has no reservation.
    for (stored, fingerprint) in fingerprints() {
        let places = naive.places(stored);
        assert_eq!(
            word.holds(Entry::new(fingerprint)),
            !places.is_empty(),
            "holds {fingerprint} in {naive:?}"
        );
        assert_eq!(
            word.count(Entry::new(fingerprint)),
            places.len(),
            "count {fingerprint} in {naive:?}"
        );
        let mut less = naive.clone();
        if let Some(&slot) = places.first() {
            less.slots[slot] = 0;
        }
        assert_eq!(
            word.minus(Entry::new(fingerprint)),
            less.word(),
            "{naive:?} minus {fingerprint}"
        );
        for mark in Mark::ALL {
            let marked = places
                .first()
                .filter(|_| naive.mark.is_none())
                .map(|&slot| {
                    let mut marked = naive.clone();
                    marked.slots.swap(0, slot);
                    marked.mark = Some(mark);
                    marked.word()
                });
            assert_eq!(
                word.with_mark(Entry::new(fingerprint), mark),
                marked,
                "{mark:?} on {fingerprint} in {naive:?}"
            );
        }
    }
    let vacant: Vec<usize> = (0..=last).filter(|&slot| naive.slots[slot] == 0).collect();
    assert_eq!(
        word.occupied() as usize,
        word.slots() - vacant.len(),
        "occupied of {naive:?}"
    );
    assert_eq!(
        word.has_vacancy(),
        !vacant.is_empty(),
        "has_vacancy of {naive:?}"
    );
    for (stored, fingerprint) in fingerprints() {
        let mut more = naive.clone();
        if let Some(&slot) = vacant.first() {
            more.slots[slot] = stored;
        }
        assert_eq!(
            word.plus(Entry::new(fingerprint)),
            more.word(),
            "{naive:?} plus {fingerprint}"
        );
        for mark in Mark::ALL {
            let marked = vacant
                .first()
                .filter(|_| naive.mark.is_none())
                .map(|&slot| {
                    let mut marked = more.clone();
                    marked.slots.swap(0, slot);
                    marked.mark = Some(mark);
                    marked.word()
                });
            assert_eq!(
                word.plus_marked(Entry::new(fingerprint), mark),
                marked,
                "{naive:?} plus {fingerprint} under {mark:?}"
            );
            if naive.mark.is_some() {
                let mut instead = naive.clone();
                instead.slots[0] = stored;
                instead.mark = Some(mark);
                assert_eq!(
                    word.marked_instead(Entry::new(fingerprint), mark),
                    instead.word(),
                    "{fingerprint} under {mark:?} in {naive:?}"
                );
            }
        }
    }
    let first = usize::from(naive.mark.is_some());
    let residents: Vec<Entry> = naive.slots[first..]
        .iter()
        .copied()
        .filter(|&stored| stored != 0)
        .map(|stored| Entry::new(naive.whole(stored)))
        .collect();
    let one = 1 << L::FINGERPRINT_BITS | naive.whole(1);
    assert_eq!(
        word.residents(Fingerprint::new(one)).collect::<Vec<_>>(),
        residents,
        "residents of {naive:?}"
    );

    for &token in tokens {
        let reserved = vacant.first().map(|&slot| {
            let mut reserved = naive.clone();
            reserved.slots.swap(slot, last);
            reserved.token = Some(token & word.lanes().largest);
            reserved.word()
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
