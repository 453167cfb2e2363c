//! Copies that are withheld behind gates, beside processes that live or have died.

use super::{super::*, let_time_pass};
use crate::{
    memory::Members,
    raw::{
        crew::tests::{Seated, processes_with},
        tests::word_at,
    },
    table::layout::{E16x3, Shared},
};
use std::sync::Arc;

type L = Shared<E16x3>;

type Raw = RawFilter<L>;

/// E: the age of the oldest live copies.
const OLDEST: u64 = 5;

/// Processes that share a filter, and a class that has an item of age 1 in it.
fn processes() -> (Vec<Arc<Seated>>, Vec<Raw>, Class) {
    let (all, filters) = processes_with::<E16x3>(2, OLDEST);
    let class = filters[0].class(7);
    filters[0].time.begin();
    filters[0].insert(class).expect("there is room");
    let_time_pass(&filters[0]);
    (all, filters, class)
}

/// Epochs begin that no sweep follows, until the copy is dead.
fn let_the_copy_die(raw: &Raw) {
    for _ in 0..OLDEST {
        let_time_pass(raw);
    }
}

/// The bucket of the only copy of the class, and its entry.
fn copy_of(raw: &Raw, class: Class) -> (usize, Entry) {
    let found = [class.p, class.q].into_iter().find_map(|bucket| {
        let entry = raw
            .moment()
            .oldest_in(word_at(raw, bucket), class.fingerprint);
        Some((bucket, entry?))
    });
    found.expect("it is there")
}

/// The ages of the copies of the class, the youngest one first.
fn ages_in(raw: &Raw, class: Class) -> Vec<u64> {
    let words = [class.p, class.q].map(|bucket| word_at(raw, bucket));
    let now = raw.moment();
    let entries = words
        .iter()
        .flat_map(|word| word.residents(class.fingerprint));
    let mut ages: Vec<u64> = entries
        .map(|entry| Moment::<Word<L>>::age(now, entry))
        .collect();
    ages.sort_unstable();
    ages
}

/// The gate of the class is taken by a process that has died, and by one that lives.
#[test]
fn a_refresh_behind_a_gate_repairs_or_adds_a_copy() {
    for dies in [true, false] {
        let (all, filters, class) = processes();
        let (raw, other) = (&filters[0], filters[1].crew().expect("processes share it"));
        let (bucket, entry) = copy_of(raw, class);
        let taken = other.take_line().expect("a line");
        let line = taken.for_moves();
        assert!(line.enter::<L>(HAND, raw.hop_out_of(bucket, entry)));
        if dies {
            all[1].die();
        }
        assert_eq!(raw.refresh(class), Ok(true));
        assert_eq!(ages_in(raw, class), if dies { vec![0] } else { vec![0, 1] });
        assert_eq!(other.taken_gates(), usize::from(!dies));
        assert!(all[0].is_alive(1));
    }
}

/// Other threads have all lines of the process.
#[test]
fn a_refresh_without_a_line_adds_a_copy() {
    let (_, filters, class) = processes();
    let crew = filters[0].crew().expect("processes share it");
    let _all: Vec<_> = std::iter::from_fn(|| crew.take_line()).collect();
    assert_eq!(filters[0].refresh(class), Ok(true));
    assert_eq!(ages_in(&filters[0], class), [0, 1]);
}

/// The copy dies before the exchange that would renew it.
#[test]
fn no_gate_stays_when_a_copy_has_died() {
    let (_, filters, class) = processes();
    let raw = &filters[0];
    let (bucket, entry) = copy_of(raw, class);
    let loaded = raw.table.load_for_update(class.fingerprint, bucket);
    let_the_copy_die(raw);
    let renewed = raw.renew(bucket, loaded, entry, |now| {
        Moment::<Word<L>>::entry(now, class.fingerprint)
    });
    assert!(matches!(renewed, Renewal::Lost));
    let crew = raw.crew().expect("processes share it");
    assert_eq!((crew.taken_gates(), raw.len.copies()), (0, 0));
}

/// The gate of the class is taken by a living process: a union adds a young copy, and a sweep waits.
#[test]
fn a_gate_is_as_a_mark_to_unions_and_sweeps() {
    let (_, filters, class) = processes();
    let (raw, other) = (&filters[0], filters[1].crew().expect("processes share it"));
    let (bucket, entry) = copy_of(raw, class);
    let taken = other.take_line().expect("a line");
    let line = taken.for_moves();
    assert!(line.enter::<L>(HAND, raw.hop_out_of(bucket, entry)));
    let one = |_, _| {
        Ok(crate::raw::union::Present {
            copies: 1,
            young: 1,
        })
    };
    let mut changed = 0;
    let raised = raw.raise_copies(&one, 0, &[(class, 0)], &mut changed);
    assert_eq!((raised, changed), (Ok(()), 1));
    assert!(ages_in(raw, class).contains(&0));
    let_the_copy_die(raw);
    let own = raw.crew().expect("processes share it").take_line();
    let own = own.expect("a line");
    let patience = Cell::new(5);
    let (now, view) = (raw.moment(), raw.table.view());
    let hands = &own.for_moves();
    let expire = || {
        let patience = Some(&patience);
        raw.expire(hands, &view, class.fingerprint, bucket, now, patience)
    };
    let expired = expire();
    assert_eq!((expired.emptied, patience.get()), (0, 0));
    assert_eq!(expired.left, Left::Dead);
    line.leave(HAND);
    let expired = expire();
    assert_eq!((expired.emptied, expired.left), (1, Left::Nothing));
}

/// Other processes may have changed the word: then nothing is emptied, and nothing counted.
#[test]
fn a_withheld_copy_that_is_not_there_counts_as_taken() {
    let (_, filters, class) = processes();
    let raw = &filters[0];
    let (bucket, entry) = copy_of(raw, class);
    let word = word_at(raw, bucket);
    assert!(!raw.end_withheld(Step::Renew, bucket, entry, |word| word));
    let_the_copy_die(raw);
    assert!(!raw.empty_or_release(bucket, entry, || raw.moment()));
    assert_eq!(word_at(raw, bucket), word);
}
