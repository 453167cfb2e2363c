//! To a single thread, a filter is a map from classes to the epochs in which their copies were last seen.
//! Any sequence of operations, singly or in batches, gives the results of that map. In a filter whose
//! items stay, there is one epoch, and the map is a multiset.
//!
//! This also holds while the filter doubles, and when its own snapshot or clone replaces it, and if its
//! slots have counters.

use crate::{
    common::filters::{BITS, COUNTING, GROWABLE_BITS, GROWABLE_COUNTING, tiny, tiny_counting},
    snapshot::common::layouts::{SEMI_SORTED, semi_sorted},
};
use guira::{
    BatchError, CuckooFilter, Expiring, ExpiringFilter, Filter, Forever, InsertError, Lifetime,
    SeededState,
};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};
use std::{cell::Cell, time::Duration};

type Seeded<T> = Filter<SeededState, T>;

/// What filters of a kind do when time passes.
trait Kind: Lifetime {
    /// Begins an epoch.
    fn advance(filter: &Seeded<Self>);

    /// The number of the epoch, and for how many epochs copies live after their own.
    fn time(filter: &Seeded<Self>) -> (u64, u64);

    fn refresh(filter: &Seeded<Self>, item: &u64) -> Result<bool, InsertError>;

    fn insert_or_refresh(filter: &Seeded<Self>, item: &u64) -> Result<bool, InsertError>;

    /// A snapshot, which is the same for the same filter.
    fn bytes(filter: &Seeded<Self>) -> Vec<u8>;
}

impl Kind for Forever {
    fn advance(_: &CuckooFilter) {}

    fn time(_: &CuckooFilter) -> (u64, u64) {
        (0, 0)
    }

    fn refresh(filter: &CuckooFilter, item: &u64) -> Result<bool, InsertError> {
        Ok(filter.contains(item))
    }

    fn insert_or_refresh(filter: &CuckooFilter, item: &u64) -> Result<bool, InsertError> {
        filter.insert_unique(item)
    }

    fn bytes(filter: &CuckooFilter) -> Vec<u8> {
        filter.to_bytes()
    }
}

impl Kind for Expiring {
    fn advance(filter: &ExpiringFilter) {
        assert!(filter.advance());
    }

    fn time(filter: &ExpiringFilter) -> (u64, u64) {
        (filter.epoch(), filter.epochs().into())
    }

    fn refresh(filter: &ExpiringFilter, item: &u64) -> Result<bool, InsertError> {
        filter.refresh(item)
    }

    fn insert_or_refresh(filter: &ExpiringFilter, item: &u64) -> Result<bool, InsertError> {
        filter.insert_or_refresh(item)
    }

    fn bytes(filter: &ExpiringFilter) -> Vec<u8> {
        filter.to_bytes_at(|| Duration::ZERO)
    }
}

#[derive(Clone, Copy, Debug)]
enum Single {
    Insert,
    InsertAndCount,
    InsertUnique,
    Refresh,
    InsertOrRefresh,
    Remove,
    Look,
}

#[derive(Clone, Copy, Debug)]
enum Batch {
    Insert,
    InsertUnique,
    Remove,
    Contains,
}

#[derive(Clone, Copy, Debug)]
enum Whole {
    Clear,
    Reset,
    Restore,
    Clone,
    Shrink,
    FinishGrowth,
}

#[derive(Clone, Debug)]
enum Operation {
    Single(Single, usize),
    Batch(Batch, Vec<usize>),
    Whole(Whole),
    Advance(u32),
}

/// An operation on any items, with up to `batch` items at once.
fn operation(batch: usize) -> impl Strategy<Value = Operation> {
    use Single::*;
    let single = [
        Insert,
        Insert,
        InsertAndCount,
        InsertUnique,
        InsertUnique,
        Refresh,
        InsertOrRefresh,
        Remove,
        Remove,
        Look,
    ];
    let batches = [
        Batch::Insert,
        Batch::InsertUnique,
        Batch::Remove,
        Batch::Contains,
    ];
    let whole = [
        Whole::Clear,
        Whole::Reset,
        Whole::Restore,
        Whole::Restore,
        Whole::Clone,
        Whole::Shrink,
        Whole::FinishGrowth,
    ];
    let items = vec(any::<usize>(), 0..batch);
    prop_oneof![
        70 => (select(single.to_vec()), any::<usize>()).prop_map(|(it, item)| Operation::Single(it, item)),
        12 => (select(batches.to_vec()), items).prop_map(|(it, items)| Operation::Batch(it, items)),
        7 => select(whole.to_vec()).prop_map(Operation::Whole),
        16 => (1_u32..4).prop_map(Operation::Advance),
        1 => (4_u32..40).prop_map(Operation::Advance),
    ]
}

