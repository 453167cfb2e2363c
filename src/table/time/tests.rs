//! When an epoch is due, by a clock that may be read at any time.

use super::*;
use std::cell::Cell;

const LENGTH: Duration = Duration::from_millis(10);

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn at(epoch: u64) -> (Epochs, Now) {
    (Epochs::new(12).at(epoch), Now { epoch, oldest: 12 })
}

/// Epochs around which the low bits of the number wrap.
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
fn an_epoch_whose_beginning_nobody_knows_begins_at_the_first_reading() {
    for number in NUMBERS {
        let (epochs, now) = at(number);
        assert!(!epochs.is_due(now, LENGTH, || micros(77_000)), "{number}");
        assert!(!epochs.is_due(now, LENGTH, || micros(86_999)), "{number}");
        assert!(epochs.is_due(now, LENGTH, || micros(87_000)), "{number}");
    }
}

#[test]
fn the_beginning_is_rounded_up_and_no_epoch_is_too_short() {
    let (epochs, now) = at(3);
    assert!(!epochs.is_due(now, LENGTH, || micros(1)));
    assert!(!epochs.is_due(now, LENGTH, || micros(10_999)));
    assert!(epochs.is_due(now, LENGTH, || micros(11_000)));
}

#[test]
fn a_beginning_is_that_of_one_epoch() {
    for number in NUMBERS {
        let (epochs, now) = at(number);
        epochs.record_beginning(now, || micros(5_000));
        assert!(epochs.is_due(now, LENGTH, || micros(15_000)), "{number}");
        // Another thread began the next one.
        let next = Now {
            epoch: number + 1,
            ..now
        };
        assert!(!epochs.is_due(next, LENGTH, || micros(900_000)));
        assert!(!epochs.is_due(next, LENGTH, || micros(909_999)));
        assert!(epochs.is_due(next, LENGTH, || micros(910_000)));
    }
}

#[test]
fn a_beginning_that_comes_late_delays_the_epoch_and_no_more() {
    let (epochs, now) = at(8);
    // Who began epoch 7 says so only now.
    let last = Now { epoch: 7, ..now };
    epochs.record_beginning(now, || micros(50_000));
    epochs.record_beginning(last, || micros(20_000));
    assert!(!epochs.is_due(now, LENGTH, || micros(60_000)));
    assert!(epochs.is_due(now, LENGTH, || micros(70_000)));
}

#[test]
fn a_reading_before_the_beginning_is_not_due() {
    let (epochs, now) = at(1);
    epochs.record_beginning(now, || micros(40_000));
    for reading in [0, 1, 39_999, 40_000] {
        assert!(!epochs.is_due(now, LENGTH, || micros(reading)), "{reading}");
    }
}

#[test]
fn the_clock_is_read_after_what_is_known_of_the_beginning() {
    let (epochs, now) = at(1);
    epochs.record_beginning(now, || micros(0));
    let read = Cell::new(0);
    let due = epochs.is_due(now, LENGTH, || {
        read.set(read.get() + 1);
        // During the call another thread says that the epoch began later.
        epochs.record_beginning(now, || micros(9_000));
        micros(10_000)
    });
    assert_eq!((due, read.get()), (true, 1));
    assert!(!epochs.is_due(now, LENGTH, || micros(18_999)));
}

#[test]
fn a_beginning_that_is_forgotten_is_read_again() {
    for number in NUMBERS {
        let (epochs, now) = at(number);
        epochs.record_beginning(now, || micros(0));
        epochs.forget_beginning();
        assert!(!epochs.is_due(now, LENGTH, || 10 * LENGTH), "{number}");
        assert!(!epochs.is_due(now, LENGTH, || 11 * LENGTH - micros(1)));
        assert!(epochs.is_due(now, LENGTH, || 11 * LENGTH));
    }
}

/// 48 bits of milliseconds are 8900 years. Beyond them epochs are no more due than before.
#[test]
fn a_clock_at_its_end_is_cut() {
    let (epochs, now) = at(1);
    let latest = Duration::from_millis((u64::MAX >> 16) - 1);
    for reading in [latest, latest + LENGTH / 2, latest - micros(1)] {
        epochs.record_beginning(now, || reading);
        assert!(!epochs.is_due(now, LENGTH, || latest + LENGTH - micros(1)));
        assert!(epochs.is_due(now, LENGTH, || latest + LENGTH));
    }
    epochs.record_beginning(now, || Duration::MAX);
    assert!(epochs.is_due(now, LENGTH, || Duration::MAX));
}

#[test]
fn only_one_begins_the_next_epoch() {
    for number in NUMBERS {
        let (epochs, now) = at(number);
        assert!(epochs.tick(now));
        assert!(!epochs.tick(now), "{number}");
        assert!(epochs.tick(now.next()));
    }
}

#[test]
fn an_epoch_is_swept_when_it_or_a_later_one_was() {
    let (epochs, now) = at(4);
    assert!(!epochs.is_swept(now));
    epochs.sweep_ends(now);
    assert!(epochs.is_swept(now) && !epochs.is_swept(now.next()));
    epochs.sweep_ends(now.next());
    // A sweep that was slow.
    epochs.sweep_ends(now);
    assert!(epochs.is_swept(now.next()));
}

/// The age of an epoch is what `is_due` goes by.
#[test]
fn an_epoch_is_as_old_as_it_is_due() {
    let (epochs, now) = at(3);
    assert_eq!(epochs.age(now, micros(9_000)), None);
    assert!(!epochs.is_due(now, LENGTH, || micros(9_000)));
    assert_eq!(epochs.age(now, micros(18_999)), Some(micros(9_999)));
    assert_eq!(epochs.age(now, micros(19_000)), Some(LENGTH));
    assert!(epochs.is_due(now, LENGTH, || micros(19_000)));
    assert_eq!(epochs.age(now, micros(8_000)), Some(Duration::ZERO));
    assert_eq!(epochs.age(now.next(), micros(19_000)), None);
    epochs.forget_beginning();
    assert_eq!(epochs.age(now, micros(19_000)), None);
}
