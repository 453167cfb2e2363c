//! When an epoch is due, by a clock that may be read at any time.

use super::*;

const LENGTH: Duration = Duration::from_millis(10);

/// Epochs; some have equal low bits.
const NUMBERS: [u64; 7] = [
    0,
    1,
    (1 << 16) - 1,
    1 << 16,
    (1 << 32) - 1,
    (1 << 48) - 1,
    (1 << 63) - 1,
];

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// A reading of the caller's clock.
fn at(elapsed: Duration) -> Reading {
    Reading::of_caller(elapsed)
}

/// Nothing is known of this beginning by the clock of a caller.
fn unknown() -> Beginning {
    Beginning::in_epoch(u64::MAX, vec![Duration::ZERO])
}

fn is_due(beginning: &Beginning, epoch: u64, elapsed: Duration) -> bool {
    beginning.is_due(epoch, LENGTH, at(elapsed))
}

const NANO: Duration = Duration::from_nanos(1);

#[test]
fn an_unknown_beginning_counts_from_the_first_reading_to_the_nanosecond() {
    for epoch in NUMBERS {
        for first in [Duration::ZERO, NANO, micros(77_000) + NANO] {
            let beginning = unknown();
            assert!(!is_due(&beginning, epoch, first), "{epoch}");
            assert!(!is_due(&beginning, epoch, first + LENGTH - NANO), "{epoch}");
            assert!(is_due(&beginning, epoch, first + LENGTH), "{epoch}");
        }
    }
}

#[test]
fn a_beginning_is_that_of_one_epoch() {
    for epoch in NUMBERS {
        let beginning = unknown();
        beginning.record(epoch, at(micros(5_000)));
        assert!(is_due(&beginning, epoch, micros(15_000)), "{epoch}");
        // Another thread began a later one.
        for later in [1, 1 << 16, 1 << 32] {
            let next = epoch + later;
            let now = micros(900_000 + later);
            assert!(!is_due(&beginning, next, now), "{next}");
            assert!(!is_due(&beginning, next, now + LENGTH - NANO), "{next}");
            assert!(is_due(&beginning, next, now + LENGTH), "{next}");
        }
    }
}

/// It is due when it is as old as that. A reading before its beginning counts as that, and a thread that is
/// preempted between its reading and its record changes nothing.
#[test]
fn an_epoch_is_as_old_as_it_is_due() {
    let beginning = unknown();
    assert_eq!(beginning.age(8, at(micros(40_000))), None);
    assert!(!is_due(&beginning, 8, micros(40_000)));
    for (epoch, late) in [(7, 20_000), (7, 59_000), (8, 59_000), (8, 10)] {
        beginning.record(epoch, at(micros(late)));
        for (reading, age) in [
            (0, 0),
            (39_999, 0),
            (40_000, 0),
            (49_999, 9_999),
            (50_000, 10_000),
        ] {
            let (reading, is_over) = (micros(reading), age == 10_000);
            assert_eq!(beginning.age(8, at(reading)), Some(micros(age)), "{late}");
            assert_eq!(is_due(&beginning, 8, reading), is_over, "{late}");
        }
        for other in [7, 9, 8 + (1 << 16)] {
            let age = beginning.age(other, at(micros(50_000)));
            assert_eq!(age, None, "{late}, {other}");
        }
    }
}

#[test]
fn no_epoch_is_due_at_the_end_of_the_clock() {
    let beginning = unknown();
    let latest = Duration::from_nanos((1 << 63) - 1);
    beginning.record(1, at(latest - LENGTH));
    assert!(is_due(&beginning, 1, latest));
    assert!(is_due(&beginning, 1, Duration::MAX));
    for reading in [latest, latest + LENGTH, Duration::MAX] {
        let beginning = unknown();
        beginning.record(1, at(reading));
        assert!(!is_due(&beginning, 1, latest + LENGTH));
        assert!(!is_due(&beginning, 1, Duration::MAX));
    }
}

#[test]
fn the_first_epoch_counts_from_the_start_of_the_own_clock() {
    let beginning = Beginning::in_epoch(5, vec![micros(7_000)]);
    let own = |elapsed| Reading::own(micros(elapsed));
    assert_eq!(beginning.age(5, own(0)), Some(micros(7_000)));
    assert!(!beginning.is_due(5, LENGTH, own(2_999)));
    assert!(beginning.is_due(5, LENGTH, own(3_000)));
    assert_eq!(beginning.age(4, own(3_000)), None);
    assert_eq!(beginning.age(6, own(3_000)), None);
}

#[test]
fn an_age_that_was_carried_over_counts_by_the_clock_of_a_caller_from_its_first_reading() {
    let beginning = Beginning::in_epoch(5, vec![micros(7_000)]);
    assert_eq!(beginning.age(5, at(micros(400))), None);
    assert!(!is_due(&beginning, 5, micros(400)));
    assert_eq!(beginning.age(5, at(micros(400))), Some(micros(7_000)));
    assert!(!is_due(&beginning, 5, micros(3_399)));
    assert!(is_due(&beginning, 5, micros(3_400)));
    // The next epoch carries nothing.
    beginning.record(6, at(micros(3_400)));
    assert!(!is_due(&beginning, 6, micros(13_399)));
    assert!(is_due(&beginning, 6, micros(13_400)));
}

