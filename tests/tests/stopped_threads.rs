//! A thread that stops forever delays no other thread, wherever it stops.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test stopped_threads`.
//!
//! A small filter is filled by single inserts, always in the same way, until an operation is about
//! to happen. A thread then begins the operation and stops before one of its steps: of each kind,
//! the first, second, third, middle and last one. Other threads must be able to perform all
//! operations. At last the thread continues. Its operation must still keep its promise, and the
//! filter must hold what it should.
#![cfg(guira_faults)]

mod stopped {
    pub(crate) mod cases;
    pub(crate) mod others;
    pub(crate) mod stage;
    pub(crate) mod steps;
    pub(crate) mod stop;
}

use guira::{CuckooFilter, InsertError, model::Step};
use stopped::{
    cases::{
        Case, Keeps, among_marks, anywhere, ends_of_a_level, evicting, intersecting, moved, mover,
        moves, write_to,
    },
    others::{Refused, meet, work},
    stage::Stage,
    steps::{ALL, MOST},
    stop::{Filter, Stopped},
};

/// Stops a thread in this case before one of the steps `step`, while other threads perform all
/// operations. False if there is no such step.
fn stop(case: &Case, step: Step, which: usize) -> bool {
    let (rehearsal, _rehearsing) = case.scene();
    let (filter, mover) = case.scene();
    let Some(stopped) = Stopped::before(step, which, &case.act, rehearsal, &filter) else {
        return false;
    };
    println!("{}: stopped before {step:?} {which}", case.name);
    let before = filter.stats();
    meet(&filter, case.needs.clone(), case.contested);
    let refused = work(&filter, &case.of_others);
    assert_few(refused, case.keeps);
    let after = filter.stats();
    assert!(
        after.relocations > before.relocations,
        "no other thread relocates"
    );
    if filter.max_capacity() > Stage::FIXED_CAPACITY {
        assert!(
            after.doublings > before.doublings + 1,
            "the filter continues to grow"
        );
        assert_eq!(after.buckets_to_split, 0, "the level is complete");
    }
    let mut resumed: Vec<Stopped> = mover.into_iter().chain([stopped]).collect();
    if which.is_multiple_of(2) {
        resumed.reverse();
    }
    resumed.into_iter().for_each(Stopped::resume);
    finish(case, &filter);
    true
}

/// Checks that inserts are refused only for lack of the slots that the stopped thread keeps.
fn assert_few(refused: Refused, keeps: Keeps) {
    let Refused { plain, unique } = refused;
    let few = match keeps {
        Keeps::Nothing => plain + unique == 0,
        // An `insert_unique` needs its slot in one particular word, which may be full and kept.
        Keeps::Words => plain == 0 && unique <= 4,
    };
    assert!(few, "{refused:?} while {keeps:?} is kept");
}

/// Checks that the filter holds what it should, after all threads have ended.
fn finish(case: &Case, filter: &Filter) {
    for item in &case.remain {
        assert!(filter.remove(item), "{item} remains");
    }
    for item in &case.may_remain {
        filter.remove(item);
    }
    assert_eq!(filter.len(), 0);
    let restored = CuckooFilter::from_bytes(&filter.to_bytes()).expect("a snapshot");
    assert_eq!(restored.len(), 0, "a copy too many");
}

/// The number of threads after which a step counts as unreachable.
const ATTEMPTS: usize = 16;

/// Stops a thread in each of the cases, before all kinds of its steps.
fn stop_everywhere(cases: &[Case]) {
    for case in cases {
        let steps = case.steps();
        assert!(!steps.is_empty(), "{} has no steps", case.name);
        let mut stops = Vec::new();
        for &step in ALL.iter().filter(|step| steps.contains(step)) {
            // Which words an insert splits depends on the number of its thread, and each attempt has
            // another one.
            let is_stopped = (0..ATTEMPTS).any(|_| stop(case, step, 0));
            assert!(
                is_stopped,
                "{}: no thread was stopped before {step:?}",
                case.name
            );
            let further = (1..MOST).take_while(|&which| stop(case, step, which));
            stops.push(format!("{step:?} {}", 1 + further.count()));
        }
        println!("{}: {}", case.name, stops.join(", "));
    }
}

