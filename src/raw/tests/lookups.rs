//! Lookups are wait-free: their loads are counted.

use super::*;

/// A version, P and Q; then a version, P, Q, P, Q and the version, seven times.
const MAX_LOADS: usize = 4 + (ATTEMPTS - 1) * 6;

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
    assert_eq!(raw.stats().conservative_lookups, 2);
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
                for from in [class.p, class.q] {
                    let hop = raw.hop_out_of(from, class.untagged());
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
