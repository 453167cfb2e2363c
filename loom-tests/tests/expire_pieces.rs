//! Writes of several threads sweep a filter by pieces, beside splits and the next epoch. When the epoch
//! counts as swept, nothing dead is left.

use guira::model::{Expiring, Fault, GrowingExpiring, Step};
use guira_loom_tests::{P, Scenario, even, growth::ending};

const LEFT: &str = "a dead copy is left in an epoch that has been swept";
const LATE: &str = "the epoch is not swept";

/// The writes of one thread, which are enough to sweep this number of words.
fn writes<const PHASE_BITS: u32>(filter: &Expiring<2, 1, PHASE_BITS>, words: usize) -> usize {
    (0..=words).filter(|_| filter.sweep_piece()).count().min(1)
}

/// Nothing dead is left if the epoch counts as swept, and it does.
fn is_swept<const PHASE_BITS: u32>(filter: &Expiring<2, 1, PHASE_BITS>) {
    assert!(filter.is_swept(), "{LATE}");
    assert!(!filter.holds_dead(), "{LEFT}");
}

/// Two threads sweep the same epoch, and a third one looks.
fn by_two() -> Scenario<Expiring<2>> {
    let (x, y) = (even(0), even(1));
    Scenario::new("two threads sweep by pieces", move || {
        Expiring::new(2, &[&[(x, 0)], &[(y, 0)]])
    })
    .thread(|filter| {
        writes(filter, 2);
        0_usize
    })
    .thread(|filter| {
        writes(filter, 2);
        0_usize
    })
    .thread(|filter| {
        let is_swept = filter.is_swept();
        assert!(!is_swept || !filter.holds_dead(), "{LEFT}");
        is_swept
    })
    .law(|filter, _| is_swept(filter))
    .large()
    .outcomes(&[[0, 0, 0], [0, 0, 1]])
}

/// One thread sweeps, begins the next epoch and sweeps that, beside another one's sweep. One copy is dead
/// in the first epoch, and the other one only in the second.
fn in_two_epochs() -> Scenario<Expiring<2>> {
    let (x, y) = (even(0), even(1));
    Scenario::new("a sweep by pieces while an epoch begins", move || {
        Expiring::new(2, &[&[(y, 1)], &[(x, 0)]])
    })
    .thread(|filter| {
        writes(filter, 2);
        let begun = filter.begin_epoch();
        writes(filter, 2);
        begun
    })
    .thread(|filter| {
        writes(filter, 2);
        0_usize
    })
    .law(|filter, _| is_swept(filter))
    .large_with_exchanges()
    .outcomes(&[[1, 0]])
}

/// The word of a live and a dead copy is split during the sweep, and both go to the new word.
fn beside_a_split() -> Scenario<GrowingExpiring<2>> {
    let (x, old) = (ending(0b111, 0), ending(0b111, 1));
    Scenario::new("a sweep by pieces beside a split", move || {
        GrowingExpiring::growing(2, &[&[(x, 2), (old, 0)], &[]], 4)
    })
    .thread(|filter| {
        writes(filter, 4);
        0_usize
    })
    .thread(move |filter| {
        filter.split(x, P, 0);
        0_usize
    })
    .law(move |filter, _| {
        assert!(filter.contains(x), "a live item is not found");
        writes(filter, 4);
        is_swept(filter);
    })
    .outcomes(&[[0, 0]])
}

#[test]
fn what_is_swept_by_pieces_holds_nothing_dead() {
    by_two().holds();
    by_two().must_fail(Fault::PieceEarly, LEFT);
    by_two().must_fail(Step::Piece, LEFT);
}

#[test]
fn each_epoch_is_swept_from_its_first_piece() {
    in_two_epochs().holds();
    in_two_epochs().must_fail(Fault::PieceOfAnotherEpoch, LEFT);
}

#[test]
fn a_split_carries_nothing_dead_past_the_pieces() {
    beside_a_split().holds();
    beside_a_split().must_fail(Fault::SweepPlaneZero, LEFT);
}
