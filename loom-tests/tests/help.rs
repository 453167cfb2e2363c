//! A snapshot contains every item that is present during the whole call. Its chunks may be scanned
//! by its own thread, by movers that need to pass it, or by both.

use guira::model::{Fault, Growing, Item, Model};
use guira_loom_tests::{
    ENDS, P, Q, Scenario, direction, even,
    growth::{Growth, ending, growing},
    odd, other, with,
};

const LAW: &str = "lost from the snapshot";

/// Bits of an item that goes to the new word in the first split.
const GOES: u64 = 0b111;

fn snapshot<const SLOTS: usize>(filter: &Model<SLOTS>, x: Item) -> usize {
    let [copies] = filter.scan([x]);
    assert!(copies > 0, "{LAW}");
    copies
}

/// A snapshot that was begun before all threads ends after them.
fn end<const SLOTS: usize, const PHASE_BITS: u32>(filter: &Model<SLOTS, PHASE_BITS>, x: Item)
where
    Model<SLOTS, PHASE_BITS>: Ends,
{
    assert!(filter.ends_with(x) > 0, "{LAW}");
}

/// Both kinds of filters.
trait Ends {
    fn ends_with(&self, x: Item) -> usize;
}

impl<const SLOTS: usize> Ends for Model<SLOTS> {
    fn ends_with(&self, x: Item) -> usize {
        self.end_snapshot([x])[0]
    }
}

impl Ends for Growing<2> {
    fn ends_with(&self, x: Item) -> usize {
        self.end_snapshot([x])[0]
    }
}

/// A snapshot, and a mover that scans `chunks` of the two chunks before it moves the item.
fn helping_mover(from: usize, chunks: usize) -> Scenario {
    let x = even(0);
    let name = format!("snapshot, help by {chunks} and move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| snapshot(filter, x))
        .thread(move |filter| {
            filter.help(chunks);
            filter.relocate(x, from)
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// A snapshot whose thread has stopped, a helper and a mover. If `times` is 2, the item is moved
/// back.
fn helper_and_mover(from: usize, helped: usize, times: usize) -> Scenario {
    let x = even(0);
    let name = format!(
        "snapshot stopped after {helped}, help, {times} moves {}",
        direction(from)
    );
    Scenario::new(&name, move || {
        with(from, &[x]).scanned_by(1).snapshot_begun(helped)
    })
    .thread(|filter| filter.help(2))
    .thread(move |filter| {
        (0..times)
            .take_while(|time| {
                let from = if time % 2 == 0 { from } else { other(from) };
                filter.relocate(x, from)
            })
            .count()
    })
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        end(filter, x);
    })
}

/// The same with two helpers that scan the same chunk.
fn two_helpers(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("snapshot stopped, two helpers, move {}", direction(from));
    Scenario::new(&name, move || {
        with(from, &[x]).scanned_by(1).snapshot_begun(0)
    })
    .thread(|filter| filter.help(2))
    .thread(move |filter| {
        filter.help(1);
        filter.relocate(x, from)
    })
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        end(filter, x);
    })
}

/// Two helpers and a mover.
fn two_helpers_and_mover(from: usize) -> Scenario {
    let x = even(0);
    let name = format!(
        "snapshot stopped, two helpers and a mover {}",
        direction(from)
    );
    Scenario::new(&name, move || {
        with(from, &[x]).scanned_by(1).snapshot_begun(0)
    })
    .thread(|filter| filter.help(2))
    .thread(|filter| filter.help(2))
    .thread(move |filter| filter.relocate(x, from))
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        end(filter, x);
    })
    .mains(&[0, 2])
    .large()
}

/// A chain, while a helper scans: y moves from `middle` to `last`, x moves from `first` into the
/// slot of y, and a new item is inserted behind x.
fn chain([first, middle, last]: [usize; 3]) -> Scenario {
    let x = Model::<2>::item(4, first, middle, 0);
    let y = Model::<2>::item(4, middle, last, 0);
    let new = Model::<2>::item(4, first, middle, 1);
    let setup = move || {
        let mut residents: [&[Item]; 4] = [&[]; 4];
        let (x, y) = ([x], [y]);
        residents[first] = &x;
        residents[middle] = &y;
        Model::new(&residents).scanned_by(1).snapshot_begun(0)
    };
    let name = format!("snapshot stopped, help, chain over {first} {middle} {last}");
    Scenario::new(&name, setup)
        .thread(|filter| filter.help(4))
        .thread(move |filter| filter.relocate_chain(x, first, y, middle, new))
        .law(move |filter, _| {
            let copies = filter.end_snapshot([x, y]);
            assert!(copies.iter().all(|&copies| copies > 0), "{LAW}: {copies:?}");
        })
        .large()
}

