//! One epoch follows another, and each is swept.

use super::{beginning::Reading, *};

fn at(epoch: u64) -> (Epochs, Now) {
    (Epochs::new(12).at_epoch(epoch), Now::new(epoch, 12))
}

#[test]
fn only_one_begins_the_next_epoch() {
    for number in [0, 1, (1 << 16) - 1, (1 << 48) - 1] {
        let (epochs, now) = at(number);
        let next = epochs.next(now, 12);
        assert!(epochs.tick(now, next));
        assert!(!epochs.tick(now, next), "{number}");
        assert!(epochs.tick(next, epochs.next(next, 12)));
    }
}

#[test]
fn the_first_epoch_begins_with_the_own_clock() {
    for number in [0, 1, 1 << 48] {
        let (epochs, _) = at(number);
        let after = Duration::from_nanos(7);
        let age = |epoch| epochs.beginning.age(epoch, Reading::own(after));
        assert_eq!(age(number), Some(after), "{number}");
        assert_eq!(age(number + 1), None, "{number}");
    }
}

#[test]
fn an_epoch_is_swept_when_it_or_a_later_one_was() {
    let (epochs, now) = at(4);
    assert!(!epochs.is_swept(now));
    epochs.sweep_ends(now);
    let next = epochs.next(now, 12);
    assert!(epochs.is_swept(now) && !epochs.is_swept(next));
    epochs.sweep_ends(next);
    // A sweep that was slow.
    epochs.sweep_ends(now);
    assert!(epochs.is_swept(next) && epochs.is_swept(now));
}
