//! A process dies before every step of an operation, and its repairer before every step of the repair.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test -p guira-shm --test deaths`.
//!
//! Each case begins with a copy of one file. A child dies in an operation, a second one repairs and dies,
//! and a third repair ends. Then nothing may be left, every item must be found, and there must be as
//! much room as before.
#![cfg(all(guira_faults, target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{
    builder, create, directory,
    dying::{
        CAPACITY, check, die_before, has_died, items_before_a_path, rewrite, template, writes,
    },
    growing, in_child, open, path, reader, role, start, text,
};
use guira::{Builder, model::Step};
use guira_shm::SharedFilter;
use std::{fs, path::Path};

/// What a child does before it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Inserts an item for which others have to move.
    Insert,
    /// The same, if it is absent.
    InsertUnique,
    /// Removes all items, beside the marks of a mover that has died.
    Remove,
    Snapshot,
    Repair,
    /// Inserts items until the filter has doubled.
    Grow,
}

const ACTS: [Act; 6] = [
    Act::Insert,
    Act::InsertUnique,
    Act::Remove,
    Act::Snapshot,
    Act::Repair,
    Act::Grow,
];

/// A role: acts, and dies before step `death`, unless it is through before.
#[test]
fn actor() {
    let Some(arguments) = role() else { return };
    let [file, act, death, items] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let act = *ACTS.iter().find(|it| format!("{it:?}") == *act).unwrap();
    let (death, items) = (death.parse().unwrap(), items.parse::<u64>().unwrap());
    let filter = open(&path(file));
    match act {
        Act::Remove => die_before(death, |step| {
            matches!(step, Step::Note | Step::Hold | Step::Kill | Step::EndHold)
        }),
        Act::Grow => die_before(death, grows),
        _ => die_before(death, writes),
    }
    match act {
        Act::Insert => filter.insert(&items).unwrap(),
        Act::InsertUnique => assert!(filter.insert_unique(&items).unwrap()),
        Act::Remove => {
            for item in 0..items {
                fs::write(path(file).with_extension("removed"), item.to_string()).unwrap();
                assert!(filter.remove(&item), "item {item} is lost");
            }
        }
        Act::Snapshot => filter.write_to(std::io::sink()).unwrap(),
        Act::Repair => {
            filter.repair();
        }
        Act::Grow => {
            let before = filter.stats().doublings;
            let mut item = items;
            while filter.stats().doublings == before {
                fs::write(path(file).with_extension("inserted"), item.to_string()).unwrap();
                filter.insert(&item).unwrap();
                item += 1;
            }
        }
    }
}

/// True if the step is one of growth.
fn grows(step: Step) -> bool {
    matches!(
        step,
        Step::Commit
            | Step::Publish
            | Step::Freeze
            | Step::Copy
            | Step::Cut
            | Step::MovePointer
            | Step::EndPart
            | Step::Complete
            | Step::RaiseHint
    )
}

/// A child acts, and dies before step `death`. True if it has died, and false if it was through before.
fn dies(file: &Path, act: Act, death: usize, items: u64) -> bool {
    let arguments = [
        text(file),
        format!("{act:?}"),
        death.to_string(),
        items.to_string(),
    ];
    let status = start("actor", &arguments).wait().unwrap();
    has_died(status, &format!("{act:?} {death}"))
}

/// A filter that grows, and has grown a little when it is used here.
fn growing_filter() -> Builder {
    growing(60, 3_000)
}

/// The bytes of a growing filter, and the number of its items. The insert of the next item makes a path of
/// at least two moves while words are being split.
fn template_of_growth(directory: &Path) -> (Vec<u8>, u64) {
    let file = directory.join("template");
    let filter = create(&file, growing_filter());
    for item in 0.. {
        let before = filter.stats();
        let bytes = fs::read(&file).unwrap();
        filter.insert(&item).expect("it grows");
        let after = filter.stats();
        if before.buckets_to_split > 0
            && after.buckets_to_split > 0
            && after.relocations >= before.relocations + 2
        {
            return (bytes, item);
        }
    }
    unreachable!("there is a path")
}

/// A reader repairs nothing, and still finds each item once; the one that is being removed, or comes in,
/// may be there.
fn read_beside_the_dead(file: &Path, act: Act, items: u64, case: &str) {
    let reader = reader(file);
    let first = match act {
        Act::Remove => {
            let removed = fs::read_to_string(file.with_extension("removed"));
            removed.unwrap().parse::<u64>().unwrap() + 1
        }
        _ => 0,
    };
    for item in first..items {
        assert!(reader.contains(&item), "{case}: item {item} is lost");
        assert_eq!(reader.count(&item), 1, "{case}: item {item}");
    }
}

/// A child dies before each step of the act, and a repairer before each of its own. Returns the number
/// of cases.
fn die_everywhere(prepare: impl Fn(&Path), file: &Path, act: Act, items: u64) -> usize {
    let mut cases = 0;
    for death in 0.. {
        prepare(file);
        if !dies(file, act, death, items) {
            break;
        }
        let dead = fs::read(file).unwrap();
        for repair in 0.. {
            rewrite(file, &dead);
            let repairer_died = dies(file, Act::Repair, repair, items);
            read_beside_the_dead(file, act, items, &format!("{act:?}, death {death}"));
            let filter = open(file);
            filter.repair();
            let case = format!("{act:?}, death {death}, repair {repair}");
            let removed = fs::read_to_string(file.with_extension("removed"));
            let first = match act {
                Act::Remove => removed.unwrap().parse::<u64>().unwrap() + 1,
                _ => 0,
            };
            let maybe = [items, first.wrapping_sub(1)];
            check(&filter, first..items, &maybe, &case);
            cases += 1;
            if !repairer_died {
                break;
            }
        }
    }
    cases
}

