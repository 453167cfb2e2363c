//! Batches give the results of their items one by one, whatever runs concurrently.
#![cfg(guira_shuttle)]

use guira::CuckooFilter;
use guira_shuttle_tests::{
    Law, Seen, controls,
    crowded::{builder, eight_buckets},
    items::{Part, at_once, chance, hash},
};
use std::{
    collections::HashSet,
    hash::{BuildHasher, Hasher},
    sync::Arc,
};

const MISSED: &str = "an item is not found";
const NOT_REMOVED: &str = "remove of a present item is false";
const COPIES: &str = "copies at rest";

/// Uses an item as its own hash.
#[derive(Clone, Copy, Default)]
struct Itself(u64);

impl BuildHasher for Itself {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self::default()
    }
}

impl Hasher for Itself {
    /// Items are numbers. Only the probe of a snapshot header is written as bytes.
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.len() as u64;
    }

    fn write_u64(&mut self, item: u64) {
        self.0 = item;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Filter = CuckooFilter<Itself>;

/// A filter of 8 buckets of 3 slots with `holes` empty ones, its residents, and other items.
fn filled(holes: usize) -> (Filter, Vec<u64>, Vec<u64>) {
    let hasher = Itself::default();
    let bytes = eight_buckets(builder().hasher(hasher));
    let filter = CuckooFilter::restore()
        .hasher(hasher)
        .from_bytes(&bytes)
        .expect("what FORMAT.md says");
    let slots = 8 * 3;
    // The filter hashes the results of a hasher again, so two items may have one fingerprint.
    let mut fingerprints = HashSet::new();
    let fingerprint = |item: &u64| (filter.hash_of(item).0 & 0xf_ffff).max(1);
    let mut items = (0..64)
        .map(hash)
        .filter(|item| fingerprints.insert(fingerprint(item)));
    let mut residents = Vec::new();
    while filter.len() + holes < slots {
        let item = items.next().expect("enough hashes");
        if filter.insert(&item).is_ok() {
            residents.push(item);
        }
    }
    let others = items.take(8).collect();
    (filter, residents, others)
}

fn all_found(filter: &Filter, items: &[u64]) {
    let mut found = vec![false; items.len()];
    filter.contains_batch(items, &mut found);
    assert!(found.iter().all(|&found| found), "{MISSED}: {found:?}");
}

fn all_removed(filter: &Filter, items: &[u64]) {
    let mut removed = vec![false; items.len()];
    filter.remove_batch(items, &mut removed);
    assert!(
        removed.iter().all(|&removed| removed),
        "{NOT_REMOVED}: {removed:?}"
    );
}

/// Inserts items, and returns the inserted ones.
fn inserted(filter: &Filter, items: &[u64]) -> Vec<u64> {
    let inserted = match filter.insert_batch(items) {
        Ok(()) => items.len(),
        Err(error) => error.index,
    };
    let inserted = &items[..inserted];
    all_found(filter, inserted);
    inserted.to_vec()
}

/// Batches of all kinds run concurrently, together with single inserts.
fn batches(seen: &Seen) {
    let (filter, mut residents, new) = filled(2);
    let filter = Arc::new(filter);
    let own = residents.split_off(residents.len() - 3);
    let (some, others, single) = (new[..3].to_vec(), new[3..6].to_vec(), new[6..].to_vec());
    let mut parts: Vec<Part<(Vec<u64>, bool)>> = Vec::new();
    for items in [some, others] {
        let filter = filter.clone();
        parts.push(Box::new(move || {
            let mut left = inserted(&filter, &items);
            let full = left.len() < items.len();
            if chance(2) {
                all_removed(&filter, &left);
                left.clear();
            }
            (left, full)
        }));
    }
    let owner = filter.clone();
    parts.push(Box::new(move || {
        all_found(&owner, &own);
        all_removed(&owner, &own);
        let left = inserted(&owner, &own);
        let full = left.len() < own.len();
        (left, full)
    }));
    let (reader, known) = (filter.clone(), residents.clone());
    parts.push(Box::new(move || {
        let (first, second) = known.split_at(known.len() / 2);
        all_found(&reader, first);
        let mut left = single;
        left.retain(|item| reader.insert(item).is_ok());
        all_found(&reader, second);
        (left, false)
    }));
    let results = at_once(parts);

    let full = results.iter().any(|result| result.1);
    residents.extend(results.into_iter().flat_map(|result| result.0));
    assert_eq!(filter.len(), residents.len(), "{COPIES}");
    all_found(&filter, &residents);
    for item in &residents {
        assert_eq!(filter.count(item), 1, "{COPIES}");
    }
    all_removed(&filter, &residents);
    assert_eq!(filter.len(), 0, "{COPIES}");
    let stats = filter.stats();
    seen.note("relocations", stats.relocations > 0);
    seen.note("a path of two", stats.longest_path >= 2);
    seen.note("a lookup again", stats.retried_lookups > 0);
    seen.note("a batch that ends early", full);
}

fn law() -> Law {
    Law::new("batches", batches)
}

#[test]
fn batches_answer_as_one_by_one() {
    law().holds();
}

/// The messages if the law is broken.
const LAWS: [&str; 3] = [MISSED, NOT_REMOVED, COPIES];

controls! {
    LAWS;
    a_lookup_validates: law, ContainsNoValidate;
    the_version_is_advanced: law, NoAdvance;
    the_original_trails: law, NoTrailing;
    a_claim_is_checked: law, ClaimUnchecked;
}
