//! In place of `mapped` where filters cannot be shared: no value of these types exists.

use crate::status::{Failure, Status};
use guira::{Builder, CuckooFilter, InsertError, SeededState};
use std::path::Path;

pub(crate) enum Mapped {}

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

impl Mapped {
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
