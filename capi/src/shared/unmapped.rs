//! In place of `mapped` where filters cannot be shared: no value of these types exists.

use super::{Mapped, Participants, Reads};
use crate::status::{Failure, Status};
use guira::{Builder, CuckooFilter, ExpiringBuilder, ExpiringFilter, InsertError, SeededState};
use std::{ffi::c_int, path::Path, time::Duration};

pub(crate) enum Filter {}

pub(crate) enum Expiring {}

pub(crate) enum Reader {}

pub(crate) enum ExpiringReader {}

fn unsupported() -> Failure {
    Failure::new(
        Status::Unsupported,
        format_args!("filters can be shared on 64-bit Linux only"),
    )
}

macro_rules! unmapped {
    ($filter:ident of $heap:ident by $builder:ident, read by $reader:ident) => {
        #[allow(unsafe_code)]
        impl Mapped for $filter {
            type Heap = $heap;
            type Builder = $builder;

            unsafe fn create(_: &Path, _: $builder, _: usize) -> Result<Self, Failure> {
                Err(unsupported())
            }

            unsafe fn open(_: &Path) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn create_memfd(_: $builder, _: usize) -> Result<Self, Failure> {
                Err(unsupported())
            }

            unsafe fn create_copy(_: &Path, _: &$heap, _: usize) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn create_memfd_copy(_: &$heap, _: usize) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn of_memfd(_: c_int) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn memfd(&self) -> Option<c_int> {
                match *self {}
            }

            fn as_heap(&self) -> &$heap {
                match *self {}
            }

            fn attach(&self) -> Result<(), Failure> {
                match *self {}
            }

            fn repair(&self) -> usize {
                match *self {}
            }

            fn recount(&mut self) -> Result<usize, Failure> {
                match *self {}
            }

            fn participants(&self) -> Participants {
                match *self {}
            }

            fn was_closed_cleanly(&self) -> bool {
                match *self {}
            }
        }

        #[allow(unsafe_code)]
        impl Reads for $reader {
            unsafe fn open(_: &Path) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn of_memfd(_: c_int) -> Result<Self, Failure> {
                Err(unsupported())
            }

            fn hasher(&self) -> &SeededState {
                match *self {}
            }

            fn contains_hash(&self, _: u64) -> bool {
                match *self {}
            }

            fn contains_hash_batch(&self, _: &[u64], _: &mut [bool]) {
                match *self {}
            }

            fn count_hash(&self, _: u64) -> usize {
                match *self {}
            }

            fn len(&self) -> usize {
                match *self {}
            }

            fn capacity(&self) -> usize {
                match *self {}
            }
        }
    };
}

unmapped!(Filter of CuckooFilter by Builder, read by Reader);
unmapped!(Expiring of ExpiringFilter by ExpiringBuilder, read by ExpiringReader);

/// What `Kind` calls without the trait.
impl Filter {
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
}

/// The time of a reader.
impl ExpiringReader {
    pub(crate) fn epoch(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn epoch_age(&self) -> Option<Duration> {
        match *self {}
    }

    pub(crate) fn epoch_length(&self) -> Duration {
        match *self {}
    }
}
