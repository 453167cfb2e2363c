//! Expiring filters: made, freed, merged, and asked about their state.

mod batch;
mod hashes;
mod processes;
mod single;
mod snapshot;
mod time;

use crate::{
    guard,
    options::ExpiringOptions,
    pointer::{self, Out},
    shared::{Handle, Kind, mapped, shared},
    status::{Failure, Status},
};
pub use batch::*;
use guira::{ExpiringBuilder, ExpiringFilter};
pub use hashes::*;
pub use processes::*;
pub use single::*;
pub use snapshot::*;
use std::ptr;
pub(crate) use time::nanos;
use time::own_clock;
pub use time::*;

/// A concurrent set of items that are forgotten some time after they were last seen.
pub struct Expiring(Kind<mapped::Expiring>);

impl Expiring {
    fn of_heap(filter: ExpiringFilter) -> Self {
        Self(Kind::Heap(filter))
    }
}

impl std::fmt::Debug for Expiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expiring").finish_non_exhaustive()
    }
}

impl Handle for Expiring {
    type Mapped = mapped::Expiring;
    type Options = ExpiringOptions;

    fn of(kind: Kind<mapped::Expiring>) -> Self {
        Self(kind)
    }

    #[inline(always)]
    fn kind(&self) -> &Kind<mapped::Expiring> {
        &self.0
    }

    fn kind_mut(&mut self) -> &mut Kind<mapped::Expiring> {
        &mut self.0
    }

    unsafe fn builder(options: *const ExpiringOptions) -> Result<ExpiringBuilder, Failure> {
        // SAFETY: the caller promises it.
        unsafe { ExpiringOptions::builder(options) }
    }
}

/// Makes an expiring filter, and sets `*filter` to it, or to null on failure.
/// `guira_expiring_free` frees it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_new(
    options: *const ExpiringOptions,
    filter: *mut *mut Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new(filter, "filter") }?;
        filter.set(ptr::null_mut());
        // SAFETY: the rules of the header.
        let made = unsafe { ExpiringOptions::builder(options) }?;
        filter.give(Expiring::of_heap(made.build()?));
        Ok(())
    })
}

/// Frees a filter. No other call may use it at the same time or later. Null is nothing. The file of a
/// shared filter stays.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_free(filter: *mut Expiring) {
    guard::value((), (), || {
        // SAFETY: the rules of the header.
        unsafe { pointer::free(filter) };
        Ok(())
    });
}

/// Copies the filter, while threads use it, and sets `*copy` to the copy, or to null on failure.
/// The copy of a shared filter is not shared.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_copy(
    filter: *const Expiring,
    copy: *mut *mut Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let place = unsafe { Out::new(copy, "copy") }?;
        place.set(ptr::null_mut());
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        place.give(Expiring::of_heap(filter.to_scan()?.try_clone()?));
        Ok(())
    })
}

/// Adds all items of `other`, while threads use both. They must have equal options and seeds. A
/// snapshot of either may be taken at the same time. Two handles of one shared filter are INVALID.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_merge(
    filter: *mut Expiring,
    other: *const Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let other = unsafe { shared(other) }?;
        Ok(filter.to_scan()?.merge(other.to_scan()?)?)
    })
}

/// Adds what `other` has and `filter` lacks, while threads use both. Each item is then in as often as
/// in the filter that had it most often. They must have equal options and seeds. After a failure, a
/// further call adds the rest.
///
/// An item is then as young as in the filter that has seen it last. Unite in one direction: filters
/// that are united back and forth, once per epoch, keep their items for ever.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_union_with(
    filter: *mut Expiring,
    other: *const Expiring,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let other = unsafe { shared(other) }?;
        Ok(filter.to_scan()?.union_with(other.to_scan()?)?)
    })
}

/// Removes all items that were present when the call began.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_clear(filter: *mut Expiring) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        filter.to_scan()?.clear();
        Ok(())
    })
}

/// The copies in the filter. Exact while no thread writes. `guira_expiring_recount` makes that of a shared
/// filter exact after processes were killed.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_len(filter: *const Expiring) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.len())
    })
}

/// The distinct items for which the filter has room at its present size.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_capacity(filter: *const Expiring) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.capacity())
    })
}

/// The distinct items for which the filter has room after its last doubling.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_max_capacity(filter: *const Expiring) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.max_capacity())
    })
}

/// The bytes of memory that the filter occupies, including the file of a shared filter.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_memory_usage(filter: *const Expiring) -> usize {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.memory_usage())
    })
}

/// The share of slots in use, from 0 to 1.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_load_factor(filter: *const Expiring) -> f64 {
    guard::value(0.0, 0.0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.load_factor())
    })
}

/// The expected share of absent items that seem present when the filter is full.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_false_positive_rate(filter: *const Expiring) -> f64 {
    guard::value(0.0, 0.0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.false_positive_rate())
    })
}

/// The seed of the hash. Keep it secret if clients choose the items.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_seed(filter: *const Expiring) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.hasher().seed())
    })
}

/// A digest of the contents, in two numbers, the lower one first: equal for filters with equal
/// options, seeds and items.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_digest(
    filter: *const Expiring,
    digest: *mut u64,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let place = unsafe { Out::new(digest.cast::<[u64; 2]>(), "digest") }?;
        let digest = filter.to_scan()?.digest();
        place.set([digest as u64, (digest >> 64) as u64]);
        Ok(())
    })
}

/// Completes the doubling that is in progress, for a filter that becomes idle.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_finish_growth(filter: *mut Expiring) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        filter.finish_growth();
        Ok(())
    })
}
