//! Where a filter is: on the heap, or in a file that processes share.

use super::mapped::{Mapped, Snapshot};
use crate::{
    batch::Undecided,
    status::{Failure, Status},
};
use guira::{CuckooFilter, InsertError, SeededState, SnapshotDecoder};
use std::io;

/// The filter of a handle. Its methods have the same names as in [`CuckooFilter`].
///
/// A handle's variant never changes, so the branch on it is predicted.
pub(crate) enum Kind {
    Heap(CuckooFilter),
    Mapped(Box<Mapped>),
}

/// Where the bytes of a snapshot come from.
pub(crate) enum Source<'a> {
    Heap(&'a CuckooFilter),
    Mapped(Snapshot),
}

impl Source<'_> {
    pub(crate) fn write_to(&self, writer: impl io::Write) -> io::Result<()> {
        match self {
            Self::Heap(filter) => filter.write_to(writer),
            Self::Mapped(snapshot) => snapshot.write_to(writer),
        }
    }
}

/// Feeds a decoder, and keeps its error.
struct Decoding {
    decoder: SnapshotDecoder,
    failure: Option<Failure>,
}

impl io::Write for Decoding {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.decoder.feed(bytes).map_err(|error| {
            self.failure = Some(error.into());
            io::Error::from(io::ErrorKind::InvalidData)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The value of an expression with either filter.
macro_rules! either {
    ($kind:expr, $filter:ident => $value:expr) => {
        match $kind {
            Self::Heap($filter) => $value,
            Self::Mapped($filter) => $value,
        }
    };
}

impl Kind {
    #[inline(always)]
    pub(crate) fn hasher(&self) -> &SeededState {
        either!(self, filter => filter.hasher())
    }

    #[inline(always)]
    pub(crate) fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        either!(self, filter => filter.insert_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        either!(self, filter => filter.insert_unique_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn contains_hash(&self, hash: u64) -> bool {
        either!(self, filter => filter.contains_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn remove_hash(&self, hash: u64) -> bool {
        either!(self, filter => filter.remove_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn count_hash(&self, hash: u64) -> usize {
        either!(self, filter => filter.count_hash(hash))
    }

    #[inline(always)]
    pub(crate) fn insert_hash_batch(&self, hashes: &[u64]) -> Result<(), Undecided> {
        match self {
            Self::Heap(filter) => Ok(filter.insert_hash_batch(hashes)?),
            Self::Mapped(filter) => filter.insert_hash_batch(hashes),
        }
    }

    #[inline(always)]
    pub(crate) fn insert_unique_hash_batch(
        &self,
        hashes: &[u64],
        results: &mut [bool],
    ) -> Result<(), Undecided> {
        match self {
            Self::Heap(filter) => Ok(filter.insert_unique_hash_batch(hashes, results)?),
            Self::Mapped(filter) => filter.insert_unique_hash_batch(hashes, results),
        }
    }

    #[inline(always)]
    pub(crate) fn contains_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        either!(self, filter => filter.contains_hash_batch(hashes, results));
    }

    #[inline(always)]
    pub(crate) fn remove_hash_batch(&self, hashes: &[u64], results: &mut [bool]) {
        either!(self, filter => filter.remove_hash_batch(hashes, results));
    }

    pub(crate) fn len(&self) -> usize {
        either!(self, filter => filter.len())
    }

    pub(crate) fn capacity(&self) -> usize {
        either!(self, filter => filter.capacity())
    }

    pub(crate) fn max_capacity(&self) -> usize {
        match self {
            Self::Heap(filter) => filter.max_capacity(),
            // It is fixed.
            Self::Mapped(filter) => filter.capacity(),
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Self::Heap(filter) => filter.memory_usage(),
            Self::Mapped(filter) => filter.stats().memory_usage,
        }
    }

    pub(crate) fn load_factor(&self) -> f64 {
        match self {
            Self::Heap(filter) => filter.load_factor(),
            Self::Mapped(filter) => filter.stats().load_factor,
        }
    }

    /// 0 if it is not known.
    pub(crate) fn false_positive_rate(&self) -> f64 {
        match self {
            Self::Heap(filter) => filter.false_positive_rate(),
            Self::Mapped(_) => 0.0,
        }
    }

    /// 0 if it is not known.
    pub(crate) fn snapshot_len_hint(&self) -> usize {
        match self {
            Self::Heap(filter) => filter.snapshot_len_hint(),
            Self::Mapped(_) => 0,
        }
    }

    pub(crate) fn clear(&self) -> Result<(), Failure> {
        match self {
            Self::Heap(filter) => filter.clear(),
            Self::Mapped(filter) => filter.clear()?,
        }
        Ok(())
    }

    pub(crate) fn finish_growth(&self) {
        if let Self::Heap(filter) = self {
            filter.finish_growth();
        }
    }

    pub(crate) fn digest(&self) -> Result<u128, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter.digest()),
            Self::Mapped(filter) => Ok(copy_to_heap(filter)?.digest()),
        }
    }

    /// A copy on the heap.
    pub(crate) fn copy(&self) -> Result<CuckooFilter, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter.try_clone()?),
            Self::Mapped(filter) => copy_to_heap(filter),
        }
    }

    pub(crate) fn merge(&self, other: &Self) -> Result<(), Failure> {
        match (self.heap("merged into")?, other) {
            (filter, Self::Heap(other)) => Ok(filter.merge(other)?),
            (filter, Self::Mapped(other)) => Ok(filter.merge(&copy_to_heap(other)?)?),
        }
    }

    pub(crate) fn union_with(&self, other: &Self) -> Result<(), Failure> {
        match (self.heap("united with another")?, other) {
            (filter, Self::Heap(other)) => Ok(filter.union_with(other)?),
            (filter, Self::Mapped(other)) => Ok(filter.union_with(&copy_to_heap(other)?)?),
        }
    }

    pub(crate) fn snapshot(&self) -> Result<Source<'_>, Failure> {
        match self {
            Self::Heap(filter) => Ok(Source::Heap(filter)),
            Self::Mapped(filter) => filter.snapshot().map(Source::Mapped),
        }
    }

    fn heap(&self, what: &str) -> Result<&CuckooFilter, Failure> {
        match self {
            Self::Heap(filter) => Ok(filter),
            Self::Mapped(_) => Err(Failure::new(
                Status::Unsupported,
                format_args!("a shared filter cannot be {what}: copy it first"),
            )),
        }
    }

    pub(crate) fn mapped(&self) -> Result<&Mapped, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Mapped(filter) => Ok(filter),
        }
    }

    pub(crate) fn mapped_mut(&mut self) -> Result<&mut Mapped, Failure> {
        match self {
            Self::Heap(_) => Err(not_shared()),
            Self::Mapped(filter) => Ok(filter),
        }
    }

    /// The failure of an insert. If a process has no seat it is not `BUSY`, because no further call
    /// would help.
    #[cold]
    pub(crate) fn explained(&self, failure: Failure) -> Failure {
        match self {
            Self::Mapped(filter) if failure.0 == Status::Busy => {
                filter.attach().err().unwrap_or(failure)
            }
            _ => failure,
        }
    }
}

fn not_shared() -> Failure {
    Failure::new(
        Status::Unsupported,
        format_args!("the filter is not shared between processes"),
    )
}

fn copy_to_heap(filter: &Mapped) -> Result<CuckooFilter, Failure> {
    let mut decoding = Decoding {
        decoder: SnapshotDecoder::new(usize::MAX),
        failure: None,
    };
    if let Err(error) = filter.snapshot()?.write_to(&mut decoding) {
        let memory = || Failure::new(Status::Memory, format_args!("{error}"));
        return Err(decoding.failure.unwrap_or_else(memory));
    }
    Ok(decoding.decoder.finish()?)
}