/// Readings of two clocks are not comparable: the epoch is then not due, however far they are apart.
#[test]
fn clocks_are_not_mixed() {
    let own = |elapsed| Reading::own(micros(elapsed));
    let beginning = unknown();
    beginning.record(1, at(Duration::ZERO));
    assert_eq!(beginning.age(1, own(1 << 40)), None);
    assert!(!beginning.is_due(1, LENGTH, own(1 << 40)));
    // From now on the own clock counts.
    assert!(!beginning.is_due(1, LENGTH, own((1 << 40) + 9_999)));
    assert!(beginning.is_due(1, LENGTH, own((1 << 40) + 10_000)));
    assert!(!is_due(&beginning, 1, Duration::MAX));
    let beginning = unknown();
    beginning.record(1, own(0));
    assert_eq!(beginning.age(1, at(LENGTH)), None);
    assert!(!is_due(&beginning, 1, Duration::MAX));
}

#[test]
fn a_duplicate_knows_what_is_known() {
    let beginning = Beginning::in_epoch(5, vec![micros(7_000)]);
    let restored: Beginning = beginning.duplicate();
    let own = Reading::own(micros(1));
    assert_eq!(restored.age(5, own), Some(micros(7_001)));
    beginning.record(6, at(micros(20)));
    let later: Beginning = beginning.duplicate();
    assert_eq!(later.age(6, at(micros(30))), Some(micros(10)));
    assert_eq!(restored.age(6, at(micros(30))), None);
}

/// What was last seen in an epoch has the TTL before it from the beginning of the next one.
#[test]
fn a_copy_dies_one_ttl_after_the_end_of_its_epoch() {
    let ttl = 3 * LENGTH;
    let beginning = unknown();
    let oldest = |now, reading| beginning.oldest_live(now, ttl, at(micros(reading)));
    beginning.record(7, at(micros(0)));
    assert_eq!(oldest((7, 3), 29_999), 3, "not before the TTL");
    // Copies of epoch 6 and before are dead. That one of epoch 7 was seen may be now.
    assert_eq!(oldest((7, 3), 30_000), 0);
    beginning.record(8, at(micros(100_000)));
    assert_eq!(oldest((8, 1), 129_999), 1);
    assert_eq!(oldest((8, 1), 130_000), 0);
    beginning.record(9, at(micros(110_000)));
    for (reading, live) in [(129_999, 2), (130_000, 1), (139_999, 1), (140_000, 0)] {
        assert_eq!(oldest((9, 2), reading), live, "{reading}");
    }
    // Nothing that is dead lives again.
    assert_eq!(oldest((9, 1), 120_000), 1);
}

/// Epochs that are not recorded began before the next record, and count as begun then.
#[test]
fn an_epoch_that_was_not_recorded_counts_from_the_next_record() {
    let beginning = unknown();
    beginning.record(4, at(micros(0)));
    // More than are known, and fewer.
    for (epoch, reading) in [(6, 50_000), (6 + 3 * KNOWN as u64, 90_000)] {
        beginning.record(epoch, at(micros(reading)));
        let oldest = |later| beginning.oldest_live((epoch, 2), LENGTH, at(micros(reading + later)));
        assert_eq!((oldest(9_999), oldest(10_000)), (2, 0), "{epoch}");
    }
}

/// The ages of a filter that was restored count by its own clock from the start, and by a caller's
/// from the first reading.
#[test]
fn what_was_known_before_the_filter_was_made_counts() {
    let ages = || vec![micros(1_000), micros(12_000), micros(25_000)];
    let made = Beginning::in_epoch(1, ages());
    let own = |reading| made.oldest_live((1, 3), 3 * LENGTH, Reading::own(micros(reading)));
    // The epoch before the first one has no number.
    assert_eq!([0, 4_999, 5_000, 17_999, 18_000].map(own), [3, 3, 2, 2, 1]);
    let made = Beginning::in_epoch(1, ages());
    let callers = |reading| made.oldest_live((1, 3), 3 * LENGTH, at(micros(reading)));
    assert_eq!(callers(90_000), 3, "the first reading is not known");
    made.record(1, at(micros(90_000)));
    assert_eq!([94_999, 95_000, 108_000].map(callers), [3, 2, 1]);
    let ages = made.ages(1, 4, at(micros(90_500)));
    assert_eq!(ages, [1_500, 12_500, 25_500, 25_500].map(micros));
}

/// Of the last epochs, and not of another one that has the same place.
#[test]
fn the_readings_of_the_last_epochs_are_known() {
    const LAST: u64 = KNOWN as u64;
    let beginning = unknown();
    let reading = |epoch| at(micros(1 + epoch));
    for epoch in 0..=LAST {
        beginning.record(epoch, reading(epoch));
    }
    let known = [0, 1, LAST, LAST + 1].map(|epoch| beginning.reading(epoch));
    assert_eq!(known, [None, Some(reading(1)), Some(reading(LAST)), None]);
}

#[test]
fn a_late_reading_of_a_caller_is_the_last_one() {
    let last = at(Duration::from_nanos((1 << 63) - 1));
    for nanos in [1 << 63, u64::MAX] {
        assert_eq!(at(Duration::from_nanos(nanos)), last);
    }
    assert!(!last.is_own() && at(Duration::MAX) == last);
}
