//! To a single thread, a filter is a multiset of classes. Any sequence of operations, singly or in
//! batches, gives the results of a map of counters. This also holds while the filter doubles, and
//! when its own snapshot or clone replaces it, and if its slots have counters.

use crate::common::filters::{
    BITS, COUNTING, GROWABLE_BITS, GROWABLE_COUNTING, slots, tiny, tiny_counting,
};
use guira::{CuckooFilter, InsertError};
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Operation {
    Insert(u64),
    InsertUnique(u64),
    Remove(u64),
    Contains(u64),
    Count(u64),
    InsertBatch(Vec<u64>),
    RemoveBatch(Vec<u64>),
    ContainsBatch(Vec<u64>),
    Clear,
    Reset,
    Restore,
    Clone,
    FinishGrowth,
}

impl Operation {
    /// The same operation for fewer items, so that each has more copies.
    fn among(self, items: u64) -> Self {
        let few = |all: Vec<u64>| all.into_iter().map(|item| item % items).collect();
        match self {
            Self::Insert(item) => Self::Insert(item % items),
            Self::InsertUnique(item) => Self::InsertUnique(item % items),
            Self::Remove(item) => Self::Remove(item % items),
            Self::Contains(item) => Self::Contains(item % items),
            Self::Count(item) => Self::Count(item % items),
            Self::InsertBatch(items) => Self::InsertBatch(few(items)),
            Self::RemoveBatch(items) => Self::RemoveBatch(few(items)),
            Self::ContainsBatch(items) => Self::ContainsBatch(few(items)),
            other => other,
        }
    }
}

fn operation(items: u64, batch: usize) -> impl Strategy<Value = Operation> {
    let item = move || 0..items;
    let batch = move || prop::collection::vec(item(), 0..batch);
    prop_oneof![
        24 => item().prop_map(Operation::Insert),
        12 => item().prop_map(Operation::InsertUnique),
        16 => item().prop_map(Operation::Remove),
        8 => item().prop_map(Operation::Contains),
        8 => item().prop_map(Operation::Count),
        4 => batch().prop_map(Operation::InsertBatch),
        4 => batch().prop_map(Operation::RemoveBatch),
        2 => batch().prop_map(Operation::ContainsBatch),
        1 => Just(Operation::Clear),
        1 => Just(Operation::Reset),
        2 => Just(Operation::Restore),
        2 => Just(Operation::Clone),
        1 => Just(Operation::FinishGrowth),
    ]
}

/// The filter, and the results that it must give.
struct Oracle {
    filter: CuckooFilter,
    /// The class of each item, represented by its first item.
    class: Vec<u64>,
    copies: HashMap<u64, usize>,
    /// The number of refused inserts.
    refused: u64,
}

impl Oracle {
    fn new(filter: CuckooFilter, items: u64) -> Self {
        let mut class: Vec<u64> = Vec::new();
        for item in 0..items {
            // If an item is alone in the filter, the items of its class are the ones that are
            // found.
            filter.insert(&item).unwrap();
            let same = (0..item).find(|other| filter.contains(other));
            class.push(same.map_or(item, |other| class[other as usize]));
            assert!(filter.remove(&item));
        }
        Self {
            filter,
            class,
            copies: HashMap::new(),
            refused: 0,
        }
    }

    fn copies(&mut self, item: u64) -> &mut usize {
        self.copies.entry(self.class[item as usize]).or_default()
    }

    fn len(&self) -> usize {
        self.copies.values().sum()
    }

    /// `Full` requires at least two full buckets.
    fn may_be_full(&self) -> bool {
        self.filter.slots_in_use() >= 2 * self.filter.bucket_slots()
    }

    /// True if the pair of the item is full of one class, or if the filter is full and cannot grow.
    fn must_be_full(&mut self, item: u64) -> bool {
        let grows = self.filter.max_capacity() > self.filter.capacity();
        let full = !grows && self.len() == self.copies_of_slot() * slots(&self.filter);
        full || *self.copies(item) == 2 * self.most_slots() * self.copies_of_slot()
    }

    /// The most copies that one slot holds.
    fn copies_of_slot(&self) -> usize {
        1 << self.filter.counter_bits()
    }