/// A class has a copy in P. A second one is inserted into Q, and one of them is removed.
fn copies_come_and_go() -> Scenario {
    let x = even(0);
    Scenario::new("snapshot stopped, help, insert and remove", move || {
        with(P, &[x]).scanned_by(1).snapshot_begun(0)
    })
    .thread(|filter| filter.help(2))
    .thread(move |filter| {
        filter.insert_into(x, Q);
        filter.remove(x)
    })
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        end(filter, x);
    })
}

/// The same, while the copy in P is also moved.
fn copies_come_and_go_and_move(from: usize) -> Scenario {
    let x = even(0);
    let name = format!(
        "snapshot stopped, help, move {}, insert and remove",
        direction(from)
    );
    Scenario::new(&name, move || {
        with(from, &[x]).scanned_by(1).snapshot_begun(0)
    })
    .thread(|filter| filter.help(2))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| {
        assert!(filter.insert(x), "there is room");
        filter.remove(x)
    })
    .law(move |filter, _| {
        assert_eq!(filter.copies_at_rest(x), 1, "copies at rest");
        end(filter, x);
    })
    .mains(&[0])
    .large()
    .loads_only()
}

/// A helper, during an `insert_unique` of another item of the pair, whose token is in no image, and
/// a move of the first item.
fn unique(from: usize) -> Scenario<Model<3>> {
    let (x, y) = (even(0), odd(0));
    let name = format!(
        "snapshot stopped, help, move {}, insert_unique",
        direction(from)
    );
    let setup = move || {
        let (x, none): ([Item; 1], [Item; 0]) = ([x], []);
        let residents: [&[Item]; 2] = if from == P { [&x, &none] } else { [&none, &x] };
        Model::<3>::new(&residents).scanned_by(1).snapshot_begun(0)
    };
    Scenario::new(&name, setup)
        .thread(|filter| filter.help(2))
        .thread(move |filter| filter.relocate(x, from))
        .thread(move |filter| filter.insert_unique(y) == Ok(true))
        .law(move |filter, _| {
            let [x, y] = filter.end_snapshot([x, y]);
            assert!(x > 0, "{LAW}");
            assert!(y <= 1, "a token is in the snapshot");
        })
        .mains(&[0])
        .large()
        .loads_only()
}

/// A merge into an empty filter, and a mover that scans `chunks` of its chunks.
fn merge(from: usize, chunks: usize) -> Scenario {
    let x = even(0);
    let name = format!("merge, help by {chunks} and move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(move |filter| {
            let into = Model::new(&[&[], &[]]);
            assert!(into.merge(filter), "there is room");
            let copies = into.count(x);
            assert!(copies > 0, "{LAW}");
            copies
        })
        .thread(move |filter| {
            filter.help(chunks);
            filter.relocate(x, from)
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 1, "copies at rest"))
}

/// A merge of a filter whose words are split, and a thread that scans for it. Each chunk has the
/// planes that it needs.
fn merge_of_splits(bucket: usize) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("merge, splits and help, item in {bucket}");
    Growth::new(&name, move || growing(bucket, &[x], 1).scanned_by(1))
        .thread(move |filter| {
            let into = Growing::growing(&[&[], &[]], 0);
            assert!(into.merge(filter), "there is room");
            let copies = into.count(x);
            assert!(copies > 0, "{LAW}");
            copies
        })
        .thread(move |filter| {
            filter.split(x, bucket, 0);
            filter.help(2);
            0_usize
        })
}

/// A clear, and a mover that scans for it.
fn clear(from: usize) -> Scenario {
    let x = even(0);
    let name = format!("clear, help and move {}", direction(from));
    Scenario::new(&name, move || with(from, &[x]).scanned_by(1))
        .thread(|filter| {
            filter.clear();
            0_usize
        })
        .thread(move |filter| {
            filter.help(2);
            filter.relocate(x, from)
        })
        .law(move |filter, _| assert_eq!(filter.copies_at_rest(x), 0, "left by the clear"))
}

/// While the item is moved, a helper finds a word whose level is above that of the pass, which
/// starts again. The first two of four buckets had been scanned.
fn restart(from: usize) -> Growth {
    let x = Growing::<2>::item_ending(4, (0, 1), GOES, 3, 0);
    let name = format!(
        "snapshot stopped after 2, level, help, move {}",
        direction(from)
    );
    let setup = move || {
        let mut residents: [&[Item]; 4] = [&[]; 4];
        let x = [x];
        residents[from] = &x;
        let filter = Growing::growing(&residents, 1)
            .scanned_by(1)
            .snapshot_begun(2);
        filter.begin_level(0);
        filter.finish_growth();
        filter
    };
    Growth::new(&name, setup)
        .thread(|filter| filter.help(3))
        .thread(move |filter| filter.relocate(x, from))
        .law(move |filter, _| end(filter, x))
}

