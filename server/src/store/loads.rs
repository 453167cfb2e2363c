//! Filters that clients restore by `CF.LOADCHUNK`, and the memory that they occupy until they are
//! complete.

use crate::keyspace::{Keyspace, ReserveError};
use crate::lock::lock;
use guira_commands::{
    Answer, Clock, Reply,
    dump::{InProgress, Load, LoadError, MAX_IN_PROGRESS, Memory},
};
use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};
use thiserror::Error;
use tracing::warn;

/// Dumps that clients are writing.
///
/// The lock is held only to look up a load. While one thread decodes a piece, the load is with that
/// thread, so other clients never wait for it.
#[derive(Debug, Default)]
pub struct Loads {
    inner: Mutex<Inner>,
    /// Runs while the next piece is decoded, for a test.
    #[cfg(test)]
    while_decoding: tests::Hook,
}

#[derive(Debug, Default)]
struct Inner {
    begun: u64,
    loads: HashMap<Box<[u8]>, Place>,
}

/// The place of a load.
#[derive(Debug)]
struct Place {
    /// The number of the load, which is unique.
    number: u64,
    /// `None` while a thread decodes a piece.
    load: Option<Charged>,
    /// The bytes that were charged for the load after the last piece.
    charged: usize,
    /// The time at which the client last sent a piece.
    touched: Instant,
}

#[derive(Debug)]
struct Charged {
    load: Load,
    /// The bytes that are charged for the load.
    charged: usize,
}

/// A load that a thread has taken out of its place.
struct TakenOut {
    number: u64,
    charged: Charged,
}

