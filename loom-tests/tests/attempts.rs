//! A lookup makes a bounded number of attempts, and answers without proof only after the last one.

use guira::model::{Fault, limit_attempts};
use guira_loom_tests::{P, Q, Scenario, even, with};

const LAW: &str = "false negative";

/// Moves of a present item, against a lookup with few attempts. The last part of the outcome is 1
/// if the lookup answered without proof.
fn disturbed(attempts: u8) -> Scenario {
    let x = even(0);
    Scenario::new(
        &format!("lookup of {attempts} attempts, 2 moves"),
        move || {
            limit_attempts(attempts);
            with(Q, &[x])
        },
    )
    .thread(move |filter| {
        assert!(filter.contains(x), "{LAW}");
        usize::try_from(filter.stats().conservative_lookups).expect("few")
    })
    .thread(move |filter| {
        assert!(filter.relocate(x, Q), "nothing is in the way of the move");
        filter.relocate(x, P)
    })
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// An absent item, while another one moves. The result is false, or true without proof if all
/// attempts were disturbed.
fn absent(attempts: u8) -> Scenario {
    let (x, y) = (even(0), even(1));
    Scenario::new(
        &format!("absent, lookup of {attempts} attempts"),
        move || {
            limit_attempts(attempts);
            with(Q, &[x])
        },
    )
    .thread(move |filter| {
        let present = filter.contains(y);
        assert_eq!(
            u64::from(present),
            filter.stats().conservative_lookups,
            "true without reason"
        );
        present
    })
    .thread(move |filter| filter.relocate(x, Q))
    .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

#[test]
fn a_lookup_gives_up_after_its_last_attempt() {
    disturbed(1).outcomes(&[[0, 1], [1, 1]]).holds();
    disturbed(2).large().outcomes(&[[0, 1], [1, 1]]).holds();
    // Two moves cannot disturb as many attempts as a normal lookup makes.
    disturbed(8).large().outcomes(&[[0, 1]]).holds();
}

#[test]
fn an_absent_item_is_absent_unless_every_attempt_was_disturbed() {
    absent(1).outcomes(&[[0, 1], [1, 1]]).holds();
    // One move marks words and advances the version once, so the third attempt succeeds.
    absent(2).outcomes(&[[0, 1], [1, 1]]).holds();
    absent(3).outcomes(&[[0, 1]]).holds();
}

#[test]
fn the_bound_does_not_hide_a_missed_item() {
    disturbed(2).must_fail(Fault::ContainsNoValidate, LAW);
}