/// The filter, and the results that it must give.
struct Oracle<T: Kind> {
    filter: Seeded<T>,
    /// The class of each item, represented by its first item.
    class: Vec<usize>,
    /// The epochs in which the live copies of each class were last seen.
    copies: Vec<Vec<u64>>,
    now: u64,
    /// The number of refused inserts, if it is known.
    refused: Option<u64>,
}

impl<T: Kind> Oracle<T> {
    fn new(filter: Seeded<T>, items: usize) -> Self {
        let mut class: Vec<usize> = Vec::new();
        for item in 0..items {
            // If an item is alone in the filter, the items of its class are the ones that are
            // found.
            filter.insert(&(item as u64)).expect("room for one");
            let same = (0..item).find(|&other| filter.contains(&(other as u64)));
            class.push(same.map_or(item, |other| class[other]));
            assert!(filter.remove(&(item as u64)));
        }
        Self {
            now: T::time(&filter).0,
            filter,
            class,
            copies: vec![Vec::new(); items],
            refused: Some(0),
        }
    }

    fn copies(&mut self, item: usize) -> &mut Vec<u64> {
        &mut self.copies[self.class[item]]
    }

    fn count(&self, item: usize) -> usize {
        self.copies[self.class[item]].len()
    }

    fn len(&self) -> usize {
        self.copies.iter().map(Vec::len).sum()
    }

    /// The most copies that one slot holds.
    fn copies_of_slot(&self) -> usize {
        1 << self.filter.counter_bits()
    }

    /// The maximum number of slots of a word. During a doubling, this is the number at the next
    /// level, or more if copies expire.
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

    /// `Full` requires at least two full buckets.
    fn may_be_full(&self) -> bool {
        self.filter.slots_in_use() >= 2 * self.filter.bucket_slots()
    }

    /// True if the pair of the item is full of one class, or if the filter is full and cannot grow.
    fn must_be_full(&self, item: usize) -> bool {
        let grows = self.filter.max_capacity() > self.filter.capacity();
        let all = self.filter.buckets() * self.filter.bucket_slots();
        let full = !grows && self.len() == self.copies_of_slot() * all;
        full || self.count(item) == 2 * self.most_slots() * self.copies_of_slot()
    }

    /// The slots that the copies need, if each class has as few as possible, and if each copy has
    /// one. Copies of several ages do not share a slot.
    fn slots_needed(&self) -> [usize; 2] {
        let (of_slot, most) = (self.copies_of_slot(), 2 * self.most_slots());
        let few = |copies: &Vec<u64>| -> usize {
            let same_age = |seen| copies.iter().filter(|&&other| other == seen).count();
            let first =
                (0..copies.len()).filter(|&place| !copies[..place].contains(&copies[place]));
            first
                .map(|place| same_age(copies[place]).div_ceil(of_slot))
                .sum()
        };
        let many = |copies: &Vec<u64>| match of_slot {
            1 => copies.len(),
            _ => copies.len().min(most),
        };
        [
            self.copies.iter().map(few).sum(),
            self.copies.iter().map(many).sum(),
        ]
    }

    /// Replaces the filter by `copy`.
    fn replace(&mut self, copy: Seeded<T>) {
        let settings = |filter: &Seeded<T>| {
            let sizes = (filter.capacity(), filter.max_capacity(), filter.buckets());
            let grown = (filter.stats().doublings, filter.memory_usage());
            (sizes, grown, filter.hasher().seed(), filter.digest())
        };
        assert_eq!(settings(&copy), settings(&self.filter));
        assert_eq!(copy.header(), self.filter.header());
        assert_eq!(T::bytes(&copy), T::bytes(&self.filter));
        let [new, old] = [&copy, &self.filter].map(|filter| filter.stats().buckets_to_split);
        assert!(new >= old && (new > 0) == (old > 0), "{new}, {old}");
        self.filter = copy;
        self.refused = Some(0);
    }