#[test]
fn in_a_fixed_filter() {
    stop_everywhere(&anywhere(Stage::fixed()));
}

#[test]
fn in_a_filter_that_has_grown() {
    stop_everywhere(&anywhere(Stage::grown()));
}

#[test]
fn between_two_levels() {
    stop_everywhere(&anywhere(Stage::midway()));
}

#[test]
fn where_another_one_stands_still_with_its_reservation() {
    stop_everywhere(&[evicting()]);
}

#[test]
fn in_an_intersection() {
    stop_everywhere(&[intersecting()]);
}

#[test]
fn at_the_ends_of_a_level() {
    stop_everywhere(&ends_of_a_level());
}

#[test]
fn in_relocations() {
    for stage in [Stage::fixed(), Stage::grown()] {
        stop_everywhere(&moves(stage));
    }
}

#[test]
fn in_relocations_between_two_levels() {
    stop_everywhere(&moves(Stage::midway()));
}

#[test]
fn where_another_one_stands_still_in_a_relocation() {
    for stage in [Stage::fixed(), Stage::grown()] {
        stop_everywhere(&among_marks(stage));
    }
}

/// A stopped move has marked both words of its pair, and they are full. Nothing else is in the
/// filter. An insert into them is refused as contended, and succeeds once the thread continues.
#[test]
fn an_insert_into_the_pair_of_a_stopped_move_can_be_repeated() {
    for at in [Step::Deliver, Step::Erase] {
        let case = mover(Stage::fixed(), at);
        let item = moved(&case);
        let (filter, mover) = case.scene();
        let fill = || {
            let refused = (0..).find_map(|_| filter.insert(&item).err());
            assert_eq!(refused, Some(InsertError::Contended), "before {at:?}");
        };
        fill();
        for &other in case.of_others.iter().filter(|&&other| other != item) {
            assert!(filter.remove(&other));
            fill();
        }
        assert!(filter.len() < 2 * filter.bucket_slots());
        assert_eq!(filter.stats().failed_inserts, 0);
        for other in 1 << 40..(1 << 40) + 100_u64 {
            assert_eq!(filter.insert(&other), Ok(()), "an item of other words");
        }
        mover.expect("a move").resume();
        assert_eq!(filter.insert(&item), Ok(()));
    }
}

/// The inserts of other threads read what is left of the scan.
#[test]
fn in_eight_snapshots() {
    for stage in [Stage::fixed(), Stage::grown()] {
        let case = write_to(stage);
        let (filter, _) = case.scene();
        let snapshots: Vec<Stopped> = (0..8)
            .map(|_| {
                let (rehearsal, _) = case.scene();
                Stopped::before(Step::Scan, 2, &case.act, rehearsal, &filter).expect("a scan")
            })
            .collect();
        let relocated = filter.stats().relocations;
        let refused = work(&filter, &case.of_others);
        assert!(
            filter.stats().relocations > relocated,
            "no other thread relocates"
        );
        assert_few(refused, Keeps::Nothing);
        snapshots.into_iter().for_each(Stopped::resume);
        finish(&case, &filter);
    }
}

/// Some case stops a thread before each kind of step.
#[test]
fn before_every_event() {
    let mut cases = anywhere(Stage::midway());
    cases.extend(moves(Stage::grown()));
    cases.extend(among_marks(Stage::fixed()));
    cases.extend(ends_of_a_level());
    cases.extend([evicting(), intersecting()]);
    for &step in ALL {
        assert!(
            cases.iter().any(|case| stop(case, step, 0)),
            "no thread is stopped before {step:?}"
        );
    }
}
