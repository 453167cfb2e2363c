//! Threads write the same classes. Some order of their operations must explain their results. Other
//! tests show that the checker is right.

use crate::common::{
    event::{Answer, Event},
    filters::BITS,
    history::check,
    round::{Report, Round},
};

#[test]
fn every_history_has_an_order() {
    for bits in BITS {
        let mut report = Report::default();
        for (buckets, threads, yields) in [
            (1, 4, true),
            (2, 2, false),
            (4, 4, true),
            (8, 3, false),
            (16, 8, true),
            (16, 2, false),
        ] {
            for seed in 0..4 {
                let round = Round {
                    bits,
                    counter_bits: 0,
                    buckets,
                    threads,
                    operations: 10_000,
                    load: 0.95,
                    crowd: 1.25,
                    yields,
                    seed,
                };
                report += round
                    .shared()
                    .unwrap_or_else(|violation| panic!("{violation}"));
            }
        }
        println!("{bits} bits: {report}");
        assert!(report.relocations > 0);
    }
}

// Tests of the checker: histories that it must reject, each with a similar one that it must accept.

fn event(answer: Answer, invoked: u64, returned: u64) -> Event {
    Event {
        class: 0,
        answer,
        invoked,
        returned,
    }
}

fn law(events: &[Event], before: i64, after: i64) -> Option<&'static str> {
    check(events, &[before], &[after])
        .err()
        .map(|violation| violation.law)
}

const INSERT: Answer = Answer::Insert(true);
const UNIQUE: Answer = Answer::InsertUnique(Some(true));
const REMOVE: Answer = Answer::Remove(true);

#[test]
fn the_checker_sees_a_false_negative() {
    let contains = |invoked, returned| event(Answer::Contains(false), invoked, returned);
    let insert = event(INSERT, 0, 10);
    assert_eq!(
        law(&[insert, contains(11, 12)], 0, 1),
        Some("contains answered false: false negative")
    );
    assert_eq!(
        law(&[insert, contains(10, 12)], 0, 1),
        None,
        "both calls may have taken effect at 10"
    );
    assert_eq!(
        law(&[insert, contains(5, 6)], 0, 1),
        None,
        "during the insert"
    );
    let remove = event(REMOVE, 20, 30);
    assert_eq!(
        law(&[insert, remove, contains(15, 20)], 0, 0),
        None,
        "a remove had begun"
    );
    assert!(law(&[insert, remove, contains(15, 19)], 0, 0).is_some());
    assert_eq!(law(&[contains(31, 32), insert, remove], 0, 0), None);
    let second = event(INSERT, 0, 9);
    assert!(law(&[contains(31, 32), insert, remove, second], 0, 1).is_some());
}

#[test]
fn the_checker_sees_a_remove_that_missed_its_item() {
    let miss = event(Answer::Remove(false), 11, 12);
    let found = Some("remove answered false of a present item");
    assert_eq!(law(&[event(INSERT, 0, 10), miss], 0, 1), found);
    assert_eq!(law(&[miss], 1, 1), found);
    assert_eq!(law(&[event(INSERT, 0, 11), miss], 0, 1), None);
    assert_eq!(
        law(&[event(INSERT, 0, 10), event(REMOVE, 12, 15), miss], 0, 0),
        None
    );
}

#[test]
fn the_checker_sees_a_copy_that_was_removed_twice() {
    let (first, second) = (event(REMOVE, 10, 20), event(REMOVE, 12, 18));
    assert_eq!(
        law(&[first, second], 1, -1),
        Some("more copies were taken than added")
    );
    let late = event(REMOVE, 21, 22);
    assert_eq!(
        law(&[first, late], 1, -1),
        Some("remove answered true of an absent item")
    );
    assert_eq!(law(&[first, late, event(INSERT, 0, 5)], 1, 0), None);
    assert_eq!(law(&[first, late, event(INSERT, 22, 25)], 1, 0), None);
    assert!(law(&[first, late, event(INSERT, 23, 25)], 1, 0).is_some());
}

#[test]
fn the_checker_sees_two_winners_of_insert_unique() {
    let (first, second) = (event(UNIQUE, 0, 10), event(UNIQUE, 5, 12));
    assert_eq!(
        law(&[first, second], 0, 2),
        Some("insert_unique added a second copy")
    );
    assert_eq!(law(&[first, second, event(REMOVE, 8, 20)], 0, 1), None);
    assert!(law(&[first, second, event(REMOVE, 13, 20)], 0, 1).is_some());
    let late = event(UNIQUE, 11, 12);
    assert_eq!(
        law(&[first, late], 0, 2),
        Some("insert_unique added a present item")
    );
    assert_eq!(
        law(&[event(INSERT, 0, 10), second], 0, 2),
        None,
        "a plain insert ran concurrently"
    );
}

#[test]
fn the_checker_sees_an_insert_unique_that_found_nothing() {
    let found = event(Answer::InsertUnique(Some(false)), 10, 20);
    assert_eq!(
        law(&[found], 0, 0),
        Some("insert_unique found an absent item")
    );
    assert_eq!(law(&[found], 1, 1), None);
    assert_eq!(law(&[found, event(UNIQUE, 20, 30)], 0, 1), None);
    assert!(law(&[found, event(UNIQUE, 21, 30)], 0, 1).is_some());
    assert!(law(&[found, event(REMOVE, 5, 9)], 1, 0).is_some());
}

#[test]
fn the_checker_sees_a_wrong_count() {
    let count = |copies| event(Answer::Count(copies), 10, 20);
    assert_eq!(law(&[count(1)], 2, 2), Some("count is too small"));
    assert_eq!(law(&[count(3)], 2, 2), Some("count is too large"));
    for (copies, possible) in [(0, false), (1, true), (2, true), (3, true), (4, false)] {
        let history = [event(INSERT, 15, 30), event(REMOVE, 5, 15), count(copies)];
        assert_eq!(law(&history, 2, 2).is_none(), possible, "{copies}");
    }
}

#[test]
fn the_checker_sees_what_is_lost_or_left_at_rest() {
    assert_eq!(law(&[event(INSERT, 0, 1)], 0, 0), Some("a copy was lost"));
    assert_eq!(
        law(&[event(REMOVE, 0, 1)], 1, 1),
        Some("a copy too many is left")
    );
    assert_eq!(
        law(&[event(Answer::Insert(false), 0, 1)], 0, 1),
        Some("a copy too many is left")
    );
    assert_eq!(law(&[event(INSERT, 0, 1), event(REMOVE, 2, 3)], 1, 1), None);
}

#[test]
fn the_checker_counts_lookups_that_found_an_absent_item() {
    let lookups = [
        event(Answer::Contains(true), 0, 9),
        event(Answer::Contains(true), 5, 10),
        event(INSERT, 10, 20),
    ];
    assert_eq!(
        check(&lookups, &[0], &[1]).unwrap(),
        1,
        "the second one may have found it"
    );
}

#[test]
fn the_checker_keeps_classes_apart() {
    let other = Event {
        class: 1,
        ..event(INSERT, 0, 1)
    };
    let miss = event(Answer::Contains(false), 5, 6);
    assert_eq!(check(&[other, miss], &[0, 0], &[0, 1]).unwrap(), 0);
    let violation = check(&[other, Event { class: 1, ..miss }], &[0, 0], &[0, 1]).unwrap_err();
    assert_eq!(violation.class, 1);
    assert!(
        violation
            .to_string()
            .starts_with("class 1, between 1 and 1 copies: contains")
    );
}
