//! A process dies before every step of an operation of an expiring filter, and its repairer before every
//! step of the repair.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test -p guira-shm --test expiring_deaths`.
//!
//! Each case begins with a copy of one file. A child dies in an operation, a second one repairs and dies,
//! and a third repair ends. Then nothing is left. Epochs begin until every tag of a dead copy means a live
//! one again. In each epoch an item is found exactly if it is not older than the TTL, also by a reader. At the
//! end the filter is empty, and has as much room as a new one.
#![cfg(all(guira_faults, target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{
    create_expiring, directory,
    dying::{die_before, has_died, rewrite, signal_before, writes},
    expiring_reader, open_expiring, path, role, start, text,
};
use guira::{ExpiringBuilder, ExpiringFilter, model::Step, shared::Census};
use guira_shm::{SharedExpiringFilter, SharedExpiringReader};
use nix::{
    sys::{
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use std::{
    fs,
    ops::Deref,
    path::Path,
    time::{Duration, Instant},
};

/// The items that a child refreshes or removes.
const CHANGED: usize = 7;

/// What a child does before it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Inserts an item for which others have to move, or dead copies have to go.
    Insert,
    /// The same, if it is absent.
    InsertUnique,
    /// Refreshes the items.
    Refresh,
    /// Removes the items.
    Remove,
    /// Begins the next epoch, and sweeps.
    Advance,
    /// The same, when it is due.
    Tick,
    Repair,
}

const ACTS: [Act; 7] = [
    Act::Insert,
    Act::InsertUnique,
    Act::Refresh,
    Act::Remove,
    Act::Advance,
    Act::Tick,
    Act::Repair,
];

const CAPACITY: usize = 60;

/// E: the most that tags of 4 bits allow. A dead copy must go within two epochs.
const EPOCHS: u64 = 13;

/// A tick is due after 50 ms.
const TTL: Duration = Duration::from_millis(50 * EPOCHS);

fn builder() -> ExpiringBuilder {
    ExpiringFilter::builder(TTL)
        .epochs(EPOCHS as u32)
        .capacity(CAPACITY)
        .fingerprint_bits(16)
        .seed(42)
}

/// An item, and the epochs in which its copies were last seen, at least and at most.
#[derive(Clone, Debug)]
struct Known {
    item: u64,
    /// The last epoch in which it is certainly found; `None` if it may have gone.
    surely: Option<u64>,
    /// The last epoch in which it can be found.
    at_most: Option<u64>,
}

impl Known {
    fn seen(item: u64, epoch: u64) -> Self {
        Self {
            item,
            surely: Some(epoch + EPOCHS),
            at_most: Some(epoch + EPOCHS),
        }
    }
}

/// The file of a filter, and what is in it.
struct Template {
    bytes: Vec<u8>,
    items: Vec<Known>,
    /// The item that is inserted next.
    next: u64,
    /// The epoch.
    epoch: u64,
}

/// Fills a filter, in epochs up to `last`. Every second item that comes in an early epoch comes in a later
/// one once more, so that it has copies of two ages. The insert of the next item makes a path of two moves,
/// or finds dead copies in its way. If not `swept`, the copies of epoch 0 have just died.
fn template(directory: &Path, last: u64, swept: bool) -> Template {
    let file = directory.join("template");
    let filter = create_expiring(&file, builder());
    let mut items: Vec<Known> = Vec::new();
    let mut item = 0;
    let mut insert = |filter: &SharedExpiringFilter, items: &mut Vec<Known>| {
        filter.insert(&item).expect("there is room");
        items.push(Known::seen(item, filter.epoch()));
        item += 1;
    };
    for epoch in 0..last {
        for _ in 0..3 {
            insert(&filter, &mut items);
        }
        if epoch % 4 == 3 {
            let again = items[items.len() - 8].item;
            filter.insert(&again).expect("there is room");
            items.retain(|known| known.item != again);
            // Among the first ones, which are changed.
            items.insert(0, Known::seen(again, epoch));
        }
        assert!(filter.advance().unwrap());
    }
    if !swept {
        assert!(filter.begin_due_epoch().unwrap() || filter.as_filter().begin_epoch());
    }
    loop {
        let before = filter.stats();
        let bytes = fs::read(&file).unwrap();
        let (epoch, next) = (filter.epoch(), item_after(&items));
        insert(&filter, &mut items);
        let moves = filter.stats().relocations - before.relocations;
        if moves >= 2 || !swept && filter.stats().items <= before.items {
            items.pop();
            fs::remove_file(&file).unwrap();
            return Template {
                bytes,
                items,
                next,
                epoch,
            };
        }
    }
}

fn item_after(items: &[Known]) -> u64 {
    items.iter().map(|known| known.item).max().unwrap_or(0) + 1
}

/// A role: acts, and dies before step `death`, unless it is through before.
#[test]
fn actor() {
    let Some(arguments) = role() else { return };
    let [file, act, death, item, items] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let act = *ACTS.iter().find(|it| format!("{it:?}") == *act).unwrap();
    let death: usize = death.parse().unwrap();
    let item: u64 = item.parse().unwrap();
    let items = items.split(' ').flat_map(str::parse).take(CHANGED);
    let items: Vec<u64> = items.collect();
    let filter = open_expiring(&path(file));
    let say = |number: usize| {
        fs::write(path(file).with_extension("at"), number.to_string()).unwrap();
    };
    if act == Act::Tick {
        // Its beginning is noted when the filter is opened.
        std::thread::sleep(filter.epoch_length());
    }
    die_before(death, writes);
    match act {
        Act::Insert => filter.insert(&item).unwrap(),
        Act::InsertUnique => assert!(filter.insert_unique(&item).unwrap()),
        Act::Refresh => items.iter().enumerate().for_each(|(number, item)| {
            say(number);
            assert_eq!(filter.refresh(item), Ok(true), "item {item}");
        }),
        Act::Remove => items.iter().enumerate().for_each(|(number, item)| {
            say(number);
            while filter.remove(item) {}
        }),
        Act::Advance => assert!(filter.advance().unwrap()),
        Act::Tick => assert!(filter.tick().unwrap()),
        Act::Repair => {
            filter.repair();
        }
    }
    say(items.len());
}

/// A child acts, and dies before step `death`. True if it has died, and false if it was through before.
fn dies(file: &Path, act: Act, death: usize, template: &Template) -> bool {
    let items: Vec<String> = template
        .items
        .iter()
        .map(|it| it.item.to_string())
        .collect();
    let arguments = [
        text(file),
        format!("{act:?}"),
        death.to_string(),
        template.next.to_string(),
        items.join(" "),
    ];
    let status = start("actor", &arguments).wait().unwrap();
    has_died(status, &format!("{act:?} {death}"))
}

/// A filter, and a reader of it, which repairs nothing.
struct Opened {
    filter: SharedExpiringFilter,
    reader: SharedExpiringReader,
}

impl Opened {
    fn new(file: &Path) -> Self {
        Self {
            // First, so that it has the clock by itself.
            reader: expiring_reader(file),
            filter: open_expiring(file),
        }
    }
}

impl Deref for Opened {
    type Target = SharedExpiringFilter;

    fn deref(&self) -> &SharedExpiringFilter {
        &self.filter
    }
}

/// What is in the filter after the act, in which the child has died at the item with this number.
fn after(act: Act, template: &Template, at: usize, epoch: u64) -> Vec<Known> {
    let mut items = template.items.clone();
    let now = Known::seen(template.next, epoch);
    match act {
        Act::Insert | Act::InsertUnique => items.push(Known {
            surely: None,
            at_most: Some(epoch + EPOCHS),
            ..now
        }),
        Act::Refresh => items.iter_mut().enumerate().for_each(|(number, known)| {
            if number <= at {
                known.at_most = Some(epoch + EPOCHS);
            }
            if number < at {
                known.surely = known.at_most;
            }
        }),
        Act::Remove => items.iter_mut().enumerate().for_each(|(number, known)| {
            if number <= at {
                known.surely = None;
            }
            if number < at {
                known.at_most = None;
            }
        }),
        Act::Advance | Act::Tick | Act::Repair => {}
    }
    items
}

/// In the present epoch, the items are found as they are known, also by a reader.
fn look_up(filter: &Opened, items: &[Known], case: &str) {
    let epoch = filter.epoch();
    assert_eq!(filter.reader.epoch(), epoch);
    for Known {
        item,
        surely,
        at_most,
    } in items
    {
        let found = filter.contains(item);
        assert_eq!(filter.reader.contains(item), found, "{case}: item {item}");
        if surely.is_some_and(|last| epoch <= last) {
            assert!(found, "{case}: item {item} is lost in epoch {epoch}");
        }
        if at_most.is_none_or(|last| epoch > last) {
            assert!(!found, "{case}: item {item} is back in epoch {epoch}");
        }
    }
}

/// Nothing is left of the dead.
fn is_clean(filter: &SharedExpiringFilter, case: &str) {
    let census = filter.census();
    let nothing = Census {
        items: census.items,
        ..Census::default()
    };
    assert_eq!(census, nothing, "{case}");
}

/// Lets all items die, until their tags would mean live copies again.
fn outlive(filter: &Opened, items: &[Known], case: &str) {
    is_clean(filter, case);
    look_up(filter, items, case);
    for _ in 0..EPOCHS + 20 {
        assert!(filter.advance().unwrap(), "{case}");
        look_up(filter, items, case);
    }
    assert_eq!(filter.census(), Census::default(), "{case}: a ghost");
    let fits = |insert: &dyn Fn(u64) -> bool| (0..).take_while(|&item| insert(item)).count();
    let new = builder().build().unwrap();
    let here = fits(&|item| filter.insert(&item).is_ok());
    let there = fits(&|item| new.insert(&item).is_ok());
    assert_eq!(here, there, "{case}: room");
}

/// A child dies before each step of the act, and a repairer before each of its own. Returns the number of
/// cases, and how many withheld copies were left in all.
fn die_everywhere(act: Act, template: &dyn Fn() -> Template) -> (usize, usize) {
    let directory = directory();
    let file = directory.path().join("filter");
    let (mut cases, mut withheld) = (0, 0);
    let (mut start, mut template_now) = (Instant::now(), template());
    for death in 0.. {
        if act == Act::Tick {
            // A late tick expires by the clock, so the items must be young.
            (start, template_now) = (Instant::now(), template());
        }
        let template = &template_now;
        rewrite(&file, &template.bytes);
        let _ = fs::remove_file(file.with_extension("at"));
        if !dies(&file, act, death, template) {
            break;
        }
        // A tick that is so late expires all items.
        let is_late = act == Act::Tick && start.elapsed() >= TTL;
        let at = fs::read_to_string(file.with_extension("at")).unwrap_or_default();
        let at = at.parse().unwrap_or(0);
        let dead = fs::read(&file).unwrap();
        for repair in 0.. {
            rewrite(&file, &dead);
            let case = format!("{act:?}, death {death}, repair {repair}");
            let filter = Opened::new(&file);
            let mut items = after(act, template, at, template.epoch);
            if is_late {
                items.iter_mut().for_each(|known| known.surely = None);
            }
            // Also beside what the dead one has left.
            look_up(&filter, &items, &case);
            let repairer_died = dies(&file, Act::Repair, repair, template);
            look_up(&filter, &items, &case);
            withheld += filter.repair().withheld;
            outlive(&filter, &items, &case);
            drop(filter);
            cases += 1;
            if !repairer_died {
                break;
            }
        }
    }
    (cases, withheld)
}

fn in_act(act: Act, last: u64, swept: bool) -> usize {
    let directory = directory();
    let template = || template(directory.path(), last, swept);
    let (cases, withheld) = die_everywhere(act, &template);
    println!("{act:?}: {cases} cases, {withheld} copies were withheld");
    assert!(cases > 2);
    withheld
}

#[test]
fn in_an_insert_that_moves() {
    in_act(Act::Insert, 8, true);
}

#[test]
fn in_an_insert_that_empties_dead_copies() {
    assert!(in_act(Act::Insert, 13, false) > 0);
}

#[test]
fn in_insert_unique() {
    in_act(Act::InsertUnique, 8, true);
}

#[test]
fn in_insert_unique_that_empties_dead_copies() {
    in_act(Act::InsertUnique, 13, false);
}

#[test]
fn in_a_refresh() {
    assert!(in_act(Act::Refresh, 8, true) > 0);
}

/// Some items have two copies of different ages: one of these is renewed, and the other one taken.
#[test]
fn in_a_remove() {
    assert!(in_act(Act::Remove, 8, true) > 0);
}

#[test]
fn in_an_advance() {
    assert!(in_act(Act::Advance, 13, false) > 0);
}

#[test]
fn in_a_tick() {
    assert!(in_act(Act::Tick, 13, false) > 0);
}

/// A role: sweeps, and stops when it is about to withhold a copy, or to empty it. It has the gate then.
#[test]
fn stopper() {
    let Some(arguments) = role() else { return };
    let [file, number] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let filter = open_expiring(&path(file));
    let number = number.parse().unwrap();
    signal_before(Signal::SIGSTOP, number, |step| {
        matches!(step, Step::Withhold | Step::Empty)
    });
    filter.sweep().unwrap();
}

/// A process stops in a sweep, with the gate of copies that have just died. Epochs begin as long as these
/// copies stay dead, and no longer. When the process is killed, further epochs begin.
#[test]
fn a_stopped_sweep_lets_nothing_come_back() {
    let directory = directory();
    let template = template(directory.path(), 13, false);
    let file = directory.path().join("filter");
    for number in 0..4 {
        rewrite(&file, &template.bytes);
        let filter = Opened::new(&file);
        let mut child = start("stopper", &[text(&file), number.to_string()]);
        let pid = Pid::from_raw(child.id() as i32);
        let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert_eq!(stopped, WaitStatus::Stopped(pid, Signal::SIGSTOP));
        let mut begun = 0;
        while filter.advance().unwrap() {
            begun += 1;
            look_up(&filter, &template.items, "stopped");
            assert!(begun < 3, "an epoch has begun over a copy behind a gate");
        }
        // In the epoch in which it has died, and in the next one, it is dead.
        assert_eq!(begun, 1);
        assert!(!filter.is_swept());
        for _ in 0..3 {
            assert!(!filter.advance().unwrap());
            look_up(&filter, &template.items, "stopped");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(filter.advance().unwrap());
        outlive(&filter, &template.items, "killed");
    }
}
