//! Relocation along whole paths in a crowded table loses nothing.
#![cfg(guira_shuttle)]

use guira::model::{Item, Model};
use guira_shuttle_tests::{
    Law, Seen, controls,
    items::{Items, Part, at_once, below, chance, one_of},
};
use std::{collections::BTreeSet, sync::Arc};

const SLOTS: usize = 3;

const MISSED: &str = "a resident is not found";
const NOT_REMOVED: &str = "remove of a present item is false";
const COPIES: &str = "copies of a resident";
const REST: &str = "items at rest";

/// A ring of buckets, at least nine tenths full. The free slots are in two neighbours.
struct Crowd {
    filter: Arc<Model<SLOTS>>,
    residents: Vec<Item>,
    items: Items,
    buckets: usize,
    hole: usize,
}

fn crowd() -> Crowd {
    let buckets = one_of(&[4, 6, 8]);
    let mut items = Items::new(buckets);
    let mut table: Vec<Vec<Item>> = (0..buckets)
        .map(|bucket| (0..SLOTS).map(|_| items.beside(bucket)).collect())
        .collect();
    let (hole, holes) = (below(buckets), if buckets == 8 { 2 } else { 1 });
    for nth in 0..holes {
        table[(hole + nth) % buckets].pop();
    }
    let words: Vec<&[Item]> = table.iter().map(Vec::as_slice).collect();
    let filter = Arc::new(Model::new(&words));
    assert!(filter.at_rest().len() * 10 >= buckets * SLOTS * 9);
    Crowd {
        filter,
        residents: table.concat(),
        items,
        buckets,
        hole,
    }
}

impl Crowd {
    /// A new item of two full buckets, as far from the free slots as possible, or of any two
    /// neighbours.
    fn newcomer(&mut self) -> Item {
        let bucket = if chance(4) {
            below(self.buckets)
        } else {
            self.hole + self.buckets / 2
        };
        self.items.beside(bucket % self.buckets)
    }

    /// A resident that no thread owns yet.
    fn resident(&mut self) -> Item {
        self.residents.swap_remove(below(self.residents.len()))
    }
}

/// Inserts items and removes some of them. Returns the remaining ones.
fn insert(filter: &Model<SLOTS>, items: &[Item]) -> Vec<Item> {
    let mut left = Vec::new();
    for &item in items {
        // The insert may be refused, and then has changed nothing.
        if filter.insert(item) {
            assert!(filter.contains(item), "{MISSED}");
            if chance(3) {
                assert!(filter.remove(item), "{NOT_REMOVED}");
            } else {
                left.push(item);
            }
        }
    }
    left
}

/// Removes residents and inserts each again if there is room. Returns the remaining ones.
fn replace(filter: &Model<SLOTS>, items: &[Item]) -> Vec<Item> {
    let replaced = |item: &&Item| {
        assert!(filter.contains(**item), "{MISSED}");
        assert!(filter.remove(**item), "{NOT_REMOVED}");
        assert!(!chance(2) || filter.count(**item) == 0, "{COPIES}");
        filter.insert(**item)
    };
    items.iter().filter(replaced).copied().collect()
}

fn look(filter: &Model<SLOTS>, items: &[Item]) {
    for &item in items {
        assert!(filter.contains(item), "{MISSED}");
        assert_eq!(filter.count(item), 1, "{COPIES}");
    }
}

/// Threads that insert and need relocations, an owner of residents, and a reader.
fn relocations(inserters: usize) -> impl Fn(&Seen) {
    move |seen| {
        let mut crowd = crowd();
        let filter = crowd.filter.clone();
        let mut parts: Vec<Part<Vec<Item>>> = Vec::new();
        for _ in 0..inserters {
            let (filter, own) = (filter.clone(), [crowd.newcomer(), crowd.newcomer()]);
            parts.push(Box::new(move || insert(&filter, &own)));
        }
        let own = [crowd.resident(), crowd.resident()];
        let owner = filter.clone();
        parts.push(Box::new(move || replace(&owner, &own)));
        let (reader, known) = (filter.clone(), crowd.residents.clone());
        let known: Vec<Item> = (0..4).map(|_| one_of(&known)).collect();
        parts.push(Box::new(move || {
            look(&reader, &known);
            Vec::new()
        }));
        let left = at_once(parts).concat();

        let present: Vec<Item> = crowd.residents.iter().chain(&left).copied().collect();
        let found: Vec<u64> = filter.at_rest().iter().map(|resident| resident.1).collect();
        let expected: BTreeSet<u64> = present.iter().map(|item| item.fingerprint()).collect();
        assert_eq!(found.len(), expected.len(), "{REST}");
        assert_eq!(BTreeSet::from_iter(found), expected, "{REST}");
        look(&filter, &present);
        let stats = filter.stats();
        seen.note("relocations", stats.relocations > 0);
        seen.note("a path of two", stats.longest_path >= 2);
        seen.note("a path of three", stats.longest_path >= 3);
        seen.note("a lookup again", stats.retried_lookups > 0);
        seen.note("an insert refused", stats.failed_inserts > 0);
    }
}

fn law() -> Law {
    Law::new("chains", relocations(2))
}

fn law_of_three() -> Law {
    Law::new("chains of three inserters", relocations(3))
}

#[test]
fn nothing_is_lost_on_a_path() {
    law().holds();
    law_of_three().holds();
}

/// The messages if the law is broken.
const LAWS: [&str; 4] = [MISSED, NOT_REMOVED, COPIES, REST];

controls! {
    LAWS;
    the_version_is_advanced: law, NoAdvance;
    the_copy_comes_first: law, EraseFirst;
    the_original_trails: law, NoTrailing;
    a_lookup_validates: law, ContainsNoValidate;
    a_move_looks_at_its_source: law, DecideBlindly;
    a_move_given_up_is_retracted: law, NoRetract;
    a_claim_is_checked: law, ClaimUnchecked;
}