    /// The slots that the copies need, if each item has as few as possible, and if each copy has one.
    fn slots_needed(&self) -> [usize; 2] {
        let of_slot = self.copies_of_slot();
        let few = self.copies.values().map(|copies| copies.div_ceil(of_slot));
        let most = 2 * self.most_slots();
        let many = self.copies.values().map(|&copies| match of_slot {
            1 => copies,
            _ => copies.min(most),
        });
        [few.sum(), many.sum()]
    }

    /// The maximum number of slots of a word. During a doubling, this is the number at the next
    /// level.
    fn most_slots(&self) -> usize {
        let (filter, stats) = (&self.filter, self.filter.stats());
        if stats.buckets_to_split == 0 {
            return filter.bucket_slots();
        }
        // The rule of docs/FORMAT.md for the words of filters that can grow.
        let bits = filter.fingerprint_bits() + filter.counter_bits();
        let stored = bits - (stats.doublings + 1);
        (54 / stored as usize).min(6)
    }

    /// Replaces the filter by `copy`.
    fn replace(&mut self, copy: CuckooFilter) {
        let (old, new) = (self.filter.stats(), copy.stats());
        assert_eq!(new.doublings, old.doublings);
        assert!(new.buckets_to_split >= old.buckets_to_split);
        self.filter = copy;
        self.refused = 0;
    }

    fn insert(&mut self, item: u64, answer: Result<(), InsertError>) {
        match answer {
            Ok(()) => {
                assert!(!self.must_be_full(item), "more copies than slots");
                *self.copies(item) += 1;
            }
            Err(error) => {
                let expected = [InsertError::Full, InsertError::TooManyCopies];
                assert!(expected.contains(&error), "{error}");
                assert!(self.may_be_full(), "Full at {} items", self.len());
                self.refused += 1;
            }
        }
    }

    fn remove(&mut self, item: u64, answer: bool) {
        let copies = self.copies(item);
        assert_eq!(answer, *copies > 0, "remove {item}");
        *copies -= usize::from(answer);
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Insert(item) => {
                let answer = self.filter.insert(&item);
                self.insert(item, answer);
            }
            Operation::InsertUnique(item) => match self.filter.insert_unique(&item) {
                Ok(added) => {
                    let copies = self.copies(item);
                    assert_eq!(added, *copies == 0, "insert_unique {item}");
                    *copies += usize::from(added);
                }
                Err(error) => {
                    assert_eq!((error, *self.copies(item)), (InsertError::Full, 0));
                    assert!(self.may_be_full(), "Full at {} items", self.len());
                    self.refused += 1;
                }
            },
            Operation::Remove(item) => {
                let answer = self.filter.remove(&item);
                self.remove(item, answer);
            }
            Operation::Contains(item) => {
                // At rest even false positives are known: they are items of the same class.
                assert_eq!(self.filter.contains(&item), *self.copies(item) > 0);
            }
            Operation::Count(item) => {
                assert_eq!(self.filter.count(&item), *self.copies(item));
            }
            Operation::InsertBatch(items) => {
                let answer = self.filter.insert_batch(&items);
                let inserted = answer.map_or_else(|error| error.index, |()| items.len());
                for &item in &items[..inserted] {
                    self.insert(item, Ok(()));
                }
                if let Err(error) = answer {
                    self.insert(items[inserted], Err(error.error));
                }
            }
            Operation::RemoveBatch(items) => {
                let mut removed = vec![false; items.len()];
                self.filter.remove_batch(&items, &mut removed);
                for (item, removed) in items.into_iter().zip(removed) {
                    self.remove(item, removed);
                }
            }
            Operation::ContainsBatch(items) => {
                let mut found = vec![false; items.len()];
                self.filter.contains_batch(&items, &mut found);
                for (item, found) in items.into_iter().zip(found) {
                    assert_eq!(found, *self.copies(item) > 0);
                }
            }
            Operation::Clear => {
                self.filter.clear();
                self.copies.clear();
            }
            Operation::Reset => {
                self.filter.reset();
                self.copies.clear();
            }
            Operation::Restore => {
                let bytes = self.filter.to_bytes();
                let copy = CuckooFilter::from_bytes(&bytes).unwrap();
                assert_eq!(copy.to_bytes(), bytes);
                self.replace(copy);
            }
            Operation::Clone => self.replace(self.filter.clone()),
            Operation::FinishGrowth => {
                self.filter.finish_growth();
                assert_eq!(self.filter.stats().buckets_to_split, 0);
            }
        }
        assert_eq!(self.filter.len(), self.len());
        assert_eq!(self.filter.is_empty(), self.len() == 0);
        assert_eq!(self.filter.stats().failed_inserts, self.refused);
        let [few, many] = self.slots_needed();
        assert!((few..=many).contains(&self.filter.slots_in_use()));
    }

    /// Checks all classes, also the classes that the last operation did not name. A relocation or a failed
    /// insert must not have changed any other class.
    fn all_agree(&mut self) {
        for item in 0..self.class.len() as u64 {
            let copies = *self.copies(item);
            assert_eq!(self.filter.count(&item), copies, "item {item}");
            assert_eq!(self.filter.contains(&item), copies > 0, "item {item}");
        }
        let load = self.filter.slots_in_use() as f64 / slots(&self.filter) as f64;
        assert!((self.filter.load_factor() - load).abs() < 1e-12);
    }
}

