#![cfg(loom)]
use guira_loom_tests::{P, Q, Scenario, direction, even, odd, with};

fn stale(from: usize) -> Scenario<2> {
    // `insert` puts this item back where the moves start.
    let x = if from == P { even(0) } else { odd(0) };
    Scenario::new(&format!("stale remove, {}", direction(from)), move || {
        with(from, &[x])
    })
    .thread(move |filter| filter.remove(x))
    .thread(move |filter| {
        filter.relocate(x, from);
        let removed = filter.remove(x);
        assert!(filter.insert(x));
        filter.relocate(x, from);
        removed
    })
    .thread(move |filter| filter.remove(x))
    .law(move |filter, results| {
        let removed: usize = results.iter().sum();
        assert_eq!(removed + filter.copies_at_rest(x), 2, "exactly once");
    })
    .mains(&[1])
}
#[test]
fn towards_p() {
    stale(Q).holds();
}
#[test]
fn towards_q() {
    stale(P).holds();
}
