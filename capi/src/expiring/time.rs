//! The time of expiring filters comes from their callers.

use super::{Expiring, shared};
use crate::{
    guard,
    pointer::Out,
    shared::{Kind, mapped},
    status::{Failure, Status},
    stream::{self, Clock},
};
use std::{ffi::c_void, time::Duration};

/// Begins the next epoch if it is due, and sweeps expired items: O(capacity) then, else O(1).
/// Call it about four times per epoch: without it nothing expires. `clock` is read, twice at
/// most; null is the library's own clock, which runs while the machine does. All calls for one
/// filter must use one clock.
///
/// However late a call is, it expires what was last seen a TTL before the current epoch began. A reading
/// that is not later than an earlier one changes nothing.
///
/// A shared filter goes by the clock of all its processes, which also runs while the machine is suspended:
/// another `clock` is UNSUPPORTED. `OCCUPIED` if the call needs a place and all are taken. While a stopped
/// process is in the way, no epoch begins: the next call tries again.
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
        let clock = own_clock(filter, unsafe { stream::clock(clock, context) })?;
        let filter = filter.to_scan()?;
        began_out.set(match clock {
            Some(clock) => filter.tick_at(clock),
            None => filter.tick(),
        });
        Ok(())
    })
}

/// Begins the next epoch and sweeps, for a caller that counts epochs itself. `began`, if not
/// null, is false if another thread began it during the call, or if a stopped process is in the way.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_advance(filter: *mut Expiring, began: *mut bool) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        // SAFETY: the rules of the header.
        let began_out = unsafe { Out::optional(began, "began") }?;
        began_out.set(filter.to_scan()?.advance());
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
        Ok(nanos(filter.epoch_length()))
    })
}

/// The nanoseconds for which the current epoch has lasted, by the library's own clock or that of a shared
/// filter. The next epoch is due when they reach `guira_expiring_epoch_length_ns`. `UINT64_MAX` if it is
/// unknown when the epoch began: the next `guira_expiring_tick` measures from then on.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_expiring_epoch_age_ns(filter: *const Expiring) -> u64 {
    guard::value(0, 0, || {
        // SAFETY: the rules of the header.
        let filter = unsafe { shared(filter) }?;
        Ok(filter.epoch_age().map_or(u64::MAX, nanos))
    })
}

/// A clock of the caller, for a filter that is not shared.
pub(super) fn own_clock<C>(
    filter: &Kind<mapped::Expiring>,
    clock: Option<C>,
) -> Result<Option<C>, Failure> {
    match (filter, clock) {
        (Kind::Mapped(_), Some(_)) => Err(Failure::new(
            Status::Unsupported,
            format_args!("a shared filter goes by the clock of all its processes"),
        )),
        (_, clock) => Ok(clock),
    }
}

/// The largest number stands for a time that it is too small for.
pub(crate) fn nanos(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}
