//! One epoch follows another, and each is swept.

use super::{beginning::Reading, *};
use crate::table::layout::E16x3;

/// A word with tags of 4 bits.
type W = Packed<E16x3>;

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

/// After a merge epochs go by their number, until no merged copy is left.
#[test]
fn epochs_go_by_their_number_for_as_long_as_a_copy_lives() {
    let (epochs, _) = at(7);
    epochs.go_by_number();
    let mut now = Now::of_word(epochs.now.word().load(Ordering::Relaxed));
    for left in (0..=12).rev() {
        assert_eq!(now.uncounted(), left);
        now = epochs.next(now, 12);
    }
    assert_eq!((now.epoch(), now.uncounted()), (20, 0));
}

#[test]
fn ages_are_compared_with_that_of_the_oldest_copies() {
    const OLDEST: u64 = 3;
    let (now, fingerprint) = (Now::new(20, OLDEST), Fingerprint::new(1));
    let aged = |age| Moment::<W>::age(now, Moment::<W>::aged_entry(now, fingerprint, age));
    assert_eq!([0, 2, 3, 4, 15].map(aged), [0, 2, 3, 3, 3]);
    let has_counted_since = |epoch| Moment::<W>::is_live_since(now, Now::new(epoch, OLDEST));
    assert_eq!(
        [20, 17, 16, 4].map(has_counted_since),
        [true, true, false, false]
    );
    // A tag repeats after 16 epochs.
    let entry = Moment::<W>::entry(now, fingerprint);
    let ends = |age: u64| Moment::<W>::ends_death(Now::new(20 + age, OLDEST), entry);
    assert_eq!([4, 14, 15, 16].map(ends), [false, false, true, false]);
}

/// A filter of few buckets that has doubled 24 times has this number of pieces.
#[test]
fn the_end_of_the_longest_sweep_is_in_its_own_epoch() {
    for number in [4, 5] {
        let (epochs, now) = at(number);
        epochs.piece_ends(epochs.progress(), now, Progress::MOST_PIECES);
        let progress = epochs.progress();
        assert_eq!(progress.next_in(now), Some(Progress::MOST_PIECES));
        assert_eq!(progress.next_in(epochs.next(now, 12)), Some(0));
    }
}
