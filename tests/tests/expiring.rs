//! To a single thread, an expiring filter is a map from items to the epochs in which their copies
//! were last seen. Any sequence of operations gives the results of that map.

use guira::{BatchError, BuildError, ExpiringBuilder, ExpiringFilter, InsertError};
use proptest::prelude::*;
use std::{collections::HashMap, time::Duration};

const TTL: Duration = Duration::from_secs(60);

/// The fingerprint sizes, each with a layout of its own, and the maximum number of epochs for each.
const LAYOUTS: [(u32, u32); 4] = [(9, 5), (11, 13), (16, 13), (26, 13)];

/// The same of filters with counters, with the bits of a counter.
const COUNTING: [(u32, u32, u32); 5] = [(8, 4, 5), (13, 4, 4), (23, 4, 2), (9, 8, 4), (19, 8, 2)];

const ITEMS: usize = 24;

#[derive(Clone, Debug)]
enum Operation {
    Insert(usize),
    InsertAndCount(usize),
    InsertUnique(usize),
    Refresh(usize),
    InsertOrRefresh(usize),
    Remove(usize),
    Look(usize),
    InsertBatch(Vec<usize>),
    InsertUniqueBatch(Vec<usize>),
    ContainsBatch(Vec<usize>),
    Advance(u32),
    Clear,
}

