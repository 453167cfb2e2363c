//! Recovery, beside a lookup: an item is found wherever its mover dies.

use crate::common::processes::{COPIES, dying, find, item};
use guira::model::{Fault, Processes, STEPS};
use guira_loom_tests::{ENDS, P, Q, Scenario};

const LITTER: &str = "a mark is left";

/// A lookup beside.
fn looked_up(from: usize, steps: usize) -> Scenario<Processes> {
    let x = item(from);
    dying(from, steps)
        .thread(move |all| find(all.of(0), x))
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

#[test]
fn an_item_is_found_wherever_its_mover_dies() {
    for from in ENDS {
        for steps in 0..=STEPS {
            let scenario = looked_up(from, steps).large_with_exchanges();
            // The mode of exchanges takes most of the time. What exchanges of the later steps can do,
            // the moves in the other direction show.
            if from == Q && (6..=9).contains(&steps) {
                scenario.loads_only().holds();
            } else {
                scenario.holds();
            }
        }
    }
}

#[test]
fn the_line_comes_before_the_outline() {
    looked_up(P, 2).must_fail(Fault::LineLate, LITTER);
}

#[test]
fn a_shadow_counts_only_if_the_original_trails() {
    looked_up(Q, 5).must_fail(Fault::RepairTrustsShadow, COPIES);
}
