use super::*;
use crate::{
    memory::Memory,
    raw::{crew::tests::Seated, shared::SharedPlace},
    sync,
    table::{
        Levels,
        layout::{F15x4, Shared},
    },
};
use std::sync::Arc;

type Raw = RawFilter<Shared<F15x4>>;

const BUCKETS: usize = 64;

/// The filter of each process.
fn processes(number: usize) -> (Vec<Arc<Seated>>, Vec<Raw>) {
    let memory: Arc<dyn Memory> = Arc::new(sync::zeroed(1 << 14).expect("memory"));
    let all = Seated::all(number);
    let filter = |members: &Arc<Seated>| {
        let place = SharedPlace {
            memory: memory.clone(),
            start: 0,
            most_members: number,
            members: members.clone(),
            own: Arc::new(sync::zeroed(2).expect("a few bytes")),
        };
        Raw::in_words(BUCKETS, Levels::FIXED, 0, place).expect("enough words")
    };
    let filters = all.iter().map(filter).collect();
    (all, filters)
}

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

/// The hold of a living process stands, whether its lines are above those of the dead one or below.
#[test]
fn a_repair_leaves_the_holds_of_the_living() {
    const DEAD: usize = 1;
    for living in [0, 2] {
        let (all, filters) = processes(3);
        let (raw, class) = (&filters[living], filters[0].class(7));
        let stripe = raw.versions.of(class);
        let crew = raw.crew().expect("processes share it");
        {
            let taken = crew.take_line().expect("a line");
            let line = taken.for_moves();
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

/// As many as there are of one process, or of several dead ones.
#[test]
fn a_repair_ends_all_holds_of_the_dead() {
    for threads in 1..=3 {
        let (all, filters) = processes(4);
        let class = filters[0].class(7);
        for dead in [1, 3] {
            dies_in_holds(&all[dead], &filters[dead], class, threads);
        }
        let repaired = filters[0].repair(1);
        assert_eq!((repaired.left, repaired.holds), (0, 1));
        assert!(!filters[0].versions.of(class).is_held());
        assert_eq!(filters[0].repair(3).left, 0);
        assert_eq!(filters[0].census().holds, 0);
    }
}
