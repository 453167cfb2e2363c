//! Snapshots of all keys, which standbys read piece by piece.
//!
//! A snapshot is a save in a file without a name. At most `MOST` of them exist, and standbys share
//! them, so the number of standbys costs neither memory nor disk space.

use crate::lock::lock;
use crate::{keyspace::Keyspace, persist};
use guira_commands::dump::Spool;
use std::{
    env, io,
    path::PathBuf,
    sync::{Arc, Mutex, TryLockError, Weak},
    time::{Duration, Instant},
};
use thiserror::Error;

/// The number of snapshots that may exist at a time.
const MOST: usize = 2;

/// A snapshot that was not read for this time makes room for another one. Standbys share only
/// snapshots that are younger.
const IDLE: Duration = Duration::from_secs(60);

/// The most bytes of a piece.
pub(crate) const PIECE: u64 = 256 * 1024;

/// The snapshots that standbys read.
#[derive(Debug)]
pub struct Snapshots {
    directory: PathBuf,
    /// The oldest is first. Locked while a snapshot is written.
    kept: Mutex<Vec<Weak<Snapshot>>>,
}

/// A copy of all keys.
#[derive(Debug)]
pub struct Snapshot {
    /// `None` once the snapshot has made room for another one.
    bytes: Mutex<Option<Arc<Spool>>>,
    length: u64,
    begun: Instant,
    read: Mutex<Instant>,
}

/// A standby gets no snapshot, or no piece of one.
#[derive(Debug, Error)]
pub(crate) enum SnapshotError {
    #[error("TRYAGAIN a snapshot is being written")]
    InProgress,
    #[error("TRYAGAIN {MOST} snapshots are being read")]
    TooMany,
    #[error("ERR the snapshot was not read for {} seconds and is gone", IDLE.as_secs())]
    Gone,
    #[error("ERR the snapshot could not be written to {}: {error}", directory.display())]
    Write {
        directory: PathBuf,
        error: io::Error,
    },
    #[error("ERR the snapshot could not be read: {0}")]
    Read(io::Error),
}

impl Snapshots {
    /// Keeps snapshots in `directory`, or else where the system has temporary files.
    #[must_use]
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory: directory.unwrap_or_else(env::temp_dir),
            kept: Mutex::default(),
        }
    }

    /// Returns a snapshot of all keys: a new one, or one that was begun recently.
    pub(crate) fn begin(&self, keyspace: &Keyspace) -> Result<Arc<Snapshot>, SnapshotError> {
        let mut kept = match self.kept.try_lock() {
            Ok(kept) => kept,
            // A panic under this lock leaves the list consistent.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(SnapshotError::InProgress),
        };
        kept.retain(|one| one.upgrade().is_some_and(|one| one.is_in_use()));
        if kept.len() >= MOST {
            let newest = kept.last().and_then(Weak::upgrade);
            let young = newest.filter(|one| one.age() < IDLE);
            return young.ok_or(SnapshotError::TooMany);
        }
        let snapshot = Arc::new(self.write(keyspace)?);
        kept.push(Arc::downgrade(&snapshot));
        Ok(snapshot)
    }

    fn write(&self, keyspace: &Keyspace) -> Result<Snapshot, SnapshotError> {
        let begun = Instant::now();
        let written = Spool::new(&self.directory, |file| persist::write_keys(file, keyspace));
        let bytes = written.map_err(|error| SnapshotError::Write {
            directory: self.directory.clone(),
            error,
        })?;
        Ok(Snapshot {
            length: bytes.length(),
            bytes: Mutex::new(Some(Arc::new(bytes))),
            begun,
            read: Instant::now().into(),
        })
    }
}

impl Snapshot {
    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The time since the snapshot was begun.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// At most `most` bytes from `offset` on. At the end there are none.
    pub(crate) fn piece(&self, offset: u64, most: u64) -> Result<Vec<u8>, SnapshotError> {
        *lock(&self.read) = Instant::now();
        let bytes = lock(&self.bytes).clone().ok_or(SnapshotError::Gone)?;
        bytes.piece(offset, most).map_err(SnapshotError::Read)
    }

    /// False if no client has read the snapshot for long. This also frees its disk space.
    fn is_in_use(&self) -> bool {
        let is_idle = lock(&self.read).elapsed() >= IDLE;
        if is_idle {
            *lock(&self.bytes) = None;
        }
        !is_idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guira_commands::Options;

    fn keyspace() -> Keyspace {
        let keyspace = Keyspace::new(usize::MAX);
        keyspace.reserve(b"k", &Options::default().into()).unwrap();
        keyspace
    }

    #[test]
    fn pieces_make_up_the_snapshot() {
        let (snapshots, keyspace) = (Snapshots::new(None), keyspace());
        let snapshot = snapshots.begin(&keyspace).unwrap();
        let mut bytes = Vec::new();
        loop {
            let piece = snapshot.piece(bytes.len() as u64, 1_000).unwrap();
            if piece.is_empty() {
                break;
            }
            bytes.extend(piece);
        }
        assert_eq!(bytes.len() as u64, snapshot.length());
        let loaded = persist::read_within(&bytes[..], usize::MAX).unwrap();
        assert_eq!((loaded.len(), &*loaded[0].0), (1, &b"k"[..]));
        assert!(snapshot.piece(u64::MAX, 1_000).unwrap().is_empty());
    }

    /// The number of standbys does not matter.
    #[test]
    fn there_are_two_snapshots_at_most() {
        let (snapshots, keyspace) = (Snapshots::new(None), keyspace());
        let [first, second, third] = [(); 3].map(|()| snapshots.begin(&keyspace).unwrap());
        assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &third));
        drop(first);
        let fourth = snapshots.begin(&keyspace).unwrap();
        assert!(!Arc::ptr_eq(&fourth, &second));
        // A snapshot that no client reads makes room.
        let long_ago = Instant::now().checked_sub(IDLE).unwrap();
        *second.read.lock().unwrap() = long_ago;
        let fifth = snapshots.begin(&keyspace).unwrap();
        assert!(!Arc::ptr_eq(&fifth, &fourth));
        assert!(matches!(second.piece(0, 1), Err(SnapshotError::Gone)));
        assert!(fourth.piece(0, 1).is_ok());
    }

    #[test]
    fn one_is_written_at_a_time() {
        let (snapshots, keyspace) = (Snapshots::new(None), keyspace());
        let writing = snapshots.kept.lock().unwrap();
        let refused = snapshots.begin(&keyspace);
        assert!(matches!(refused, Err(SnapshotError::InProgress)));
        drop(writing);
        assert!(snapshots.begin(&keyspace).is_ok());
    }
}
