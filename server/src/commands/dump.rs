//! `CF.SCANDUMP` and `CF.LOADCHUNK`: a filter's snapshot in pieces.
//!
//! Position 0 yields `[1, header]`. Position 1 takes a snapshot, keeps its bytes
//! for the calls to come and yields its first piece. Each further position names
//! that snapshot and how far the client has come, so all pieces are of one
//! snapshot, and two clients can dump one key at a time. What is loaded becomes
//! the filter of its key with the last piece, at once and as a whole.

use super::{Args, Reply, Store, options::number, reserve::refusal};
use crate::{
    filter::{Filter, Options},
    keyspace::{Keyspace, check_key},
};
use guira::CuckooFilter;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tracing::warn;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;

/// Dumps, and loads, that can be under way; another one ends the oldest.
const UNDER_WAY: usize = 16;

/// A position is the dump's number, and how many bytes have been handed out.
/// Both together stay below 2^53, because some clients' numbers do.
const OFFSET_BITS: u32 = 40;
const NUMBERS: u64 = (1 << (53 - OFFSET_BITS)) - 1;

/// The first piece begins with the bytes of the snapshot, as a `u64`.
const LENGTH_BYTES: usize = 8;

const MAGIC: &[u8; 8] = b"guiracf\x01";
const HEADER_BYTES: usize = 8 + Options::BYTES + 8 + 4;

/// A header of RedisBloom is a packed struct of so many bytes.
const REDISBLOOM_HEADER_BYTES: usize = 38;

/// Dumps that clients are reading.
#[derive(Debug, Default)]
pub struct Dumps(Mutex<DumpsInner>);

#[derive(Debug, Default)]
struct DumpsInner {
    last_number: u64,
    dumps: VecDeque<Dump>,
}

#[derive(Debug)]
struct Dump {
    number: u64,
    key: Box<[u8]>,
    bytes: Vec<u8>,
    /// When its client last asked for a piece.
    touched: Instant,
}

/// Dumps that clients are writing.
#[derive(Debug, Default)]
pub struct Loads(Mutex<LoadsInner>);

#[derive(Debug, Default)]
struct LoadsInner {
    begun: u64,
    loads: HashMap<Box<[u8]>, Load>,
}

#[derive(Debug)]
struct Load {
    /// Which load of all it is.
    number: u64,
    options: Options,
    deleted: u64,
    bytes: Vec<u8>,
    /// When its client last sent a piece.
    touched: Instant,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// How many dumps, or loads.
    pub count: usize,
    /// Their bytes, which are charged.
    pub bytes: usize,
}

impl UnderWay {
    fn of(lengths: impl ExactSizeIterator<Item = usize>) -> Self {
        Self {
            count: lengths.len(),
            bytes: lengths.sum(),
        }
    }
}

/// A panic while the lock was held leaves nothing half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// False for a dump or load that ends: gives back what its bytes were charged.
fn stays(keyspace: &Keyspace, bytes: &[u8], ends: bool) -> bool {
    if ends {
        keyspace.release(bytes.len());
    }
    !ends
}

/// `CF.SCANDUMP key position`
pub(super) fn scan_dump(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key, position] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let Some(position) = number::<u64>(position) else {
        return Reply::error("Invalid position");
    };
    let Some(filter) = store.keyspace.get(key) else {
        return Reply::error("ERR not found");
    };
    match position {
        0 => piece(1, &header(&filter)),
        1 => store.dumps.begin(&store.keyspace, key, &filter),
        position => store.dumps.go_on(&store.keyspace, key, position),
    }
}

fn piece(next: u64, bytes: &[u8]) -> Reply {
    Reply::Array(vec![Reply::Integer(next as i64), Reply::bulk(bytes)])
}

