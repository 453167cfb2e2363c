//! A thread that stops for ever delays no other thread, wherever it stops.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test --test stopped_threads`.
//!
//! A small filter is brought, insert by insert and always in the same way, to the verge of an
//! operation. A thread then begins the operation and stops before one of its steps: of each kind
//! before the first, second, third, middle and last one. Others must be able to do everything. At
//! last the thread continues: its operation must still do what it promises, and the filter must
//! hold what it should.
#![cfg(guira_faults)]

mod stopped {
    pub(crate) mod cases;
    pub(crate) mod others;
    pub(crate) mod stage;
    pub(crate) mod steps;
    pub(crate) mod stop;
}

use guira::{CuckooFilter, model::Step};
use stopped::{
    cases::{Case, Keeps, among_marks, anywhere, ends_of_a_level, evicting, moves, write_to},
    others::{Refused, meet, work},
    stage::Stage,
    steps::{ALL, MOST},
    stop::{Filter, Stopped},
};

/// Stops a thread in the case before one of the steps `step`, while others do
/// everything. False if there is no such step.
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
    assert!(after.relocations > before.relocations, "nobody relocates");
    if filter.max_capacity() > Stage::FIXED_CAPACITY {
        assert!(after.doublings > before.doublings + 1, "it grows on");
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

/// Inserts are refused only for want of what the stopped thread keeps.
fn assert_few(refused: Refused, keeps: Keeps) {
    let Refused { plain, unique } = refused;
    let few = match keeps {
        Keeps::Nothing => plain + unique == 0,
        // An insert_unique needs its slot in one certain word, which may be full and kept.
        Keeps::Words => plain == 0 && unique <= 4,
    };
    assert!(few, "{refused:?} while {keeps:?} is kept");
}

/// Everybody has come to an end: the filter holds what it should.
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

/// Stops in each of the cases before all kinds of its steps.
fn stop_everywhere(cases: &[Case]) {
    for case in cases {
        let steps = case.steps();
        assert!(!steps.is_empty(), "{} has no steps", case.name);
        let mut stops = Vec::new();
        for &step in ALL.iter().filter(|step| steps.contains(step)) {
            let count = (0..MOST)
                .take_while(|&which| stop(case, step, which))
                .count();
            assert!(
                count > 0,
                "{}: nobody was stopped before {step:?}",
                case.name
            );
            stops.push(format!("{step:?} {count}"));
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

/// Others scan for all of them what is in their way.
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
        assert!(filter.stats().relocations > relocated, "nobody relocates");
        assert_few(refused, Keeps::Nothing);
        snapshots.into_iter().for_each(Stopped::resume);
        finish(&case, &filter);
    }
}

/// There is no step before which no thread was stopped.
#[test]
fn before_every_event() {
    let mut cases = anywhere(Stage::midway());
    cases.extend(moves(Stage::grown()));
    cases.extend(among_marks(Stage::fixed()));
    cases.extend(ends_of_a_level());
    cases.push(evicting());
    for &step in ALL {
        assert!(
            cases.iter().any(|case| stop(case, step, 0)),
            "nobody is stopped before {step:?}"
        );
    }
}
