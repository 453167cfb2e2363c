use super::*;
use crate::{
    raw::{
        crew::tests::{L, Raw, Seated, processes, says},
        tests::put,
    },
    sync::Ordering,
};

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
/// is in the last line of the process.
#[test]
fn a_repair_leaves_the_holds_of_the_living() {
    const DEAD: usize = 1;
    for living in [0, 2] {
        let (all, filters) = processes(3);
        let (raw, class) = (&filters[living], filters[0].class(7));
        let stripe = raw.versions.of(class);
        let crew = raw.crew().expect("processes share it");
        {
            let taken: Vec<_> = std::iter::from_fn(|| crew.take_line()).collect();
            let line = taken.last().expect("lines").for_moves();
            let _hold = line.hold(stripe, raw.versions.number_of(class));
            dies_in_holds(&all[DEAD], &filters[DEAD], class, 1);
            let repaired = raw.repair(DEAD);
            assert_eq!((repaired.left, repaired.holds), (1, 0), "{living} lives");
            assert!(stripe.is_held());
        }
        let repaired = raw.repair(DEAD);
        assert_eq!((repaired.left, repaired.holds), (0, 1));
        assert!(!stripe.is_held());
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
        let repaired = filters[0].repair(1);
        assert_eq!((repaired.left, repaired.holds), (0, 1));
        assert!(!filters[0].versions.of(class).is_held());
        // The next process with the seat has begun nothing.
        all[1].alive[1].store(true, Ordering::Release);
        assert_eq!(filters[0].repair(3).left, 0);
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
