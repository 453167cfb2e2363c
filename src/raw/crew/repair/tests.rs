use super::*;
use crate::{
    memory::Members,
    raw::{
        crew::tests::{L, Raw, Seated, processes, says},
        tests::{put, word_at},
    },
    sync::Ordering,
};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

/// This process dies while `threads` of its threads hold the stripe of the class.
fn dies_in_holds(process: &Seated, raw: &Raw, class: Class, threads: usize) {
    let crew = raw.crew().expect("processes share it");
    let taken: Vec<_> = (0..threads).map(|_| crew.take_line()).collect();
    for line in &taken {
        let line = line.as_ref().expect("a line").for_moves();
        let hold = line.hold(raw.versions.of(class), raw.versions.number_of(class));
        std::mem::forget(hold.expect("few holds"));
    }
    std::mem::forget(taken);
    process.die();
}

/// The hold of a living process stands, whether its lines are above those of the dead one or below. Here it
/// is in the last line of the process, which is the last line of all if there are 73 processes.
#[test]
fn a_repair_leaves_the_holds_of_the_living() {
    const DEAD: usize = 1;
    for (members, living) in [(3, 0), (3, 2), (73, 72)] {
        let (all, filters) = processes(members);
        let (raw, class) = (&filters[living], filters[0].class(7));
        let stripe = raw.versions.of(class);
        let crew = raw.crew().expect("processes share it");
        {
            let taken: Vec<_> = std::iter::from_fn(|| crew.take_line()).collect();
            let line = taken.last().expect("lines").for_moves();
            let _hold = line.hold(stripe, raw.versions.number_of(class));
            dies_in_holds(&all[DEAD], &filters[DEAD], class, 1);
            let repaired = raw.repair_dead(true);
            assert_eq!((repaired.left, repaired.holds), (1, 0), "{living} lives");
            assert!(stripe.is_held());
            assert!(!all[living].is_alive(DEAD), "its seat is not free");
        }
        let repaired = raw.repair_dead(true);
        assert_eq!((repaired.left, repaired.holds), (0, 1));
        assert!(!stripe.is_held());
        assert!(all[living].is_alive(DEAD), "its seat is free");
    }
}

/// As many as there are of one process, which can be one for each of its lines, or of several dead ones.
#[test]
fn a_repair_ends_all_holds_of_the_dead() {
    for threads in [1, 2, 3, 32] {
        let (all, filters) = processes(4);
        let class = filters[0].class(7);
        for dead in [1, 3] {
            dies_in_holds(&all[dead], &filters[dead], class, threads);
        }
        // The first repair ends the holds of both.
        let repaired = filters[0].repair_dead(true);
        let expected = Repaired {
            processes: 2,
            holds: 1,
            ..Repaired::default()
        };
        assert_eq!(repaired, expected);
        assert!(!filters[0].versions.of(class).is_held());
        assert_eq!(filters[0].census().holds, 0);
    }
}

/// What a dead process has recorded is gone after its repair, in all its lines.
#[test]
fn a_repair_clears_the_lines_of_the_dead() {
    const DEAD: usize = 1;
    let (all, filters) = processes(3);
    let (raw, class) = (&filters[DEAD], filters[0].class(7));
    let crew = raw.crew().expect("processes share it");
    let hop = raw.hop_out_of(class.p, Entry::untagged(class.fingerprint));
    let taken: Vec<_> = std::iter::from_fn(|| crew.take_line()).collect();
    for taken in &taken {
        let line = taken.for_moves();
        for hand in HANDS {
            line.record_move::<L>(hand, hop);
        }
        line.record_stripe(raw.versions.number_of(class));
        taken.record_reservation::<L>(class);
        assert!(!says(crew, taken).contains(&0));
    }
    all[DEAD].die();
    let repaired = filters[0].repair(DEAD);
    let expected = Repaired {
        processes: 1,
        ..Repaired::default()
    };
    assert_eq!(repaired, expected, "there were only records");
    for taken in taken {
        assert_eq!(says(crew, &taken), [0; 4]);
    }
}

/// A reservation belongs to one line, in either bucket of its class.
#[test]
fn a_repair_drops_the_reservations_of_the_dead_only() {
    const DEAD: usize = 1;
    let (_, filters) = processes(2);
    let (raw, class) = (&filters[0], filters[0].class(7));
    let [living, dead] = [0, DEAD].map(|member| {
        let crew = filters[member].crew().expect("processes share it");
        crew.take_line().expect("a line")
    });
    for bucket in [class.p, class.q] {
        for (owner, dropped) in [(&living, 0), (&dead, 1)] {
            let reserved = Word::<L>::EMPTY.with_reservation(owner.token());
            put(raw, bucket, reserved.expect("it is empty"));
            dead.record_reservation::<L>(class);
            assert_eq!(raw.repair(DEAD).reservations, dropped);
            let left = raw.table.load_for_update(class.fingerprint, bucket).token();
            assert_eq!(left, (dropped == 0).then(|| owner.token()));
            put(raw, bucket, Word::<L>::EMPTY);
        }
    }
}

