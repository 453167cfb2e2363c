//! The map from keys to filters.
//!
//! The map has parts, chosen by the hash of the key, so that a step of `SCAN` visits the keys of one
//! or two parts instead of all keys. Parts cost no memory per key, and a lookup hashes its key once,
//! as in a single map.

use super::Entry;
use papaya::{Equivalent, Guard, HashMap, LocalGuard};
use smallvec::SmallVec;
use std::{
    collections::hash_map::{DefaultHasher, RandomState},
    hash::{BuildHasher, Hash, Hasher},
    sync::Arc,
};

/// The bits of a key's position that choose its part.
const PART_BITS: u32 = 8;
const PARTS: usize = 1 << PART_BITS;

/// The number of bits of a position. Every client can represent cursors of this size.
const POSITION_BITS: u32 = 48;

/// The lowest bit of the position in a hash. The map uses the bits below it as the index into its table,
/// and the seven bits above it to distinguish keys with one index.
const POSITION_SHIFT: u32 = 9;

/// The map.
#[derive(Debug)]
pub(super) struct Map {
    parts: Box<[Part]>,
    seed: RandomState,
}

type Part = HashMap<Key, Arc<Entry>, Seed>;

/// A step of a scan.
#[derive(Debug)]
pub struct Step {
    /// Keys, each with the cursor of a step that begins with the key.
    pub keys: Vec<(u64, Box<[u8]>)>,
    /// The cursor with which to continue; 0 at the end.
    pub next: u64,
}

impl Map {
    pub(super) fn new() -> Self {
        let seed = RandomState::new();
        // One guard serves all parts.
        let collector = Arc::default();
        let part = |_| {
            HashMap::builder()
                .shared_collector(Arc::clone(&collector))
                .hasher(Seed(seed.clone()))
                .build()
        };
        Self {
            parts: (0..PARTS).map(part).collect(),
            seed,
        }
    }

    /// A guard that keeps filters from being freed while they are accessed.
    pub(super) fn guard(&self) -> LocalGuard<'_> {
        self.parts[0].guard()
    }

    pub(super) fn get<'g>(&self, key: &[u8], guard: &'g impl Guard) -> Option<&'g Arc<Entry>> {
        let hashed = self.hashed(key);
        self.part(&hashed).get(&hashed, guard)
    }

    /// Makes the filter the value of `key`, and returns the previous value.
    pub(super) fn insert<'g>(
        &self,
        key: &[u8],
        filter: Arc<Entry>,
        guard: &'g impl Guard,
    ) -> Option<&'g Arc<Entry>> {
        let part = self.part(&self.hashed(key));
        part.insert(Key(key.into()), filter, guard)
    }

    pub(super) fn remove<'g>(&self, key: &[u8], guard: &'g impl Guard) -> Option<&'g Arc<Entry>> {
        let hashed = self.hashed(key);
        self.part(&hashed).remove(&hashed, guard)
    }

    /// All keys. Concurrent changes may be included or not; a key that is removed and inserted
    /// again during the listing can occur twice.
    pub(super) fn keys<'g>(&'g self, guard: &'g impl Guard) -> impl Iterator<Item = &'g [u8]> {
        self.parts
            .iter()
            .flat_map(|part| part.keys(guard).map(|key| &*key.0))
    }

    /// The next `count` keys, or a few more, from position `from` on. Every key that exists from the
    /// first step to the last is in one of the steps.
    pub(super) fn scan(&self, from: u64, count: usize) -> Step {
        let mut keys = Vec::new();
        let guard = self.guard();
        let first = usize::try_from(from >> (POSITION_BITS - PART_BITS)).unwrap_or(usize::MAX);
        for (index, part) in self.parts.iter().enumerate().skip(first) {
            let mut found: Vec<(u64, &[u8])> = part
                .keys(&guard)
                .map(|key| (position(self.hashed(&key.0).hash), &*key.0))
                .filter(|&(position, _)| position >= from)
                .collect();
            let wanted = count - keys.len();
            let mut next = (index as u64 + 1) << (POSITION_BITS - PART_BITS);
            if found.len() > wanted {
                // Keys with one position belong to one step, because no cursor can separate them.
                let (_, &mut (last, _), _) =
                    found.select_nth_unstable_by_key(wanted - 1, |&(position, _)| position);
                found.retain(|&(position, _)| position <= last);
                next = last + 1;
            }
            found.sort_unstable();
            found.dedup();
            keys.extend(found.into_iter().map(|(at, key)| (at, key.into())));
            if keys.len() >= count {
                let is_end = next == 1 << POSITION_BITS;
                return Step {
                    keys,
                    next: if is_end { 0 } else { next },
                };
            }
        }
        Step { keys, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }

    fn hashed<'a>(&self, key: &'a [u8]) -> Hashed<'a> {
        let mut hasher = self.seed.build_hasher();
        hasher.write(key);
        Hashed {
            hash: hasher.finish(),
            key,
        }
    }

    fn part(&self, hashed: &Hashed<'_>) -> &Part {
        let part = position(hashed.hash) >> (POSITION_BITS - PART_BITS);
        &self.parts[part as usize]
    }
}