/// The mutation test `ci/mutants.sh` uses fewer cases: without optimisation a case takes fifty
/// milliseconds, and any failure suffices.
fn config(cases: u32) -> ProptestConfig {
    let all = ProptestConfig::with_cases(cases);
    match std::env::var_os("GUIRA_MUTANTS").is_some() {
        true => ProptestConfig {
            cases: cases / 10,
            max_shrink_iters: 0,
            ..all
        },
        false => all,
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_filter_is_a_multiset_of_classes(
        bits in prop::sample::select(BITS.to_vec()),
        buckets in 1..12_usize,
        operations in prop::collection::vec(operation(100, 70), 1..300),
    ) {
        let mut oracle = Oracle::new(tiny(bits, buckets), 100);
        for operation in operations {
            oracle.step(operation);
            oracle.all_agree();
        }
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn so_is_one_that_grows(
        bits in prop::sample::select(GROWABLE_BITS.to_vec()),
        operations in prop::collection::vec(operation(500, 400), 1..300),
    ) {
        let mut oracle = Oracle::new(tiny(bits, 2), 500);
        for (done, operation) in operations.into_iter().enumerate() {
            oracle.step(operation);
            if done % 32 == 0 {
                oracle.all_agree();
            }
        }
        oracle.all_agree();
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn so_is_one_with_counters(
        bits in prop::sample::select(COUNTING.to_vec()),
        buckets in 1..12_usize,
        items in 2..100_u64,
        operations in prop::collection::vec(operation(100, 70), 1..300),
    ) {
        let mut oracle = Oracle::new(tiny_counting(bits, buckets), 100);
        for operation in operations {
            oracle.step(operation.among(items));
            oracle.all_agree();
        }
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn so_is_one_with_counters_that_grows(
        bits in prop::sample::select(GROWABLE_COUNTING.to_vec()),
        items in 2..1_000_u64,
        operations in prop::collection::vec(operation(1_000, 400), 1..300),
    ) {
        let mut oracle = Oracle::new(tiny_counting(bits, 2), 1_000);
        for (done, operation) in operations.into_iter().enumerate() {
            oracle.step(operation.among(items));
            if done % 32 == 0 {
                oracle.all_agree();
            }
        }
        oracle.all_agree();
    }
}

/// A cleared filter behaves like a new one.
#[test]
fn clear_leaves_an_empty_filter_of_the_same_room() {
    for bits in BITS {
        let builder = CuckooFilter::builder()
            .capacity(500)
            .fingerprint_bits(bits)
            .seed(1);
        let mut filter = builder.build().unwrap();
        for _ in 0..3 {
            for item in 0..500_u32 {
                filter.insert(&item).unwrap();
            }
            assert_eq!(filter.len(), 500);
            filter.reset();
            assert!(filter.is_empty() && (0..500_u32).all(|item| !filter.contains(&item)));
        }
    }
}
