//! A process that dies in a move, and a lookup.

use guira::model::{Item, Process, Processes};
use guira_loom_tests::{P, Scenario, direction, even, odd};

/// The message if a copy is lost or left.
pub(crate) const COPIES: &str = "copies at rest";

/// The item that is moved out of this bucket.
pub(crate) fn item(from: usize) -> Item {
    if from == P { even(0) } else { odd(0) }
}

/// Looks up an item that is always present.
pub(crate) fn find(filter: &Process, item: Item) -> bool {
    assert!(filter.contains(item), "false negative");
    true
}

/// Process 1 dies after `steps` steps of a move, while process 2 repairs it if it is dead.
pub(crate) fn dying(from: usize, steps: usize) -> Scenario<Processes> {
    let x = item(from);
    let name = format!("{steps} steps, {}", direction(from));
    Scenario::new(&name, move || {
        let mut residents: [&[_]; 2] = [&[], &[]];
        let of_bucket = [x];
        residents[from] = &of_bucket;
        Processes::new(3, &residents)
    })
    .thread(move |all| {
        all.die_in_move(1, x, from, steps);
        0_usize
    })
    .thread(|all| all.repair(2, 1))
}
