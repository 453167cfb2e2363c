//! Lookups are wait-free: their loads are counted. Decisions on every pair of
//! marks, which a running filter shows for nanoseconds only.

use super::{
    lookup::ATTEMPTS,
    moves::{Fill, Hop, Left},
    *,
};
use crate::{
    error::InsertError,
    step::Step,
    sync::loads,
    table::{
        Levels,
        entry::{Entry, Fingerprint},
        layout::{F10x6, F30x2, Growing, S7x7, S8x6, S9x5, S12x4, S17x3, Word},
        word::{Bucket, Mark, Phases},
    },
};
use std::{
    iter,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A version, P and Q; then a version, P, Q, P, Q and the version, seven times.
const MAX_LOADS: usize = 4 + (ATTEMPTS - 1) * 6;

pub(crate) fn put<L: Layout>(raw: &RawFilter<L>, bucket: usize, word: Word<L>) {
    assert!(
        raw.table
            .update(Step::Claim, Fingerprint::new(1), bucket, |_| Some(word))
    );
}

pub(crate) fn word_at<L: Layout>(raw: &RawFilter<L>, bucket: usize) -> Word<L> {
    raw.table
        .load_for_update(Fingerprint::new(1), bucket)
        .word()
}

/// The levels of a growable filter for tests: 13 bits × 4 slots, and after one doubling 12 × 4.
pub(crate) const GROWN: Levels = Levels { first: 14, more: 2 };

/// The bits of its fingerprint with these lower bits. The highest one is set in all of them.
pub(crate) const fn grown(lower: u64) -> u64 {
    lower << GROWN.first | 1 << 26
}

/// A filter that can double `more` times.
pub(crate) fn growing(buckets: usize, more: u32) -> RawFilter<Growing> {
    RawFilter::new(buckets, Levels { more, ..GROWN }).expect("a few bytes")
}

/// A filter of 8 buckets and a class whose pair is two buckets of it.
pub(crate) fn filter_and_class<L: Layout>() -> (RawFilter<L>, Class) {
    let raw = RawFilter::new(8, Levels::FIXED).expect("a few bytes");
    (raw, Class::of_resident(Fingerprint::new(1), 0, 8))
}

/// The class under a mark, and nothing else.
pub(crate) fn marked<L: Layout>(class: &Class, mark: Mark) -> Word<L> {
    let marked = Word::<L>::EMPTY.plus_marked(class.untagged(), mark);
    marked.expect("slots")
}

/// A class whose lower bucket is `p`.
pub(crate) fn from_lower(p: usize) -> Class {
    Class::of_pair(Fingerprint::new(1), p, p + 1)
}

/// Doubles an empty filter this number of times.
pub(crate) fn double<L: Layout>(raw: &RawFilter<L>, times: u32) {
    for _ in 0..times {
        raw.table.begin_level(raw.table.level()).expect("memory");
        raw.table.finish_level();
    }
}

/// A filter of one layout whose fill leaves hardly any slot.
fn nearly_full<L: Layout>(buckets: usize, slots_left: usize) -> (RawFilter<L>, Vec<Class>) {
    let raw = RawFilter::new(buckets, Levels::FIXED).expect("a few bytes");
    let mut inside = Vec::new();
    let mut hash = 0_u64;
    while inside.len() < buckets * L::slots_at(0) - slots_left {
        hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let class = raw.class(hash);
        if raw.insert(class).is_ok() {
            inside.push(class);
        }
    }
    (raw, inside)
}

#[test]
fn a_lookup_at_rest_takes_four_loads() {
    fn check<L: Layout>() {
        let (raw, inside) = nearly_full::<L>(16, 2);
        for &class in &inside {
            assert_eq!(loads::during(|| raw.contains(class)), (true, 4));
        }
        let (mut misses, mut hash) = (0, 1_u64);
        while misses < 1000 {
            hash = hash.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let class = raw.class(hash);
            let (found, loads) = loads::during(|| raw.contains(class));
            assert_eq!(
                found,
                inside.contains(&class),
                "at rest the answer for a class is exact"
            );
            assert_eq!(loads, 4);
            misses += usize::from(!found);
        }
    }
    check::<F10x6>();
    check::<F30x2>();
    check::<S8x6>();
    check::<S17x3>();
}

/// The worst case by hand: words that cannot stand together make every attempt
/// read all it can, and the last one answers true.
#[test]
fn a_lookup_that_never_sees_a_sound_pair_answers_true_after_its_last_attempt() {
    let (raw, class) = filter_and_class::<F10x6>();
    let torn = marked::<F10x6>(&class, Mark::Trailing);
    for bucket in [class.p, class.q] {
        put(&raw, bucket, torn);
        assert_eq!(loads::during(|| raw.contains(class)), (true, MAX_LOADS));
        put(&raw, bucket, Word::<F10x6>::EMPTY);
    }
    assert_eq!(raw.counters.stats().conservative_lookups, 2);
    assert_eq!(MAX_LOADS, 46);
}

/// The same where both words are ahead of the hint: each takes a load more.
#[test]
fn a_lookup_in_a_level_that_is_swept_takes_a_bounded_number_of_loads() {
    let raw = growing(8, 1);
    // Even: after a doubling it is still in plane 0.
    let class = Class::of_resident(Fingerprint::new(grown(2)), 0, 8);
    let ahead = Word::<Growing>::at_level(GROWN.first + 1);
    let torn = ahead.plus_marked(class.untagged(), Mark::Trailing);
    put(&raw, class.p, torn.expect("slots"));
    put(&raw, class.q, ahead);
    assert_eq!(
        loads::during(|| raw.contains(class)),
        (true, MAX_LOADS + (ATTEMPTS - 1) * 4)
    );
    // An absent one is not answered before its words are found.
    let absent = Class {
        fingerprint: Fingerprint::new(grown(4)),
        ..class
    };
    assert_eq!(
        loads::during(|| raw.contains(absent)),
        (false, 4 + 1 + 4 + 1)
    );
}

/// Copies are relocated to and fro during lookups, and each lookup must still be short.
#[test]
fn a_lookup_under_relocations_takes_a_bounded_number_of_loads() {
    /// Enough of them that met a move half done.
    const RETRIED: usize = 1_000;
    const LOOKUPS: u64 = 500_000;
    const PATIENCE: Duration = Duration::from_secs(60);

    let (raw, class) = filter_and_class::<F10x6>();
    let absent = Class {
        fingerprint: Fingerprint::new(class.fingerprint.bits() + 1),
        ..class
    };
    put(&raw, class.p, Word::<F10x6>::EMPTY.plus(class.untagged()));
    let done = AtomicBool::new(false);
    let (mut lookups, mut retried, mut most, mut missed) = (0_u64, 0, 0, false);
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: it passes no data on.
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [(class.p, class.q), (class.q, class.p)] {
                    let hop = Hop {
                        entry: class.untagged(),
                        from,
                        to,
                    };
                    raw.move_resident(hop, false, Fill::Hole);
                }
            }
        });
        // Nothing in here panics: the mover would run on.
        while (retried < RETRIED || lookups < LOOKUPS) && start.elapsed() < PATIENCE && !missed {
            let (found, loads) = loads::during(|| raw.contains(class));
            let (_, loads_of_absent) = loads::during(|| raw.contains(absent));
            missed = !found;
            most = most.max(loads).max(loads_of_absent);
            retried += usize::from(loads > 4);
            lookups += 2;
        }
        // Relaxed: as above.
        done.store(true, Ordering::Relaxed);
    });
    println!("{retried} of {lookups} lookups retried; {most} loads at most");
    assert!(!missed, "false negative");
    assert!(
        retried >= RETRIED,
        "hardly any lookup met a move in {PATIENCE:?}"
    );
    assert!(most <= MAX_LOADS, "{most} loads");
    assert_eq!(raw.count(class), 1);
}

