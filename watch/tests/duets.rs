//! In the scenes of several threads, the protocol keeps its promises, and each fault shows.
#![cfg(guira_faults)]

use guira_watch::{duets::ALL, session::Session};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The active fault applies to the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn each_fault_shows_in_its_schedule() {
    let _alone = alone();
    for duet in &ALL {
        for (fault, schedule) in duet.controls {
            let (wrong, _) = Session::play(duet.name, fault, schedule);
            assert!(
                wrong.is_some(),
                "{}, {fault}: nothing goes wrong",
                duet.name
            );
        }
    }
}

#[test]
fn the_same_schedules_are_harmless_without_a_fault() {
    let _alone = alone();
    for duet in &ALL {
        for (name, schedule) in duet.controls.iter().chain(duet.famous) {
            let (wrong, _) = Session::play(duet.name, "None", schedule);
            assert_eq!(wrong, None, "{}, {name}", duet.name);
        }
    }
}

/// One thread makes some steps, another one makes some, and the first one makes the same number
/// again. Then each runs to its end.
#[test]
fn nothing_goes_wrong_with_three_switches_anywhere() {
    let _alone = alone();
    for duet in &ALL {
        let (mut played, lengths) = (0, [1, 2, 3, 4, 5, 6, 8, 10, 12]);
        let threads = duet.threads.len();
        for first in 0..threads {
            for (a, b) in lengths.iter().flat_map(|a| lengths.map(|b| (*a, b))) {
                for next in 1..threads {
                    let second = (first + next) % threads;
                    let mut schedule = first.to_string().repeat(a);
                    schedule.push_str(&second.to_string().repeat(b));
                    schedule.push_str(&first.to_string().repeat(a));
                    let (wrong, taken) = Session::play(duet.name, "None", &schedule);
                    assert_eq!(wrong, None, "{}: {taken}", duet.name);
                    played += 1;
                }
            }
        }
        assert!(played >= 162, "{}: {played} schedules", duet.name);
    }
}

/// An operation that is stopped and repeated has the same effect as one that runs through.
#[test]
fn an_operation_in_pieces_is_the_operation() {
    let _alone = alone();
    let mut pieces = Session::default();
    pieces.answer("duet\tremove\tNone");
    let replies: Vec<String> = (0..8).map(|_| pieces.answer("step\t0")).collect();
    let last = replies
        .iter()
        .find(|reply| reply.contains(r#""answers":[true]"#))
        .expect("the remove ends");
    assert!(last.contains(r#""len":0"#), "{last}");
    assert_eq!(replies[0].matches("Observe").count(), 0, "{}", replies[0]);
}
