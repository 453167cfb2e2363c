//! In place of `mapped` where filters cannot be shared: no value of these types exists.

use crate::status::{Failure, Status};
use guira::{Builder, CuckooFilter, InsertError, SeededState};
use std::{ffi::c_int, path::Path};

pub(crate) enum Mapped {}

pub(crate) enum Reader {}

/// What [`Mapped::participants`] would return.
pub(crate) struct Participants {
    pub(crate) in_use: usize,
    pub(crate) max: usize,
    pub(crate) deaths: u64,
}

/// What [`Mapped::repair`] would return.
pub(crate) struct Repaired {
    pub(crate) processes: usize,
}

fn unsupported() -> Failure {
    Failure::new(
        Status::Unsupported,
        format_args!("filters can be shared on 64-bit Linux only"),
    )
}

/// # Safety
///
/// Always safe.
#[allow(unsafe_code)]
pub(crate) unsafe fn create(
    _: &Path,
    _: Builder<SeededState>,
    _: usize,
) -> Result<Mapped, Failure> {
    Err(unsupported())
}

/// # Safety
///
/// Always safe.
#[allow(unsafe_code)]
pub(crate) unsafe fn open(_: &Path) -> Result<Mapped, Failure> {
    Err(unsupported())
}

/// # Safety
///
/// Always safe.
#[allow(unsafe_code)]
pub(crate) unsafe fn open_reader(_: &Path) -> Result<Reader, Failure> {
    Err(unsupported())
}

pub(crate) fn create_memfd(_: Builder<SeededState>, _: usize) -> Result<Mapped, Failure> {
    Err(unsupported())
}

pub(crate) fn of_memfd(_: c_int) -> Result<Mapped, Failure> {
    Err(unsupported())
}

pub(crate) fn reader_of_memfd(_: c_int) -> Result<Reader, Failure> {
    Err(unsupported())
}

pub(crate) fn memfd(filter: &Mapped) -> Option<c_int> {
    match *filter {}
}

impl Reader {
    pub(crate) fn contains_hash(&self, _: u64) -> bool {
        match *self {}
    }

    pub(crate) fn contains_hash_batch(&self, _: &[u64], _: &mut [bool]) {
        match *self {}
    }

    pub(crate) fn count_hash(&self, _: u64) -> usize {
        match *self {}
    }

    pub(crate) fn hasher(&self) -> &SeededState {
        match *self {}
    }

    pub(crate) fn len(&self) -> usize {
        match *self {}
    }

    pub(crate) fn capacity(&self) -> usize {
        match *self {}
    }
}

impl Mapped {
    pub(crate) fn was_closed_cleanly(&self) -> bool {
        match *self {}
    }

    pub(crate) fn as_filter(&self) -> &CuckooFilter {
        match *self {}
    }

    pub(crate) fn insert_hash(&self, _: u64) -> Result<(), InsertError> {
        match *self {}
    }

    pub(crate) fn insert_unique_hash(&self, _: u64) -> Result<bool, InsertError> {
        match *self {}
    }

    pub(crate) fn contains_hash(&self, _: u64) -> bool {
        match *self {}
    }

    pub(crate) fn remove_hash(&self, _: u64) -> bool {
        match *self {}
    }

    pub(crate) fn attach(&self) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn repair(&self) -> Repaired {
        match *self {}
    }

    pub(crate) fn participants(&self) -> Participants {
        match *self {}
    }

    pub(crate) fn recount(&mut self) -> Result<usize, Failure> {
        match *self {}
    }
}
