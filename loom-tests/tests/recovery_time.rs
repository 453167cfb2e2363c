//! Time in shared memory: an epoch has its length though a process dies while it begins, and the clock
//! continues after a restart of the machine.

use guira::model::{ExpiringProcesses, Fault, Step};
use guira_loom_tests::Scenario;

const SHORT: &str = "an epoch is too short";
const CLOCK: &str = "the clock is not the one of the others";
const REFUSED: &str = "a filter in use is refused";
const LENGTH: u64 = 10;

/// Epoch 0 has begun at time 0, which is recorded.
fn begun() -> ExpiringProcesses {
    let all = ExpiringProcesses::new(3, 0, &[&[], &[]]);
    assert!(!all.of(0).tick(LENGTH, 0));
    all
}

/// Process 1 begins epoch 4 at time 40, and dies after `steps` steps of its record. Process 0 and process
/// 2 tick at time 45. The place of this beginning had that of epoch 0: a model knows those of four epochs.
fn recorded(steps: usize) -> Scenario<ExpiringProcesses> {
    let tick = |all: &ExpiringProcesses, process: usize| {
        // Before that, epoch 3 could end at time 45.
        let has_begun = all.of(process).epoch() == 4;
        has_begun && all.of(process).tick(LENGTH, 45)
    };
    let third = || {
        let all = begun();
        for time in [10, 20, 30] {
            assert!(all.of(0).tick(LENGTH, time));
        }
        all
    };
    Scenario::new(&format!("{steps} steps of a record"), third)
        .thread(move |all| {
            all.die_in_tick(1, 40, steps);
            0_usize
        })
        .thread(move |all| tick(all, 0))
        .thread(move |all| tick(all, 2))
        .law(|all, _| {
            assert_eq!(all.of(0).epoch(), 4, "{SHORT}");
            // It ends at last. A tick that finds no beginning records one.
            let ends = all.of(0).tick(LENGTH, 55) || all.of(0).tick(LENGTH, 65);
            assert!(ends, "an epoch never ends");
        })
        .outcomes(&[[0, 0, 0]])
}

/// In the start of the machine before this one, the clock of the filter showed 10.
fn before_the_restart() -> ExpiringProcesses {
    let all = ExpiringProcesses::new(3, 0, &[&[], &[]]);
    let base = all.of(0).base(1);
    all.of(0).tick(LENGTH, base);
    assert!(all.of(0).tick(LENGTH, base + LENGTH));
    all
}

/// Opens the filter after the restart, and begins an epoch if none has begun since.
fn open_and_tick(all: &ExpiringProcesses, process: usize) -> bool {
    let base = all.of(process).base(2);
    let begun = all.of(process).tick(LENGTH, base + LENGTH);
    assert_eq!(base, 10, "{CLOCK}");
    begun
}

/// Two processes open the filter, and one of them begins an epoch at once.
fn restarted() -> Scenario<ExpiringProcesses> {
    Scenario::new("a restart", before_the_restart)
    .thread(|all| open_and_tick(all, 0))
    .thread(|all| open_and_tick(all, 1))
    .law(|all, results| {
        assert_eq!(results[0] + results[1], 1, "epochs");
        assert_eq!(all.of(0).epoch(), 2, "epochs");
    })
    .outcomes(&[[0, 1], [1, 0]])
}

/// A process opens the filter, and another one opens it for lookups, so it stores nothing.
fn restarted_with_a_reader() -> Scenario<ExpiringProcesses> {
    Scenario::new("a reader after a restart", before_the_restart)
        .thread(|all| open_and_tick(all, 0))
        .thread(|all| {
            assert_eq!(all.of(1).base_of_reader(2), 10, "{CLOCK}");
            false
        })
        .outcomes(&[[1, 0]])
}

/// Two epochs begin while a process opens the filter.
fn opened() -> Scenario<ExpiringProcesses> {
    Scenario::new("an open beside epochs", begun)
        .thread(|all: &ExpiringProcesses| {
            assert!(!all.of(0).has_wrong_time(), "{REFUSED}");
            0_usize
        })
        .thread(|all| {
            assert!(all.of(1).tick(LENGTH, 10) && all.of(1).tick(LENGTH, 20));
            0_usize
        })
        .outcomes(&[[0, 0]])
}

#[test]
fn an_epoch_has_its_length_though_the_process_dies_that_began_it() {
    for steps in 0..=2 {
        recorded(steps).holds();
    }
}

#[test]
fn the_reading_comes_before_its_record() {
    recorded(1).must_fail(Fault::RecordedFirst, SHORT);
}

#[test]
fn all_processes_have_one_clock_after_a_restart() {
    restarted().holds();
}

#[test]
fn a_reader_has_the_clock_of_the_others_after_a_restart() {
    restarted_with_a_reader().holds();
}

#[test]
fn the_beginning_is_read_before_the_start() {
    restarted().must_fail(Fault::BootFirst, CLOCK);
    restarted_with_a_reader().must_fail(Fault::BootFirst, CLOCK);
}

#[test]
fn the_base_is_seen_with_the_start() {
    for scenario in [restarted, restarted_with_a_reader] {
        scenario().must_fail(Step::Boot, CLOCK);
        scenario().must_fail(Step::Latest, CLOCK);
    }
}

#[test]
fn a_filter_in_use_is_opened() {
    opened().holds();
}

#[test]
fn the_epoch_is_read_last() {
    opened().must_fail(Fault::EpochFirst, REFUSED);
}

#[test]
fn the_epoch_of_a_number_is_seen() {
    opened().must_fail(Step::Swept, REFUSED);
    opened().must_fail(Step::Began, REFUSED);
}
