//! Expiring filters: made, freed, merged, and asked about their state.

mod batch;
mod hashes;
mod single;
mod snapshot;
mod time;

use crate::{
    guard,
    options::ExpiringOptions,
    pointer::{self, Out},
    status::{Failure, Status},
};
pub use batch::*;
use guira::ExpiringFilter;
pub use hashes::*;
pub use single::*;
pub use snapshot::*;
use std::ptr;
pub use time::*;

/// A concurrent set of items that are forgotten some time after they were last seen.
pub struct Expiring(ExpiringFilter);

impl std::fmt::Debug for Expiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// # Safety
///
/// As [`pointer::shared`].
#[inline(always)]
unsafe fn shared<'a>(filter: *const Expiring) -> Result<&'a ExpiringFilter, Failure> {
    // SAFETY: the caller promises it.
    unsafe { pointer::shared(filter, "filter") }.map(|filter| &filter.0)
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
        let made = unsafe { ExpiringOptions::build(options) }?;
        filter.give(Expiring(made));
        Ok(())
    })
}

/// Frees a filter. No other call may use it at the same time or later. Null is nothing.
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
        place.give(Expiring(filter.try_clone()?));
        Ok(())
    })
}

/// Adds all items of `other`, while threads use both. They must have equal options and seeds. A
/// snapshot of either may be taken at the same time.
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
        Ok(filter.merge(other)?)
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
        Ok(filter.union_with(other)?)
    })
}

/// Removes all items that were present when the call began.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_clear(filter: *mut Expiring) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        filter.clear();
        Ok(())
    })
}

/// The copies in the filter. Exact while no thread writes.
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

/// The bytes of memory that the filter occupies.
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
        let digest = filter.digest();
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
