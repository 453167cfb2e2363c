use super::*;
use crate::{
    raw::tests::{put, word_at},
    table::{
        Levels,
        layout::E16x3,
        time::{Epochs, Moment},
    },
};

type Raw = RawFilter<E16x3>;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 5;

/// A filter with one item, the bucket where it is, and its entry.
fn filter_of_one() -> (Raw, Class, usize, Entry) {
    let raw = Raw::new(8, Levels::FIXED).expect("a few bytes");
    let raw = raw.with_time(Epochs::new(OLDEST));
    let class = Class::of_pair(Fingerprint::new(1), 2, 3);
    raw.insert(class).expect("there is room");
    let entry = Moment::<Word<E16x3>>::entry(raw.moment(), class.fingerprint);
    let bucket = [class.p, class.q]
        .into_iter()
        .find(|&bucket| word_at(&raw, bucket).holds(entry));
    (raw, class, bucket.expect("it is there"), entry)
}

/// Epochs begin that no sweep follows, until what was seen in the first one is dead.
fn let_all_die(raw: &Raw) {
    for _ in 0..=OLDEST {
        let now = raw.moment();
        raw.time.sweep_ends(now);
        assert!(raw.time.tick(now, raw.time.next(now, now.oldest())));
    }
}

/// A copy that was withheld and then taken by a remove is counted by that, and not once more.
#[test]
fn a_copy_that_is_taken_while_it_is_withheld_is_counted_once() {
    for is_taken in [false, true] {
        let (raw, class, bucket, entry) = filter_of_one();
        let withheld = word_at(&raw, bucket).with_mark(entry, Mark::Withheld);
        put(&raw, bucket, withheld.expect("it is there"));
        if is_taken {
            assert!(raw.remove(class));
            assert!(word_at(&raw, bucket).is_marked(Mark::Killed, entry));
        }
        let_all_die(&raw);
        let counts = raw.empty_or_release(bucket, entry, || raw.moment());
        assert_eq!(counts, !is_taken);
        assert_eq!(word_at(&raw, bucket), Word::<E16x3>::EMPTY);
        raw.len.subtract(counts.into());
        assert_eq!(raw.len.sum(), 0);
    }
}

/// A copy that dies between its word was read and the exchange is emptied, and not renewed.
#[test]
fn a_copy_that_has_died_is_not_renewed() {
    let (raw, class, bucket, entry) = filter_of_one();
    let loaded = raw.table.load_for_update(class.fingerprint, bucket);
    let_all_die(&raw);
    let renewed = raw.renew(bucket, loaded, entry, |now| {
        Moment::<Word<E16x3>>::entry(now, class.fingerprint)
    });
    assert!(matches!(renewed, Renewal::Lost));
    assert!(!raw.contains(class));
    assert_eq!(word_at(&raw, bucket), Word::<E16x3>::EMPTY);
    assert_eq!(raw.len.sum(), 0);
}
