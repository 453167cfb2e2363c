//! `tick` begins an epoch when it is due by the caller's clock: never earlier, one at a time, and
//! without catching up on missed epochs.

use guira::ExpiringFilter;
use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

const EPOCH: Duration = Duration::from_millis(5);

fn filter() -> ExpiringFilter {
    let builder = ExpiringFilter::builder(3 * EPOCH).epochs(3).seed(1);
    builder.build().expect("a filter")
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn the_first_call_only_notes_the_time() {
    for first in [0, 1, 4, 5, 1_000_000] {
        let filter = filter();
        assert!(!filter.tick_at(|| ms(first)));
        assert!(!filter.tick_at(|| ms(first + 4)));
        assert_eq!(filter.epoch(), 0);
        assert!(filter.tick_at(|| ms(first + 5)));
        assert_eq!(filter.epoch(), 1);
    }
}

#[test]
fn a_late_call_does_not_catch_up() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(0)));
    assert!(filter.tick_at(|| ms(1_000)));
    for soon in [1_000, 1_001, 1_004] {
        assert!(!filter.tick_at(|| ms(soon)), "{soon}");
    }
    assert!(filter.tick_at(|| ms(1_005)));
    assert_eq!(filter.epoch(), 2);
}

/// Calls `tick` at each reading of a clock that advances by microseconds. No epoch is longer than
/// its length and the time between two readings.
#[test]
fn epochs_are_as_long_as_they_should_be() {
    const LOOK: Duration = Duration::from_micros(7);
    for (length, epochs) in [(1, 13), (5, 3), (10, 12)] {
        let length = Duration::from_millis(length);
        let builder = ExpiringFilter::builder(length * epochs).epochs(epochs);
        let filter = builder.seed(1).build().expect("a filter");
        let mut now = Duration::from_nanos(1);
        assert!(!filter.tick_at(|| now));
        let mut began = now;
        for _ in 0..3 * epochs {
            while !filter.tick_at(|| now) {
                now += LOOK;
            }
            let lasted = now - began;
            assert!(lasted >= length && lasted < length + LOOK, "{lasted:?}");
            began = now;
        }
        // An item of the last epoch is absent after TTL * (1 + 1/E), and the time between readings.
        let inserted = now;
        filter.insert("koel").expect("room");
        while filter.contains("koel") {
            now += LOOK;
            filter.tick_at(|| now);
        }
        let lived = now - inserted;
        assert!(lived >= filter.ttl(), "{lived:?}");
        let late = lived - filter.ttl() - length;
        assert!(late <= (epochs + 1) * LOOK, "{late:?} late");
    }
}

/// The call that begins an epoch records the time, so a second call with the same reading begins
/// nothing. If lengths were rounded down, epochs would end before the TTL.
#[test]
fn the_epochs_of_a_ttl_are_no_shorter_than_it() {
    for nanos in [3_000_001, 10_000_000, 3_999_999_999] {
        let ttl = Duration::from_nanos(nanos);
        let filter = ExpiringFilter::builder(ttl).epochs(3).build();
        let length = filter.expect("a filter").epoch_length();
        assert!(3 * length >= ttl, "{length:?} of {ttl:?}");
        assert!(3 * (length - Duration::from_nanos(1)) < ttl, "{length:?}");
    }
}

#[test]
fn two_calls_that_find_one_epoch_due_begin_one() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(0)));
    let inner = Cell::new(None);
    let begun = filter.tick_at(|| {
        if inner.get().is_none() {
            // While this call reads the clock, another call begins the epoch.
            inner.set(Some(false));
            inner.set(Some(filter.tick_at(|| ms(5))));
        }
        ms(5)
    });
    assert_eq!((begun, inner.get()), (false, Some(true)));
    assert_eq!(filter.epoch(), 1);
    assert!(!filter.tick_at(|| ms(9)), "the epoch has its length");
    assert!(filter.tick_at(|| ms(10)));
}

#[test]
fn the_clock_is_read_after_the_epoch_has_begun() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(0)));
    // The call is paused for this time after it has found that an epoch is due.
    let readings = Cell::new(0);
    assert!(filter.tick_at(|| {
        readings.set(readings.get() + 1);
        if filter.epoch() == 0 { ms(7) } else { ms(300) }
    }));
    assert!(readings.get() >= 2);
    assert!(!filter.tick_at(|| ms(304)));
    assert!(filter.tick_at(|| ms(305)));
}

/// The reading is from before the look at the record, so the later one of two counts. It was taken
/// before the first record was complete.
#[test]
fn the_clock_is_read_before_the_record() {
    let filter = filter();
    let read = Cell::new(0);
    let begun = filter.tick_at(|| {
        read.set(read.get() + 1);
        if read.get() == 1 {
            filter.tick_at(|| ms(1));
        }
        ms(4)
    });
    assert_eq!((begun, read.get()), (false, 1));
    assert!(!filter.tick_at(|| ms(5)));
    assert!(filter.tick_at(|| ms(6)), "the record stands");
}

/// A second reading would be a later one, from after the look at the record.
#[test]
fn the_clock_is_read_once_if_no_epoch_is_due() {
    let filter = filter();
    let read = Cell::new(0);
    let begun = filter.tick_at(|| {
        read.set(read.get() + 1);
        ms(read.get())
    });
    assert_eq!((begun, read.get()), (false, 1));
    assert!(filter.tick_at(|| ms(6)));
}

