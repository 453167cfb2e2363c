//! Growth of a filter that processes share: a process may be late, and any process may die.

use guira::model::{Fault, GrowingProcess, GrowingProcesses, Item, STEPS, Step};
use guira_loom_tests::{ENDS, P, Q, Scenario, direction, growth::UNMADE, growth::ending};

type Growth = Scenario<GrowingProcesses>;

const COPIES: &str = "copies at rest";
const REFUSED: &str = "a filter in use is refused";
const MEMORY: &str = "a word without memory";
const MISSED: &str = "it is not in the snapshot";

/// It goes to a new plane with each of the first splits.
fn item() -> Item {
    ending(0b111, 0)
}

fn find(filter: &GrowingProcess, item: Item) -> bool {
    assert!(filter.contains(item), "false negative");
    true
}

/// Processes with a filter that has the item in this bucket. It can double more often than it does.
fn with_item(processes: usize, item: Item, bucket: usize) -> GrowingProcesses {
    let of_bucket = [item];
    let mut residents: [&[_]; 2] = [&[], &[]];
    residents[bucket] = &of_bucket;
    GrowingProcesses::growing(processes, &residents, 3)
}

/// Process 1 completes a level while process 0, which has not seen any of it, makes a call.
fn late(name: &str, call: impl Fn(&GrowingProcess, Item) + Send + Sync + 'static) -> Growth {
    let x = item();
    Scenario::new(&format!("a late {name}"), move || with_item(2, x, Q))
        .thread(move |all: &GrowingProcesses| {
            call(all.of(0), x);
            0_usize
        })
        .thread(|all| {
            all.of(1).begin_level(0);
            all.of(1).finish_growth();
            0_usize
        })
        .outcomes(&[[0, 0]])
}

/// The same, where the call leaves this number of copies.
fn late_leaving(
    name: &str,
    copies: usize,
    call: impl Fn(&GrowingProcess, Item) + Send + Sync + 'static,
) -> Growth {
    late(name, call).law(move |all, _| {
        all.at_rest(&[]);
        assert_eq!(all.copies(item()), copies, "{COPIES}");
        assert_eq!(all.of(0).level(), 1, "the level is complete");
    })
}

fn late_lookup() -> Growth {
    late_leaving("lookup", 1, |filter, x| {
        find(filter, x);
    })
}

/// Process 1 completes a level. A thread of process 0 learns that, and another one makes a lookup.
fn two_threads() -> Growth {
    let x = item();
    Scenario::new("two threads of a late process", move || with_item(2, x, Q))
        .thread(|all: &GrowingProcesses| {
            all.of(1).begin_level(0);
            all.of(1).finish_growth();
            // What the first thread has learnt is what it would have acquired.
            all.of(0).level();
            0_usize
        })
        .thread(move |all| find(all.of(0), x))
        .law(move |all, _| assert_eq!(all.copies(x), 1, "{COPIES}"))
        .outcomes(&[[0, 1]])
}

/// Process 1 dies when the segment has memory, and is not in use. Process 2 begins the level, and process
/// 0 splits a word if it sees that.
fn begun_by_the_dead() -> Growth {
    let x = item();
    let setup = move || GrowingProcesses::growing_in_late_memory(3, &[&[], &[x]], 3);
    Scenario::new("a death before the segment is in use", setup)
        .thread(|all: &GrowingProcesses| {
            all.die_in_begin(1, 0);
            0_usize
        })
        .thread(move |all| {
            all.of(2).begin_level(0);
            all.of(2).split_begun(x, Q, 0);
            find(all.of(2), x)
        })
        .thread(move |all| {
            all.of(0).split_begun(x, Q, 0);
            find(all.of(0), x)
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            all.of(0).finish_growth();
            assert_eq!(all.copies(x), 1, "{COPIES}");
            assert_eq!(all.of(2).level(), 1, "the level is complete");
        })
        .mains(&[1, 2])
        .large()
        .outcomes(&[[0, 1, 1]])
}

/// A level is completed, and the next one begins, while process 0 opens the filter.
fn opened() -> Growth {
    Scenario::new("an open beside growth", || with_item(2, item(), Q))
        .thread(|all: &GrowingProcesses| {
            assert!(!all.of(0).has_wrong_progress(), "{REFUSED}");
            0_usize
        })
        .thread(|all| {
            all.of(1).begin_level(0);
            all.of(1).finish_growth();
            all.of(1).begin_level(1);
            0_usize
        })
        .outcomes(&[[0, 0]])
}