impl Dumps {
    fn begin(&self, keyspace: &Keyspace, key: &[u8], filter: &Arc<Filter>) -> Reply {
        let expected = filter.cuckoo.memory_usage();
        // What others may still be reading yields to a dump that begins.
        let mut charged = keyspace.charge(expected);
        while charged.is_err() && self.drop_oldest(keyspace) {
            charged = keyspace.charge(expected);
        }
        if let Err(error) = charged {
            return refusal(&error);
        }
        let mut bytes = vec![0; LENGTH_BYTES];
        let Ok(()) = filter.write_to(&mut bytes) else {
            unreachable!("a vector takes all bytes");
        };
        let length = (bytes.len() - LENGTH_BYTES) as u64;
        bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
        keyspace.release(expected);
        if let Err(error) = keyspace.charge(bytes.len()) {
            return refusal(&error);
        }
        let number = {
            let mut inner = lock(&self.0);
            let number = inner.next_number();
            inner.dumps.push_back(Dump {
                number,
                key: key.into(),
                bytes,
                touched: Instant::now(),
            });
            number
        };
        while lock(&self.0).dumps.len() > UNDER_WAY {
            self.drop_oldest(keyspace);
        }
        let is_still_there = |now: &Arc<Filter>| Arc::ptr_eq(now, filter);
        if keyspace.with(key, is_still_there) != Some(true) {
            // It was deleted meanwhile, perhaps before the dump was there to be ended.
            self.end(keyspace, |dump| dump.number == number);
            return Reply::error("ERR not found");
        }
        self.go_on(keyspace, key, number << OFFSET_BITS)
    }

    fn go_on(&self, keyspace: &Keyspace, key: &[u8], position: u64) -> Reply {
        let (number, offset) = (position >> OFFSET_BITS, position & ((1 << OFFSET_BITS) - 1));
        let mut inner = lock(&self.0);
        let found = |dump: &Dump| dump.number == number && *dump.key == *key;
        let Some(index) = inner.dumps.iter().position(found) else {
            return Reply::error("Invalid position");
        };
        let dump = &mut inner.dumps[index];
        dump.touched = Instant::now();
        let bytes = &dump.bytes;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset > bytes.len() {
            return Reply::error("Invalid position");
        }
        if offset == bytes.len() {
            let dump = inner.dumps.remove(index);
            keyspace.release(dump.map_or(0, |dump| dump.bytes.len()));
            return Reply::Array(vec![Reply::Integer(0), Reply::Null]);
        }
        let end = bytes.len().min(offset + PIECE);
        piece(number << OFFSET_BITS | end as u64, &bytes[offset..end])
    }

    /// Ends the dumps of these keys.
    pub(super) fn abandon(&self, keyspace: &Keyspace, which: impl Fn(&[u8]) -> bool) {
        self.end(keyspace, |dump| which(&dump.key));
    }

    /// Ends the dumps of which nobody has asked for a piece for `idle`.
    pub(super) fn expire(&self, keyspace: &Keyspace, idle: Duration) {
        self.end(keyspace, |dump| dump.touched.elapsed() >= idle);
    }

    /// What is under way.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        UnderWay::of(lock(&self.0).dumps.iter().map(|dump| dump.bytes.len()))
    }

    fn end(&self, keyspace: &Keyspace, which: impl Fn(&Dump) -> bool) {
        let stays = |dump: &Dump| stays(keyspace, &dump.bytes, which(dump));
        lock(&self.0).dumps.retain(stays);
    }

    fn drop_oldest(&self, keyspace: &Keyspace) -> bool {
        let oldest = lock(&self.0).dumps.pop_front();
        keyspace.release(oldest.as_ref().map_or(0, |dump| dump.bytes.len()));
        oldest.is_some()
    }
}

impl DumpsInner {
    /// A number that no dump under way has: they come round again.
    fn next_number(&mut self) -> u64 {
        loop {
            self.last_number = self.last_number % NUMBERS + 1;
            if self
                .dumps
                .iter()
                .all(|dump| dump.number != self.last_number)
            {
                return self.last_number;
            }
        }
    }
}

