#[cfg(feature = "shared")]
mod shared;

use super::*;
use crate::{
    raw::{
        crew::Alone,
        tests::{put, word_at},
    },
    table::{
        Levels,
        layout::{E16x3, TimedLayout},
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
        raw.time.sweep_ends(raw.moment());
        let_time_pass(raw);
    }
}

/// One epoch begins.
fn let_time_pass<L: TimedLayout>(raw: &RawFilter<L>) {
    let now = raw.moment();
    assert!(raw.time.tick(now, raw.time.next(now, now.oldest())));
}

/// Another thread has the copy withheld.
fn withhold(raw: &Raw, bucket: usize, entry: Entry) {
    let withheld = word_at(raw, bucket).with_mark(entry, Mark::Withheld);
    put(raw, bucket, withheld.expect("it is there"));
}

/// A copy that was withheld and then taken by a remove is counted by that, and not once more.
#[test]
fn a_copy_that_is_taken_while_it_is_withheld_is_counted_once() {
    for is_taken in [false, true] {
        let (raw, class, bucket, entry) = filter_of_one();
        withhold(&raw, bucket, entry);
        if is_taken {
            assert!(raw.remove(class));
            assert!(word_at(&raw, bucket).is_marked(Mark::Killed, entry));
        }
        let_all_die(&raw);
        let counts = raw.empty_or_release(bucket, entry, || raw.moment());
        assert_eq!(counts, !is_taken);
        assert_eq!(word_at(&raw, bucket), Word::<E16x3>::EMPTY);
        raw.len.subtract(counts.into());
        assert_eq!(raw.len.copies(), 0);
    }
}

/// A copy that dies between its word was read and the exchange is emptied, and not renewed. The same of one
/// that a remove takes before it has its new tag.
#[test]
fn a_copy_that_is_gone_is_not_renewed() {
    for is_removed in [false, true] {
        let (raw, class, bucket, entry) = filter_of_one();
        let loaded = raw.table.load_for_update(class.fingerprint, bucket);
        if !is_removed {
            let_all_die(&raw);
        }
        let renewed = raw.renew(bucket, loaded, entry, |now| {
            assert!(is_removed && raw.remove(class));
            Moment::<Word<E16x3>>::entry(now, class.fingerprint)
        });
        assert!(matches!(renewed, Renewal::Lost), "{is_removed}");
        assert!(!raw.contains(class), "{is_removed}");
        assert_eq!(word_at(&raw, bucket), Word::<E16x3>::EMPTY, "{is_removed}");
        assert_eq!(raw.len.copies(), 0, "{is_removed}");
    }
}

/// The entry of a copy of the class that has this age.
fn aged(raw: &Raw, class: Class, age: u64) -> Entry {
    let then = Now::<E16x3>::new(raw.moment().epoch().wrapping_sub(age), OLDEST);
    Moment::<Word<E16x3>>::entry(then, class.fingerprint)
}

/// Another thread has a copy of the word withheld, and that copy is of another class.
#[test]
fn a_refresh_beside_marks_adds_no_absent_item() {
    let (raw, class, bucket, entry) = filter_of_one();
    withhold(&raw, bucket, entry);
    let other = Class::of_pair(Fingerprint::new(2), class.p, class.q);
    assert_eq!(raw.refresh(other), Ok(false));
    assert!(!raw.contains(other) && raw.contains(class));
    assert_eq!(raw.len.copies(), 1);
}

/// Another thread has an old copy withheld. Once in an epoch, a refresh adds a young one beside it.
#[test]
fn a_refresh_beside_marks_adds_one_copy_in_an_epoch() {
    let (raw, class, bucket, entry) = filter_of_one();
    let_time_pass(&raw);
    withhold(&raw, bucket, entry);
    let both = word_at(&raw, bucket).plus(aged(&raw, class, 0));
    put(&raw, bucket, both);
    raw.len.add(1);
    assert_eq!(raw.refresh(class), Ok(true));
    assert_eq!((word_at(&raw, bucket), raw.len.copies()), (both, 2));
    let_time_pass(&raw);
    for _ in 0..2 {
        assert_eq!(raw.refresh(class), Ok(true));
        assert_eq!(raw.len.copies(), 3);
    }
}

/// A sweep of words that processes share tries again as often as it may.
#[test]
fn a_sweep_that_meets_a_mark_waits() {
    let (raw, class, bucket, entry) = filter_of_one();
    withhold(&raw, bucket, entry);
    let_all_die(&raw);
    let patience = Cell::new(5);
    let (now, view) = (raw.moment(), raw.table.view());
    let expired = raw.expire(
        Alone,
        &view,
        class.fingerprint,
        bucket,
        now,
        Some(&patience),
    );
    assert_eq!((expired.emptied, expired.left), (0, Left::Dead));
    assert_eq!(patience.get(), 0);
}

/// The oldest copies decide whether the next epoch may begin, and marked ones count.
#[test]
fn the_worst_that_is_left_in_a_word_counts() {
    let (raw, class, ..) = filter_of_one();
    let [live, dead, ending] = [0, OLDEST + 1, 15].map(|age| aged(&raw, class, age));
    let empty = Word::<E16x3>::EMPTY;
    let left = |word| worst(raw.moment(), word, class.fingerprint);
    assert_eq!(left(empty), Left::Nothing);
    assert_eq!(left(empty.plus(live)), Left::Nothing);
    assert_eq!(left(empty.plus(live).plus(dead)), Left::Dead);
    assert_eq!(left(empty.plus(live).plus(dead).plus(ending)), Left::Ending);
    let marked = empty.plus_marked(ending, Mark::Withheld);
    assert_eq!(left(marked.expect("it is empty").plus(live)), Left::Ending);
}