/// A piece is refused.
#[derive(Debug, Error)]
enum Refused {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Room(#[from] ReserveError),
    /// The client did not wait for the reply to the previous piece.
    #[error("TRYAGAIN another piece of this load is being decoded")]
    Busy,
    /// There is no load of this key, or it has ended.
    #[error("ERR not found")]
    NotFound,
}

impl Refused {
    fn reply(self, keyspace: &Keyspace) -> Reply {
        match self {
            Self::Room(error) => error.into(),
            Self::Load(LoadError::Memory { needed, .. }) => {
                keyspace.refusal(needed, keyspace.used()).into()
            }
            Self::Busy | Self::NotFound => Reply::Error(self.to_string().into()),
            Self::Load(error) => {
                if let LoadError::Damaged(error) = &error {
                    warn!(%error, "a dump could not be loaded");
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
        let place = Place {
            number: inner.begun,
            load: Some(Charged { load, charged: 0 }),
            charged: 0,
            touched: Instant::now(),
        };
        let mut ended = vec![inner.loads.insert(key.into(), place)];
        while inner.loads.len() > MAX_IN_PROGRESS {
            let oldest = inner.loads.iter().min_by_key(|(_, place)| place.number);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            ended.push(inner.loads.remove(&key));
        }
        drop(inner);
        ended
            .into_iter()
            .flatten()
            .for_each(|place| place.end(keyspace));
        Ok(Reply::OK)
    }

    pub(super) fn go_on(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        position: u64,
        piece: &[u8],
    ) -> Answer {
        self.take(keyspace, key, position, piece)
            .map_err(|refused| refused.reply(keyspace))
    }

    fn take(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        position: u64,
        piece: &[u8],
    ) -> Result<Reply, Refused> {
        let Some(mut load) = self.take_out(key)? else {
            return Err(match keyspace.contains(key) {
                true => LoadError::Position.into(),
                false => Refused::NotFound,
            });
        };
        #[cfg(test)]
        self.while_decoding.run();
        let taken = load.charged.take(keyspace, position, piece);
        let goes_on = matches!(taken, Ok(false) | Err(Refused::Load(LoadError::Position)));
        match self.give_back(key, load, goes_on) {
            Ok(None) => {}
            // The load is complete or has failed.
            Ok(Some(load)) => {
                taken?;
                load.finish(keyspace, key)?;
                return Ok(Reply::OK);
            }
            Err(abandoned) => {
                keyspace.release(abandoned.charged);
                return Err(Refused::NotFound);
            }
        }
        taken.map(|_| Reply::OK)
    }

    /// Takes the load of `key` out of its place. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Refused::Busy`] if another thread has it.
    fn take_out(&self, key: &[u8]) -> Result<Option<TakenOut>, Refused> {
        let mut inner = self.lock();
        let Some(place) = inner.loads.get_mut(key) else {
            return Ok(None);
        };
        place.touched = Instant::now();
        let (number, charged) = (place.number, place.load.take().ok_or(Refused::Busy)?);
        Ok(Some(TakenOut { number, charged }))
    }

    /// Puts a load back into its place if it is to continue. Otherwise removes the place and
    /// returns the load.
    ///
    /// # Errors
    ///
    /// The load, if it was ended while it was out.
    fn give_back(
        &self,
        key: &[u8],
        TakenOut { number, charged }: TakenOut,
        goes_on: bool,
    ) -> Result<Option<Charged>, Charged> {
        let mut inner = self.lock();
        let place = inner.loads.get_mut(key);
        let Some(place) = place.filter(|place| place.number == number) else {
            return Err(charged);
        };
        if goes_on {
            place.charged = charged.charged;
            place.touched = Instant::now();
            place.load = Some(charged);
            return Ok(None);
        }
        inner.loads.remove(key);
        Ok(Some(charged))
    }

    /// Ends the loads of these keys.
    pub(super) fn abandon(&self, keyspace: &Keyspace, which: impl Fn(&[u8]) -> bool) {
        self.end(keyspace, |key, _| which(key));
    }

    /// Ends the loads that have received no piece for `idle`.
    pub(super) fn expire(&self, keyspace: &Keyspace, idle: Duration) {
        self.end(keyspace, |_, load| load.touched.elapsed() >= idle);
    }

    /// The loads in progress; their bytes are charged.
    #[must_use]
    pub fn in_progress(&self) -> InProgress {
        let inner = self.lock();
        InProgress {
            count: inner.loads.len(),
            bytes: inner.loads.values().map(|it| it.charged as u64).sum(),
        }
    }

    fn end(&self, keyspace: &Keyspace, which: impl Fn(&[u8], &Place) -> bool) {
        let ended: Vec<_> = {
            let mut inner = self.lock();
            let ended = inner.loads.extract_if(|key, place| which(key, place));
            ended.map(|(_, place)| place).collect()
        };
        // The lock is released first, because freeing a large table takes long.
        ended.into_iter().for_each(|place| place.end(keyspace));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Place {
    /// Frees the memory of the load. If a thread has taken the load out, that thread frees it.
    fn end(self, keyspace: &Keyspace) {
        if let Some(load) = self.load {
            keyspace.release(load.charged);
        }
    }
}

impl Charged {
    /// Decodes the next piece. Returns true if it is the last one. After an error that ends the
    /// load, nothing remains charged.
    fn take(&mut self, keyspace: &Keyspace, position: u64, piece: &[u8]) -> Result<bool, Refused> {
        let taken = match self.load.take(position, piece) {
            Err(error @ LoadError::Position) => return Err(error.into()),
            Err(error) => Err(error.into()),
            Ok(last) => self.charge(keyspace).map(|()| last),
        };
        if taken.is_err() {
            keyspace.release(mem::take(&mut self.charged));
        }
        taken
    }

    /// Charges for the current size of the load.
    fn charge(&mut self, keyspace: &Keyspace) -> Result<(), Refused> {
        let bytes = self.load.memory_usage();
        match bytes.checked_sub(self.charged) {
            Some(more) => keyspace.charge(more)?,
            None => keyspace.release(self.charged - bytes),
        }
        self.charged = bytes;
        Ok(())
    }

    /// Makes the load the filter of `key`.
    fn finish(self, keyspace: &Keyspace, key: &[u8]) -> Result<(), Refused> {
        keyspace.release(self.charged);
        keyspace.put(key, self.load.finish()?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
