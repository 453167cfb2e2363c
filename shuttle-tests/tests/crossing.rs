//! Two paths lead through the same buckets in opposite directions. Each may cause the other one to
//! give up, and neither may lose an item.
#![cfg(guira_shuttle)]

use guira::model::{Growing, Item};
use guira_shuttle_tests::{
    Law, Seen, controls,
    items::{Items, Part, at_once, chance, one_of},
};
use std::{collections::BTreeSet, sync::Arc};

const SLOTS: usize = 3;

/// The buckets of the paths, which one path visits in this order and the other one in reverse.
const WAYS: [[usize; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 5, 0, 3]];

const MISSED: &str = "a resident is not found";
const NOT_REMOVED: &str = "remove of a present item is false";
const TWICE: &str = "an item is removed twice";
const COPIES: &str = "copies of a resident";
const REST: &str = "items at rest";

/// A table in which a path is open in both directions, with a free slot in each bucket.
struct Ways {
    filter: Arc<Growing<SLOTS>>,
    /// The hops of the first path: each item and its bucket, with the last hop first.
    forth: Vec<(Item, usize)>,
    back: Vec<(Item, usize)>,
    /// The items for which the paths are made.
    new: [Item; 2],
}

fn ways(levels: u32) -> Ways {
    let mut way = one_of(&WAYS);
    let mut items = Items::new(6);
    let mut hops = |way: [usize; 4]| -> Vec<(Item, usize)> {
        let hop = |ends: &[usize]| (items.of(ends[0], ends[1]), ends[0]);
        way.windows(2).map(hop).rev().collect()
    };
    let forth = hops(way);
    way.reverse();
    let back = hops(way);
    // Each new item belongs to the bucket where its path begins.
    let new = [items.of(way[3], way[2]), items.of(way[0], way[1])];
    let mut table = vec![Vec::new(); 6];
    for &(item, bucket) in forth.iter().chain(&back) {
        table[bucket].push(item);
    }
    let words: Vec<&[Item]> = table.iter().map(Vec::as_slice).collect();
    let filter = Arc::new(Growing::growing(&words, levels));
    Ways {
        filter,
        forth,
        back,
        new,
    }
}

/// The paths, a remove of an item on each of them, and lookups of all others. If `levels` is not 0,
/// a sweep also splits the words.
fn crossing(levels: u32) -> impl Fn(&Seen) {
    move |seen| {
        let ways = ways(levels);
        let filter = &ways.filter;
        let taken = [one_of(&ways.forth).0, one_of(&ways.back).0];
        let all = ways.forth.iter().chain(&ways.back).map(|&(item, _)| item);
        let is_taken = |item: &Item| taken.iter().any(|t| t.fingerprint() == item.fingerprint());
        let stay: Vec<Item> = all.filter(|item| !is_taken(item)).collect();

        let mut parts: Vec<Part<bool>> = Vec::new();
        for (path, new) in [
            (ways.forth.clone(), ways.new[0]),
            (ways.back.clone(), ways.new[1]),
        ] {
            let filter = filter.clone();
            parts.push(Box::new(move || filter.relocate_path(&path, new)));
        }
        let (remover, removes) = (filter.clone(), chance(2));
        parts.push(Box::new(move || {
            for item in taken.into_iter().filter(|_| removes) {
                assert!(remover.remove(item), "{NOT_REMOVED}");
                assert!(!remover.remove(item), "{TWICE}");
            }
            true
        }));
        let (reader, known) = (filter.clone(), stay.clone());
        parts.push(Box::new(move || {
            for &item in &known {
                assert!(reader.contains(item), "{MISSED}");
                assert!(!chance(2) || reader.count(item) == 1, "{COPIES}");
            }
            true
        }));
        if levels > 0 {
            let sweeper = filter.clone();
            parts.push(Box::new(move || {
                sweeper.begin_level(0);
                sweeper.finish_growth();
                true
            }));
        }
        let results = at_once(parts);

        let made = [results[0], results[1]];
        let new = ways.new.into_iter().zip(made);
        let new = new.filter_map(|(item, made)| made.then_some(item));
        let expected: BTreeSet<u64> = stay
            .iter()
            .copied()
            .chain(taken.into_iter().filter(|_| !removes))
            .chain(new)
            .map(|item| item.fingerprint())
            .collect();
        let found = filter.at_rest();
        let found: Vec<u64> = found.iter().map(|resident| resident.1).collect();
        assert_eq!(found.len(), expected.len(), "{REST}");
        assert_eq!(BTreeSet::from_iter(found), expected, "{REST}");
        let stats = filter.stats();
        seen.note("both paths", made == [true; 2]);
        seen.note("one path", made[0] != made[1]);
        seen.note("no path", made == [false; 2]);
        seen.note("a path of three", stats.longest_path >= 3);
        seen.note("a lookup again", stats.retried_lookups > 0);
        if levels > 0 {
            seen.note("a doubling", filter.level() == 1);
        }
    }
}

fn law() -> Law {
    Law::new("crossing", crossing(0))
}

fn law_of_growth() -> Law {
    Law::new("crossing while words are split", crossing(1))
}

#[test]
fn nothing_is_lost_where_paths_cross() {
    law().holds();
}

#[test]
fn nothing_is_lost_where_paths_cross_and_words_are_split() {
    law_of_growth().holds();
}

/// The messages if the law is broken.
const LAWS: [&str; 5] = [MISSED, NOT_REMOVED, TWICE, COPIES, REST];

controls! {
    LAWS;
    the_version_is_advanced: law, NoAdvance;
    the_original_trails: law, NoTrailing;
    a_lookup_validates: law, ContainsNoValidate;
    a_lookup_reads_again: law, ContainsNoReread;
    a_remove_validates: law, RemoveNoValidate;
    a_remove_reads_again: law, RemoveNoReread;
    a_remove_heeds_marks: law, RemoveIgnoresMarks;
    count_reads_the_lower_word_again: law, CountNoRereadP;
    a_path_fills_its_own_plane: law_of_growth, FillAnyPlane;
    a_split_keeps_the_mark: law_of_growth, MarkDropped;
}
