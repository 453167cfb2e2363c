//! Changes of names and deadlines, and copies.

use super::{Entry, Keyspace, ReserveError, check_key, deadlines::Deadlines, lock, now, overhead};
use guira_commands::DuplicateError;
use papaya::Guard;
use std::sync::PoisonError;
use thiserror::Error;

/// The change of a key's deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// It stays.
    Keep,
    /// The key expires at this time in milliseconds since 1970; at once if the time has passed.
    Set(i64),
    /// The key does not expire.
    Clear,
}

/// The reason why a key is not renamed.
#[derive(Debug, Error)]
pub enum RenameError {
    /// The key does not exist.
    #[error("ERR no such key")]
    Missing,
    /// The new name is not allowed.
    #[error(transparent)]
    Name(#[from] ReserveError),
}

/// The reason why a key is not copied.
#[derive(Debug, Error)]
pub enum CopyError {
    /// There is no room for the copy.
    #[error(transparent)]
    Room(#[from] ReserveError),
    /// The filter could not be read and written again.
    #[error("OOM {0}")]
    Duplicate(DuplicateError),
}

impl From<DuplicateError> for CopyError {
    fn from(error: DuplicateError) -> Self {
        Self::Duplicate(error)
    }
}

impl Keyspace {
    /// Changes the deadline of `key` to the result of `change`, and returns whether it differs. Returns
    /// `None` if there is no such key.
    pub fn change_deadline(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<i64>) -> Deadline,
    ) -> Option<bool> {
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        let filter = self.map.get(key, &guard)?;
        if filter.has_expired() {
            return None;
        }
        match change(filter.deadline()) {
            Deadline::Keep => return Some(false),
            Deadline::Set(at) if at <= now() => {
                self.remove(key, &mut deadlines, &guard);
                drop(deadlines);
                guard.flush();
                return Some(true);
            }
            Deadline::Set(at) => self.set_deadline(key, filter, Some(at), &mut deadlines),
            Deadline::Clear => self.set_deadline(key, filter, None, &mut deadlines),
        }
        self.changed(filter);
        Some(true)
    }

    pub(super) fn set_deadline(
        &self,
        key: &[u8],
        filter: &Entry,
        to: Option<i64>,
        deadlines: &mut Deadlines,
    ) {
        deadlines.set(key, filter, to);
        self.set_overhead(filter, overhead(key, to));
    }

    /// Moves the filter and the deadline of `from` to `to`, and returns whether it did. It does not if
    /// the key `to` exists and `replace` is false.
    ///
    /// # Errors
    ///
    /// [`RenameError`]. Nothing has changed then.
    pub fn rename(&self, from: &[u8], to: &[u8], replace: bool) -> Result<bool, RenameError> {
        let _names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        if !self.is_taken(from, &mut deadlines, &guard) {
            return Err(RenameError::Missing);
        }
        if from == to {
            return Ok(replace);
        }
        check_key(to)?;
        if !replace && self.is_taken(to, &mut deadlines, &guard) {
            return Ok(false);
        }
        // The name is charged for when the filter has it.
        let longer = 2 * to.len().saturating_sub(from.len());
        self.charge(longer)?;
        self.release(longer);
        let Some(filter) = self.map.remove(from, &guard) else {
            // Unreachable: no other thread deletes keys during the call.
            return Err(RenameError::Missing);
        };
        let deadline = filter.deadline();
        deadlines.set(from, filter, None);
        if let Some(replaced) = self.map.insert(to, filter.clone(), &guard) {
            self.discharge(to, replaced, &mut deadlines);
        }
        self.set_deadline(to, filter, deadline, &mut deadlines);
        self.changed(filter);
        drop(deadlines);
        guard.flush();
        Ok(true)
    }

    /// Copies the filter and the deadline of `from` to `to`, and returns whether it did. It does not if
    /// the key `from` is missing, or the key `to` exists and `replace` is false.
    ///
    /// # Errors
    ///
    /// [`CopyError`]. Nothing has changed then.
    pub fn copy(&self, from: &[u8], to: &[u8], replace: bool) -> Result<bool, CopyError> {
        let Some(filter) = self.get(from) else {
            return Ok(false);
        };
        check_key(to)?;
        if !replace && self.contains(to) {
            return Ok(false);
        }
        // Room for a snapshot, and for the copy that is made from it.
        let size = filter.memory_usage();
        self.charge(2 * size)?;
        let duplicate = filter.duplicate();
        self.release(2 * size);
        let (copy, bytes) = super::to_be_charged(to, duplicate?.into());
        self.charge(bytes)?;
        let guard = self.map.guard();
        let mut deadlines = lock(&self.deadlines);
        if !replace && self.is_taken(to, &mut deadlines, &guard) {
            self.release(bytes);
            return Ok(false);
        }
        if let Some(replaced) = self.map.insert(to, copy.clone(), &guard) {
            self.discharge(to, replaced, &mut deadlines);
        }
        self.ticks.add(&copy);
        if let Some(at) = filter.deadline() {
            self.set_deadline(to, &copy, Some(at), &mut deadlines);
        }
        drop(deadlines);
        guard.flush();
        Ok(true)
    }
}
