//! A process dies while several of its threads are inside calls, each of them before a chosen step.
//!
//! Run with `RUSTFLAGS="--cfg guira_faults" cargo test -p guira-shm --test deaths_of_threads`.
//!
//! Each case begins with a copy of one file. The threads of a child begin one after the other. Each stops
//! before its step, and the next one begins beside it. When all have stopped, the child is killed. One
//! repair by a living process must end everything, the seat included.
#![cfg(all(guira_faults, target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{
    directory,
    dying::{before, check, has_died, rewrite, template, writes},
    open, path, role, start, text,
};
use guira::model::Step;
use guira_shm::SharedFilter;
use nix::sys::signal::{Signal, raise};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        mpsc::{Sender, channel},
    },
    thread,
};

/// What a thread does before the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Inserts an item for which others have to move.
    Insert,
    /// The same, if it is absent.
    InsertUnique,
    /// Removes all items, beside the marks of a mover that has died. Only steps of holds count.
    Remove,
    Snapshot,
}

const ACTS: [Act; 4] = [Act::Insert, Act::InsertUnique, Act::Remove, Act::Snapshot];

/// A thread: what it does, and the number of the step before which it stops.
type Part = (Act, usize);

impl Act {
    fn counts(self, step: Step) -> bool {
        match self {
            Self::Remove => matches!(step, Step::Note | Step::Hold | Step::Kill | Step::EndHold),
            _ => writes(step),
        }
    }
}

/// Acts, as the thread with this number. A filter that other threads have stopped in may have no room.
fn act(file: &Path, act: Act, number: u64, items: u64) {
    let filter = open_once(file);
    match act {
        Act::Insert => _ = filter.insert(&(items + number)),
        Act::InsertUnique => _ = filter.insert_unique(&(items + number)),
        Act::Remove => {
            for item in 0..items {
                fs::write(removed_by(file, number), item.to_string()).unwrap();
                filter.remove(&item);
            }
        }
        Act::Snapshot => filter.write_to(std::io::sink()).unwrap(),
    }
}

/// The filter that all threads of this process use.
fn open_once(file: &Path) -> &'static SharedFilter {
    static FILTER: OnceLock<SharedFilter> = OnceLock::new();
    FILTER.get_or_init(|| open(file))
}

/// The file that has the last item which a thread has begun to remove.
fn removed_by(file: &Path, number: u64) -> PathBuf {
    file.with_extension(format!("removed-{number}"))
}

/// A role: its threads act, and the process dies when all of them have stopped. It ends if one was through
/// before.
#[test]
fn crowd() {
    let Some(arguments) = role() else { return };
    let [file, items, parts @ ..] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let (file, items) = (path(file), items.parse::<u64>().unwrap());
    for (number, part) in (0..).zip(parts) {
        let (name, stop) = part.split_once(' ').unwrap();
        let it = *ACTS.iter().find(|it| format!("{it:?}") == name).unwrap();
        let (stop, of_thread) = (stop.parse().unwrap(), file.clone());
        let (sender, receiver) = channel();
        thread::spawn(move || {
            stop_before(stop, it, sender.clone());
            act(&of_thread, it, number, items);
            sender.send(false).unwrap();
        });
        let has_stopped = receiver.recv().unwrap();
        if !has_stopped {
            return fs::write(through(&file), number.to_string()).unwrap();
        }
    }
    raise(Signal::SIGKILL).unwrap();
}

/// The file that says which thread was through before its step.
fn through(file: &Path) -> PathBuf {
    file.with_extension("through")
}

/// This thread says so before step `stop`, and stops for ever.
fn stop_before(stop: usize, act: Act, sender: Sender<bool>) {
    before(
        stop,
        move |step| act.counts(step),
        move || {
            sender.send(true).unwrap();
            loop {
                thread::park();
            }
        },
    );
}

/// The threads of a child act, and it dies. An error is the number of a thread that was through before.
fn dies(file: &Path, items: u64, parts: &[Part]) -> Result<(), usize> {
    for number in 0..parts.len() as u64 {
        fs::write(removed_by(file, number), "0").unwrap();
    }
    let mut arguments = vec![text(file), items.to_string()];
    arguments.extend(parts.iter().map(|(act, stop)| format!("{act:?} {stop}")));
    let status = start("crowd", &arguments).wait().unwrap();
    if has_died(status, &format!("{parts:?}")) {
        return Ok(());
    }
    Err(fs::read_to_string(through(file)).unwrap().parse().unwrap())
}

