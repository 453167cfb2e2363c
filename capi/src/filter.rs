//! The one handle of the interface: a filter of either lifetime, wherever it is.

mod hashes;
mod many;
mod processes;
mod single;
mod snapshot;
mod state;
mod time;

use crate::{
    guard,
    lifetime::{Either, with},
    place::{Heap, Place},
    pointer::{self, Out, hash_of_bytes},
    status::{Failure, Status},
};
use guira::{Expiring, Forever, SeededState};
pub use hashes::*;
pub use many::*;
pub use processes::*;
pub use single::*;
pub use snapshot::*;
pub use state::*;
use std::{ffi::c_void, fmt};
pub use time::*;

/// A concurrent set of items, approximate, with removal and growth. With a TTL, it forgets items some
/// time after they were last seen.
pub struct Filter {
    /// That of the filter, for hashes without a branch on its kind.
    hasher: SeededState,
    kind: Kind,
}

/// Which filter it is. What is inline in calls is that without a TTL; the box leaves room in it for the
/// variant of both.
type Kind = Either<Place<Forever>, Box<Place<Expiring>>>;

impl Filter {
    fn new(made: Either<Place<Forever>, Place<Expiring>>) -> Self {
        Self {
            hasher: with!(&made, it => it.to_read().hasher().clone()),
            kind: match made {
                Either::Forever(it) => Either::Forever(it),
                Either::Expiring(it) => Either::Expiring(Box::new(it)),
            },
        }
    }

    fn on_heap(made: Either<Heap<Forever>, Heap<Expiring>>) -> Self {
        Self::new(match made {
            Either::Forever(it) => Either::Forever(Place::Heap(it)),
            Either::Expiring(it) => Either::Expiring(Place::Heap(it)),
        })
    }

    /// # Safety
    ///
    /// As [`hash_of_bytes`].
    #[inline(always)]
    unsafe fn hash(&self, item: *const c_void, len: usize) -> Result<u64, Failure> {
        // SAFETY: the caller promises it.
        unsafe { hash_of_bytes(&self.hasher, item, len) }
    }

    /// The filter, if it has a TTL.
    #[inline(always)]
    fn expiring(&self) -> Result<&Place<Expiring>, Failure> {
        match &self.kind {
            Either::Forever(_) => Err(no_ttl()),
            Either::Expiring(it) => Ok(it),
        }
    }
}

#[cold]
fn no_ttl() -> Failure {
    Failure::unsupported("the filter has no TTL")
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").finish_non_exhaustive()
    }
}

/// # Safety
///
/// As [`pointer::shared`].
#[inline(always)]
unsafe fn handle<'a>(filter: *const Filter) -> Result<&'a Filter, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer::shared(filter, "filter") }
}

/// The status of `body` with the filter.
///
/// # Safety
///
/// As [`handle`].
#[inline(always)]
unsafe fn status(
    filter: *const Filter,
    body: impl FnOnce(&Filter) -> Result<(), Failure>,
) -> Status {
    guard::status(|| {
        // SAFETY: the caller promises it.
        body(unsafe { handle(filter) }?)
    })
}

/// The value of `body` with the filter; `V::default()` for invalid arguments, and `panicked` after a
/// panic.
///
/// # Safety
///
/// As [`handle`].
#[inline(always)]
unsafe fn value<V: Default>(
    filter: *const Filter,
    panicked: V,
    body: impl FnOnce(&Filter) -> Result<V, Failure>,
) -> V {
    guard::value(V::default(), panicked, || {
        // SAFETY: the caller promises it.
        body(unsafe { handle(filter) }?)
    })
}

/// The status of `body` with the filter, and its answer in `out`, which may be null.
///
/// # Safety
///
/// As [`handle`] and [`Out::optional`].
#[inline(always)]
unsafe fn answer<V>(
    filter: *const Filter,
    (out, name): (*mut V, &'static str),
    body: impl FnOnce(&Filter) -> Result<V, Failure>,
) -> Status {
    guard::status(|| {
        // SAFETY: the caller promises it.
        let filter = unsafe { handle(filter) }?;
        // SAFETY: the caller promises it.
        let out = unsafe { Out::optional(out, name) }?;
        out.set(body(filter)?);
        Ok(())
    })
}