impl Operation {
    /// The same for fewer items, so that each has more copies.
    fn among(self, items: usize) -> Self {
        let few = |batch: Vec<usize>| batch.into_iter().map(|item| item % items).collect();
        match self {
            Self::Insert(item) => Self::Insert(item % items),
            Self::InsertAndCount(item) => Self::InsertAndCount(item % items),
            Self::InsertUnique(item) => Self::InsertUnique(item % items),
            Self::Refresh(item) => Self::Refresh(item % items),
            Self::InsertOrRefresh(item) => Self::InsertOrRefresh(item % items),
            Self::Remove(item) => Self::Remove(item % items),
            Self::Look(item) => Self::Look(item % items),
            Self::InsertBatch(batch) => Self::InsertBatch(few(batch)),
            Self::InsertUniqueBatch(batch) => Self::InsertUniqueBatch(few(batch)),
            Self::ContainsBatch(batch) => Self::ContainsBatch(few(batch)),
            other => other,
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let item = || 0..ITEMS;
    let batch = move || prop::collection::vec(item(), 0..6);
    prop_oneof![
        8 => item().prop_map(Operation::Insert),
        8 => item().prop_map(Operation::InsertAndCount),
        16 => item().prop_map(Operation::InsertUnique),
        12 => item().prop_map(Operation::Refresh),
        8 => item().prop_map(Operation::InsertOrRefresh),
        8 => item().prop_map(Operation::Remove),
        8 => item().prop_map(Operation::Look),
        2 => batch().prop_map(Operation::InsertBatch),
        2 => batch().prop_map(Operation::InsertUniqueBatch),
        2 => batch().prop_map(Operation::ContainsBatch),
        16 => (1_u32..4).prop_map(Operation::Advance),
        1 => (4_u32..40).prop_map(Operation::Advance),
        1 => Just(Operation::Clear),
    ]
}

/// The filter, and the results that it must give.
struct Oracle {
    filter: ExpiringFilter,
    /// The items, all of different classes.
    items: Vec<u64>,
    /// The epochs in which the live copies of each item were last seen.
    copies: HashMap<usize, Vec<u64>>,
    now: u64,
}

impl Oracle {
    fn new(bits: u32, epochs: u32, capacity: usize, seed: u64) -> Self {
        let builder = ExpiringFilter::builder(TTL).fingerprint_bits(bits);
        Self::of(builder.epochs(epochs).capacity(capacity).seed(seed))
    }

    fn of(builder: ExpiringBuilder) -> Self {
        let filter = builder.build().expect("a small filter");
        let mut items: Vec<u64> = Vec::with_capacity(ITEMS);
        for item in 0_u64.. {
            filter.clear();
            filter.insert(&item).expect("room for one");
            if !items.iter().any(|other| filter.contains(other)) {
                items.push(item);
            }
            if items.len() == ITEMS {
                break;
            }
        }
        filter.clear();
        let now = filter.epoch();
        Self {
            filter,
            items,
            copies: HashMap::new(),
            now,
        }
    }

    fn count(&self, item: usize) -> usize {
        self.copies.get(&item).map_or(0, Vec::len)
    }

    fn len(&self) -> usize {
        self.copies.values().map(Vec::len).sum()
    }

    fn add(&mut self, item: usize) {
        self.copies.entry(item).or_default().push(self.now);
    }

    /// The epoch of the oldest copy.
    fn oldest(&mut self, item: usize) -> Option<&mut u64> {
        self.copies.get_mut(&item)?.iter_mut().min()
    }

    fn inserted(&mut self, item: usize, answer: Result<bool, InsertError>, unique: bool) {
        let absent = !unique || self.count(item) == 0;
        match answer {
            Ok(added) => {
                assert_eq!(added, absent);
                if added {
                    self.add(item);
                }
            }
            Err(error) => {
                let (count, slots) = (self.count(item), self.filter.bucket_slots());
                match error {
                    // Both buckets of an item may be the same.
                    InsertError::TooManyCopies => assert!(count >= slots, "{count} copies"),
                    InsertError::Full if self.filter.counter_bits() > 0 => {}
                    InsertError::Full => assert!(count < 2 * slots, "{count} copies"),
                    error => panic!("{error}"),
                }
                // `expiring_room` tests for how many distinct items there is room. Here one item
                // has many copies.
                assert!(absent, "{item} is refused");
            }
        }
    }

    fn inserted_all(&mut self, batch: &[usize], answer: Result<(), BatchError>, first: &[bool]) {
        let done = answer
            .as_ref()
            .map_or_else(|error| error.index, |()| batch.len());
        let unique = !first.is_empty();
        for (place, &item) in batch[..done].iter().enumerate() {
            self.inserted(item, Ok(!unique || first[place]), unique);
        }
        if let Err(error) = answer {
            self.inserted(batch[done], Err(error.error), unique);
        }
    }

    fn refreshed(&mut self, item: usize, answer: Result<bool, InsertError>) {
        // A copy that shares its slot needs room for the younger one.
        if self.filter.counter_bits() > 0 && answer == Err(InsertError::Full) {
            assert!(self.count(item) > 1, "refresh of {item}");
            return;
        }
        assert_eq!(answer, Ok(self.count(item) > 0), "refresh of {item}");
        let now = self.now;
        if let Some(oldest) = self.oldest(item) {
            *oldest = now;
        }
    }

    fn look(&self, item: usize) {
        let count = self.count(item);
        assert_eq!(self.filter.count(&self.items[item]), count, "of {item}");
        assert_eq!(self.filter.contains(&self.items[item]), count > 0, "{item}");
    }

    fn advance(&mut self) {
        assert!(self.filter.advance());
        self.now += 1;
        let last = self.now.saturating_sub(self.filter.epochs().into());
        for epochs in self.copies.values_mut() {
            epochs.retain(|&epoch| epoch >= last);
        }
    }

    fn run(&mut self, operation: Operation) {
        let keys =
            |batch: &[usize]| -> Vec<u64> { batch.iter().map(|&item| self.items[item]).collect() };
        match operation {
            Operation::Insert(item) => {
                let answer = self.filter.insert(&self.items[item]);
                self.inserted(item, answer.map(|()| true), false);
            }
            Operation::InsertAndCount(item) => {
                let answer = self.filter.insert_and_count(&self.items[item]);
                self.inserted(item, answer.map(|_| true), false);
                assert!(
                    answer.is_err() || answer == Ok(self.count(item)),
                    "of {item}"
                );
            }
            Operation::InsertUnique(item) => {
                let answer = self.filter.insert_unique(&self.items[item]);
                self.inserted(item, answer, true);
            }
            Operation::Refresh(item) => {
                let answer = self.filter.refresh(&self.items[item]);
                self.refreshed(item, answer);
            }
            Operation::InsertOrRefresh(item) => {
                let answer = self.filter.insert_or_refresh(&self.items[item]);
                if self.count(item) > 0 {
                    self.refreshed(item, answer.map(|first| !first));
                } else {
                    self.inserted(item, answer, true);
                }
            }
            Operation::Remove(item) => {
                let removed = self.filter.remove(&self.items[item]);
                let oldest = self.oldest(item).copied();
                assert_eq!(removed, oldest.is_some(), "remove of {item}");
                if let (Some(oldest), Some(epochs)) = (oldest, self.copies.get_mut(&item)) {
                    let place = epochs.iter().position(|&epoch| epoch == oldest);
                    epochs.swap_remove(place.expect("the oldest copy is in the list"));
                }
            }
            Operation::Look(item) => self.look(item),
            Operation::InsertBatch(batch) => {
                let answer = self.filter.insert_batch(&keys(&batch));
                self.inserted_all(&batch, answer, &[]);
            }
            Operation::InsertUniqueBatch(batch) => {
                let mut first = vec![false; batch.len()];
                let answer = self.filter.insert_unique_batch(&keys(&batch), &mut first);
                self.inserted_all(&batch, answer, &first);
            }
            Operation::ContainsBatch(batch) => {
                let mut found = vec![false; batch.len()];
                self.filter.contains_batch(&keys(&batch), &mut found);
                let expected: Vec<bool> = batch.iter().map(|&item| self.count(item) > 0).collect();
                assert_eq!(found, expected);
            }
            Operation::Advance(epochs) => (0..epochs).for_each(|_| self.advance()),
            Operation::Clear => {
                self.filter.clear();
                self.copies.clear();
            }
        }
        assert_eq!(self.filter.epoch(), self.now);
        // An epoch begins with a sweep, and no other thread is active.
        assert_eq!(self.filter.len(), self.len(), "dead copies are swept out");
        assert_eq!(self.filter.is_empty(), self.len() == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn answers_are_those_of_a_map_of_epochs(
        (bits, epochs) in prop::sample::select(&LAYOUTS[..]).prop_flat_map(|(bits, most)| (Just(bits), 1..=most)),
        capacity in 8_usize..60,
        seed: u64,
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let mut oracle = Oracle::new(bits, epochs, capacity, seed);
        for operation in operations {
            oracle.run(operation);
        }
        for item in 0..ITEMS {
            oracle.look(item);
        }
        // All remaining items expire, and all slots are free again.
        for _ in 0..=epochs {
            oracle.advance();
        }
        prop_assert_eq!((oracle.len(), oracle.filter.len()), (0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn so_they_are_with_counters(
        ((bits, counter), epochs) in prop::sample::select(&COUNTING[..])
            .prop_flat_map(|(bits, counter, most)| (Just((bits, counter)), 1..=most)),
        capacity in 8_usize..60,
        seed: u64,
        operations in prop::collection::vec(operation(), 1..300),
        items in 1..=ITEMS,
    ) {
        let builder = ExpiringFilter::builder(TTL).fingerprint_bits(bits).counter_bits(counter);
        let mut oracle = Oracle::of(builder.epochs(epochs).capacity(capacity).seed(seed));
        for operation in operations {
            oracle.run(operation.among(items));
        }
        for item in 0..ITEMS {
            oracle.look(item);
        }
        for _ in 0..=epochs {
            oracle.advance();
        }
        let filter = &oracle.filter;
        prop_assert_eq!((oracle.len(), filter.len(), filter.slots_in_use()), (0, 0, 0));
    }
}

#[test]
fn an_item_is_there_for_its_epochs_and_then_gone() {
    for (bits, most) in LAYOUTS {
        for epochs in 1..=most {
            let builder = ExpiringFilter::builder(TTL).fingerprint_bits(bits);
            let filter = builder.epochs(epochs).seed(1).build().expect("a filter");
            // The tags wrap around twice.
            for item in 0..40_u64 {
                assert_eq!(filter.insert_unique(&item), Ok(true));
                for age in 0..=epochs {
                    assert!(filter.contains(&item), "{bits} bits, age {age} of {epochs}");
                    assert_eq!(filter.insert_unique(&item), Ok(false));
                    filter.advance();
                }
                assert!(!filter.contains(&item), "{bits} bits, {epochs} epochs");
                assert_eq!((filter.count(&item), filter.remove(&item)), (0, false));
                assert_eq!(filter.refresh(&item), Ok(false));
                assert_eq!(filter.len(), 0);
            }
        }
    }
}

#[test]
fn the_builder_refuses_what_cannot_be_met() {
    let builder = || ExpiringFilter::builder(TTL);
    for asked in [0, 14, u32::MAX] {
        let refused = builder().epochs(asked).build().err();
        assert_eq!(refused, Some(BuildError::Epochs { asked, max: 13 }));
    }
    for (asked, epochs, least) in [(11, 12, 12), (0, 12, 12), (0, 1, 1), (12, 13, 13)] {
        let asked = Duration::from_millis(asked);
        let min = Duration::from_millis(least);
        let refused = ExpiringFilter::builder(asked).epochs(epochs).build().err();
        assert_eq!(refused, Some(BuildError::Ttl { asked, min }));
        assert!(ExpiringFilter::builder(min).epochs(epochs).build().is_ok());
    }
    for bits in [0, 10, 12, 15, 27, u32::MAX] {
        let refused = builder().fingerprint_bits(bits).build().err();
        let Some(BuildError::FingerprintBits { asked, allowed }) = refused else {
            panic!("{bits} bits: {refused:?}")
        };
        assert_eq!((asked, allowed), (bits, vec![11, 16, 26]));
    }
    for asked in [0.0, -1.0, 1.0, 1e-12, f64::INFINITY] {
        let refused = builder().false_positive_rate(asked).build().err();
        let named = matches!(refused, Some(BuildError::FalsePositiveRate { asked: told, .. }) if told == asked);
        assert!(named, "{asked}: {refused:?}");
    }
    let refused = builder().false_positive_rate(f64::NAN).build().err();
    assert!(matches!(refused, Some(BuildError::FalsePositiveRate { asked, .. }) if asked.is_nan()));
    // Even the longest fingerprints do not reach a lower rate.
    let refused = builder().false_positive_rate(1e-8).build().err();
    let Some(BuildError::RateOfFingerprint {
        asked,
        fingerprint_bits,
        min,
    }) = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!((asked, fingerprint_bits), (1e-8, 26));
    assert!(builder().false_positive_rate(min).build().is_ok());
    let refused = builder().capacity(usize::MAX).build().err();
    assert!(
        matches!(refused, Some(BuildError::Capacity { .. })),
        "{refused:?}"
    );
}

/// With at most 5 epochs, tags have 3 bits, and fingerprints are longer.
#[test]
fn short_tags_are_for_few_epochs() {
    let builder = |epochs| ExpiringFilter::builder(TTL).epochs(epochs);
    for epochs in 1..=5 {
        let filter = builder(epochs)
            .fingerprint_bits(9)
            .build()
            .expect("a filter");
        assert_eq!(filter.bucket_slots(), 5);
    }
    for epochs in 6..=13 {
        assert!(builder(epochs).fingerprint_bits(9).build().is_err());
    }
}

#[test]
fn a_remove_takes_the_oldest_of_three_copies() {
    for seed in 0..200 {
        let builder = ExpiringFilter::builder(TTL).capacity(40).epochs(3);
        let filter = builder.seed(seed).build().expect("a small filter");
        // Other items are inserted in the first epoch, so that the copies of "x" can be in either
        // word.
        (0..30_u64).for_each(|other| filter.insert(&other).expect("there is room"));
        filter.insert("x").expect("there is room");
        filter.insert("x").expect("there is room");
        assert!(filter.advance() && filter.advance());
        filter.insert("x").expect("there is room");
        assert!(filter.remove("x"));
        assert!(filter.advance() && filter.advance());
        assert_eq!(filter.count("x"), 1, "seed {seed}");
    }
}
