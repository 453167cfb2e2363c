//! Decisions on every pair of marks, which a running filter shows for nanoseconds only.

use super::*;

/// Every pair of marks that a move can leave standing, with the copies that it
/// means, alone or beside a resident copy in either word. A stalled mover may leave it for ever: all
/// answers must come, and agree.
#[test]
fn every_state_of_a_move_has_its_copies() {
    fn check<L: Layout>() {
        use Mark::{Delivered as D, Killed as K, Outline as O, Shadow as S, Trailing as T};
        let states = [
            (Some(O), None, 0),
            (Some(S), None, 0),
            (Some(S), Some(T), 1),
            (Some(D), Some(T), 1),
            (Some(D), None, 1),
            (Some(K), Some(T), 0),
            (Some(K), None, 0),
        ];
        for (to, from, moving) in states {
            for ((p, q), resident) in [(to, from), (from, to)]
                .into_iter()
                .flat_map(|marks| [None, Some(0), Some(1)].map(|resident| (marks, resident)))
            {
                let (raw, class) = marked_pair::<L>(p, q);
                if let Some(word) = resident {
                    let bucket = [class.p, class.q][word];
                    put(&raw, bucket, word_at(&raw, bucket).plus(class.untagged()));
                }
                let copies = moving + usize::from(resident.is_some());
                raw.len.add(copies as u64);
                for left in (0..=copies).rev() {
                    assert_eq!(raw.count(class), left, "{p:?} {q:?} {resident:?}");
                    assert_eq!(raw.contains(class), left > 0, "{p:?} {q:?} {resident:?}");
                    assert_eq!(raw.remove(class), left > 0, "{p:?} {q:?} {resident:?}");
                }
                assert_eq!(raw.len.copies(), 0);
            }
        }
    }
    check::<F10x6>();
    check::<S8x6>();
    check::<S12x4>();
}

/// A remove during a move is kept by the mover: it settles into an empty slot.
#[test]
fn a_mark_is_moved_on_by_a_remove_only_to_killed() {
    use Mark::{Delivered as D, Killed as K, Shadow as S, Trailing as T};
    for (p, q, after) in [
        (Some(S), Some(T), (Some(K), Some(T))),
        (Some(T), Some(S), (Some(T), Some(K))),
        (Some(D), Some(T), (Some(K), Some(T))),
        (Some(T), Some(D), (Some(T), Some(K))),
        (Some(D), None, (Some(K), None)),
    ] {
        let (raw, class) = marked_pair::<F10x6>(p, q);
        raw.len.add(1);
        assert!(raw.remove(class));
        let mark = |bucket| word_at(&raw, bucket).mark_of(class.fingerprint);
        assert_eq!((mark(class.p), mark(class.q)), after, "{p:?} {q:?}");
    }
}

/// A shadow is killed for its trailing original only: without that it stands for nothing.
#[test]
fn a_shadow_is_killed_only_with_its_trailing_original() {
    use Mark::{Delivered as D, Shadow as S, Trailing as T};
    for (p, q, kills) in [
        (Some(S), Some(T), true),
        (Some(S), None, false),
        (Some(D), Some(T), false),
        (None, Some(T), false),
    ] {
        let (raw, class) = marked_pair::<F10x6>(p, q);
        let before = word_at(&raw, class.p);
        let killed = raw.kill_shadow(class, class.untagged(), class.p, class.q);
        assert_eq!(killed == Some(true), kills, "{p:?} {q:?}");
        assert_eq!(word_at(&raw, class.p) != before, kills, "{p:?} {q:?}");
    }
}

/// A kill holds the stripe of its class, that of the lower bucket: where that can be held no
/// more, nothing is killed.
#[test]
fn a_shadow_is_not_killed_without_a_hold() {
    let raw = RawFilter::<F10x6>::new(64, Levels::FIXED).expect("a few bytes");
    let class = Class::of_pair(Fingerprint::new(500), 9, 30);
    put(&raw, class.p, marked::<F10x6>(&class, Mark::Shadow));
    put(&raw, class.q, marked::<F10x6>(&class, Mark::Trailing));
    let holds: Vec<_> = iter::from_fn(|| raw.versions.of(class).hold()).collect();
    assert_eq!(holds.len(), 4095);
    assert_eq!(
        raw.kill_shadow(class, class.untagged(), class.p, class.q),
        None
    );
    assert!(word_at(&raw, class.p).is_marked(Mark::Shadow, class.untagged()));
    drop(holds);
    assert_eq!(
        raw.kill_shadow(class, class.untagged(), class.p, class.q),
        Some(true)
    );
}

/// While another mover is stopped with its marks standing, every operation ends.
#[test]
fn a_stopped_mover_delays_nobody() {
    use Mark::{Delivered as D, Killed as K, Shadow as S, Trailing as T};
    for (p, q) in [
        (Some(S), None),
        (Some(S), Some(T)),
        (Some(D), Some(T)),
        (Some(K), Some(T)),
    ] {
        let (raw, class) = marked_pair::<F10x6>(p, q);
        let copies = raw.count(class);
        raw.len.add(copies as u64);
        // Fill the pair to the brim: a mark takes a slot, and is never overwritten.
        let mut added = 0;
        while raw.insert(class).is_ok() {
            added += 1;
        }
        let marks = usize::from(p.is_some()) + usize::from(q.is_some());
        assert_eq!(added, 12 - marks, "{p:?} {q:?}");
        assert_eq!(raw.count(class), copies + added);
        for _ in 0..copies + added {
            assert!(raw.remove(class), "{p:?} {q:?}");
        }
        assert!(!raw.remove(class) && raw.count(class) == 0, "{p:?} {q:?}");
        assert_eq!(raw.len.copies(), 0);
    }
}