/// A pair of words with these marks on the class in P and Q, `None` for a word
/// that does not hold it at all.
fn marked_pair<L: Layout>(p: Option<Mark>, q: Option<Mark>) -> (RawFilter<L>, Class) {
    let (raw, class) = filter_and_class::<L>();
    for (bucket, mark) in [(class.p, p), (class.q, q)] {
        if let Some(mark) = mark {
            put(&raw, bucket, marked::<L>(&class, mark));
        }
    }
    (raw, class)
}

/// Every pair of marks that a move can leave standing, with the copies that it
/// means. A stalled mover may leave it for ever: all answers must come, and agree.
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
        for (to, from, expected) in states {
            for (p, q) in [(to, from), (from, to)] {
                let (raw, class) = marked_pair::<L>(p, q);
                assert_eq!(raw.count(class), expected, "{p:?} {q:?}");
                assert_eq!(raw.contains(class), expected > 0, "{p:?} {q:?}");
                raw.len.add(expected as u64);
                for left in (0..expected).rev() {
                    assert!(raw.remove(class), "{p:?} {q:?}");
                    assert_eq!(raw.count(class), left, "{p:?} {q:?}");
                    assert_eq!(raw.contains(class), left > 0, "{p:?} {q:?}");
                }
                assert!(!raw.remove(class), "{p:?} {q:?}: removed once too often");
                assert_eq!(raw.len.sum(), 0);
            }
        }
    }
    check::<F10x6>();
    check::<S8x6>();
    check::<S12x4>();
}