/// The position of a key with this hash. It is never 0, which is the cursor of the end.
fn position(hash: u64) -> u64 {
    ((hash >> POSITION_SHIFT) & ((1 << POSITION_BITS) - 1)).max(1)
}

/// A key in the map. A short one is in the entry itself.
#[derive(Debug, PartialEq, Eq)]
struct Key(SmallVec<[u8; 16]>);

/// An allocator rounds larger ones up to 48 bytes.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<(Key, Arc<Entry>)>() == 32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

/// A key to be looked up, with its known hash.
struct Hashed<'a> {
    hash: u64,
    key: &'a [u8],
}

impl Hash for Hashed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for Hashed<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self.key == *key.0
    }
}

/// Hashes keys, or passes on a known hash.
#[derive(Clone, Debug)]
struct Seed(RandomState);

impl BuildHasher for Seed {
    type Hasher = Passing;

    fn build_hasher(&self) -> Passing {
        Passing {
            hasher: self.0.build_hasher(),
            known: None,
        }
    }
}

struct Passing {
    hasher: DefaultHasher,
    known: Option<u64>,
}

impl Hasher for Passing {
    fn write(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.known = Some(hash);
    }

    fn finish(&self) -> u64 {
        self.known.unwrap_or_else(|| self.hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guira_commands::{Filter, Growth, Options};
    use std::collections::BTreeSet;

    fn filter() -> Arc<Entry> {
        let options = Options {
            capacity: 4,
            expansion: 0,
            ..Options::default()
        };
        let growth = Growth::furthest(&options, usize::MAX).unwrap();
        Arc::new(Filter::build(options, growth).unwrap().into())
    }

    /// All keys that the steps of a scan yield.
    fn scanned(map: &Map, count: usize, mut between: impl FnMut(usize)) -> Vec<Box<[u8]>> {
        let (mut keys, mut from) = (Vec::new(), 0);
        for step in 0.. {
            let Step { keys: some, next } = map.scan(from, count);
            assert!(some.iter().all(|&(position, _)| position >= from));
            keys.extend(some.into_iter().map(|(_, key)| key));
            if next == 0 {
                break;
            }
            assert!(next > from);
            from = next;
            between(step);
        }
        keys
    }

    #[test]
    fn a_scan_yields_every_key_once() {
        let map = Map::new();
        let guard = map.guard();
        for key in 0..3000_u32 {
            assert!(map.insert(&key.to_le_bytes(), filter(), &guard).is_none());
        }
        assert_eq!(map.len(), 3000);
        for count in [1, 7, 100, 2999, 3000, usize::MAX] {
            let keys = scanned(&map, count, |_| {});
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!((keys.len(), distinct.len()), (3000, 3000), "{count}");
        }
    }

    #[test]
    fn a_scan_yields_what_stays_while_others_come_and_go() {
        let map = Map::new();
        let guard = map.guard();
        let stays = |key: u32| [&b"stays"[..], &key.to_le_bytes()].concat();
        for key in 0..500 {
            map.insert(&stays(key), filter(), &guard);
        }
        let keys = scanned(&map, 3, |step| {
            let key = [&b"new"[..], &step.to_le_bytes()].concat();
            map.insert(&key, filter(), &guard);
            map.remove(&key[..4], &guard);
            if step % 2 == 0 {
                map.remove(&key, &guard);
            }
        });
        let found: BTreeSet<_> = keys.into_iter().collect();
        assert!((0..500).all(|key| found.contains(&stays(key)[..])));
    }
}
