//! Recovery in an expiring filter: a process dies while it withholds a copy, or in a sweep.
//!
//! In each scenario process 1 dies, and process 2 repairs what it has left.

use crate::common::expiring::{LIVE, one};
use guira::model::{ExpiringProcesses, Fault, Item, STEPS_OF_WITHHOLD, Withholds};
use guira_loom_tests::{ENDS, P, Q, Scenario, even};

const LITTER: &str = "a mark is left";
/// A thread that lives finds its own mark gone.
const MARK: &str = "is_marked(Mark::";
const COPIES: &str = "copies at rest";
const BACK: &str = "an expired item is back";
const ALL: Withholds = Withholds::Refresh;

type Expires = Scenario<ExpiringProcesses>;

/// The item is live in epoch 1, and dead in epoch 2.
fn present(epoch: u64, item: Item, bucket: usize) -> ExpiringProcesses {
    ExpiringProcesses::new(3, epoch, &one(bucket, &[(item, 0)]))
}

/// Process 1 dies after `steps` steps of what it does with the copy of the item, while process 2 repairs
/// it if it is dead.
fn dying(epoch: u64, bucket: usize, withholds: Withholds, steps: usize) -> Expires {
    let x = even(0);
    let name = format!("{withholds:?} in epoch {epoch}, {steps} steps, in {bucket}");
    Scenario::new(&name, move || present(epoch, x, bucket))
        .thread(move |all| {
            all.die_withholding(1, (x, 0), bucket, withholds, steps);
            0_usize
        })
        .thread(|all| all.repair(2, 1))
}