    fn refuse(&mut self, item: usize, error: InsertError) {
        let (count, slots) = (self.count(item), self.filter.bucket_slots());
        match error {
            InsertError::TooManyCopies => assert!(count >= slots, "{count} copies"),
            InsertError::Full => {
                let shares = self.filter.counter_bits() > 0;
                let is_alone = count == 2 * self.most_slots() && !shares;
                let full = self.may_be_full() && !is_alone;
                assert!(full, "Full at {} items, {count} copies", self.len());
            }
            error => panic!("{error}"),
        }
        self.refused = self.refused.map(|refused| refused + 1);
    }

    fn inserted(&mut self, item: usize, answer: Result<bool, InsertError>, unique: bool) {
        let absent = !unique || self.count(item) == 0;
        match answer {
            Ok(added) => {
                assert_eq!(added, absent, "insert {item}");
                assert!(!added || !self.must_be_full(item), "more copies than slots");
                let now = self.now;
                self.copies(item).extend(added.then_some(now));
            }
            Err(error) => {
                assert!(absent, "{item} is refused");
                assert!(!unique || error == InsertError::Full, "{error}");
                self.refuse(item, error);
            }
        }
    }

    fn inserted_all(&mut self, batch: &[usize], done: Result<(), BatchError>, first: &[bool]) {
        let count = done.map_or_else(|error| error.index, |()| batch.len());
        let unique = !first.is_empty();
        for (place, &item) in batch[..count].iter().enumerate() {
            self.inserted(item, Ok(!unique || first[place]), unique);
        }
        if let Err(error) = done {
            self.inserted(batch[count], Err(error.error), unique);
        }
    }

    fn refreshed(&mut self, item: usize, answer: Result<bool, InsertError>) {
        // A copy that shares its slot needs room for the younger one.
        if self.filter.counter_bits() > 0 && answer == Err(InsertError::Full) {
            assert!(self.count(item) > 1, "refresh of {item}");
            self.refused = None;
            return;
        }
        assert_eq!(answer, Ok(self.count(item) > 0), "refresh of {item}");
        let now = self.now;
        if let Some(oldest) = self.copies(item).iter_mut().min() {
            *oldest = now;
        }
    }

    fn removed(&mut self, item: usize, answer: bool) {
        assert_eq!(answer, self.count(item) > 0, "remove {item}");
        let copies = self.copies(item);
        let oldest = (0..copies.len()).min_by_key(|&place| copies[place]);
        oldest.map(|place| copies.swap_remove(place));
    }

    /// At rest even false positives are known: they are items of the same class.
    fn look(&self, item: usize) {
        let (count, item) = (self.count(item), item as u64);
        assert_eq!(self.filter.count(&item), count, "item {item}");
        assert_eq!(self.filter.contains(&item), count > 0, "item {item}");
    }

    fn single(&mut self, it: Single, item: usize) {
        let (filter, key) = (&self.filter, &(item as u64));
        match it {
            Single::Insert => {
                let answer = filter.insert(key);
                self.inserted(item, answer.map(|()| true), false);
            }
            Single::InsertAndCount => {
                let answer = filter.insert_and_count(key);
                self.inserted(item, answer.map(|_| true), false);
                let is_counted = answer.map_or(true, |count| count == self.count(item));
                assert!(is_counted, "{answer:?} copies of {item}");
            }
            Single::InsertUnique => {
                let answer = filter.insert_unique(key);
                self.inserted(item, answer, true);
            }
            Single::Refresh => {
                let answer = T::refresh(filter, key);
                self.refreshed(item, answer);
            }
            Single::InsertOrRefresh => {
                let answer = T::insert_or_refresh(filter, key);
                match self.count(item) {
                    0 => self.inserted(item, answer, true),
                    _ => self.refreshed(item, answer.map(|first| !first)),
                }
            }
            Single::Remove => {
                let answer = filter.remove(key);
                self.removed(item, answer);
            }
            Single::Look => self.look(item),
        }
    }

    fn batch(&mut self, it: Batch, items: &[usize]) {
        let keys: Vec<u64> = items.iter().map(|&item| item as u64).collect();
        let (filter, mut answers) = (&self.filter, vec![false; keys.len()]);
        match it {
            Batch::Insert => {
                let done = filter.insert_batch(&keys);
                self.inserted_all(items, done, &[]);
            }
            Batch::InsertUnique => {
                let done = filter.insert_unique_batch(&keys, &mut answers);
                self.inserted_all(items, done, &answers);
            }
            Batch::Remove => {
                filter.remove_batch(&keys, &mut answers);
                for (&item, answer) in items.iter().zip(answers) {
                    self.removed(item, answer);
                }
            }
            Batch::Contains => {
                filter.contains_batch(&keys, &mut answers);
                for (&item, answer) in items.iter().zip(answers) {
                    assert_eq!(answer, self.count(item) > 0, "item {item}");
                }
            }
        }
    }

