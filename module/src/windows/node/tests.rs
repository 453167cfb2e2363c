use super::*;
use guira_commands::{Growth, Options, Window};

const START: i64 = 1_000_000;

/// A filter with a window of `length` milliseconds and four epochs.
fn filter(windows: &Windows, length: u64) -> Arc<Filter> {
    let window = Window {
        length: Duration::from_millis(length),
        epochs: Some(4),
    };
    let options = Options {
        expansion: 0,
        ..Options::default()
    };
    let growth = Growth::furthest(&options, usize::MAX).unwrap();
    let filter = Filter::build_window(options, growth, window, windows.clock()).unwrap();
    let filter = Arc::new(filter);
    windows.add(&filter);
    filter
}

fn epoch(filter: &Filter) -> u64 {
    filter.window().unwrap().epoch()
}

/// Moves the clock if it is due, and returns what is replicated.
fn look(windows: &Windows, now: Instant) -> Option<Pass> {
    windows.due(now, START).inspect(|pass| windows.pass(*pass))
}

fn passes(milliseconds: u64) -> Pass {
    Pass {
        milliseconds,
        wall: START,
        is_idle: false,
    }
}

#[test]
fn steps_begin_when_they_are_due_and_not_before() {
    let (windows, start) = (Windows::new(START), Instant::now());
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    assert_eq!(look(&windows, start), None);
    let (quick, slow) = (filter(&windows, 400), filter(&windows, 4000));
    assert_eq!(look(&windows, at(10)), Some(passes(0)));
    assert_eq!(windows.until_due(at(10)), Duration::from_millis(101));
    assert_eq!(look(&windows, at(110)), None);
    assert_eq!(look(&windows, at(111)), Some(passes(101)));
    assert_eq!((epoch(&quick), epoch(&slow)), (1, 0));
    // Missed time is not caught up.
    assert_eq!(look(&windows, at(1010)), Some(passes(899)));
    assert_eq!((epoch(&quick), epoch(&slow)), (2, 0));
    assert_eq!(
        look(&windows, at(1020)),
        Some(passes(10)),
        "of the slow one"
    );
    assert_eq!((epoch(&quick), epoch(&slow)), (2, 1));
    drop((quick, slow));
    assert!(look(&windows, at(9000)).is_some());
    assert_eq!(windows.count(), 0);
    assert_eq!(look(&windows, at(99_000)), None);
}

/// Time that passed before a filter was created does not count for it.
#[test]
fn a_new_filter_is_not_taken_for_older_than_it_is() {
    let (windows, start) = (Windows::new(START), Instant::now());
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    let old = filter(&windows, 4_000_000);
    look(&windows, start);
    let new = filter(&windows, 400);
    let held = filter(&windows, 400);
    look(&windows, at(5_000));
    assert_eq!(new.window().unwrap().epoch_age(), Duration::ZERO);
    windows.hold(&held);
    assert_eq!(look(&windows, at(5_050)), Some(passes(50)));
    look(&windows, at(5_102));
    assert_eq!((epoch(&new), epoch(&held), epoch(&old)), (1, 0, 0));
    look(&windows, at(5_152));
    assert_eq!((epoch(&new), epoch(&held), epoch(&old)), (1, 1, 0));
    assert_eq!(windows.count(), 3);
}

#[test]
fn time_passes_while_the_engine_is_down() {
    for (down, expected) in [(0, 0), (50, 0), (51, 1), (200, 2), (99_999, 5), (-5, 0)] {
        let windows = Windows::new(START);
        let loaded = filter(&windows, 400);
        let saved = Saved {
            has_begun: true,
            wall: START - down,
        };
        let age = Duration::from_millis(50);
        loaded.window().unwrap().make_older(age);
        windows.restore(&loaded, saved);
        windows.is_from_file(saved.wall - 7);
        windows.is_from_file(saved.wall);
        let pass = windows.due(Instant::now(), START).unwrap();
        assert_eq!(pass.milliseconds, u64::try_from(down).unwrap_or(0));
        assert!(pass.is_idle);
        windows.pass(pass);
        assert_eq!(epoch(&loaded), expected, "{down}");
    }
}

/// A replica that takes over counts from the last time that it received.
#[test]
fn a_replica_goes_by_what_it_is_told() {
    let (windows, start) = (Windows::new(START), Instant::now());
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    windows.is_from_file(START - 60_000);
    let filter = filter(&windows, 400);
    windows.is_from_primary(start, START);
    windows.pass_as_told(passes(3), false, at(10_000), START);
    assert_eq!(filter.window().unwrap().epoch_age(), Duration::ZERO);
    assert_eq!(look(&windows, at(10_100)), None);
    assert_eq!(look(&windows, at(10_101)), Some(passes(101)));
    assert_eq!(epoch(&filter), 1);
    // The time in a replica's own file does not matter once it has a primary.
    let windows = Windows::new(START);
    windows.is_from_file(START - 60_000);
    windows.is_led(start);
    let other = self::filter(&windows, 400);
    assert_eq!(look(&windows, at(7)), Some(passes(7)));
    assert_eq!(epoch(&other), 0);
}

#[test]
fn what_is_not_there_any_more_is_forgotten() {
    let windows = Windows::new(START);
    let kept = filter(&windows, 4_000_000);
    for _ in 0..10_000 {
        filter(&windows, 4_000_000);
    }
    let inner = windows.lock();
    assert!(inner.waiting.len() < 2 * SHORT);
    drop(inner);
    assert_eq!(windows.count(), 1);
    drop(kept);
}