/// Process 1 dies after `steps` steps of a move. Process 0 splits a word, and process 2, which has seen
/// nothing of the growth, repairs what it finds.
fn moved(from: usize, splits: usize, steps: usize) -> Growth {
    let x = item();
    let name = format!("{steps} steps, {}, split of {splits}", direction(from));
    Scenario::new(&name, move || with_item(3, x, from))
        .thread(move |all: &GrowingProcesses| {
            all.die_in_move(1, x, from, steps);
            0_usize
        })
        .thread(move |all| {
            all.of(0).begin_level(0);
            all.of(0).split_begun(x, splits, 0);
            0_usize
        })
        .thread(move |all| {
            let repaired = all.repair(2, 1);
            find(all.of(2), x);
            repaired
        })
        .law(move |all, _| {
            all.at_rest(&[1]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
            all.of(0).finish_growth();
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .mains(&[0])
        .large()
        .large()
        .loads_only()
        .outcomes(&[[0, 0, 0], [0, 0, 1]])
}

/// Both words are split. Process 1 moves `x` out of Q and `next` after it, which is in another plane. Process
/// 0 removes `next`.
fn path_across_planes() -> Growth {
    let (x, next) = (item(), ending(0b110, 0));
    let setup = move || {
        let all = GrowingProcesses::growing(2, &[&[next], &[x]], 3);
        all.of(0).begin_level(0);
        all.of(0).finish_growth();
        all
    };
    Scenario::new("a path across planes", setup)
        .thread(move |all: &GrowingProcesses| {
            all.of(1).relocate_path(&[(x, Q), (next, P)]);
            0_usize
        })
        .thread(move |all| all.of(0).remove(next))
        .law(move |all, _| {
            all.at_rest(&[]);
            assert_eq!((all.copies(x), all.copies(next)), (1, 0), "{COPIES}");
        })
        .outcomes(&[[0, 1]])
}

/// Process 1 completes levels while process 0 scans.
fn scanned(levels: u32) -> Growth {
    let x = item();
    Scenario::new(&format!("a scan, {levels} levels"), move || with_item(2, x, Q).that_scan())
        .thread(move |all: &GrowingProcesses| {
            let [copies] = all.of(0).scan([x]);
            assert!(copies > 0, "{MISSED}");
            0_usize
        })
        .thread(move |all| {
            for level in 0..levels {
                all.of(1).begin_level(level);
                all.of(1).finish_growth();
            }
            0_usize
        })
        .law(move |all, _| {
            all.at_rest(&[]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .outcomes(&[[0, 0]])
}

/// Process 0 scans, and starts again when it meets the word of `y`, which process 1 has split. Then process
/// 1 moves `x` between two chunks that the first pass has read.
fn scan_that_starts_again() -> Growth {
    let item = |a, b, nth| guira::model::Growing::<2>::item_ending(4, (a, b), 0b111, 3, nth);
    let (x, y) = (item(0, 1, 0), item(2, 3, 0));
    let setup = move || GrowingProcesses::growing(2, &[&[], &[x], &[y], &[]], 3).that_scan();
    Scenario::new("a scan that starts again", setup)
        .thread(move |all: &GrowingProcesses| {
            let [copies] = all.of(0).scan([x]);
            assert!(copies > 0, "{MISSED}");
            0_usize
        })
        .thread(move |all| {
            all.of(1).begin_level(0);
            all.of(1).split_begun(y, 2, 0);
            all.of(1).relocate(x, 1);
            0_usize
        })
        .law(move |all, _| {
            all.at_rest(&[]);
            assert_eq!(all.copies(x), 1, "{COPIES}");
        })
        .outcomes(&[[0, 0]])
}

#[test]
fn a_process_that_is_late_is_right() {
    late_lookup().holds();
    late_leaving("remove", 0, |filter, x| {
        assert!(filter.remove(x), "remove of a present item is false");
    })
    .large_with_exchanges()
    .holds();
    late_leaving("insert", 2, |filter, x| {
        assert!(filter.insert(x), "there is room");
        find(filter, x);
    })
    .large_with_exchanges()
    .holds();
    late_leaving("insert_unique", 1, |filter, x| {
        assert_eq!(filter.insert_unique(x), Ok(false), "it is present");
    })
    .holds();
}

#[test]
fn the_threads_of_a_process_learn_from_each_other() {
    two_threads().holds();
}

#[test]
fn the_hint_carries_what_it_promises() {
    late_lookup().must_fail(Step::Complete, UNMADE);
    late_lookup().must_fail(Step::SeeHint, UNMADE);
    two_threads().must_fail(Step::RaiseHint, UNMADE);
}

#[test]
fn the_hint_of_a_process_is_not_ahead() {
    late_leaving("lookups", 1, |filter, x| {
        find(filter, x);
        find(filter, ending(0b111, 0));
    })
    .must_fail(Fault::HintTrustsWords, UNMADE);
}

#[test]
fn a_segment_has_memory_before_it_is_in_use() {
    begun_by_the_dead().holds();
}

#[test]
fn it_is_not_in_use_before() {
    begun_by_the_dead().must_fail(Fault::PublishBeforeCommit, MEMORY);
}

#[test]
fn a_move_of_the_dead_ends_beside_a_split() {
    for from in ENDS {
        for splits in ENDS {
            for steps in 0..=STEPS {
                moved(from, splits, steps).holds();
            }
        }
    }
}

#[test]
fn a_split_keeps_the_mark_of_the_dead() {
    moved(Q, P, 5).must_fail(Fault::MarkDropped, COPIES);
}

#[test]
fn what_is_made_counts_before_the_repair() {
    moved(Q, Q, 7).must_fail(Fault::CutFirst, UNMADE);
}

#[test]
fn a_path_across_planes_leaves_no_gate() {
    path_across_planes().holds();
}

#[test]
fn the_gate_of_a_move_that_is_not_made_is_freed() {
    path_across_planes().must_fail(Fault::NextGateKept, "a gate is taken");
}

#[test]
fn a_scan_meets_what_other_processes_have_split() {
    scanned(1).holds();
    scanned(2).large().holds();
    scan_that_starts_again().large().holds();
}

#[test]
fn a_scan_asks_how_far_the_filter_has_grown() {
    scanned(2).must_fail(Fault::HintNotRefreshed, MISSED);
}

#[test]
fn movers_heed_the_last_pass_of_other_processes() {
    scan_that_starts_again().must_fail(Fault::RestartUnseen, MISSED);
}

#[test]
fn a_filter_that_grows_is_opened() {
    opened().holds();
}

#[test]
fn the_segments_in_use_are_read_before_the_level_too() {
    opened().must_fail(Fault::SegmentsOnce, REFUSED);
}

#[test]
fn the_levels_before_a_segment_are_seen() {
    opened().must_fail(Step::SeeSegments, REFUSED);
    opened().must_fail(Step::SeeHint, REFUSED);
}