    fn whole(&mut self, it: Whole) {
        match it {
            Whole::Clear => {
                self.filter.clear();
                self.copies.fill(Vec::new());
            }
            Whole::Reset => {
                self.filter.reset();
                self.copies.fill(Vec::new());
                let new = Seeded::<T>::from_header(&self.filter.header(), 1 << 20);
                let new = new.expect("its own header");
                assert_eq!(self.filter.capacity(), new.capacity());
                assert_eq!(self.filter.stats().doublings, 0);
            }
            Whole::Restore => {
                let copy = Seeded::from_bytes(&T::bytes(&self.filter));
                self.replace(copy.expect("its own snapshot"));
            }
            Whole::Clone => self.replace(self.filter.clone()),
            Whole::Shrink => {
                let before = self.filter.memory_usage();
                let is_smaller = self.filter.shrink_to_fit();
                let memory = self.filter.memory_usage();
                assert!(memory < before || !is_smaller && memory == before);
                self.refused = None;
            }
            Whole::FinishGrowth => {
                self.filter.finish_growth();
                assert_eq!(self.filter.stats().buckets_to_split, 0);
            }
        }
    }

    fn advance(&mut self) {
        T::advance(&self.filter);
        let (now, epochs) = T::time(&self.filter);
        self.now = now;
        let last = now.saturating_sub(epochs);
        for copies in &mut self.copies {
            copies.retain(|&seen| seen >= last);
        }
    }

    /// Performs an operation, on the first `few` items.
    fn step(&mut self, operation: Operation, few: usize) {
        let now = self.now;
        match operation {
            Operation::Single(it, item) => self.single(it, item % few),
            Operation::Batch(it, items) => {
                let items: Vec<usize> = items.into_iter().map(|item| item % few).collect();
                self.batch(it, &items);
            }
            Operation::Whole(it) => self.whole(it),
            Operation::Advance(epochs) => {
                (0..epochs).for_each(|_| self.advance());
                let passed = u64::from(epochs) * u64::from(T::time(&self.filter).1 > 0);
                assert_eq!(self.now, now + passed);
            }
        }
        assert_eq!(T::time(&self.filter).0, self.now);
        // An epoch begins with a sweep, and no other thread is active.
        assert_eq!(self.filter.len(), self.len(), "dead copies are swept out");
        assert_eq!(self.filter.is_empty(), self.len() == 0);
        if let Some(refused) = self.refused {
            assert_eq!(self.filter.stats().failed_inserts, refused);
        }
        let [few, many] = self.slots_needed();
        assert!((few..=many).contains(&self.filter.slots_in_use()));
    }

    /// Checks all classes, also the classes that the last operation did not name. A relocation or a failed
    /// insert must not have changed any other class.
    fn all_agree(&self) {
        (0..self.class.len()).for_each(|item| self.look(item));
        let filter = &self.filter;
        let all = (filter.buckets() * filter.bucket_slots()) as f64;
        let load = filter.slots_in_use() as f64 / all;
        assert!((filter.load_factor() - load).abs() < 1e-12);
    }
}

/// The mutation test `ci/mutants.sh` uses fewer cases: without optimisation a case takes fifty
/// milliseconds, and any failure suffices.
fn config(cases: u32) -> ProptestConfig {
    let all = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    match std::env::var_os("GUIRA_MUTANTS").is_some() {
        true => ProptestConfig {
            cases: cases / 10,
            max_shrink_iters: 0,
            ..all
        },
        false => all,
    }
}

