//! Operations between two looks at the clock: see [`crate::clock`].

use super::ExpiringFilter;
use crate::{batch::Refused, clock::Ticket, errors::insert_error, tokens::retried};
use guira::{BatchError, Hashed, InsertError};
use pyo3::prelude::*;

/// Which items of a batch an operation has written.
#[derive(Clone, Copy)]
pub(super) enum Written {
    All,
    /// Those whose answer is true.
    Answered,
}

impl ExpiringFilter {
    /// Begins what is due before an operation, without the GIL.
    #[inline]
    pub(super) fn begin(&self, py: Python<'_>) -> Ticket {
        match self.clock.ticket() {
            Some(ticket) if !self.clock.is_due() => ticket,
            _ => py.detach(|| self.begin_or_wait()),
        }
    }

    /// [`begin`](Self::begin) in a batch.
    pub(super) fn begin_chunk(&self) -> Ticket {
        match self.clock.ticket() {
            Some(ticket) if !self.clock.is_due() => ticket,
            _ => self.begin_or_wait(),
        }
    }

    #[cold]
    fn begin_or_wait(&self) -> Ticket {
        if self.clock.is_due() {
            self.clock.begin_due(&self.table);
        }
        self.clock.wait()
    }

    /// Writes an item; `written` says from the result whether it was.
    #[inline]
    pub(super) fn write(
        &self,
        py: Python<'_>,
        hash: Hashed,
        write: impl Fn() -> Result<bool, InsertError>,
        written: Written,
    ) -> PyResult<bool> {
        let ticket = self.begin(py);
        let answer = retried(py, write, insert_error)?;
        let is_written = answer || matches!(written, Written::All);
        if is_written && self.clock.is_late(ticket) {
            py.detach(|| self.write_again(&[hash]));
        }
        Ok(answer)
    }

    /// An operation on a batch that writes items.
    pub(super) fn writing<'a>(
        &'a self,
        write: impl Fn(&[Hashed], &mut [bool]) -> Result<(), BatchError> + Sync + 'a,
        written: Written,
    ) -> impl Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync + 'a {
        move |hashes, answers| {
            let ticket = self.begin_chunk();
            let result = write(hashes, answers);
            if self.clock.is_late(ticket) {
                let decided = result.err().map_or(hashes.len(), |error| error.index);
                let is_written = |at: &usize| match written {
                    Written::All => true,
                    Written::Answered => answers[*at],
                };
                let places = (0..decided).filter(is_written);
                self.write_again(&places.map(|at| hashes[at]).collect::<Vec<_>>());
            }
            Ok(result?)
        }
    }

    /// Resets the time of items that were written while several epochs began at once.
    #[cold]
    pub(super) fn write_again(&self, hashes: &[Hashed]) {
        loop {
            let ticket = self.begin_chunk();
            for &hash in hashes {
                // Without room for a further copy, the item expires some epochs early.
                let _ = self.table.insert_or_refresh(&hash);
            }
            if !self.clock.is_late(ticket) {
                return;
            }
        }
    }

    pub(super) fn insert_all(
        &self,
    ) -> impl Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync {
        self.writing(|hashes, _| self.table.insert_batch(hashes), Written::All)
    }

    pub(super) fn insert_unique_all(
        &self,
    ) -> impl Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync {
        let insert =
            |hashes: &[Hashed], added: &mut [bool]| self.table.insert_unique_batch(hashes, added);
        self.writing(insert, Written::Answered)
    }

    pub(super) fn contains_all(
        &self,
    ) -> impl Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync {
        |hashes, found| {
            self.begin_chunk();
            self.table.contains_batch(hashes, found);
            Ok(())
        }
    }

    pub(super) fn remove_all(
        &self,
    ) -> impl Fn(&[Hashed], &mut [bool]) -> Result<(), Refused> + Sync {
        |hashes, removed| {
            self.begin_chunk();
            self.table.remove_batch(hashes, removed);
            Ok(())
        }
    }

    #[inline]
    pub(crate) fn add_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<()> {
        let insert = || self.table.insert(&hash).map(|()| true);
        self.write(py, hash, insert, Written::All)?;
        Ok(())
    }

    #[inline]
    pub(crate) fn add_unique_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<bool> {
        let insert = || self.table.insert_unique(&hash);
        self.write(py, hash, insert, Written::Answered)
    }

    #[inline]
    pub(crate) fn add_or_refresh_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<bool> {
        let write = || self.table.insert_or_refresh(&hash);
        self.write(py, hash, write, Written::All)
    }

    #[inline]
    pub(crate) fn discard_hash(&self, py: Python<'_>, hash: Hashed) -> PyResult<bool> {
        self.begin(py);
        Ok(self.table.remove(&hash))
    }
}