/// One repair by a living process ends everything.
fn check_repaired(file: &Path, items: u64, parts: &[Part]) {
    let case = format!("{parts:?}");
    let filter = open(file);
    let before = filter.participants();
    let repaired = filter.repair();
    assert_eq!(repaired.left, 0, "{case}");
    let after = filter.participants();
    assert_eq!(after.in_use, 1, "{case}: a seat is lost, {before:?}");
    let numbers = (0..).zip(parts);
    let removed = numbers.clone().filter(|(_, (act, _))| *act == Act::Remove);
    let last = removed.map(|(number, _)| {
        let text = fs::read_to_string(removed_by(file, number)).unwrap();
        text.parse::<u64>().unwrap()
    });
    let last = last.max();
    let mut maybe: Vec<u64> = numbers.map(|(number, _)| items + number).collect();
    maybe.extend(last);
    check(
        &filter,
        last.map_or(0, |last| last + 1)..items,
        &maybe,
        &case,
    );
    drop(filter);
    assert_eq!(open(file).participants().in_use, 1, "{case}");
}

/// The stops of the threads, each in steps of `stride`. Returns the number of cases.
fn crowds(bytes: &[u8], file: &Path, items: u64, acts: &[Act], stride: usize) -> usize {
    let mut cases = 0;
    let mut stops = vec![0; acts.len()];
    loop {
        rewrite(file, bytes);
        let parts: Vec<Part> = acts.iter().copied().zip(stops.iter().copied()).collect();
        match dies(file, items, &parts) {
            Ok(()) => {
                check_repaired(file, items, &parts);
                cases += 1;
                // The last thread continues step by step.
                *stops.last_mut().unwrap() += stride;
            }
            Err(0) => return cases,
            // When one has ended, the one before it continues.
            Err(number) => {
                stops[number - 1] += stride;
                // Another first stop in each row, so that the stride leaves nothing out for good.
                let first = stops[number - 1] / stride % stride;
                stops[number..].fill(first);
            }
        }
    }
}

/// The bytes of a file in which a mover has died after each step at which a remove meets it.
fn dead_movers(bytes: &[u8], file: &Path, items: u64) -> Vec<Vec<u8>> {
    let mut dead = Vec::new();
    for stop in 0.. {
        rewrite(file, bytes);
        if dies(file, items, &[(Act::Insert, stop)]).is_err() {
            return dead;
        }
        let after = fs::read(file).unwrap();
        if dies(file, items, &[(Act::Remove, 0)]).is_ok() {
            dead.push(after);
        }
    }
    dead
}

fn removes_beside_a_dead_mover(threads: usize, stride: usize) {
    let directory = directory();
    let (bytes, items) = template(directory.path());
    let file = directory.path().join("filter");
    let dead = dead_movers(&bytes, &file, items);
    assert!(!dead.is_empty(), "no remove holds a stripe");
    let acts = vec![Act::Remove; threads];
    let cases = dead
        .iter()
        .map(|dead| crowds(dead, &file, items, &acts, stride));
    let cases: usize = cases.sum();
    println!("{threads} removes: {cases} cases, {} movers", dead.len());
    assert!(cases > 20);
}

fn beside_each_other(acts: &[Act], stride: usize) {
    let directory = directory();
    let (bytes, items) = template(directory.path());
    let file = directory.path().join("filter");
    let cases = crowds(&bytes, &file, items, acts, stride);
    println!("{acts:?}: {cases} cases");
    assert!(cases > 10);
}

/// Both removes hold the stripe of one item, whose mover has died between Decide and Deliver.
#[test]
fn in_two_removes_of_one_item() {
    removes_beside_a_dead_mover(2, 1);
}

#[test]
fn in_three_removes_of_one_item() {
    removes_beside_a_dead_mover(3, 1);
}

#[test]
fn in_two_inserts_that_move() {
    beside_each_other(&[Act::Insert, Act::Insert], 1);
}

#[test]
fn in_insert_unique_and_a_snapshot() {
    beside_each_other(&[Act::InsertUnique, Act::Snapshot], 1);
}

#[test]
fn in_a_snapshot_and_two_inserts() {
    beside_each_other(&[Act::Snapshot, Act::Insert, Act::InsertUnique], 2);
}
