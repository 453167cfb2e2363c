//! The time of expiring filters comes from their callers.

use super::{Expiring, shared};
use crate::{
    guard,
    pointer::Out,
    status::Status,
    stream::{self, Clock},
};
use std::ffi::c_void;

/// Begins the next epoch if it is due, and sweeps expired items: O(capacity) then, else O(1).
/// Call it about four times per epoch: without it nothing expires. `clock` is read, twice at
/// most; null is the library's own clock, which runs while the machine does. All calls for one
/// filter must use one clock.
///
/// `began`, if not null, is whether this call began an epoch.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_tick(
    filter: *mut Expiring,
    clock: Clock,
    context: *mut c_void,
    began: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let began_out = unsafe { Out::optional(began, "began") }?;
        // SAFETY: the rules of the header.
        let clock = unsafe { stream::clock(clock, context) };
        began_out.set(match clock {
            Some(clock) => filter.tick_at(clock),
            None => filter.tick(),
        });
        Ok(())
    })
}

/// Begins the next epoch and sweeps, for a caller that counts epochs itself. `began`, if not
/// null, is false if another thread began it during the call.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_advance(filter: *mut Expiring, began: *mut bool) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let began_out = unsafe { Out::optional(began, "began") }?;
        began_out.set(filter.advance());
        Ok(())
    })
}

/// The number of epochs that have begun.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_epoch(filter: *const Expiring) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.epoch())
    })
}

/// The nanoseconds of an epoch.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_epoch_length_ns(filter: *const Expiring) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter
            .epoch_length()
            .as_nanos()
            .try_into()
            .unwrap_or(u64::MAX))
    })
}