/// Checks sequences of operations on up to `items` items, with up to `batch` of them at once.
fn answers_as_its_map<T: Kind>(
    cases: u32,
    filters: impl Strategy<Value = Seeded<T>>,
    items: usize,
    batch: usize,
) {
    let (can_grow, doublings) = (Cell::new(false), Cell::new(0));
    // With fewer items, each has more copies.
    let few = prop_oneof![Just(items), 2..items];
    let all = (filters, few, vec(operation(batch), 1..300));
    let checked = TestRunner::new(config(cases)).run(&all, |(filter, few, operations)| {
        can_grow.set(filter.max_capacity() > filter.capacity());
        let (mut oracle, mut most) = (Oracle::new(filter, items), 0);
        for (done, operation) in operations.into_iter().enumerate() {
            oracle.step(operation, few);
            most = most.max(oracle.filter.stats().doublings);
            if items <= 100 || done % 32 == 0 {
                oracle.all_agree();
            }
        }
        oracle.all_agree();
        doublings.set(doublings.get() + most);
        // All remaining items expire, and all slots are free again.
        let (now, epochs) = T::time(&oracle.filter);
        (0..=epochs).for_each(|_| oracle.advance());
        let left = (oracle.filter.len(), oracle.filter.slots_in_use());
        assert!(oracle.now == now || left == (0, 0), "{left:?}");
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        !can_grow.get() || doublings.get() > cases / 10,
        "{doublings:?}"
    );
}

#[test]
fn a_filter_is_a_multiset_of_classes() {
    let filters = (select(&BITS[..]), 1..12_usize).prop_map(|(bits, buckets)| tiny(bits, buckets));
    answers_as_its_map(400, filters, 100, 70);
}

#[test]
fn so_is_one_of_semi_sorted_words() {
    // Smaller filters may have other words.
    let filters = select(&SEMI_SORTED[..]).prop_map(|(_, rate)| semi_sorted(rate, 100));
    answers_as_its_map(200, filters, 100, 70);
}

#[test]
fn so_is_one_that_grows() {
    let filters = select(&GROWABLE_BITS[..]).prop_map(|bits| tiny(bits, 2));
    answers_as_its_map(200, filters, 500, 400);
}

#[test]
fn so_is_one_with_counters() {
    let filters = (select(&COUNTING[..]), 1..12_usize);
    let filters = filters.prop_map(|(bits, buckets)| tiny_counting(bits, buckets));
    answers_as_its_map(400, filters, 100, 70);
}

#[test]
fn so_is_one_with_counters_that_grows() {
    let filters = select(&GROWABLE_COUNTING[..]).prop_map(|bits| tiny_counting(bits, 2));
    answers_as_its_map(200, filters, 1_000, 400);
}

/// The bits of fingerprints and of counters, and the most epochs: each has a layout of its own.
type Layouts = &'static [(u32, u32, u32)];

/// Expiring filters for any capacity, which grow to up to `times` that capacity.
fn expiring(layouts: Layouts, times: usize) -> impl Strategy<Value = ExpiringFilter> {
    let layouts = select(layouts).prop_flat_map(|(bits, counter, most)| {
        let few = prop_oneof![1..=most, Just(most)];
        (Just(bits), Just(counter), few)
    });
    let all = (layouts, 8_usize..60, any::<u64>());
    all.prop_map(move |((bits, counter, epochs), capacity, seed)| {
        let builder = ExpiringFilter::builder(Duration::from_secs(3600)).epochs(epochs);
        let builder = builder.fingerprint_bits(bits).capacity(capacity).seed(seed);
        let builder = match counter {
            0 => builder,
            _ => builder.counter_bits(counter),
        };
        let builder = match times {
            1 => builder,
            _ => builder.max_capacity(times * capacity),
        };
        builder.build().expect("a filter")
    })
}

#[test]
fn one_that_expires_is_a_map_of_epochs() {
    let layouts = &[(9, 0, 5), (11, 0, 13), (16, 0, 13), (26, 0, 13)];
    answers_as_its_map(400, expiring(layouts, 1), 24, 6);
}

#[test]
fn so_is_one_that_expires_and_counts() {
    let layouts = &[(8, 4, 5), (13, 4, 4), (23, 4, 2), (9, 8, 4), (19, 8, 2)];
    answers_as_its_map(600, expiring(layouts, 1), 24, 6);
}

/// The longest fingerprints begin in words of one slot.
#[test]
fn so_is_one_that_expires_and_grows() {
    let layouts = &[(23, 0, 13), (36, 0, 13)];
    answers_as_its_map(60, expiring(layouts, 100), 1_000, 400);
}

#[test]
fn so_is_one_that_expires_and_counts_and_grows() {
    let layouts = &[(11, 4, 4), (19, 4, 2), (16, 8, 2)];
    answers_as_its_map(60, expiring(layouts, 16), 400, 200);
}
