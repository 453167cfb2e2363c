//! The time of filters with a TTL comes from their callers.

use super::{Filter, answer, value};
use crate::{
    lifetime::Either,
    place::Place,
    status::{Failure, Status},
    stream::{self, Clock},
};
use guira::Expiring;
use std::{ffi::c_void, time::Duration};

/// Begins the next epoch if it is due, and sweeps expired items: O(capacity) then, else O(1). `clock` is
/// read, twice at most; null is the library's own clock, which runs while the machine does. All calls for
/// one filter must use one clock.
///
/// Calls that write to a filter on the heap let time pass by themselves, by the library's own clock. Calls
/// of this one about four times per epoch keep that work out of them; after the first one with another
/// `clock`, nothing else lets time pass. In a shared filter nothing expires without such calls.
///
/// However late a call is, it expires what was last seen a TTL before the current epoch began. A reading
/// that is not later than an earlier one changes nothing.
///
/// A shared filter goes by the clock of all its processes, which also runs while the machine is suspended:
/// another `clock` is UNSUPPORTED, as is a filter without a TTL. `OCCUPIED` if the call needs a place and
/// all are taken. While a stopped process is in the way, no epoch begins: the next call tries again.
///
/// `began`, if not null, is whether this call began an epoch.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_tick(
    filter: *mut Filter,
    clock: Clock,
    context: *mut c_void,
    began: *mut bool,
) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (began, "began"), |filter| {
            let it = filter.expiring()?;
            let clock = own_clock(it, stream::clock(clock, context))?;
            let it = it.to_scan()?;
            Ok(match clock {
                Some(clock) => it.tick_at(clock),
                None => it.tick(),
            })
        })
    }
}

/// Begins the next epoch and sweeps, for a caller that counts epochs itself. `began`, if not
/// null, is false if another thread began it during the call, or if a stopped process is in the way.
/// UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_advance(filter: *mut Filter, began: *mut bool) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        answer(filter, (began, "began"), |filter| {
            Ok(filter.expiring()?.to_scan()?.advance())
        })
    }
}

/// A number of nanoseconds or epochs; 0 without a TTL.
macro_rules! time {
    ($filter:ident, $it:ident => $number:expr) => {
        // SAFETY: the rules of the header.
        unsafe {
            value($filter, 0, |filter| {
                Ok(match &filter.kind {
                    Either::Forever(_) => 0,
                    Either::Expiring(it) => {
                        let $it = it.to_read();
                        $number
                    }
                })
            })
        }
    };
}

/// The nanoseconds for which an item lives, at least; 0 without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_ttl_ns(filter: *const Filter) -> u64 {
    time!(filter, it => nanos(it.ttl()))
}

/// The number of epochs that have begun; 0 without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_epoch(filter: *const Filter) -> u64 {
    time!(filter, it => it.epoch())
}

/// The nanoseconds of an epoch; 0 without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_epoch_length_ns(filter: *const Filter) -> u64 {
    time!(filter, it => nanos(it.epoch_length()))
}

/// The nanoseconds for which the current epoch has lasted, by the library's own clock or that of a shared
/// filter; 0 without a TTL. The next epoch is due when they reach `guira_filter_epoch_length_ns`: much more
/// says that no process ticks. `UINT64_MAX` if it is unknown when the epoch began: the next
/// `guira_filter_tick` measures from then on.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_epoch_age_ns(filter: *const Filter) -> u64 {
    time!(filter, it => it.epoch_age().map_or(u64::MAX, nanos))
}

/// A clock of the caller, for a filter that is not shared.
pub(super) fn own_clock<C>(
    place: &Place<Expiring>,
    clock: Option<C>,
) -> Result<Option<C>, Failure> {
    match (place, clock) {
        (Place::Heap(_), clock) => Ok(clock),
        (_, None) => Ok(None),
        (_, Some(_)) => Err(Failure::unsupported(
            "a shared filter goes by the clock of all its processes",
        )),
    }
}

/// The largest number stands for a time that it is too small for.
fn nanos(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}
