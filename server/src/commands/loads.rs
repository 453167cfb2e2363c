//! Filters that clients restore by `CF.LOADCHUNK`, and the memory that they take up meanwhile.

use crate::keyspace::{Keyspace, ReserveError};
use guira_commands::{
    Answer, Clock, Reply,
    dump::{Load, LoadError, Memory, UNDER_WAY, UnderWay},
};
use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use thiserror::Error;
use tracing::warn;

/// Dumps that clients are writing.
#[derive(Debug, Default)]
pub struct Loads(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    begun: u64,
    loads: HashMap<Box<[u8]>, Charged>,
}

#[derive(Debug)]
struct Charged {
    /// Which load of all it is.
    number: u64,
    load: Load,
    /// Bytes that are charged for it.
    charged: usize,
    /// When its client last sent a piece.
    touched: Instant,
}

/// A piece is not taken.
#[derive(Debug, Error)]
enum Refused {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Room(#[from] ReserveError),
}

impl Refused {
    fn reply(self, keyspace: &Keyspace) -> Reply {
        match self {
            Self::Room(error) => error.into(),
            Self::Load(LoadError::Memory { needed, .. }) => {
                keyspace.refusal(needed, keyspace.used()).into()
            }
            Self::Load(error) => {
                if let LoadError::Damaged(error) = &error {
                    warn!(%error, "a dump does not load");
                }
                Reply::Error(error.to_string().into())
            }
        }
    }
}

impl Loads {
    pub(super) fn begin(&self, keyspace: &Keyspace, key: &[u8], header: &[u8]) -> Answer {
        let memory = Memory {
            free: keyspace.free(),
            limit: keyspace.limit(),
        };
        let load = Load::begin(header, memory, Clock::Process);
        let load = load.map_err(|error| Refused::from(error).reply(keyspace))?;
        let mut inner = self.lock();
        inner.begun += 1;
        let load = Charged {
            number: inner.begun,
            load,
            charged: 0,
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
            keyspace.release(load.charged);
        }
        Ok(Reply::OK)
    }

    pub(super) fn go_on(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        position: u64,
        piece: &[u8],
    ) -> Answer {
        let mut inner = self.lock();
        let Some(load) = inner.loads.get_mut(key) else {
            return match keyspace.contains(key) {
                true => Err(Refused::from(LoadError::Position).reply(keyspace)),
                false => Err(Reply::error("ERR not found")),
            };
        };
        let taken = load.take(keyspace, position, piece);
        if matches!(taken, Ok(false) | Err(Refused::Load(LoadError::Position))) {
            let taken = taken.map_err(|error| error.reply(keyspace));
            return taken.map(|_| Reply::OK);
        }
        // All is there, or something is wrong.
        let load = inner.loads.remove(key);
        drop(inner);
        let done = taken.and_then(|_| load.ok_or(LoadError::Position.into()));
        done.and_then(|load| load.finish(keyspace, key))
            .map_err(|error| error.reply(keyspace))?;
        Ok(Reply::OK)
    }

    /// Ends the loads of these keys.
    pub(super) fn abandon(&self, keyspace: &Keyspace, which: impl Fn(&[u8]) -> bool) {
        self.end(keyspace, |key, _| which(key));
    }

    /// Ends the loads of which nobody has sent a piece for `idle`.
    pub(super) fn expire(&self, keyspace: &Keyspace, idle: Duration) {
        self.end(keyspace, |_, load| load.touched.elapsed() >= idle);
    }

    /// What is under way; the bytes are charged.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        let inner = self.lock();
        UnderWay {
            count: inner.loads.len(),
            bytes: inner.loads.values().map(|load| load.charged as u64).sum(),
        }
    }

    fn end(&self, keyspace: &Keyspace, which: impl Fn(&[u8], &Charged) -> bool) {
        self.lock().loads.retain(|key, load| {
            let ends = which(key, load);
            if ends {
                keyspace.release(load.charged);
            }
            !ends
        });
    }

    /// A panic while the lock was held leaves nothing half-done here.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Charged {
    /// Takes the next piece: true if it is the last one. After an error that ends the load nothing
    /// is charged.
    fn take(&mut self, keyspace: &Keyspace, position: u64, piece: &[u8]) -> Result<bool, Refused> {
        let taken = match self.load.take(position, piece) {
            Err(error @ LoadError::Position) => return Err(error.into()),
            Err(error) => Err(error.into()),
            Ok(last) => self.charge(keyspace).map(|()| last),
        };
        self.touched = Instant::now();
        if taken.is_err() {
            keyspace.release(mem::take(&mut self.charged));
        }
        taken
    }

    /// Charges for what it takes up now.
    fn charge(&mut self, keyspace: &Keyspace) -> Result<(), Refused> {
        let bytes = self.load.memory_usage();
        match bytes.checked_sub(self.charged) {
            Some(more) => keyspace.charge(more)?,
            None => keyspace.release(self.charged - bytes),
        }
        self.charged = bytes;
        Ok(())
    }

    /// Makes it the filter of `key`.
    fn finish(self, keyspace: &Keyspace, key: &[u8]) -> Result<(), Refused> {
        keyspace.release(self.charged);
        keyspace.put(key, self.load.finish()?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{Args, Store};
    use guira_commands::{
        Options, commands,
        dump::{offset_of, position_of},
    };

    fn with_a_key() -> (Store, usize) {
        let store = Store::new(usize::MAX, None);
        let options = Options {
            capacity: 100,
            ..Options::default()
        };
        store.keyspace.reserve(b"k", &options.into()).unwrap();
        let used = store.keyspace.used();
        (store, used)
    }

    fn ask(store: &Store, words: Args<'_>) -> Reply {
        let commands = commands::<Store>();
        let named = |command: &&guira_commands::Command<_>| command.name.as_bytes() == words[0];
        let command = commands.iter().find(named).unwrap();
        (command.run)(store, words).unwrap_or_else(|refusal| refusal)
    }

    /// The next position, and the piece.
    fn dump(store: &Store, position: u64) -> (u64, Vec<u8>) {
        let position = position.to_string();
        let reply = ask(store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]);
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
        ask(
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
        assert!(loads.bytes >= 8 * filter.buckets() as u64);
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
            let mut position = position_of(offset_of(next).0, 0);
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
        for length in [u64::MAX, 1 << 63, position_of(1, 1)] {
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
            ask(&store, &[b"CF.SCANDUMP", b"k", position.as_bytes()]),
            Reply::error("Invalid position")
        );
        assert_eq!(
            load(&store, next, &piece[100..]),
            Reply::error("ERR not found")
        );
    }
}
