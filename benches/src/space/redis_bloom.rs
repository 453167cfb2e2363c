//! RedisBloom's cuckoo filter, as far as its size, its rate and its refusals go: a model, after
//! the documentation of `CF.RESERVE` and `CF.INFO`.
//!
//! It is a chain of tables of 8-bit fingerprints, each larger than the one before by a factor
//! (`EXPANSION`). An item goes into the first free slot of any table, the newest first. If
//! there is none, the newest relocates up to 20 residents, and where that fails another table
//! comes.

use crate::hasher;
use std::{hash::BuildHasher, mem};

/// The most residents that an insert relocates by default (`MAXITERATIONS`).
const RELOCATIONS: usize = 20;

/// A filter with this number of tables accepts no more inserts (`cf-max-expansions`).
pub const MOST_TABLES: usize = 32;

/// What fingerprints are multiplied with for the distance of their two buckets.
const SPREAD: u64 = 0x5bd1_e995;

/// The bytes of a filter beside its tables, and those of a table beside its fingerprints:
/// `CF.INFO` adds them.
const FILTER_BYTES: usize = 40;
const TABLE_BYTES: usize = 16;

/// A chain of tables, for one writer.
#[derive(Debug)]
pub(super) struct RedisBloom {
    tables: Vec<Table>,
    bucket_slots: usize,
    /// How many times as large as the one before each table is; 0: there is one only.
    expansion: usize,
}

impl RedisBloom {
    /// `CF.RESERVE key capacity BUCKETSIZE bucket_slots EXPANSION expansion`.
    pub(super) fn new(capacity: usize, bucket_slots: usize, expansion: usize) -> Self {
        let buckets = (capacity / bucket_slots).max(1).next_power_of_two();
        Self {
            tables: vec![Table::new(buckets, bucket_slots)],
            bucket_slots,
            expansion: match expansion {
                0 => 0,
                factor => factor.next_power_of_two(),
            },
        }
    }

    /// Adds the key; false if the filter refuses it.
    pub(super) fn insert(&mut self, key: u64) -> bool {
        if self.tables.len() >= MOST_TABLES {
            return false;
        }
        let item = Item::of(key);
        let newest = self.tables.len() - 1;
        let mut newest_first = self.tables.iter_mut().rev();
        if newest_first.any(|table| table.place(item)) || self.tables[newest].relocate(item) {
            return true;
        }
        if self.expansion == 0 {
            return false;
        }
        let buckets = self.tables[newest].buckets * self.expansion;
        let mut next = Table::new(buckets, self.bucket_slots);
        let placed = next.place(item);
        self.tables.push(next);
        placed
    }

    /// True if one of the tables says that the key is in.
    pub(super) fn contains(&self, key: u64) -> bool {
        let item = Item::of(key);
        self.tables.iter().any(|table| table.holds(item))
    }

    /// "Size" of `CF.INFO`.
    pub(super) fn bytes(&self) -> usize {
        let table = |table: &Table| TABLE_BYTES + table.fingerprints.len();
        FILTER_BYTES + self.tables.iter().map(table).sum::<usize>()
    }
}

/// What a filter keeps of a key.
#[derive(Clone, Copy, Debug)]
struct Item {
    hash: u64,
    fingerprint: u8,
}

impl Item {
    fn of(key: u64) -> Self {
        let hash = hasher::state().hash_one(key);
        // 255 of them: 0 is an empty slot.
        let fingerprint = 1 + (hash % 255) as u8;
        Self { hash, fingerprint }
    }
}

/// A table of a fixed size.
#[derive(Debug)]
struct Table {
    /// A power of two.
    buckets: usize,
    bucket_slots: usize,
    fingerprints: Box<[u8]>,
}

impl Table {
    fn new(buckets: usize, bucket_slots: usize) -> Self {
        Self {
            buckets,
            bucket_slots,
            fingerprints: vec![0; buckets * bucket_slots].into(),
        }
    }

    fn home(&self, item: Item) -> usize {
        item.hash as usize & (self.buckets - 1)
    }

    fn alternate(&self, fingerprint: u8, bucket: usize) -> usize {
        (bucket ^ (u64::from(fingerprint) * SPREAD) as usize) & (self.buckets - 1)
    }

    /// A slot of the bucket that holds this; 0 is in the free ones.
    fn find(&self, bucket: usize, fingerprint: u8) -> Option<usize> {
        let first = bucket * self.bucket_slots;
        (first..first + self.bucket_slots).find(|&slot| self.fingerprints[slot] == fingerprint)
    }

    /// A slot of one of the item's two buckets that holds this.
    fn find_in_pair(&self, item: Item, fingerprint: u8) -> Option<usize> {
        let home = self.home(item);
        let other = || self.alternate(item.fingerprint, home);
        self.find(home, fingerprint)
            .or_else(|| self.find(other(), fingerprint))
    }

