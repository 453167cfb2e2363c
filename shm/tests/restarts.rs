//! Processes that take and leave seats, some at the same time. Here each one is a thread with a filter of
//! its own.
//!
//! No test of this file forks: a child would keep the locks of seats that are being taken or left.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![expect(unsafe_code, reason = "files are opened")]
#![allow(dead_code)]

mod common;

use common::{builder, create, directory, open};
use guira_shm::{AttachError, NotAlone, OpenError, Participants, SharedFilter};
use std::{fs, path::Path};

/// The word of the first seat.
const SEATS: u64 = 64;

#[test]
fn a_recount_needs_the_filter_for_itself() {
    let directory = directory();
    let file = directory.path().join("filter");
    let (mut here, there) = (create(&file, builder(100)), open(&file));
    assert!(matches!(here.recount(), Err(NotAlone::InUse)));
    drop(there);
    assert_eq!(here.recount().unwrap(), 0);
}

/// All processes of a filter are killed, one for each seat, and start again at the same time. Here each
/// process is a thread, and its death is the word that a dead process leaves.
#[test]
fn processes_that_start_again_together_find_seats() {
    use std::{
        env,
        sync::{Barrier, Mutex},
    };
    const PROCESSES: usize = 6;
    let rounds = env::var("GUIRA_SHM_RESTARTS").map_or(500, |rounds| rounds.parse().unwrap());
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    drop(unsafe { SharedFilter::create_for(&file, builder(100), PROCESSES) }.unwrap());
    let barrier = Barrier::new(PROCESSES);
    let failures = Mutex::new(Vec::new());
    let process = |number: usize| {
        for round in 0..rounds {
            set_word(&file, SEATS + number as u64, 1);
            barrier.wait();
            // SAFETY: as above.
            let filter = unsafe { SharedFilter::open(&file) };
            let has_seat = filter.is_ok();
            barrier.wait();
            // An assertion here would leave the other threads at the barrier.
            if !has_seat {
                failures
                    .lock()
                    .unwrap()
                    .push(format!("round {round}: {filter:?}"));
            } else if number == 0 {
                let Participants { in_use, deaths, .. } = filter.as_ref().unwrap().participants();
                if (in_use, deaths) != (PROCESSES, (PROCESSES * (round + 1)) as u64) {
                    failures
                        .lock()
                        .unwrap()
                        .push(format!("round {round}: {in_use} {deaths}"));
                }
            }
            barrier.wait();
            drop(filter);
            barrier.wait();
        }
    };
    std::thread::scope(|scope| {
        for number in 0..PROCESSES {
            let process = &process;
            scope.spawn(move || process(number));
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
}

/// Stores a word of the file.
fn set_word(file: &Path, at: u64, word: u64) {
    use std::os::unix::fs::FileExt;
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&word.to_ne_bytes(), 8 * at).unwrap();
}

/// A process that repairs or takes a seat is no reason to refuse another one, which waits for it.
#[test]
fn a_seat_that_another_process_looks_at_is_not_taken() {
    use nix::{
        fcntl::{FcntlArg, fcntl},
        libc,
    };
    use std::time::{Duration, Instant};
    // The claim of the first seat.
    const CLAIM: i64 = (1 << 62) + 1;
    let directory = directory();
    let file = directory.path().join("filter");
    // The word of the first seat is free, or left by a dead process. Or the process lives, and is about to leave.
    for (word, seats, lives) in [
        (0, 1, false),
        (1, 1, false),
        (0, 2, false),
        (1, 2, false),
        (0, 1, true),
    ] {
        let path = file.with_extension(format!("{word}{seats}{lives}"));
        // SAFETY: no other program knows the directory of this test.
        drop(unsafe { SharedFilter::create_for(&path, builder(100), seats) }.unwrap());
        set_word(&path, SEATS, word);
        let living = lives.then(|| open(&path));
        let other = fs::File::options().read(true).write(true).open(&path);
        let other = other.unwrap();
        let range = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: CLAIM,
            l_len: 1,
            l_pid: 0,
        };
        fcntl(&other, FcntlArg::F_OFD_SETLK(&range)).unwrap();
        let _last_seat = (seats == 2).then(|| open(&path));
        // While the claim lasts, the seat is not free.
        let since = Instant::now();
        // SAFETY: as above.
        let refused = unsafe { SharedFilter::open(&path) };
        assert!(matches!(
            refused,
            Err(OpenError::Attach(AttachError::TooManyProcesses { max })) if max == seats
        ));
        assert!(since.elapsed() >= Duration::from_secs(1), "it has waited");
        std::thread::scope(|scope| {
            let opener = scope.spawn(|| open(&path).participants().in_use);
            drop(living);
            drop(other);
            assert_eq!(opener.join().unwrap(), seats);
        });
    }
}

/// So a process that looks at a seat twice knows whether it is the same taking.
#[test]
fn each_taking_of_a_seat_has_a_number() {
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let mut filter = unsafe { SharedFilter::create_for(&file, builder(100), 1) }.unwrap();
    for number in 1..4 {
        assert_eq!(word(&file), number << 2 | 1);
        drop(filter);
        assert_eq!(word(&file), number << 2);
        filter = open(&file);
    }
}

/// The word of the first seat.
fn word(file: &Path) -> u64 {
    let bytes = fs::read(file).unwrap();
    let at = 8 * SEATS as usize;
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Processes open and close a filter of one seat while others look for dead ones, and none has died.
#[test]
fn a_process_that_comes_or_goes_is_not_taken_for_dead() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = directory();
    let file = directory.path().join("filter");
    // SAFETY: no other program knows the directory of this test.
    let filter = unsafe { SharedFilter::create_for(&file, builder(100), 3) }.unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    assert!(open(&file).was_closed_cleanly());
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
        while !is_over.load(Ordering::Relaxed) {
            assert_eq!(filter.repair().processes, 0);
        }
    });
    let participants = filter.participants();
    assert_eq!((participants.in_use, participants.deaths), (1, 0));
}
