//! Processes that are killed at random: nothing that was acknowledged is lost, and nothing is left.
//!
//! `GUIRA_SHM_DEATHS` is the number of processes to kill; a long run has 100 000.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
// Each test uses its part of what they have in common.
#![allow(dead_code)]

mod common;

use common::{builder, create, directory, open, path, role, start, text};
use guira_shm::SharedFilter;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::FileExt,
    path::Path,
    process::Child,
    time::Duration,
};

/// The items of each worker.
const ITEMS: u64 = 220;

/// Workers at a time.
const WORKERS: u64 = 4;

/// What a worker has said of an item. Only what is said after the call is certain.
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;
const UNCERTAIN: u8 = 2;

fn item(worker: u64, number: u64) -> u64 {
    worker << 32 | number
}

/// What a worker has said of all its items.
fn said(diary: &Path) -> Vec<u8> {
    let mut said = Vec::new();
    File::open(diary).unwrap().read_to_end(&mut said).unwrap();
    said
}

/// Resolves what a dead worker was not certain of: its last call was made, or it was not.
fn resolve(filter: &SharedFilter, diary: &Path, worker: u64) {
    let file = OpenOptions::new().write(true).open(diary).unwrap();
    for (number, &state) in said(diary).iter().enumerate() {
        let is_present = filter.contains(&item(worker, number as u64));
        match state {
            PRESENT => assert!(is_present, "item {number} of worker {worker} is lost"),
            UNCERTAIN => {
                let state = if is_present { PRESENT } else { ABSENT };
                file.write_all_at(&[state], number as u64).unwrap();
            }
            _ => {}
        }
    }
}

/// A role: inserts and removes items of its own until it is killed.
#[test]
fn worker() {
    let Some(arguments) = role() else { return };
    let [file, diary, worker, seed] = &arguments[..] else {
        panic!("{arguments:?}");
    };
    let (filter, worker) = (open(&path(file)), worker.parse::<u64>().unwrap());
    let mut random = StdRng::seed_from_u64(seed.parse().unwrap());
    let mut state = said(&path(diary));
    let diary = OpenOptions::new().write(true).open(path(diary)).unwrap();
    let say = |number: u64, state: u8| diary.write_all_at(&[state], number).unwrap();
    loop {
        let number = random.random_range(0..ITEMS);
        let item = item(worker, number);
        let is_present = state[number as usize] == PRESENT;
        match random.random_range(0..100) {
            0 => filter.write_to(std::io::sink()).unwrap(),
            1..40 => assert!(filter.contains(&item) || !is_present, "lost beside deaths"),
            _ if is_present => {
                say(number, UNCERTAIN);
                assert!(filter.remove(&item), "lost beside deaths");
                say(number, ABSENT);
                state[number as usize] = ABSENT;
            }
            chosen => {
                say(number, UNCERTAIN);
                let inserted = if chosen < 70 {
                    filter.insert(&item).is_ok()
                } else {
                    filter.insert_unique(&item) == Ok(true)
                };
                let now = if inserted { PRESENT } else { ABSENT };
                say(number, now);
                state[number as usize] = now;
            }
        }
    }
}

#[test]
fn workers_are_killed_and_nothing_is_lost() {
    let deaths = std::env::var("GUIRA_SHM_DEATHS").map_or(60, |text| text.parse().unwrap());
    let directory = directory();
    let file = directory.path().join("filter");
    // So full that most inserts relocate.
    let filter = create(&file, builder(WORKERS as usize * ITEMS as usize * 6 / 10));
    let diaries: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let diary = directory.path().join(format!("diary {worker}"));
            std::fs::write(&diary, vec![ABSENT; ITEMS as usize]).unwrap();
            diary
        })
        .collect();
    let begin = |worker: u64, seed: u64| {
        let arguments = [
            text(&file),
            text(&diaries[worker as usize]),
            worker.to_string(),
            seed.to_string(),
        ];
        start("worker", &arguments)
    };
    let end = |child: &mut Child, worker: u64| {
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "worker {worker} has failed"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        resolve(&filter, &diaries[worker as usize], worker);
    };
    let mut workers: Vec<_> = (0..WORKERS).map(|worker| begin(worker, worker)).collect();
    let mut random = StdRng::seed_from_u64(7);
    for death in 0..deaths {
        std::thread::sleep(Duration::from_millis(random.random_range(0..12)));
        let worker = random.random_range(0..WORKERS);
        let child = &mut workers[worker as usize];
        end(child, worker);
        *child = begin(worker, WORKERS + death);
    }
    for (child, worker) in workers.iter_mut().zip(0..) {
        end(child, worker);
    }
    let repaired = filter.repair();
    println!("the last repair: {repaired:?}, {:?}", filter.participants());
    assert_eq!(repaired.left, 0);
    let mut present = 0;
    for worker in 0..WORKERS {
        for (number, &state) in said(&diaries[worker as usize]).iter().enumerate() {
            if state == PRESENT {
                present += 1;
                assert!(filter.remove(&item(worker, number as u64)), "lost");
            }
        }
    }
    assert!(present > 0);
    let left = filter.census();
    assert_eq!(left, guira::shared::Census::default(), "nothing is left");
    assert!(filter.participants().deaths > 0);
    let mut filter = filter;
    assert_eq!(filter.recount().unwrap(), 0);
    assert_eq!(filter.len(), 0);
}
