//! Recovery of what is no move: holds, reservations and scans of processes that were killed.

use guira::model::{Fault, Processes};
use guira_loom_tests::{P, Q, Scenario, even, odd};

const HELD: &str = "a hold of a living thread ended";
/// It ended, or its own end was one too many.
const HOLD: &str = "a hold";
const RESERVED: &str = "a reservation of the dead is left";

/// Process 1 has died in a hold, and process 2 just before its own. Process 3 repairs one, process 4 the other one, and process 0
/// holds the stripe.
fn holds() -> Scenario<Processes> {
    let x = even(0);
    Scenario::new("holds", move || {
        let all = Processes::new(5, &[&[x], &[]]);
        all.die_in_hold(1, x);
        all.die_before_hold(2, x);
        all
    })
    .thread(move |all| all.hold(0, x))
    .thread(|all| all.repair(3, 1))
    .thread(|all| all.repair(4, 2))
    .law(|all, results| {
        assert_eq!(results[0], 1, "{HELD}");
        all.at_rest(&[1, 2]);
    })
    .outcomes(&[[1, 1, 1]])
}

/// Two threads of process 1 have died in holds of one stripe. Process 2 repairs it, and process 0 holds
/// the stripe.
fn holds_of_one_process() -> Scenario<Processes> {
    let x = even(0);
    Scenario::new("holds of one process", move || {
        let all = Processes::new(3, &[&[x], &[]]);
        all.die_in_hold(1, x);
        all.die_in_hold(1, x);
        all
    })
    .thread(move |all| all.hold(0, x))
    .thread(|all| all.repair(2, 1))
    .law(|all, results| {
        assert_eq!(results[0], 1, "{HELD}");
        all.at_rest(&[1]);
    })
    .outcomes(&[[1, 1]])
}

/// Process 1 dies with a reservation in `bucket`, and process 0 inserts the same item.
fn reserved(bucket: usize) -> Scenario<Processes> {
    let x = even(0);
    Scenario::new("reserved", move || Processes::new(3, &[&[], &[]]))
        .thread(move |all| {
            all.die_with_reservation(1, x, bucket);
            0_usize
        })
        .thread(|all| all.repair(2, 1))
        .thread(move |all| all.of(0).insert_unique(x) == Ok(true))
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert_eq!(all.copies(x), 1, "copies at rest");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// Process 1 dies with a reservation, and process 0 removes another item of the word.
fn reserved_beside_a_remove() -> Scenario<Processes> {
    let (x, y) = (even(0), even(1));
    Scenario::new("reserved, remove", move || {
        Processes::new(3, &[&[y], &[]])
    })
    .thread(move |all| {
            all.die_with_reservation(1, x, P);
            0_usize
        })
        .thread(|all| all.repair(2, 1))
        .thread(move |all| all.of(0).remove(y))
        .law(move |all, results| {
            if results[1] == 1 {
                assert_eq!(all.reservations(), 0, "{RESERVED}");
            }
            all.at_rest(&[1]);
            assert_eq!(all.copies(y), 0, "copies at rest");
        })
        .outcomes(&[[0, 0, 1], [0, 1, 1]])
}

/// Process 0 scans, and process 1 moves the item.
fn scanned(name: &str, from: usize) -> Scenario<Processes> {
    let x = odd(0);
    Scenario::new(name, move || {
        let mut residents: [&[_]; 2] = [&[], &[]];
        let of_bucket = [x];
        residents[from] = &of_bucket;
        Processes::new(2, &residents).that_scan()
    })
    .thread(move |all| {
        let [copies] = all.of(0).scan([x]);
        assert!(copies > 0, "it is not in the snapshot");
        0_usize
    })
    .thread(move |all| {
        all.of(1).relocate(x, from);
        0_usize
    })
    .law(move |all, _| {
        all.at_rest(&[]);
        assert_eq!(all.copies(x), 1, "copies at rest");
    })
    .outcomes(&[[0, 0]])
}

/// The same, while another thread of process 0 begins a scan and ends it.
fn scanned_beside_another() -> Scenario<Processes> {
    scanned("scan beside another", Q)
        .thread(|all| {
            all.of(0).begin_and_end_scan();
            0_usize
        })
        .outcomes(&[[0, 0, 0]])
}

/// Process 1 has died in a scan after `chunks` chunks. Process 2 repairs it, and then process 0 moves
/// the item.
fn scan_of_the_dead(chunks: usize) -> Scenario<Processes> {
    let x = even(0);
    Scenario::new("dead scan", move || {
        Processes::new(3, &[&[x], &[]]).that_scan()
    })
    .thread(move |all| {
        all.die_in_scan(1, chunks);
        0_usize
    })
    .thread(move |all| all.repair(2, 1) && all.of(2).relocate(x, P))
    .thread(move |all| {
        assert!(all.of(0).contains(x), "it is not found");
        0_usize
    })
    .law(move |all, results| {
        all.at_rest(&[1]);
        assert_eq!(all.copies(x), 1, "copies at rest");
        if results[1] == 0 {
            assert!(all.of(0).relocate(x, P), "a scan of the dead is in the way");
        }
    })
    .outcomes(&[[0, 0, 0], [0, 1, 0]])
}

#[test]
fn the_hold_of_a_living_thread_stands() {
    holds().mains(&[0, 1]).large().holds();
}

#[test]
fn the_holds_of_one_process_end_together() {
    holds_of_one_process().mains(&[0, 1]).holds();
}

#[test]
fn a_repairer_is_not_the_process_that_it_repairs() {
    holds_of_one_process().must_fail(Fault::RepairerLives, "something is left for ever");
}

#[test]
fn all_lines_are_asked() {
    holds().must_fail(Fault::HoldSkipsLines, HOLD);
}

#[test]
fn a_hold_releases_the_line_that_names_its_stripe() {
    holds().must_fail(Fault::HoldUnreleased, HOLD);
}

#[test]
fn a_hold_changes_the_version() {
    holds().must_fail(Fault::HoldNoVersion, HOLD);
}

#[test]
fn a_reservation_of_the_dead_is_in_nobodys_way() {
    for bucket in [P, Q] {
        reserved(bucket).holds();
    }
}

#[test]
fn a_repair_drops_a_reservation_though_its_word_changes() {
    reserved_beside_a_remove().holds();
}

#[test]
fn what_is_present_is_in_a_scan_though_another_process_moves_it() {
    for from in [P, Q] {
        scanned("scan", from).holds();
    }
}

#[test]
fn movers_heed_the_scans_of_other_processes() {
    scanned("scan", Q).must_fail(Fault::PlacesIgnored, "it is not in the snapshot");
}

#[test]
fn what_is_present_is_in_a_scan_though_another_one_ends() {
    scanned_beside_another().holds();
}

#[test]
fn a_scan_ends_before_another_takes_its_place() {
    scanned_beside_another().must_fail(Fault::PlaceBackFirst, "it is not in the snapshot");
}

#[test]
fn a_scan_of_the_dead_ends() {
    for chunks in 0..2 {
        scan_of_the_dead(chunks).large_with_exchanges().holds();
    }
}
