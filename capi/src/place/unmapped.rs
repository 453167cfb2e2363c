//! In place of `mapped` where filters cannot be shared.

use super::{Heap, Mapped, Participants, Reads, Shareable, Source};
use crate::status::Failure;
use guira::{Builder, Expiring, Forever, InsertError, Lifetime, SeededState};
use std::{ffi::c_int, path::Path};

/// A filter that cannot be.
pub(crate) enum Never {}

impl Shareable for Forever {
    type Shared = Never;
    type Reader = Never;
}

impl Shareable for Expiring {
    type Shared = Never;
    type Reader = Never;
}

fn unsupported<V>() -> Result<V, Failure> {
    Err(Failure::unsupported(
        "filters can be shared on 64-bit Linux only",
    ))
}

impl<T: Lifetime> Mapped<T> for Never {
    unsafe fn create(
        _: Option<&Path>,
        _: Builder<SeededState, T>,
        _: usize,
    ) -> Result<Self, Failure> {
        unsupported()
    }

    unsafe fn copy(_: Option<&Path>, _: &Heap<T>, _: usize) -> Result<Self, Failure> {
        unsupported()
    }

    unsafe fn open(_: Source<'_>) -> Result<Option<Self>, Failure> {
        unsupported()
    }

    fn memfd(&self) -> Option<c_int> {
        match *self {}
    }

    fn as_filter(&self) -> &Heap<T> {
        match *self {}
    }

    fn contains_hash(&self, _: u64) -> bool {
        match *self {}
    }

    fn insert_hash(&self, _: u64) -> Result<(), InsertError> {
        match *self {}
    }

    fn insert_unique_hash(&self, _: u64) -> Result<bool, InsertError> {
        match *self {}
    }

    fn remove_hash(&self, _: u64) -> bool {
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

impl<T: Lifetime> Reads<T> for Never {
    unsafe fn open(_: Source<'_>) -> Result<Option<Self>, Failure> {
        unsupported()
    }

    unsafe fn as_filter(&self) -> &Heap<T> {
        match *self {}
    }

    fn contains_hash(&self, _: u64) -> bool {
        match *self {}
    }
}
