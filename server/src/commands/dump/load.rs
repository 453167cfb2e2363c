//! `CF.LOADCHUNK`: filters that clients restore, built as their pieces come.

use super::{LENGTH_BYTES, OFFSET_BITS, UNDER_WAY, UnderWay, lock, offset_of};
use crate::{
    commands::{Reply, reserve::refusal},
    filter::{Filter, Options},
    keyspace::{Keyspace, ReserveError},
};
use guira::{SnapshotDecoder, SnapshotError};
use std::{
    collections::HashMap,
    mem,
    sync::Mutex,
    time::{Duration, Instant},
};
use thiserror::Error;
use tracing::warn;

/// A snapshot has at most so many times the bytes of its filter, if that doubles again and again
/// while it is written: each time the snapshot begins anew.
const LONGEST: usize = 3;

/// Bytes of a snapshot beside those.
const BESIDE: usize = 1 << 20;

/// Dumps that clients are writing.
#[derive(Debug, Default)]
pub struct Loads(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    begun: u64,
    loads: HashMap<Box<[u8]>, Load>,
}

#[derive(Debug)]
struct Load {
    /// Which load of all it is.
    number: u64,
    options: Options,
    deleted: u64,
    /// Bytes that have come.
    come: u64,
    /// The bytes of the snapshot, which come before it.
    length: [u8; LENGTH_BYTES],
    decoder: SnapshotDecoder,
    /// Bytes that are charged for it.
    charged: usize,
    /// When its client last sent a piece.
    touched: Instant,
}

/// A dump cannot be loaded.
#[derive(Debug, Error)]
enum LoadError {
    #[error("Couldn't load chunk!")]
    Chunk,
    #[error("Couldn't load chunk! The dump is said to have {length} bytes, and {most} are allowed")]
    Length { length: u64, most: u64 },
    #[error(transparent)]
    Memory(#[from] ReserveError),
    #[error("OOM {0}")]
    Allocator(SnapshotError),
}

impl LoadError {
    fn reply(&self) -> Reply {
        match self {
            Self::Memory(error) => refusal(error),
            error => Reply::Error(error.to_string().into()),
        }
    }
}

impl Loads {
    pub(super) fn begin(&self, keyspace: &Keyspace, key: &[u8], options: Options, deleted: u64) {
        let mut inner = lock(&self.0);
        inner.begun += 1;
        let load = Load {
            number: inner.begun,
            options,
            deleted,
            come: 0,
            length: [0; LENGTH_BYTES],
            decoder: SnapshotDecoder::new(keyspace.free()),
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
    }

    pub(super) fn go_on(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        position: u64,
        data: &[u8],
    ) -> Reply {
        let mut inner = lock(&self.0);
        let Some(load) = inner.loads.get_mut(key) else {
            return match keyspace.get(key) {
                Some(_) => LoadError::Chunk.reply(),
                None => Reply::error("ERR not found"),
            };
        };
        let (_, end) = offset_of(position);
        if data.is_empty() || end != load.come + data.len() as u64 {
            return LoadError::Chunk.reply();
        }
        load.touched = Instant::now();
        let taken = load.take(keyspace, data);
        if matches!(taken, Ok(false)) {
            return Reply::OK;
        }
        // All is there, or something is wrong.
        let load = inner.loads.remove(key);
        drop(inner);
        let done = taken.and_then(|_| load.ok_or(LoadError::Chunk));
        done.and_then(|load| load.finish(keyspace, key))
            .map_or_else(|error| error.reply(), |()| Reply::OK)
    }

    /// Ends the loads of these keys.
    pub(in crate::commands) fn abandon(&self, keyspace: &Keyspace, which: impl Fn(&[u8]) -> bool) {
        self.end(keyspace, |key, _| which(key));
    }

    /// Ends the loads of which nobody has sent a piece for `idle`.
    pub(in crate::commands) fn expire(&self, keyspace: &Keyspace, idle: Duration) {
        self.end(keyspace, |_, load| load.touched.elapsed() >= idle);
    }

    /// What is under way; the bytes are charged.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        let inner = lock(&self.0);
        UnderWay {
            count: inner.loads.len(),
            bytes: inner.loads.values().map(|load| load.charged as u64).sum(),
        }
    }

    fn end(&self, keyspace: &Keyspace, which: impl Fn(&[u8], &Load) -> bool) {
        lock(&self.0).loads.retain(|key, load| {
            let ends = which(key, load);
            if ends {
                keyspace.release(load.charged);
            }
            !ends
        });
    }
}

impl Load {
    /// Takes the next bytes: true if they are the last ones. After an error nothing is charged.
    fn take(&mut self, keyspace: &Keyspace, data: &[u8]) -> Result<bool, LoadError> {
        let taken = self.decode(keyspace, data);
        let taken = taken.and_then(|last| self.charge(keyspace).map(|()| last));
        if taken.is_err() {
            keyspace.release(mem::take(&mut self.charged));
        }
        taken
    }

    fn decode(&mut self, keyspace: &Keyspace, data: &[u8]) -> Result<bool, LoadError> {
        let begun = LENGTH_BYTES.min(self.come.try_into().unwrap_or(LENGTH_BYTES));
        let of_length = data.len().min(LENGTH_BYTES - begun);
        let (of_length, of_snapshot) = data.split_at(of_length);
        self.length[begun..begun + of_length.len()].copy_from_slice(of_length);
        self.come += data.len() as u64;
        let Some(come) = self.come.checked_sub(LENGTH_BYTES as u64) else {
            return Ok(false);
        };
        let (length, most) = (u64::from_le_bytes(self.length), longest(keyspace.limit()));
        if length > most {
            return Err(LoadError::Length { length, most });
        }
        match self.decoder.feed(of_snapshot) {
            Ok(taken) if taken == of_snapshot.len() && come <= length => Ok(come == length),
            Ok(_) => Err(LoadError::Chunk),
            Err(SnapshotError::TooLarge { asked, .. }) => {
                Err(keyspace.refusal(asked, keyspace.used()).into())
            }
            Err(error @ SnapshotError::Memory { .. }) => Err(LoadError::Allocator(error)),
            Err(error) => Err(damaged(&error)),
        }
    }

    /// Charges for what the decoder has now.
    fn charge(&mut self, keyspace: &Keyspace) -> Result<(), LoadError> {
        let bytes = self.decoder.memory_usage();
        match bytes.checked_sub(self.charged) {
            Some(more) => keyspace.charge(more)?,
            None => keyspace.release(self.charged - bytes),
        }
        self.charged = bytes;
        Ok(())
    }

    /// Makes it the filter of `key`.
    fn finish(self, keyspace: &Keyspace, key: &[u8]) -> Result<(), LoadError> {
        keyspace.release(self.charged);
        let cuckoo = self.decoder.finish().map_err(|error| damaged(&error))?;
        keyspace.put(key, Filter::new(cuckoo, self.options, self.deleted))?;
        Ok(())
    }
}

fn damaged(error: &SnapshotError) -> LoadError {
    warn!(%error, "a dump does not load");
    LoadError::Chunk
}

/// Bytes of a snapshot at most, where filters may have so many.
fn longest(memory: usize) -> u64 {
    let most = memory.saturating_mul(LONGEST).saturating_add(BESIDE) as u64;
    most.min(1 << OFFSET_BITS)
}
