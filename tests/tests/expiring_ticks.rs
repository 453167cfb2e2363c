//! `tick` begins an epoch when it is due by the caller's clock: never earlier, one at a time, and
//! nothing is caught up.

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

#[test]
fn a_part_of_a_millisecond_is_not_taken_off() {
    let filter = filter();
    let micros = Duration::from_micros;
    assert!(!filter.tick_at(|| micros(100)));
    assert!(!filter.tick_at(|| micros(5_100 - 1)));
    assert!(filter.tick_at(|| micros(6_000)));
    // It begins by the reading after it, rounded up.
    assert!(!filter.tick_at(|| micros(11_000 - 1)));
    assert!(filter.tick_at(|| micros(11_000)));
}

#[test]
fn the_clock_is_read_after_the_epoch_has_begun() {
    let filter = filter();
    assert!(!filter.tick_at(|| ms(0)));
    // The call is stopped for as long as this after it has found that an epoch is due.
    let readings = Cell::new(0);
    assert!(filter.tick_at(|| {
        readings.set(readings.get() + 1);
        if filter.epoch() == 0 { ms(7) } else { ms(300) }
    }));
    assert!(readings.get() >= 2);
    assert!(!filter.tick_at(|| ms(304)));
    assert!(filter.tick_at(|| ms(305)));
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
    // The beginning of the epoch is unknown, so it counts from now.
    assert!(!filter.tick_at(|| ms(100)));
    assert!(!filter.tick_at(|| ms(104)));
    assert!(filter.tick_at(|| ms(105)));
    assert_eq!(filter.epoch(), 2);
}

/// All threads see one clock, which advances with each reading. A thread that begins an epoch knows
/// bounds of when.
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
        // From some time after the first reading of one to some time before the last of the next.
        assert!(pair[1].1 - pair[0].0 >= EPOCH, "{pair:?}");
    }
}

/// A tick knows an epoch by the low 16 bits of its number.
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
fn the_age_of_an_epoch_is_unknown_until_a_tick_measures_it() {
    let filter = ExpiringFilter::builder(Duration::from_secs(1 << 20)).build();
    let filter = filter.expect("a filter");
    assert_eq!(filter.epoch_age(), None);
    let before = Instant::now();
    assert!(!filter.begin_due_epoch(), "the first call notes the time");
    let age = filter.epoch_age().expect("it is measured");
    assert!(age <= before.elapsed(), "{age:?}");
    while filter.epoch_age() <= Some(age) {
        thread::sleep(ms(1));
    }
    assert!(!filter.begin_due_epoch(), "it is not due for days");
    for begin in [ExpiringFilter::advance, ExpiringFilter::begin_epoch] {
        assert!(begin(&filter));
        assert_eq!(filter.epoch_age(), None);
        assert!(!filter.tick(), "it is measured from now on");
        assert!(filter.epoch_age().is_some());
    }
    assert_eq!(
        filter.clone().epoch_age(),
        None,
        "a clone has its own clock"
    );
}

/// By the filter's own clock, too, an epoch never begins early, and the sweep is left to others.
#[test]
fn an_epoch_that_is_due_begins_without_its_sweep() {
    let filter = filter();
    filter.insert("ani").expect("room");
    let mut noted = Instant::now();
    assert!(!filter.begin_due_epoch());
    for epoch in 1..=4 {
        let (before, age) = loop {
            let (before, age) = (Instant::now(), filter.epoch_age());
            if filter.begin_due_epoch() {
                break (before, age);
            }
            thread::sleep(ms(1));
        };
        assert!(noted.elapsed() >= EPOCH, "epoch {epoch} began early");
        assert!(age.is_some());
        assert_eq!((filter.epoch(), filter.is_swept()), (epoch, false));
        assert_eq!(filter.len(), 1, "the dead copy is not swept");
        let age = filter.epoch_age().expect("a tick began it");
        assert!(age <= before.elapsed(), "{age:?}");
        assert!(epoch == 4 || filter.sweep());
        noted = before;
    }
    assert!(!filter.contains("ani"));
    assert!(filter.sweep() && filter.is_empty());
}