#[test]
fn a_clock_that_went_back_begins_nothing() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(100)));
    assert!(!filter.tick_at(|| ms(3)));
    assert!(!filter.tick_at(|| ms(104)));
    assert!(filter.tick_at(|| ms(105)));
}

#[test]
fn an_epoch_that_somebody_else_began_lasts_its_time() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(0)));
    filter.advance();
    // The start of the epoch is unknown, so its age is measured from now on.
    assert!(!filter.tick_at(|| ms(100)));
    assert!(!filter.tick_at(|| ms(104)));
    assert!(filter.tick_at(|| ms(105)));
    assert_eq!(filter.epoch(), 2);
}

/// All threads see one clock, which advances with each reading. The thread that begins an epoch
/// knows bounds of its start.
#[test]
fn of_racing_calls_one_begins_a_epoch() {
    const THREADS: u64 = 8;
    const READINGS: u64 = 40_000;
    let (filter, clock) = (filter(), AtomicU64::new(0));
    let read = || Duration::from_micros(clock.fetch_add(10, Ordering::SeqCst));
    let work = || {
        let mut begun = Vec::new();
        for _ in 0..READINGS / THREADS {
            let before = read();
            if filter.tick_at(read) {
                begun.push((before, read()));
            }
        }
        begun
    };
    let mut begun = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        joined.flatten().collect::<Vec<_>>()
    });
    assert_eq!(
        begun.len() as u64,
        filter.epoch(),
        "each epoch has one beginner"
    );
    begun.sort_unstable();
    assert!(begun.len() > 20, "{} epochs", begun.len());
    let last = clock.load(Ordering::SeqCst) * 1_000 / 5_000_000;
    assert!(
        begun.len() as u64 <= last,
        "{} epochs in the time of {last}",
        begun.len()
    );
    for pair in begun.windows(2) {
        // The lower bound of the distance is from the first reading of one epoch to the last
        // reading of the next.
        assert!(pair[1].1 - pair[0].0 >= EPOCH, "{pair:?}");
    }
}

/// A `tick` reads the clock in an old epoch, and continues after the largest possible number of
/// epochs has begun.
#[test]
fn a_tick_that_was_stopped_does_not_end_a_later_epoch() {
    let filter = filter();
    let stopped = Cell::new(false);
    assert!(!filter.tick_at(|| {
        if !stopped.replace(true) {
            for _ in 0..1 << 16 {
                filter.advance();
            }
        }
        ms(1)
    }));
    // Epoch 65 536 has just begun. The paused call has recorded nothing for it.
    assert!(!filter.tick_at(|| ms(1_000)));
    assert!(!filter.tick_at(|| ms(1_004)));
    assert!(filter.tick_at(|| ms(1_005)));
}

#[test]
fn epochs_without_a_clock_do_not_make_the_next_one_short() {
    let filter = ExpiringFilter::builder(Duration::from_secs(12)).build();
    let filter = filter.expect("a filter");
    assert!(!filter.tick_at(|| Duration::ZERO));
    for _ in 0..1 << 16 {
        filter.advance();
    }
    let later = Duration::from_secs(1_000_000);
    assert!(!filter.tick_at(|| later), "the epoch has just begun");
    assert!(!filter.tick_at(|| later + Duration::from_millis(999)));
    assert!(filter.tick_at(|| later + Duration::from_secs(1)));
}

#[test]
fn the_age_of_an_epoch_is_unknown_if_no_tick_began_it() {
    let before = Instant::now();
    let filter = ExpiringFilter::builder(Duration::from_secs(1 << 20)).build();
    let filter = filter.expect("a filter");
    let age = filter
        .epoch_age()
        .expect("the filter was created in this epoch");
    assert!(age <= before.elapsed(), "{age:?}");
    while filter.epoch_age() <= Some(age) {
        thread::sleep(ms(1));
    }
    assert!(!filter.begin_due_epoch(), "it is not due for days");
    for begin in [ExpiringFilter::advance, ExpiringFilter::begin_epoch] {
        assert!(begin(&filter));
        assert_eq!(filter.epoch_age(), None);
        assert!(!filter.tick(), "the age is measured from now on");
        assert!(filter.epoch_age().is_some());
    }
    let (before, copy) = (filter.epoch_age(), filter.clone());
    assert!(copy.epoch_age() >= before, "a clone goes by the same clock");
}

/// With the filter's own clock, too, no epoch begins early, and the sweep is left to other calls.
#[test]
fn an_epoch_that_is_due_begins_without_its_sweep() {
    let mut noted = Instant::now();
    let filter = filter();
    filter.insert("ani").expect("room");
    // A thread that is stopped for an epoch before its insert begins one by it.
    let first = filter.epoch();
    for epoch in 1..=4 {
        let (before, age, items) = loop {
            let (before, age, items) = (Instant::now(), filter.epoch_age(), filter.len());
            if filter.begin_due_epoch() {
                break (before, age, items);
            }
            thread::sleep(ms(1));
        };
        assert!(noted.elapsed() >= EPOCH, "epoch {epoch} began early");
        assert!(age.is_some());
        let expected = (first + epoch, false);
        assert_eq!((filter.epoch(), filter.is_swept()), expected);
        // If this thread was stopped for a TTL, the copy died and was swept in an earlier epoch.
        assert_eq!(filter.len(), items, "the call has swept");
        let age = filter.epoch_age().expect("a tick began it");
        assert!(age <= before.elapsed(), "{age:?}");
        assert!(epoch == 4 || filter.sweep());
        noted = before;
    }
    assert!(!filter.contains("ani"));
    assert!(filter.sweep() && filter.is_empty());
}
