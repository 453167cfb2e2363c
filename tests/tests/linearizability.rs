//! Checks that some order of the operations of real threads explains every result, in many short
//! windows of 8 to 96 operations. They run on a filter of a few slots, or on a few classes of a
//! filter that doubles during the windows.
//!
//! `tests/tests/history.rs` and `tests/tests/stress.rs` check bounds instead, over histories of
//! any length.
//!
//! The test runs for 2 seconds, or for `GUIRA_STRESS_SECONDS`:
//!
//! ```text
//! GUIRA_STRESS_SECONDS=300 cargo test --release -p guira-tests --test all linearizability:: -- --nocapture
//! ```

use crate::common::{
    event::{Answer, Event},
    filters::{BITS, GROWABLE_BITS},
    round::{Report, Round},
    stress::stress_time,
    wgl::has_order,
};
use rand::{RngExt, rngs::SmallRng};
use std::time::{Duration, Instant};

/// On a busy machine, some rounds take long.
const PATIENCE: Duration = Duration::from_secs(600);

fn budget() -> Duration {
    stress_time().unwrap_or(Duration::from_secs(1))
}

#[test]
fn every_window_has_an_order() {
    let layouts = BITS.len() + GROWABLE_BITS.len();
    // Each run has another seed: repeating the last one would find less.
    let mut random: SmallRng = rand::make_rng();
    for bits in BITS.into_iter().chain(GROWABLE_BITS) {
        let (start, mut report) = (Instant::now(), Report::default());
        let budget = budget() / layouts as u32;
        // A filter of two buckets relocates nothing.
        while report.relocations == 0 || start.elapsed() < budget {
            let late = start.elapsed() > budget + PATIENCE;
            assert!(!late, "too little happens: {report}");
            let round = Round {
                bits,
                counter_bits: 0,
                buckets: random.random_range(2..=6),
                threads: random.random_range(2..=4),
                operations: random.random_range(4..=24),
                load: random.random_range(0.8..=1.0),
                crowd: random.random_range(0.2..=1.0),
                yields: random.random(),
                seed: random.random(),
            };
            let done = round.windows(1_000);
            report += done.unwrap_or_else(|violation| panic!("{violation}"));
        }
        println!("{bits} bits: {report}");
        let grew = report.levels > 0;
        assert_eq!(grew, GROWABLE_BITS.contains(&bits), "{report}");
    }
}

// Tests of the search itself.

/// Thread n performs operation n of the history. Each entry has the moments of its invocation and
/// return.
fn ordered(before: i64, after: i64, history: &[(Answer, u64, u64)]) -> bool {
    let event = |&(answer, invoked, returned)| Event {
        class: 0,
        answer,
        invoked,
        returned,
    };
    let events: Vec<_> = history.iter().map(event).enumerate().collect();
    has_order(&events, before, after)
}

const INSERT: Answer = Answer::Insert(true);
const REMOVE: Answer = Answer::Remove(true);
const ABSENT: Answer = Answer::Contains(false);

#[test]
fn the_search_sees_what_one_after_the_other_would_do() {
    assert!(ordered(0, 1, &[(ABSENT, 0, 1), (INSERT, 2, 3)]));
    assert!(!ordered(0, 1, &[(INSERT, 0, 1), (ABSENT, 2, 3)]));
    assert!(ordered(0, 1, &[(INSERT, 0, 2), (ABSENT, 2, 3)]));
    assert!(!ordered(1, 0, &[(REMOVE, 0, 1), (REMOVE, 0, 1)]));
    assert!(ordered(
        1,
        0,
        &[(REMOVE, 0, 3), (Answer::Remove(false), 1, 2)]
    ));
    assert!(!ordered(1, 1, &[(Answer::Remove(false), 1, 2)]));
    assert!(!ordered(0, 0, &[(INSERT, 0, 1)]), "the copy is lost");
    assert!(!ordered(0, 1, &[]), "the copy was never inserted");
}

#[test]
fn the_search_lets_pass_what_is_always_allowed() {
    let nothing = [
        (Answer::Contains(true), 0, 1),
        (Answer::Insert(false), 0, 1),
        (Answer::InsertUnique(None), 2, 3),
    ];
    assert!(ordered(0, 0, &nothing));
}

#[test]
fn the_search_knows_insert_unique() {
    let (added, present) = (
        Answer::InsertUnique(Some(true)),
        Answer::InsertUnique(Some(false)),
    );
    assert!(ordered(0, 1, &[(added, 0, 2), (present, 1, 3)]));
    assert!(!ordered(0, 2, &[(added, 0, 2), (added, 1, 3)]));
    assert!(!ordered(0, 0, &[(present, 0, 1)]));
    assert!(ordered(1, 1, &[(present, 0, 1)]));
    assert!(ordered(
        0,
        1,
        &[(added, 0, 9), (REMOVE, 1, 8), (added, 2, 7)]
    ));
}

/// The number of copies allows each of the two results, but not both. A thread that saw 1 copy
/// before 0 saw the item inserted and removed again, although no thread removed it.
#[test]
fn the_search_sees_answers_that_exclude_each_other() {
    let [one, none] = [1, 0].map(Answer::Count);
    assert!(ordered(0, 1, &[(INSERT, 0, 9), (none, 1, 2), (one, 3, 4)]));
    assert!(!ordered(0, 1, &[(INSERT, 0, 9), (one, 1, 2), (none, 3, 4)]));
    assert!(!ordered(
        0,
        1,
        &[(INSERT, 0, 9), (one, 1, 2), (ABSENT, 3, 4)]
    ));
}

/// A remove that takes from Q comes in the order before an insert into P that overlaps it. Until it
/// takes its copy, a count includes both.
#[test]
fn the_search_lets_a_count_include_a_copy_whose_remove_has_begun() {
    let [two, absent] = [Answer::Count(2), Answer::Remove(false)];
    let overlapping = [(REMOVE, 0, 8), (absent, 1, 9), (INSERT, 2, 3), (two, 4, 5)];
    assert!(ordered(1, 1, &overlapping));
    let apart = [(REMOVE, 4, 8), (absent, 1, 9), (INSERT, 2, 3), (two, 4, 5)];
    assert!(!ordered(1, 1, &apart));
}
