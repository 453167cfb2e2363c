//! A filter doubles several times, during all other operations.
#![cfg(guira_shuttle)]

use guira::model::{Growing, Item, refuse_memory};
use guira_shuttle_tests::{
    Law, Seen, controls,
    items::{Items, Part, at_once, below, chance, one_of},
};
use std::{collections::BTreeSet, sync::Arc};

const SLOTS: usize = 2;
const LEVELS: u32 = 3;

const MISSED: &str = "an item is not found";
const NOT_REMOVED: &str = "remove of a present item is false";
const COPIES: &str = "copies of an item";
const UNIQUE: &str = "inserted uniquely, and not once";
const REST: &str = "items at rest";

type Filter = Arc<Growing<SLOTS>>;

/// The contents that a thread leaves behind.
#[derive(Default)]
struct Left {
    items: Vec<Item>,
    /// The number of its `insert_unique` calls that returned true for the item that all threads
    /// insert.
    unique: usize,
    refused: usize,
}

fn any_of(items: &mut Items, buckets: usize) -> Item {
    let bucket = below(buckets);
    let other = bucket + 1 + 2 * below(buckets / 2);
    items.of(bucket, other % buckets)
}

/// Inserts items, with other operations between the inserts. Records the items that fit.
fn insert(filter: &Growing<SLOTS>, items: &[Item], left: &mut Left) {
    for &item in items {
        let inserted = if chance(3) {
            let inserted = filter.insert_unique(item);
            assert_ne!(inserted, Ok(false), "{UNIQUE}");
            inserted.is_ok()
        } else {
            filter.try_insert(item).is_ok()
        };
        if inserted {
            assert!(filter.contains(item), "{MISSED}");
            left.items.push(item);
        } else {
            left.refused += 1;
        }
    }
}

/// Four threads: two insert, which also splits words; one removes, inserts again and splits; one
/// looks items up. All of them try to insert the same item once.
fn growth(memory: bool) -> impl Fn(&Seen) {
    move |seen| {
        let buckets = one_of(&[2, 4]);
        let mut items = Items::new(buckets);
        let mut table = vec![Vec::new(); buckets];
        for (bucket, word) in table.iter_mut().enumerate() {
            for _ in 0..SLOTS {
                let other = bucket + 1 + 2 * below(buckets / 2);
                word.push(items.of(bucket, other % buckets));
            }
        }
        let words: Vec<&[Item]> = table.iter().map(Vec::as_slice).collect();
        let filter: Filter = Arc::new(Growing::growing(&words, LEVELS));
        let mut residents = table.concat();
        let owned = [
            residents.swap_remove(below(residents.len())),
            residents.swap_remove(0),
        ];
        // Of this item, a second copy is inserted and one is removed.
        let kept = residents[0];
        let wanted = any_of(&mut items, buckets);
        if !memory {
            refuse_memory(true);
        }

        let mut parts: Vec<Part<Left>> = Vec::new();
        for _ in 0..2 {
            let own: Vec<Item> = (0..2 * buckets + 1)
                .map(|_| any_of(&mut items, buckets))
                .collect();
            let filter = filter.clone();
            parts.push(Box::new(move || {
                let mut left = Left::default();
                insert(&filter, &own[..2], &mut left);
                left.unique = usize::from(filter.insert_unique(wanted) == Ok(true));
                insert(&filter, &own[2..], &mut left);
                left
            }));
        }
        let owner = filter.clone();
        parts.push(Box::new(move || {
            let mut left = Left::default();
            for item in owned {
                assert!(owner.remove(item), "{NOT_REMOVED}");
                assert_eq!(owner.count(item), 0, "{COPIES}");
                // From here on, memory is available.
                refuse_memory(false);
                if owner.try_insert(kept).is_ok() {
                    assert!(owner.remove(kept), "{NOT_REMOVED}");
                }
                insert(&owner, &[item], &mut left);
                owner.finish_growth();
            }
            left.unique = usize::from(owner.insert_unique(wanted) == Ok(true));
            left
        }));
        let (reader, known) = (filter.clone(), residents[1..].to_vec());
        parts.push(Box::new(move || {
            for _ in 0..3 {
                let item = one_of(&known);
                assert!(reader.contains(item), "{MISSED}");
                assert_eq!(reader.count(item), 1, "{COPIES}");
                let again = reader.insert_unique(item);
                assert_ne!(again, Ok(true), "{UNIQUE}");
                assert!(reader.contains(kept), "{MISSED}");
                assert_ne!(reader.insert_unique(kept), Ok(true), "{UNIQUE}");
            }
            Left::default()
        }));
        let left = at_once(parts);

        let unique: usize = left.iter().map(|left| left.unique).sum();
        assert!(unique <= 1, "{UNIQUE}: {unique}");
        let refused: usize = left.iter().map(|left| left.refused).sum();
        let mut present = residents;
        present.extend(left.into_iter().flat_map(|left| left.items));
        present.extend((unique == 1).then_some(wanted));
        let found = filter.at_rest();
        let found: Vec<u64> = found.iter().map(|resident| resident.1).collect();
        let expected: BTreeSet<u64> = present.iter().map(|item| item.fingerprint()).collect();
        assert_eq!(found.len(), expected.len(), "{REST}");
        assert_eq!(BTreeSet::from_iter(found), expected, "{REST}");
        for item in present {
            assert!(filter.contains(item), "{MISSED}");
            assert_eq!(filter.count(item), 1, "{COPIES}");
        }
        seen.note("two doublings", filter.level() >= 2);
        seen.note("relocations", filter.stats().relocations > 0);
        seen.note("the wanted one", unique == 1);
        if !memory {
            seen.note(
                "an insert refused, and a doubling",
                refused > 0 && filter.level() >= 1,
            );
        }
    }
}

fn law() -> Law {
    Law::new("growth", growth(true))
}

fn law_without_memory() -> Law {
    Law::new("growth where memory is refused at first", growth(false))
}

#[test]
fn nothing_is_lost_by_doublings() {
    law().holds();
}

#[test]
fn nothing_is_lost_where_memory_is_refused() {
    law_without_memory().holds();
}

/// The messages if the law is broken.
const LAWS: [&str; 5] = [MISSED, NOT_REMOVED, COPIES, UNIQUE, REST];

controls! {
    LAWS;
    a_split_freezes_the_word: law, NoFreeze;
    a_frozen_word_is_left_alone: law, FrozenIgnored;
    a_split_copies_before_it_cuts: law, CutFirst;
    the_phase_is_compared: law, PhaseIgnored;
    the_hint_is_not_early: law, HintEarly;
    the_pointer_looks: law, MovePointerBlindly;
    a_path_fills_its_own_plane: law, FillAnyPlane;
    a_reservation_ends_with_the_word: law, ReservationKept;
    a_block_comes_before_its_words: law_without_memory, PublishLate;
    a_claim_is_checked: law_without_memory, ClaimUnchecked;
}