/// Wherever its mover has died, a copy is in one bucket afterwards, or in none if a remove has killed it.
#[test]
fn a_repair_ends_a_move_in_each_of_its_states() {
    const DEAD: usize = 1;
    let (_, filters) = processes(2);
    let (raw, class) = (&filters[0], filters[0].class(7));
    let entry = Entry::untagged(class.fingerprint);
    let empty = Word::<L>::EMPTY;
    let copy = empty.plus(entry);
    let marked = |mark| empty.plus_marked(entry, mark).expect("it is empty");
    let crew = filters[DEAD].crew().expect("processes share it");
    let taken = crew.take_line().expect("a line");
    let line = taken.for_moves();
    // The words before the repair and after it, and whether it retracts or completes the move.
    use Mark::{Delivered as D, Killed as K, Outline as O, Shadow as S, Trailing as T};
    let states = [
        ([copy, empty], [copy, empty], [0, 0]),
        ([copy, marked(O)], [copy, empty], [1, 0]),
        ([copy, marked(S)], [copy, empty], [1, 0]),
        ([marked(T), marked(S)], [empty, copy], [0, 1]),
        ([marked(T), marked(D)], [empty, copy], [0, 1]),
        ([marked(T), marked(K)], [empty, empty], [0, 1]),
        ([empty, marked(D)], [empty, copy], [0, 1]),
        ([empty, marked(K)], [empty, empty], [0, 1]),
    ];
    for ((before, after, done), hand) in states
        .iter()
        .flat_map(|state| HANDS.map(|hand| (state, hand)))
    {
        for (from, to) in [(class.p, class.q), (class.q, class.p)] {
            let hop = raw.hop_out_of(from, entry);
            for has_gate in [false, true] {
                put(raw, from, before[0]);
                put(raw, to, before[1]);
                // Without the gate, another line has made the marks.
                if has_gate {
                    assert!(line.enter::<L>(hand, hop));
                } else {
                    line.record_move::<L>(hand, hop);
                }
                let repaired = raw.repair(DEAD);
                let (expected, counts) = if has_gate {
                    (after, *done)
                } else {
                    (before, [0, 0])
                };
                assert_eq!([word_at(raw, from), word_at(raw, to)], *expected);
                assert_eq!([repaired.retracted, repaired.completed], counts);
                assert_eq!(repaired.gates, usize::from(has_gate));
                assert_eq!(crew.taken_gates(), 0);
            }
        }
    }
}

/// All gates say that the line has them.
fn take_all_gates(crew: &Crew, line: usize) {
    for gate in &*crew.gates {
        // Release, here and below: as the library writes gates, lines and words. One thread reads them.
        gate.store(line as u64, Ordering::Release);
    }
}

/// A line says this at one of its places, whether a filter can have it or not.
fn say(crew: &Crew, line: usize, at: usize, entry: u64, bucket: u64) {
    let said = entry << 32 | bucket;
    // Release: as above.
    crew.word(line, at).store(said, Ordering::Release);
}

/// Lines are words that any process may have written: an entry or a bucket may be none that the filter can
/// have. Words with any marks stay as they are.
#[test]
fn a_repair_of_moves_that_cannot_be_changes_no_word() {
    const DEAD: usize = 1;
    let (_, filters) = processes(2);
    let raw = &filters[0];
    let crew = raw.crew().expect("processes share it");
    let first = crew.lines_of(DEAD).start;
    let buckets = raw.table.buckets() as u64;
    let (last, most) = (L::LARGEST_ENTRY, u64::from(u32::MAX));
    let mut rng = SmallRng::seed_from_u64(7);
    for _ in 0..10_000 {
        take_all_gates(crew, first);
        let words: Vec<u64> = raw.table.all_words().map(|_| rng.random()).collect();
        for (word, bits) in raw.table.all_words().zip(&words) {
            // Release: as above.
            word.store(*bits, Ordering::Release);
        }
        for at in 0..4 {
            let can_be = (rng.random_range(1..=last), rng.random_range(0..buckets));
            let (no_entry, no_bucket) = ([0, last + 1, most], [buckets, most]);
            for (entry, bucket) in [
                (no_entry[rng.random_range(0..3)], can_be.1),
                (
                    [1, last, can_be.0][rng.random_range(0..3)],
                    no_bucket[rng.random_range(0..2)],
                ),
            ] {
                say(crew, first, at, entry, bucket);
                let repaired = raw.repair(DEAD);
                assert_eq!((repaired.retracted, repaired.completed), (0, 0));
            }
        }
        // Acquire: as the library reads words.
        let load = |word: &crate::sync::AtomicU64| word.load(Ordering::Acquire);
        assert!(raw.table.all_words().map(load).eq(words));
    }
}

/// The scans of a process end with it, and are counted.
#[test]
fn a_repair_ends_the_scans_of_the_dead() {
    let (_, filters) = processes(2);
    let crew = filters[1].crew().expect("processes share it");
    for _ in 0..2 {
        std::mem::forget(crew.places.take().expect("a seat"));
    }
    assert_eq!(filters[0].repair(1).scans, 2);
    assert_eq!(filters[0].repair(1).scans, 0);
    let places = &filters[0].crew().expect("processes share it").places;
    assert!(places.at_hand().are_idle());
}