    fn holds(&self, item: Item) -> bool {
        self.find_in_pair(item, item.fingerprint).is_some()
    }

    /// Into a free slot, if there is one.
    fn place(&mut self, item: Item) -> bool {
        let slot = self.find_in_pair(item, 0);
        slot.map(|slot| self.fingerprints[slot] = item.fingerprint)
            .is_some()
    }

    /// Into the slot of a resident, which takes that of another, until one finds a free slot in
    /// its other bucket. If none does, all go back.
    fn relocate(&mut self, item: Item) -> bool {
        let (mut bucket, mut homeless) = (self.home(item), item.fingerprint);
        let mut taken = Vec::with_capacity(RELOCATIONS);
        for relocation in 0..RELOCATIONS {
            let slot = bucket * self.bucket_slots + relocation % self.bucket_slots;
            mem::swap(&mut self.fingerprints[slot], &mut homeless);
            taken.push(slot);
            bucket = self.alternate(homeless, bucket);
            if let Some(free) = self.find(bucket, 0) {
                self.fingerprints[free] = homeless;
                return true;
            }
        }
        for slot in taken.into_iter().rev() {
            mem::swap(&mut self.fingerprints[slot], &mut homeless);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ABSENT, Key};

    fn insert(filter: &mut RedisBloom, items: u64) -> u64 {
        (0..items)
            .map(|number| u64::from(filter.insert(u64::nth(number))))
            .sum()
    }

    fn false_positives(filter: &RedisBloom, lookups: u64) -> f64 {
        let found = (ABSENT..ABSENT + lookups).filter(|&number| filter.contains(u64::nth(number)));
        found.count() as f64 / lookups as f64
    }

    #[test]
    fn no_item_that_was_taken_is_denied() {
        for expansion in [0, 1, 2, 4] {
            let mut filter = RedisBloom::new(1_000, 2, expansion);
            let taken = (0..10_000).filter(|&number| filter.insert(u64::nth(number)));
            let taken: Vec<u64> = taken.collect();
            assert!(taken.len() > 800, "{} items", taken.len());
            assert!(
                taken
                    .iter()
                    .all(|&number| filter.contains(u64::nth(number)))
            );
        }
    }

    /// The example in the documentation of `CF.INFO`.
    #[test]
    fn a_filter_for_1000_items_has_512_buckets_and_1080_bytes() {
        let filter = RedisBloom::new(1_000, 2, 1);
        assert_eq!(filter.tables[0].buckets, 512);
        assert_eq!(filter.bytes(), 1080);
    }

    /// RedisBloom#599: 32 tables of 512 buckets hold 29 337 items in 33 320 bytes. How many of the
    /// items are equal is not known.
    #[test]
    fn with_expansion_1_the_32nd_table_is_the_end() {
        let mut filter = RedisBloom::new(1_024, 2, 1);
        let taken = insert(&mut filter, 40_000);
        assert_eq!(filter.tables.len(), MOST_TABLES);
        assert_eq!(filter.bytes(), 33_320);
        assert!(taken.abs_diff(29_337) < 29_337 / 20, "{taken} items");
    }

    /// RedisBloom#533: 275 929 items were in 12 tables, although 6 tables from 8192 buckets on have
    /// room for them, because many of them were equal. 12 tables have 67 092 712 bytes.
    #[test]
    fn with_expansion_2_the_tables_double() {
        let mut filter = RedisBloom::new(16_384, 2, 2);
        while filter.tables.len() < 12 {
            filter.insert(0);
        }
        assert_eq!(filter.bytes(), 67_092_712);
    }

    /// The documentation of `CF.RESERVE`: 2/255 for buckets of one slot, three times as much for
    /// those of three.
    #[test]
    fn the_rate_grows_with_the_slots_and_the_tables() {
        let full = |bucket_slots| {
            let mut filter = RedisBloom::new(1 << 16, bucket_slots, 0);
            // All slots, as far as relocations bring items into them.
            let taken = insert(&mut filter, 1 << 18);
            let load = taken as f64 / filter.fingerprints() as f64;
            false_positives(&filter, 1 << 18) / load
        };
        for bucket_slots in [1, 2, 3] {
            let rate = full(bucket_slots);
            let expected = 2.0 * bucket_slots as f64 / 255.0;
            assert!(
                (rate / expected - 1.0).abs() < 0.05,
                "{bucket_slots}: {rate}"
            );
        }
        let mut filter = RedisBloom::new(1_024, 2, 1);
        let taken = insert(&mut filter, 28_000);
        let expected = -f64::exp_m1(-(taken as f64) / 512.0 * 2.0 / 255.0);
        let rate = false_positives(&filter, 1 << 16);
        assert!((rate / expected - 1.0).abs() < 0.05, "{rate}, {expected}");
    }

    impl RedisBloom {
        fn fingerprints(&self) -> usize {
            self.tables
                .iter()
                .map(|table| table.fingerprints.len())
                .sum()
        }
    }
}
