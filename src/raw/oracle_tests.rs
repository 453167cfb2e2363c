//! All operations of one thread, in filters of packed and of semi-sorted words, against a plain
//! count of what was put in.

use super::*;
use crate::{
    error::InsertError,
    hash::SeededState,
    step::Step,
    table::{
        entry::Fingerprint,
        layout::{F10x6, F15x4, S7x7, S8x6, S9x5, S12x4, S17x3},
        scan::Restored,
        word::Bucket,
    },
};
use std::{collections::HashMap, convert::Infallible, hash::BuildHasher};

/// How many copies of each class there are, by its fingerprint and its lower bucket.
type Counts = HashMap<(u64, usize), usize>;

fn key(class: Class) -> (u64, usize) {
    (class.fingerprint.bits(), class.p)
}

/// A row of numbers as good as random: the hashes of those from 1 on.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let (state, mut item) = (SeededState::new(seed), 0_u64);
    move || {
        item += 1;
        state.hash_one(item)
    }
}

/// The filter, and what should be in it.
struct Checked<L: Layout> {
    raw: RawFilter<L>,
    counts: Counts,
}

impl<L: Layout> Checked<L> {
    fn new(buckets: usize) -> Self {
        Self {
            raw: RawFilter::new(buckets, Levels::FIXED).expect("a few bytes"),
            counts: Counts::new(),
        }
    }

    fn count(&self, class: Class) -> usize {
        self.counts.get(&key(class)).copied().unwrap_or(0)
    }

    fn items(&self) -> usize {
        self.counts.values().sum()
    }

    fn slots(&self) -> usize {
        self.raw.table.buckets() * L::slots_at(0)
    }

    fn load(&self, bucket: usize) -> Word<L> {
        let table = &self.raw.table;
        table.load(Step::ReadP, Fingerprint::new(1), bucket)
    }

    fn added(&mut self, class: Class) {
        *self.counts.entry(key(class)).or_default() += 1;
    }

    /// Only a filter that has no room in either word of a class may refuse it.
    fn refused(&self, class: Class, error: InsertError) {
        let expected = [InsertError::Full, InsertError::TooManyCopies];
        assert!(expected.contains(&error), "{error}");
        for bucket in [class.p, class.q] {
            let word = self.load(bucket);
            assert!(!word.has_vacancy(), "{class:?}: {word:?}");
        }
    }

    fn insert(&mut self, class: Class) -> bool {
        match self.raw.insert(class) {
            Ok(()) => self.added(class),
            Err(error) => {
                self.refused(class, error);
                return false;
            }
        }
        true
    }

    fn insert_unique(&mut self, class: Class) {
        match self.raw.insert_unique(class) {
            Ok(inserted) => {
                assert_eq!(inserted, self.count(class) == 0, "{class:?}");
                if inserted {
                    self.added(class);
                }
            }
            Err(error) => {
                assert_eq!(self.count(class), 0, "{class:?}");
                self.refused(class, error);
            }
        }
    }

    fn remove(&mut self, class: Class) {
        let count = self.count(class);
        assert_eq!(self.raw.remove(class), count > 0, "{class:?}");
        if count > 0 {
            self.counts.insert(key(class), count - 1);
        }
    }

    fn agrees_on(&self, class: Class) {
        let count = self.count(class);
        assert_eq!(self.raw.count(class), count, "{class:?}");
        assert_eq!(self.raw.contains(class), count > 0, "{class:?}");
    }

    /// No mark and no reservation is left, and the filter holds exactly the copies that were
    /// inserted.
    fn is_at_rest(&self) {
        assert_eq!(self.raw.len.copies(), self.items());
        for bucket in 0..self.raw.table.buckets() {
            let word = self.load(bucket);
            assert!(word.is_unmarked() && !word.is_reserved(), "{word:?}");
        }
        let mut found = Counts::new();
        let Ok(()) = self.raw.scan_copies(&|_| (), &mut |copies| {
            for &(class, _) in copies {
                *found.entry(key(class)).or_default() += 1;
            }
            Ok::<_, Infallible>(())
        });
        let mut expected = self.counts.clone();
        expected.retain(|_, count| *count > 0);
        assert_eq!(found, expected);
    }

    /// The filter that a snapshot of this one makes.
    fn restored(&self) -> Self {
        let words = self.raw.image();
        let mut restored = Restored::new(0, 0);
        let table = Table::for_images(words.len(), Levels::FIXED, 0).expect("a few bytes");
        let stored = table.store_image(0..words.len(), &words, &mut restored);
        stored.expect("an image");
        let raw = RawFilter::with_table(table).expect("a few bytes");
        raw.len.add(restored.items);
        Self {
            raw,
            counts: self.counts.clone(),
        }
    }
}

/// A random sequence of operations: on few classes, each used many times, and on many.
fn operations_agree<L: Layout>(buckets: usize, classes: u64, seed: u64) {
    let mut next = numbers(seed);
    let mut filter = Checked::<L>::new(buckets);
    let pool: Vec<Class> = (0..classes).map(|_| filter.raw.class(next())).collect();
    for round in 0..12 {
        // It is filled in some rounds, and emptied in others.
        let inserts = [7, 9, 4, 2][round % 4];
        for _ in 0..400 {
            let class = pool[(next() % classes) as usize];
            match next() % 12 {
                choice if choice < inserts => drop(filter.insert(class)),
                9 => filter.insert_unique(class),
                _ => filter.remove(class),
            }
            filter.agrees_on(class);
        }
        pool.iter().for_each(|&class| filter.agrees_on(class));
        filter.is_at_rest();
        filter = filter.restored();
        filter.is_at_rest();
    }
    filter.raw.clear();
    filter.counts.clear();
    filter.is_at_rest();
    pool.iter().for_each(|&class| filter.agrees_on(class));
}

/// Different classes, until there is no path any more: all are found, and all can be removed.
fn filter_fills<L: Layout>(buckets: usize, share: f64) {
    let mut next = numbers(buckets as u64);
    let mut filter = Checked::<L>::new(buckets);
    let mut inside = Vec::new();
    loop {
        let class = filter.raw.class(next());
        if !filter.insert(class) {
            break;
        }
        inside.push(class);
    }
    let load = inside.len() as f64 / filter.slots() as f64;
    assert!(load > share, "full at a load of {load}");
    assert!(filter.raw.stats().relocations > 0);
    filter.is_at_rest();
    let filter = &mut filter.restored();
    for class in inside {
        filter.agrees_on(class);
        filter.remove(class);
    }
    filter.is_at_rest();
    assert_eq!(filter.items(), 0);
}

fn filters_agree<L: Layout>(share: f64) {
    for (buckets, classes) in [(2, 3), (2, 20), (6, 8), (32, 150), (100, 600)] {
        operations_agree::<L>(buckets, classes, classes);
    }
    filter_fills::<L>(512, share);
}

#[test]
fn filters_of_packed_words_agree_with_a_count() {
    filters_agree::<F10x6>(0.95);
    filters_agree::<F15x4>(0.92);
}

#[test]
fn filters_of_semi_sorted_words_agree_with_a_count() {
    filters_agree::<S7x7>(0.95);
    filters_agree::<S8x6>(0.95);
    filters_agree::<S9x5>(0.94);
    filters_agree::<S12x4>(0.92);
    filters_agree::<S17x3>(0.87);
}
