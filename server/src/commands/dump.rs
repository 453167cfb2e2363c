//! `CF.SCANDUMP` and `CF.LOADCHUNK`: a filter's snapshot in pieces.
//!
//! Position 0 yields `[1, header]`. Position 1 takes a snapshot, keeps its bytes in a file
//! for the calls to come and yields its first piece. Each further position names
//! that snapshot and how far the client has come, so all pieces are of one
//! snapshot, and two clients can dump one key at a time. What is loaded becomes
//! the filter of its key with the last piece, at once and as a whole.

mod load;
mod out;

pub use load::Loads;
pub use out::Dumps;

use super::{Args, Reply, Store, options::number, reserve::refusal};
use crate::{
    filter::{Filter, Options},
    keyspace::check_key,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Dumps, and loads, that can be under way; another one ends the oldest.
const UNDER_WAY: usize = 16;

/// A position is the dump's number, and how many bytes have been handed out.
/// Both together stay below 2^53, because some clients' numbers do.
const OFFSET_BITS: u32 = 40;

/// The first piece begins with the bytes of the snapshot, as a `u64`.
const LENGTH_BYTES: usize = 8;

const MAGIC: &[u8; 8] = b"guiracf\x01";
const HEADER_BYTES: usize = 8 + Options::BYTES + 8 + 4;

/// A header of RedisBloom is a packed struct of so many bytes.
const REDISBLOOM_HEADER_BYTES: usize = 38;

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// How many dumps, or loads.
    pub count: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A panic while the lock was held leaves nothing half-done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn position_of(number: u64, offset: u64) -> u64 {
    number << OFFSET_BITS | offset
}

/// The number of the dump, and how many bytes have been handed out.
fn offset_of(position: u64) -> (u64, u64) {
    (position >> OFFSET_BITS, position & ((1 << OFFSET_BITS) - 1))
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
        0 => piece(1, header(&filter)),
        1 => store.dumps.begin(&store.keyspace, key, &filter),
        position => store.dumps.go_on(key, position),
    }
}

fn piece(next: u64, bytes: Vec<u8>) -> Reply {
    Reply::Array(vec![Reply::Integer(next as i64), Reply::Bulk(bytes)])
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::time::Duration;

    pub(super) fn with_a_key() -> (Store, usize) {
        let store = Store::new(usize::MAX, None);
        let options = Options {
            capacity: 100,
            ..Options::default()
        };
        store.keyspace.reserve(b"k", options, None).unwrap();
        let used = store.keyspace.used();
        (store, used)
    }

    /// The next position, and the piece.
    pub(super) fn dump(store: &Store, position: u64) -> (u64, Vec<u8>) {
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
    fn a_load_is_charged_until_it_ends() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        let (next, piece) = dump(&store, 1);
        // It is in a file.
        assert_eq!(store.keyspace.used(), used);
        assert_eq!(load(&store, 1, &header), Reply::OK);
        let half = &piece[..piece.len() / 2];
        assert_eq!(load(&store, half.len() as u64, half), Reply::OK);
        let dumps = store.dumps.under_way();
        assert_eq!((dumps.count, dumps.bytes), (1, piece.len() as u64));
        let loads = store.loads.under_way();
        let filter = store.keyspace.get(b"k").unwrap();
        assert_eq!(loads.count, 1);
        assert!(loads.bytes >= 8 * filter.cuckoo.buckets() as u64);
        assert_eq!(store.keyspace.used(), used + loads.bytes as usize);
        // To their ends.
        assert_eq!(dump(&store, next).0, 0);
        assert_eq!(load(&store, next, &piece[half.len()..]), Reply::OK);
        let name = b"copy".len() - b"k".len();
        assert_eq!(store.keyspace.used(), 2 * used + name);
        let nothing = UnderWay { count: 0, bytes: 0 };
        assert_eq!(store.dumps.under_way(), nothing);
        assert_eq!(store.loads.under_way(), nothing);
    }

    #[test]
    fn a_load_that_is_refused_gives_its_memory_back() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        let (next, piece) = dump(&store, 1);
        let mut damaged = piece.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for pieces in [
            &[&damaged[..]][..],
            &[&piece, b"x"],
            &[&piece[..300], &damaged[..1]],
        ] {
            assert_eq!(load(&store, 1, &header), Reply::OK);
            let mut position = next & !((1 << OFFSET_BITS) - 1);
            let replies = pieces.iter().map(|piece| {
                position += piece.len() as u64;
                load(&store, position, piece)
            });
            let replies: Vec<_> = replies.collect();
            if pieces.len() > 1 && pieces[0].len() == piece.len() {
                // The first piece was all of it.
                assert_eq!(replies[0], Reply::OK);
                assert!(store.keyspace.delete(b"copy"));
            }
            store.loads.abandon(&store.keyspace, |_| true);
            assert_eq!(store.keyspace.used(), used, "{replies:?}");
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_refused_at_once() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        for length in [u64::MAX, 1 << 63, (1 << OFFSET_BITS) + 1] {
            assert_eq!(load(&store, 1, &header), Reply::OK);
            let Reply::Error(refused) = load(&store, 8, &length.to_le_bytes()) else {
                panic!("{length} bytes are awaited");
            };
            let expected = format!("Couldn't load chunk! The dump is said to have {length} bytes");
            assert!(refused.starts_with(&expected), "{refused}");
            assert_eq!(store.loads.under_way().count, 0);
            assert_eq!(store.keyspace.used(), used);
        }
    }

    #[test]
    fn what_nobody_goes_on_with_ends() {
        let (store, used) = with_a_key();
        let (_, header) = dump(&store, 0);
        let (next, piece) = dump(&store, 1);
        load(&store, 1, &header);
        load(&store, 100, &piece[..100]);
        store.expire(Duration::from_secs(3600));
        assert!(store.keyspace.used() > used);
        store.expire(Duration::ZERO);
        assert_eq!(store.keyspace.used(), used);
        let position = next.to_string();
        assert_eq!(
            scan_dump(&store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]),
            Reply::error("Invalid position")
        );
        assert_eq!(
            load(&store, next, &piece[100..]),
            Reply::error("ERR not found")
        );
    }
}