/// A lookup of a live item beside.
fn looked_up(bucket: usize, withholds: Withholds, steps: usize) -> Expires {
    let x = even(0);
    dying(1, bucket, withholds, steps)
        .thread(move |all| {
            assert!(all.of(0).contains(x), "{LIVE}");
            1_usize
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert!(matches!(all.ages(x)[..], [0 | 1]), "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// A remove of a live item beside.
fn removed(bucket: usize, steps: usize) -> Expires {
    let x = even(0);
    dying(1, bucket, ALL, steps)
        .thread(move |all| all.of(0).remove(x))
        .law(move |all, results| {
            all.at_rest(&[1]);
            assert_eq!(results[2], 1, "remove of a present item is false");
            assert_eq!(all.ages(x), [], "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// A refresh of a live item beside. It may add a copy.
fn refreshed(bucket: usize, steps: usize) -> Expires {
    let x = even(0);
    dying(1, bucket, ALL, steps)
        .thread(move |all| all.of(0).refresh(x) == Ok(true))
        .law(move |all, results| {
            all.at_rest(&[1]);
            assert_eq!(results[2], 1, "refresh of a live item is false");
            assert_eq!(all.ages(x).first(), Some(&0), "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// A move of a live item beside, out of the same word.
fn moved(bucket: usize, steps: usize) -> Expires {
    let x = even(0);
    dying(1, bucket, ALL, steps)
        .thread(move |all| {
            all.of(0).relocate_seen(x, 0, bucket);
            0_usize
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert!(matches!(all.ages(x)[..], [0 | 1]), "{COPIES}");
        })
        .outcomes(&[[0, 0, 0], [0, 1, 0]])
}

/// The next epoch begins beside, after which the item is dead. It was not when process 1 began.
fn outlived(bucket: usize, steps: usize) -> Expires {
    let x = even(0);
    dying(1, bucket, Withholds::Sweep, steps)
        .thread(move |all| {
            let begun = all.of(0).begin_epoch();
            assert!(!begun || !all.of(0).contains(x), "an expired item is found");
            begun
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert!(matches!(all.ages(x)[..], [] | [2]), "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// Process 2 asks for the time, and then whether process 1 is dead. That one has begun an epoch and put
/// a copy in it, which would seem dead in the epoch before.
fn repaired_late() -> Expires {
    let x = even(0);
    Scenario::new("a repair that is late", || {
        ExpiringProcesses::new(3, 3, &[&[], &[]])
    })
    .thread(move |all| {
        assert!(all.of(1).begin_epoch());
        all.of(1).try_insert(x).expect("there is room");
        for bucket in ENDS {
            all.die_withholding(1, (x, 4), bucket, ALL, 3);
        }
        0_usize
    })
    .thread(|all| all.repair(2, 1))
    .law(move |all, _| {
        all.at_rest(&[1]);
        assert_eq!(all.ages(x), [0], "{LIVE}");
    })
    .outcomes(&[[0, 0], [0, 1]])
}

/// Process 0 refreshes the item, and process 2 looks whether it is dead.
fn alive() -> Expires {
    let x = even(0);
    Scenario::new("alive", move || present(1, x, P))
        .thread(move |all| all.of(0).refresh(x) == Ok(true))
        .thread(|all| all.repair(2, 0))
        .law(move |all, _| {
            all.at_rest(&[]);
            assert_eq!(all.ages(x), [0], "{COPIES}");
        })
}

/// A copy is in the last epoch of its death: in the next one, its tag would be that of a live copy.
/// Process 1 has the gate of the copy for a while, for a copy of another item.
fn behind_a_gate() -> Expires {
    let (x, y) = (even(0), even(1));
    Scenario::new("an epoch beside a gate", move || present(3, x, Q))
        .thread(move |all| all.of(1).pass_gate(y, 3))
        .thread(move |all| {
            let begun = all.of(0).begin_epoch();
            assert!(!all.of(0).contains(x), "{BACK}");
            begun
        })
        .thread(move |all| {
            assert!(!all.of(2).contains(x), "{BACK}");
            0_usize
        })
        .law(move |all, results| {
            all.at_rest(&[]);
            let left: &[u64] = if results[1] == 1 { &[] } else { &[3] };
            assert_eq!(all.ages(x), left, "{BACK}");
            assert_eq!(all.of(0).epoch(), 3 + results[1] as u64, "epochs");
        })
        .outcomes(&[[0, 1, 0], [1, 0, 0], [1, 1, 0]])
}

/// Process 1 dies in a sweep of the last epoch in which a copy is dead. Process 0 begins the next epoch.
fn sweeper_dies(bucket: usize, buckets: usize) -> Expires {
    let x = even(0);
    let name = format!("a sweep dies after {buckets} words, {bucket}");
    // While the sweep has the gate of the copy, the next epoch does not begin.
    let outcomes: &[[usize; 3]] = match buckets > bucket {
        true => &[[0, 0, 0], [0, 1, 0]],
        false => &[[0, 1, 0]],
    };
    Scenario::new(&name, move || present(3, x, bucket))
        .thread(move |all| {
            all.die_in_sweep(1, buckets);
            0_usize
        })
        .thread(move |all| {
            let begun = all.of(0).begin_epoch();
            assert!(!all.of(0).contains(x), "{BACK}");
            begun
        })
        .thread(move |all| {
            assert!(!all.of(2).contains(x), "{BACK}");
            0_usize
        })
        .law(move |all, results| {
            assert!(results[1] == 1 || all.of(0).begin_epoch(), "time stands still");
            all.at_rest(&[1]);
            assert_eq!(all.ages(x), [], "{BACK}");
        })
        .outcomes(outcomes)
}

#[test]
fn a_live_item_is_found_wherever_its_thread_dies() {
    for bucket in ENDS {
        for steps in 0..=STEPS_OF_WITHHOLD {
            for withholds in [Withholds::Sweep, Withholds::Refresh] {
                looked_up(bucket, withholds, steps).holds();
            }
        }
    }
}

#[test]
fn it_is_removed_once() {
    for bucket in ENDS {
        for steps in 0..=STEPS_OF_WITHHOLD {
            removed(bucket, steps).large_with_exchanges().holds();
        }
    }
}

#[test]
fn another_refresh_is_not_mistaken_for_the_dead_one() {
    for bucket in ENDS {
        for steps in 0..=STEPS_OF_WITHHOLD {
            refreshed(bucket, steps).large_with_exchanges().holds();
        }
    }
}

#[test]
fn a_mover_is_not_mistaken_for_the_dead_one() {
    for bucket in ENDS {
        for steps in 0..=STEPS_OF_WITHHOLD {
            moved(bucket, steps).large_with_exchanges().holds();
        }
    }
}

#[test]
fn what_dies_under_the_mark_of_a_dead_thread_goes_or_stays_dead() {
    for bucket in ENDS {
        for steps in 0..=STEPS_OF_WITHHOLD {
            outlived(bucket, steps).large_with_exchanges().holds();
        }
    }
}

#[test]
fn a_repair_reads_the_time_after_the_death() {
    repaired_late().holds();
    repaired_late().must_fail(Fault::RepairTrustsOldNow, LIVE);
}

#[test]
fn the_gate_says_whose_a_withheld_copy_is() {
    refreshed(Q, 1).must_fail(Fault::NoGate, MARK);
}

#[test]
fn the_line_comes_before_the_mark() {
    looked_up(P, Withholds::Refresh, 2).must_fail(Fault::LineLate, LITTER);
}

#[test]
fn what_a_remove_has_killed_is_emptied() {
    removed(P, 3).must_fail(Fault::RepairMissesKilled, LITTER);
}

#[test]
fn only_the_dead_are_repaired() {
    alive().must_fail(Fault::FalseDeath, MARK);
}

#[test]
fn an_epoch_does_not_begin_over_a_copy_behind_a_gate() {
    behind_a_gate().holds();
    behind_a_gate().must_fail(Fault::GateOverlooked, BACK);
}

#[test]
fn a_sweep_of_a_dead_process_does_not_count() {
    for bucket in ENDS {
        for buckets in 0..=2 {
            sweeper_dies(bucket, buckets).holds();
        }
    }
    sweeper_dies(P, 0).must_fail(Fault::SweptFirst, BACK);
}