/// The same with a second, resident copy beside the shadow's or the original's.
#[test]
fn a_move_under_way_leaves_other_copies_alone() {
    use Mark::{Delivered as D, Killed as K, Outline as O, Shadow as S, Trailing as T};
    let states = [
        (O, None, 0),
        (S, None, 0),
        (S, Some(T), 1),
        (D, Some(T), 1),
        (D, None, 1),
        (K, Some(T), 0),
        (K, None, 0),
    ];
    for (to, from, moving) in states {
        for (p, q) in [(Some(to), from), (from, Some(to))] {
            for resident_in_p in [true, false] {
                let (raw, class) = marked_pair::<F10x6>(p, q);
                let bucket = if resident_in_p { class.p } else { class.q };
                put(&raw, bucket, word_at(&raw, bucket).plus(class.untagged()));
                raw.len.add(moving + 1);
                assert_eq!(raw.count(class) as u64, moving + 1, "{p:?} {q:?}");
                assert!(raw.contains(class));
                for left in (0..=moving).rev() {
                    assert!(raw.remove(class), "{p:?} {q:?}");
                    assert_eq!(raw.count(class) as u64, left, "{p:?} {q:?}");
                }
                assert!(!raw.remove(class), "{p:?} {q:?}");
            }
        }
    }
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

/// Beside the mark of another class a copy is seen by itself: no version is validated, and
/// no word read again.
#[test]
fn a_copy_beside_a_mark_is_found_with_seven_loads() {
    let (raw, class) = filter_and_class::<F10x6>();
    let word = Word::<F10x6>::EMPTY
        .plus(class.untagged())
        .plus_marked(Entry::new(class.fingerprint.bits() + 1), Mark::Shadow)
        .expect("slots");
    for bucket in [class.p, class.q] {
        put(&raw, bucket, word);
        assert_eq!(loads::during(|| raw.contains(class)), (true, 7));
        put(&raw, bucket, Word::<F10x6>::EMPTY);
    }
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
        assert_eq!(raw.len.sum(), 0);
    }
}