/// Makes the file of a filter, and returns it with the number of its items.
type Template = fn(&Path) -> (Vec<u8>, u64);

fn in_act(act: Act, template: Template) {
    let directory = directory();
    let (bytes, items) = template(directory.path());
    let file = directory.path().join("filter");
    let cases = die_everywhere(|file| rewrite(file, &bytes), &file, act, items);
    println!("{act:?}: {cases} cases");
    assert!(cases > 2);
}

#[test]
fn in_an_insert_that_moves_while_the_filter_grows() {
    in_act(Act::Insert, template_of_growth);
}

#[test]
fn in_insert_unique_while_the_filter_grows() {
    in_act(Act::InsertUnique, template_of_growth);
}

#[test]
fn in_a_snapshot_while_the_filter_grows() {
    in_act(Act::Snapshot, template_of_growth);
}

fn in_a_remove_beside_a_dead_mover(template: Template) {
    let directory = directory();
    let (bytes, items) = template(directory.path());
    let file = directory.path().join("filter");
    let (mut cases, mut with_holds) = (0, 0);
    for death in 0.. {
        rewrite(&file, &bytes);
        if !dies(&file, Act::Insert, death, items) {
            break;
        }
        let dead = fs::read(&file).unwrap();
        let here = die_everywhere(|file| rewrite(file, &dead), &file, Act::Remove, items);
        with_holds += usize::from(here > 1);
        cases += here;
    }
    println!("Remove: {cases} cases, {with_holds} movers in the way");
    assert!(with_holds > 0, "no remove holds a stripe");
}

/// A mover of a growing filter has died between Decide and Deliver.
#[test]
fn in_a_remove_beside_a_mover_that_is_dead_while_the_filter_grows() {
    in_a_remove_beside_a_dead_mover(template_of_growth);
}

/// A child dies before each step of a doubling, from the memory of the new words to the end of the level.
/// A process that was late, a new one and a reader find each item, and the filter doubles again.
#[test]
fn in_growth() {
    let directory = directory();
    let template = directory.path().join("template");
    let filter = create(&template, growing_filter());
    let mut items = 0;
    // It has doubled once, and is about to begin the next level.
    while filter.stats().doublings < 1 || filter.len() < filter.capacity() - 20 {
        filter.insert(&items).unwrap();
        items += 1;
    }
    assert_eq!(filter.stats().buckets_to_split, 0);
    let bytes = fs::read(&template).unwrap();
    let file = directory.path().join("filter");
    let mut cases = 0;
    for death in 0.. {
        rewrite(&file, &bytes);
        let late = open(&file);
        let died = dies(&file, Act::Grow, death, items);
        let case = format!("death {death}");
        let last = fs::read_to_string(file.with_extension("inserted")).unwrap();
        // The last one is in the filter or not, if the child has died.
        let acknowledged = last.parse::<u64>().unwrap() + u64::from(!died);
        let (now, reader) = (open(&file), reader(&file));
        for item in 0..acknowledged {
            assert!(late.contains(&item), "{case}: item {item} is lost");
            assert!(reader.contains(&item), "{case}: item {item} is lost");
            assert_eq!(now.count(&item), 1, "{case}: item {item}");
        }
        let mut snapshot = Vec::new();
        late.write_to(&mut snapshot).unwrap();
        let snapshot = guira::CuckooFilter::from_bytes(&snapshot).unwrap();
        assert!(
            (0..acknowledged).all(|item| snapshot.contains(&item)),
            "{case}"
        );
        // A late process continues where the dead one was.
        let before = now.stats().doublings;
        let mut next = acknowledged + 1..;
        while late.stats().doublings < before + 1 {
            late.insert(&next.next().unwrap()).unwrap();
        }
        now.repair();
        let mut more = acknowledged + 1..next.start;
        assert!(more.all(|item| now.remove(&item)), "{case}");
        check(&late, 0..acknowledged, &[acknowledged], &case);
        cases += 1;
        if !died {
            break;
        }
    }
    println!("growth: {cases} cases");
    assert!(cases > 50, "{cases}");
}

#[test]
fn in_an_insert_that_moves() {
    in_act(Act::Insert, template);
}

#[test]
fn in_insert_unique() {
    in_act(Act::InsertUnique, template);
}

#[test]
fn in_a_snapshot() {
    in_act(Act::Snapshot, template);
}

/// A child finds all seats taken, one of them by a dead mover. A remove that needs a seat repairs it first.
#[test]
fn in_an_insert_that_has_the_last_seat() {
    let directory = directory();
    let file = directory.path().join("filter");
    let items = items_before_a_path(CAPACITY);
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::create_for(&file, builder(CAPACITY), 2) }.unwrap();
    for item in 0..items {
        filter.insert(&item).unwrap();
    }
    let bytes = fs::read(&file).unwrap();
    let mut repaired = 0;
    for death in 0.. {
        rewrite(&file, &bytes);
        if !dies(&file, Act::Insert, death, items) {
            break;
        }
        let removed = in_child(|| (0..items).all(|item| filter.remove(&item)));
        assert!(removed, "death {death}: an item is lost");
        repaired += filter.participants().deaths;
    }
    assert!(repaired > 0, "no remove needs a seat");
}

/// A mover has died between Decide and Deliver: the remove of what it moved holds the stripe.
#[test]
fn in_a_remove_beside_a_mover_that_is_dead() {
    in_a_remove_beside_a_dead_mover(template);
}