fn header(filter: &Filter) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(filter.options.to_bytes());
    bytes.extend(filter.deleted().to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

fn parse_header(bytes: &[u8]) -> Option<(Options, u64)> {
    let bytes: &[u8; HEADER_BYTES] = bytes.try_into().ok()?;
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    let body = body.strip_prefix(MAGIC)?;
    if crc32fast::hash(&bytes[..HEADER_BYTES - 4]) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (options, deleted) = body.split_last_chunk::<8>()?;
    let options = Options::from_bytes(options.try_into().ok()?)?;
    Some((options, u64::from_le_bytes(*deleted)))
}

/// `CF.LOADCHUNK key position data`
pub(super) fn load_chunk(store: &Store, args: Args<'_>) -> Reply {
    let &[_, key, position, data] = args else {
        return Reply::wrong_arity(args[0]);
    };
    let position = match number::<u64>(position) {
        None | Some(0) => return Reply::error("Invalid position"),
        Some(position) => position,
    };
    if let Err(error) = check_key(key) {
        return refusal(&error);
    }
    let exists = store.keyspace.get(key).is_some();
    match (position, exists) {
        (1, true) => Reply::error("ERR item exists"),
        (1, false) => match parse_header(data) {
            Some((options, deleted)) => {
                store.loads.begin(&store.keyspace, key, options, deleted);
                Reply::OK
            }
            None if data.len() == REDISBLOOM_HEADER_BYTES => Reply::error(
                "Invalid header: this is a dump of RedisBloom, which only fits RedisBloom's own \
                 table; insert the items anew",
            ),
            None => Reply::error("Invalid header"),
        },
        (position, _) => store.loads.go_on(&store.keyspace, key, position, data),
    }
}

impl Loads {
    fn begin(&self, keyspace: &Keyspace, key: &[u8], options: Options, deleted: u64) {
        let mut inner = lock(&self.0);
        inner.begun += 1;
        let load = Load {
            number: inner.begun,
            options,
            deleted,
            bytes: Vec::new(),
            touched: Instant::now(),
        };
        let mut dropped = vec![inner.loads.insert(key.into(), load)];
        while inner.loads.len() > UNDER_WAY {
            let oldest = inner.loads.iter().min_by_key(|(_, load)| load.number);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            dropped.push(inner.loads.remove(&key));
        }
        for load in dropped.into_iter().flatten() {
            keyspace.release(load.bytes.len());
        }
    }

    /// Ends the loads of these keys.
    pub(super) fn abandon(&self, keyspace: &Keyspace, which: impl Fn(&[u8]) -> bool) {
        self.end(keyspace, |key, _| which(key));
    }

    /// Ends the loads of which nobody has sent a piece for `idle`.
    pub(super) fn expire(&self, keyspace: &Keyspace, idle: Duration) {
        self.end(keyspace, |_, load| load.touched.elapsed() >= idle);
    }

    /// What is under way.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        UnderWay::of(lock(&self.0).loads.values().map(|load| load.bytes.len()))
    }

    fn end(&self, keyspace: &Keyspace, which: impl Fn(&[u8], &Load) -> bool) {
        lock(&self.0)
            .loads
            .retain(|key, load| stays(keyspace, &load.bytes, which(key, load)));
    }

    fn go_on(&self, keyspace: &Keyspace, key: &[u8], position: u64, data: &[u8]) -> Reply {
        let mut inner = lock(&self.0);
        let Some(load) = inner.loads.get_mut(key) else {
            return match keyspace.get(key) {
                Some(_) => Reply::error("Couldn't load chunk!"),
                None => Reply::error("ERR not found"),
            };
        };
        let end = load.bytes.len() + data.len();
        if data.is_empty() || position & ((1 << OFFSET_BITS) - 1) != end as u64 {
            return Reply::error("Couldn't load chunk!");
        }
        if let Err(error) = keyspace.charge(data.len()) {
            return refusal(&error);
        }
        load.bytes.extend_from_slice(data);
        load.touched = Instant::now();
        let length = load
            .bytes
            .first_chunk()
            .map(|&length| u64::from_le_bytes(length));
        let missing = match length {
            Some(length) => length.checked_sub((end - LENGTH_BYTES) as u64),
            None => None,
        };
        if missing.is_some_and(|bytes| bytes > 0) {
            return Reply::OK;
        }
        // All is there, or more than all.
        let Some(load) = inner.loads.remove(key) else {
            return Reply::error("Couldn't load chunk!");
        };
        drop(inner);
        let filter = missing.and_then(|_| {
            CuckooFilter::from_bytes(&load.bytes[LENGTH_BYTES..])
                .inspect_err(|error| warn!(%error, "a dump does not load"))
                .ok()
        });
        keyspace.release(load.bytes.len());
        match filter {
            None => Reply::error("Couldn't load chunk!"),
            Some(cuckoo) => {
                let filter = Filter::new(cuckoo, load.options, load.deleted);
                match keyspace.put(key, filter) {
                    Ok(_) => Reply::OK,
                    Err(error) => refusal(&error),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_a_key() -> (Store, usize) {
        let store = Store::new(usize::MAX);
        let options = Options {
            capacity: 100,
            ..Options::default()
        };
        store.keyspace.reserve(b"k", options, None).unwrap();
        let used = store.keyspace.used();
        (store, used)
    }

    /// The next position, and the piece.
    fn dump(store: &Store, position: u64) -> (u64, Vec<u8>) {
        let reply = scan_dump(
            store,
            &[b"CF.SCANDUMP", b"k", position.to_string().as_bytes()],
        );
        let Reply::Array(reply) = reply else {
            panic!("{reply:?}");
        };
        match &reply[..] {
            [Reply::Integer(next), Reply::Bulk(piece)] => (*next as u64, piece.to_vec()),
            [Reply::Integer(0), Reply::Null] => (0, Vec::new()),
            other => panic!("{other:?}"),
        }
    }

    fn load(store: &Store, position: u64, piece: &[u8]) -> Reply {
        let position = position.to_string();
        load_chunk(
            store,
            &[b"CF.LOADCHUNK", b"copy", position.as_bytes(), piece],
        )
    }

    #[test]
    fn what_is_under_way_is_charged_until_it_ends() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        let (next, piece) = dump(&store, 1);
        assert_eq!(store.keyspace.used(), used + piece.len());
        assert_eq!(load(&store, 1, &header), Reply::OK);
        let half = &piece[..piece.len() / 2];
        assert_eq!(load(&store, half.len() as u64, half), Reply::OK);
        let under_way = |count, bytes| UnderWay { count, bytes };
        assert_eq!(store.dumps.under_way(), under_way(1, piece.len()));
        assert_eq!(store.loads.under_way(), under_way(1, half.len()));
        assert_eq!(store.keyspace.used(), used + piece.len() + half.len());
        // To their ends.
        assert_eq!(dump(&store, next).0, 0);
        assert_eq!(store.keyspace.used(), used + half.len());
        assert_eq!(load(&store, next, &piece[half.len()..]), Reply::OK);
        let name = b"copy".len() - b"k".len();
        assert_eq!(store.keyspace.used(), 2 * used + name);
        assert_eq!(store.dumps.under_way(), under_way(0, 0));
        assert_eq!(store.loads.under_way(), under_way(0, 0));
    }

    #[test]
    fn what_nobody_goes_on_with_ends() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        let (next, piece) = dump(&store, 1);
        load(&store, 1, &header);
        load(&store, 10, &piece[..10]);
        store.expire(Duration::from_secs(3600));
        assert_eq!(store.keyspace.used(), used + piece.len() + 10);
        store.expire(Duration::ZERO);
        assert_eq!(store.keyspace.used(), used);
        let position = next.to_string();
        assert_eq!(
            scan_dump(&store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]),
            Reply::error("Invalid position")
        );
        assert_eq!(
            load(&store, next, &piece[10..]),
            Reply::error("ERR not found")
        );
    }

    /// Numbers come round again: not that of a dump which is left standing.
    #[test]
    fn each_dump_has_a_number_of_its_own() {
        let (store, _) = with_a_key();
        dump(&store, 1);
        store
            .keyspace
            .get(b"k")
            .unwrap()
            .cuckoo
            .insert(b"new")
            .unwrap();
        for _ in 0..=NUMBERS {
            let (next, piece) = dump(&store, 1);
            let copy = CuckooFilter::from_bytes(&piece[LENGTH_BYTES..]).unwrap();
            assert!(copy.contains(b"new"), "this is an earlier dump");
            assert_eq!(dump(&store, next).0, 0);
        }
    }
}
