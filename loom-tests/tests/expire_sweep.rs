//! A thread that did not begin an epoch may sweep it, late or not at all. A thread that finds an
//! epoch swept finds no dead copies in it.

use crate::common::expiring::one;
use guira::model::{Expiring, Fault, Step};
use guira_loom_tests::{ENDS, P, Scenario, even};

const LEFT: &str = "a dead copy is left in a step that has been swept";
const BACK: &str = "an expired item is back";

type Sweeps = Scenario<Expiring<2>>;

/// A sweep runs before the epoch in which the copy is dead, in that epoch, or across its beginning.
fn begun_beside_a_sweep(bucket: usize) -> Sweeps {
    let x = even(0);
    let name = format!("a sweep of {bucket} while a step begins");
    Scenario::new(&name, move || Expiring::new(1, &one(bucket, &[(x, 0)])))
        .thread(Expiring::sweep)
        .thread(Expiring::begin_epoch)
        .thread(|filter| {
            let is_swept = filter.epoch() == 2 && filter.is_swept();
            assert!(!is_swept || !filter.holds_dead(), "{LEFT}");
            is_swept
        })
        .law(|filter, _| {
            assert_eq!(filter.is_swept(), !filter.holds_dead(), "{LEFT}");
        })
        .outcomes(&[[0, 1, 0], [1, 1, 0], [1, 1, 1]])
}

/// A copy has been dead for the longest possible time: in the next epoch, its tag would make it
/// young. That epoch begins when another thread has swept this one.
fn begun_after_a_sweep(bucket: usize) -> Sweeps {
    let (x, y) = (even(0), even(1));
    let name = format!("a step after another thread's sweep of {bucket}");
    Scenario::new(&name, move || {
        Expiring::new(3, &one(bucket, &[(y, 1), (x, 0)]))
    })
    .thread(Expiring::sweep)
    .thread(move |filter| {
        let is_swept = filter.is_swept();
        if is_swept {
            assert!(filter.begin_epoch());
            assert!(!filter.contains(x), "{BACK}");
        }
        is_swept
    })
    .thread(move |filter| {
        assert!(!filter.contains(x), "{BACK}");
        0_usize
    })
    .law(|filter, _| assert_eq!(filter.at_rest(), [], "{BACK}"))
    .outcomes(&[[1, 0, 0], [1, 1, 0]])
}

/// Two threads each begin an epoch and sweep. The first epoch has not been swept before.
fn swept_by_both() -> Sweeps {
    let (x, y) = (even(0), even(1));
    let step = |filter: &Expiring<2>| {
        let begun = filter.begin_epoch();
        filter.sweep();
        begun
    };
    Scenario::new("two threads begin a step and sweep", move || {
        Expiring::new(2, &[&[(x, 0)], &[(y, 2)]])
    })
    .thread(step)
    .thread(step)
    .law(move |filter, results| {
        let steps = (results[0] + results[1]) as u64;
        assert_eq!(filter.epoch(), 2 + steps, "steps");
        assert!(filter.is_swept(), "{LEFT}");
        // A copy that one thread had marked when the other swept may be left, and becomes live
        // again.
        assert!(steps == 2 || filter.ages_at_rest(x).is_empty(), "{LEFT}");
    })
    .mains(&[0])
    .large()
    .outcomes(&[[0, 1], [1, 0], [1, 1]])
}

#[test]
fn what_is_swept_holds_nothing_dead() {
    for bucket in ENDS {
        begun_beside_a_sweep(bucket).holds();
    }
}

#[test]
fn a_step_that_another_thread_has_swept_may_end() {
    for bucket in ENDS {
        begun_after_a_sweep(bucket).holds();
    }
}

#[test]
fn whoever_sweeps_last_the_step_is_swept() {
    swept_by_both().holds();
}

#[test]
fn a_sweep_counts_for_the_step_in_which_it_began() {
    begun_beside_a_sweep(P).must_fail(Fault::SweptLate, LEFT);
}

#[test]
fn whoever_finds_a_step_swept_finds_its_words_so() {
    begun_beside_a_sweep(P).must_fail(Step::Swept, LEFT);
    begun_after_a_sweep(P).must_fail(Step::Swept, BACK);
}