/// A remove that is stopped while it holds a stripe keeps movers from it, but all
/// operations end; a lookup takes no more loads than ever.
#[test]
fn a_stopped_remove_delays_nobody() {
    let (raw, inside) = nearly_full::<F10x6>(6, 2);
    let _holds: Vec<_> = (0..6)
        .map(|p| raw.versions.of(from_lower(p)).hold())
        .collect();
    let mut full = 0;
    for hash in 0..200_u64 {
        let class = raw.class(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        full += u64::from(raw.insert(class).is_err());
    }
    assert_eq!(raw.len.sum() as u64, inside.len() as u64 + 200 - full);
    for &class in &inside {
        assert_eq!(loads::during(|| raw.contains(class)), (true, 4));
        assert!(raw.count(class) > 0);
    }
    for &class in &inside {
        assert!(raw.remove(class));
    }
}

/// A held stripe bars some moves only: the search finds a path without them,
/// though one with them would be shorter or come first.
#[test]
fn a_path_goes_round_a_held_stripe() {
    const BUCKETS: usize = 16;
    let raw = RawFilter::<F30x2>::new(BUCKETS, Levels::FIXED).expect("a few bytes");
    let residents =
        |bucket| (1..).map(move |f| Class::of_resident(Fingerprint::new(f), bucket, BUCKETS));
    let class = residents(0).next().expect("any will do");
    // Of 4 stripes, moves out of bucket 0 are all on stripe 0.
    let out_of_p = residents(0).filter(|other| other.q != class.q);
    let out_of_q = residents(class.q).filter(|other| other.p % 4 != 0);
    for (resident, bucket) in (out_of_p.take(2).map(|class| (class, 0)))
        .chain(out_of_q.take(2).map(|other| (other, class.q)))
    {
        let word = word_at(&raw, bucket);
        put(&raw, bucket, word.plus(resident.untagged()));
    }
    let _hold = raw.versions.of(from_lower(0)).hold();
    assert_eq!(raw.insert(class), Ok(()));
    assert_eq!(raw.count(class), 1);
}

/// Not only `len` but no word changes when an insert is answered with Full.
#[test]
fn a_full_filter_is_left_as_it_was() {
    fn check<L: Layout>() {
        let (raw, _) = nearly_full::<L>(10, 0);
        let words = || {
            (0..10)
                .map(|bucket| word_at(&raw, bucket))
                .collect::<Vec<_>>()
        };
        let before = words();
        for hash in 0..500_u64 {
            assert_eq!(
                raw.insert(raw.class(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
                Err(InsertError::Full)
            );
        }
        assert_eq!(words(), before);
        assert_eq!(raw.len.sum(), 10 * L::slots_at(0));
    }
    check::<F10x6>();
    check::<F30x2>();
    check::<S8x6>();
    check::<S17x3>();
}

/// Every change of a word evicts another thread's reservation, whatever its class. Only then does a
/// reservation that is still there prove that the word is unchanged.
#[test]
fn every_change_of_a_word_takes_the_reservation_away() {
    fn check<L: Layout>() {
        use Mark::{Delivered as D, Shadow as S, Trailing as T};

        const TOKEN: u64 = 77;

        fn reserved<L: Layout>(word: Word<L>) -> Word<L> {
            word.with_reservation(TOKEN).expect("six slots")
        }

        fn is_reserved<L: Layout>(raw: &RawFilter<L>, bucket: usize) -> bool {
            raw.table
                .load(Step::ReadP, Fingerprint::new(1), bucket)
                .is_reserved()
        }

        // Take, from either word; and Kill, of S and of D.
        for (marks, from) in [
            ([None, None], 0),
            ([None, None], 1),
            ([Some(S), Some(T)], 0),
            ([Some(T), Some(S)], 1),
            ([Some(D), Some(T)], 0),
            ([Some(T), Some(D)], 1),
        ] {
            let (raw, class) = marked_pair::<L>(marks[0], marks[1]);
            let bucket = [class.p, class.q][from];
            let mut word = word_at(&raw, bucket);
            if marks[from].is_none() {
                word = word.plus(class.untagged());
            }
            put(&raw, bucket, reserved::<L>(word));
            raw.len.add(1);
            assert!(is_reserved(&raw, bucket));
            assert!(raw.remove(class), "{marks:?} {from}");
            assert!(!is_reserved(&raw, bucket), "{marks:?} {from}");
        }
        // Claim, and all steps of a move in both words.
        let (raw, class) = filter_and_class::<L>();
        let buckets = [class.p, class.q];
        let reserve =
            || buckets.map(|bucket| put(&raw, bucket, reserved::<L>(word_at(&raw, bucket))));
        let count = || {
            buckets
                .into_iter()
                .filter(|&bucket| is_reserved(&raw, bucket))
                .count()
        };
        reserve();
        assert_eq!(raw.insert(class), Ok(()));
        assert_eq!(count(), 1);
        let from = usize::from(word_at(&raw, class.p) == Word::<L>::EMPTY);
        let hop = Hop {
            entry: class.untagged(),
            from: buckets[from],
            to: buckets[1 - from],
        };
        reserve();
        assert_eq!(raw.move_resident(hop, false, Fill::Hole), Some(Left::Hole));
        assert_eq!(count(), 0);
    }
    check::<F10x6>();
    check::<S8x6>();
    check::<S9x5>();
}

/// Relocations leave no mark and no reservation behind.
#[test]
fn at_rest_no_word_is_marked() {
    fn check<L: Layout>() {
        let (raw, inside) = nearly_full::<L>(32, 3);
        assert!(
            raw.counters.stats().relocations > 0,
            "the fill needed relocations"
        );
        for bucket in 0..32 {
            let word = raw.table.load(Step::ReadP, Fingerprint::new(1), bucket);
            assert!(
                word.is_unmarked() && !word.is_reserved(),
                "bucket {bucket}: {word:?}"
            );
        }
        for &class in &inside {
            assert!(raw.contains(class));
            let copies = inside.iter().filter(|&&other| other == class).count();
            assert_eq!(raw.count(class), copies);
        }
    }
    check::<F10x6>();
    check::<S7x7>();
    check::<S8x6>();
}