/// A helper and a mover, while the words of both buckets are split.
fn splits(from: usize) -> Growth {
    let x = ending(GOES, 0);
    let name = format!("snapshot stopped, splits, help, move {}", direction(from));
    Growth::new(&name, move || {
        growing(from, &[x], 1).scanned_by(1).snapshot_begun(0)
    })
    .thread(|filter| filter.help(4))
    .thread(move |filter| filter.relocate(x, from))
    .thread(move |filter| {
        filter.begin_level(0);
        filter.finish_growth();
        0_usize
    })
    .law(move |filter, _| end(filter, x))
    .mains(&[0])
    .large()
    .loads_only()
}

/// The outcomes of a snapshot and one move. A move in progress may show both copies.
const SNAPSHOT_AND_MOVE: [[usize; 2]; 4] = [[1, 0], [1, 1], [2, 0], [2, 1]];

#[test]
fn a_snapshot_has_what_a_helping_mover_moves() {
    for from in ENDS {
        helping_mover(from, 1).outcomes(&SNAPSHOT_AND_MOVE).holds();
        helping_mover(from, 2).outcomes(&SNAPSHOT_AND_MOVE).holds();
    }
}

#[test]
fn a_stopped_snapshot_has_what_is_moved() {
    for from in ENDS {
        for helped in [0, 1] {
            helper_and_mover(from, helped, 1)
                .outcomes(&[[1, 0], [1, 1]])
                .holds();
        }
        helper_and_mover(from, 0, 2)
            .outcomes(&[[1, 0], [1, 1], [1, 2]])
            .holds();
    }
}

#[test]
fn helpers_meet() {
    for from in ENDS {
        two_helpers(from).outcomes(&[[1, 0], [1, 1]]).holds();
        let who_helped = [[0, 1], [1, 0], [1, 1]];
        let outcomes = who_helped.map(|[one, other]| [[one, other, 0], [one, other, 1]]);
        two_helpers_and_mover(from)
            .outcomes(outcomes.as_flattened())
            .holds();
    }
}

#[test]
fn a_stopped_snapshot_has_what_a_chain_moves() {
    for buckets in [[0, 1, 2], [2, 1, 0], [3, 2, 1], [1, 2, 3]] {
        chain(buckets).outcomes(&[[1, 0], [1, 1]]).holds();
    }
}

#[test]
fn a_stopped_snapshot_has_a_class_whose_copies_come_and_go() {
    copies_come_and_go().outcomes(&[[1, 1]]).holds();
    for from in ENDS {
        copies_come_and_go_and_move(from)
            .outcomes(&[[1, 0, 1], [1, 1, 1]])
            .holds();
        unique(from).outcomes(&[[1, 0, 1], [1, 1, 1]]).holds();
    }
}

#[test]
fn a_pass_that_begins_again_counts() {
    for from in ENDS {
        restart(from).outcomes(&[[1, 0], [1, 1]]).holds();
        splits(from).outcomes(&[[1, 0, 0], [1, 1, 0]]).holds();
    }
}

#[test]
fn merges_and_clears_are_helped() {
    for from in ENDS {
        merge(from, 1).outcomes(&SNAPSHOT_AND_MOVE).holds();
        merge(from, 2).outcomes(&SNAPSHOT_AND_MOVE).holds();
        merge_of_splits(from).outcomes(&[[1, 0]]).holds();
        clear(from).outcomes(&[[0, 0], [0, 1]]).holds();
    }
}

#[test]
fn without_a_frontier_it_fails() {
    helper_and_mover(Q, 0, 1).must_fail(Fault::FrontierIgnored, LAW);
    restart(Q).must_fail(Fault::FrontierIgnored, LAW);
}

#[test]
fn without_fences_it_fails() {
    helper_and_mover(Q, 0, 1).must_fail(Fault::NoFence, LAW);
    helper_and_mover(Q, 0, 1).must_fail(Fault::HelpUnfenced, LAW);
}

#[test]
fn a_helper_loads_words_of_a_chunk_that_it_has_entered() {
    helper_and_mover(Q, 0, 1).must_fail(Fault::HelpLoadsFirst, LAW);
}

#[test]
fn the_first_image_counts() {
    helping_mover(Q, 2).must_fail(Fault::HelpOverwritten, LAW);
}

#[test]
fn movers_heed_the_last_pass() {
    restart(1).must_fail(Fault::RestartOverlooked, LAW);
}

#[test]
fn the_wrong_helps_are_right_but_for_their_faults() {
    helper_and_mover(Q, 0, 1)
        .outcomes(&[[1, 0], [1, 1]])
        .holds_rehearsed();
}
