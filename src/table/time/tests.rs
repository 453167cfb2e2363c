//! When a step is due, by a clock that may be read at any time.

use super::*;
use std::cell::Cell;

const LENGTH: Duration = Duration::from_millis(10);

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn at(step: u64) -> (Steps, Now) {
    (Steps::new(12).at(step), Now { step, oldest: 12 })
}

/// Steps around which the low bits of the number begin anew.
const NUMBERS: [u64; 8] = [
    0,
    1,
    (1 << 16) - 2,
    (1 << 16) - 1,
    1 << 16,
    (1 << 32) - 1,
    (5 << 16) - 1,
    (1 << 48) - 1,
];

#[test]
fn a_step_whose_beginning_nobody_knows_begins_at_the_first_reading() {
    for number in NUMBERS {
        let (steps, now) = at(number);
        assert!(!steps.is_due(now, LENGTH, || micros(77_000)), "{number}");
        assert!(!steps.is_due(now, LENGTH, || micros(86_999)), "{number}");
        assert!(steps.is_due(now, LENGTH, || micros(87_000)), "{number}");
    }
}

#[test]
fn the_beginning_is_rounded_up_and_no_step_is_too_short() {
    let (steps, now) = at(3);
    assert!(!steps.is_due(now, LENGTH, || micros(1)));
    assert!(!steps.is_due(now, LENGTH, || micros(10_999)));
    assert!(steps.is_due(now, LENGTH, || micros(11_000)));
}

#[test]
fn a_beginning_is_that_of_one_step() {
    for number in NUMBERS {
        let (steps, now) = at(number);
        steps.has_begun(now, || micros(5_000));
        assert!(steps.is_due(now, LENGTH, || micros(15_000)), "{number}");
        // Somebody else began the next one.
        let next = Now {
            step: number + 1,
            ..now
        };
        assert!(!steps.is_due(next, LENGTH, || micros(900_000)));
        assert!(!steps.is_due(next, LENGTH, || micros(909_999)));
        assert!(steps.is_due(next, LENGTH, || micros(910_000)));
    }
}

#[test]
fn a_beginning_that_comes_late_delays_the_step_and_no_more() {
    let (steps, now) = at(8);
    // Who began step 7 says so only now.
    let last = Now { step: 7, ..now };
    steps.has_begun(now, || micros(50_000));
    steps.has_begun(last, || micros(20_000));
    assert!(!steps.is_due(now, LENGTH, || micros(60_000)));
    assert!(steps.is_due(now, LENGTH, || micros(70_000)));
}

#[test]
fn a_reading_before_the_beginning_is_not_due() {
    let (steps, now) = at(1);
    steps.has_begun(now, || micros(40_000));
    for reading in [0, 1, 39_999, 40_000] {
        assert!(!steps.is_due(now, LENGTH, || micros(reading)), "{reading}");
    }
}

#[test]
fn the_clock_is_read_after_what_is_known_of_the_beginning() {
    let (steps, now) = at(1);
    steps.has_begun(now, || micros(0));
    let read = Cell::new(0);
    let due = steps.is_due(now, LENGTH, || {
        read.set(read.get() + 1);
        // Meanwhile another thread says that it began later.
        steps.has_begun(now, || micros(9_000));
        micros(10_000)
    });
    assert_eq!((due, read.get()), (true, 1));
    assert!(!steps.is_due(now, LENGTH, || micros(18_999)));
}

#[test]
fn a_beginning_that_is_forgotten_is_read_again() {
    for number in NUMBERS {
        let (steps, now) = at(number);
        steps.has_begun(now, || micros(0));
        steps.forget_beginning();
        assert!(!steps.is_due(now, LENGTH, || 10 * LENGTH), "{number}");
        assert!(!steps.is_due(now, LENGTH, || 11 * LENGTH - micros(1)));
        assert!(steps.is_due(now, LENGTH, || 11 * LENGTH));
    }
}

/// 48 bits of milliseconds are 8900 years. Beyond them steps are no more due than before.
#[test]
fn a_clock_at_its_end_is_cut() {
    let (steps, now) = at(1);
    let latest = Duration::from_millis((u64::MAX >> 16) - 1);
    for reading in [latest, latest + LENGTH / 2, latest - micros(1)] {
        steps.has_begun(now, || reading);
        assert!(!steps.is_due(now, LENGTH, || latest + LENGTH - micros(1)));
        assert!(steps.is_due(now, LENGTH, || latest + LENGTH));
    }
    steps.has_begun(now, || Duration::MAX);
    assert!(steps.is_due(now, LENGTH, || Duration::MAX));
}

#[test]
fn only_one_begins_the_next_step() {
    for number in NUMBERS {
        let (steps, now) = at(number);
        assert!(steps.tick(now));
        assert!(!steps.tick(now), "{number}");
        assert!(steps.tick(now.next()));
    }
}

#[test]
fn a_step_is_swept_when_it_or_a_later_one_was() {
    let (steps, now) = at(4);
    assert!(!steps.is_swept(now));
    steps.sweep_ends(now);
    assert!(steps.is_swept(now) && !steps.is_swept(now.next()));
    steps.sweep_ends(now.next());
    // A sweep that was slow.
    steps.sweep_ends(now);
    assert!(steps.is_swept(now.next()));
}

/// The age of a step is what `is_due` goes by.
#[test]
fn a_step_is_as_old_as_it_is_due() {
    let (steps, now) = at(3);
    assert_eq!(steps.age(now, micros(9_000)), None);
    assert!(!steps.is_due(now, LENGTH, || micros(9_000)));
    assert_eq!(steps.age(now, micros(18_999)), Some(micros(9_999)));
    assert_eq!(steps.age(now, micros(19_000)), Some(LENGTH));
    assert!(steps.is_due(now, LENGTH, || micros(19_000)));
    assert_eq!(steps.age(now, micros(8_000)), Some(Duration::ZERO));
    assert_eq!(steps.age(now.next(), micros(19_000)), None);
    steps.forget_beginning();
    assert_eq!(steps.age(now, micros(19_000)), None);
}
