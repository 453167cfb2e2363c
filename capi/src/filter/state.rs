//! Filters: made, freed, merged, and asked about their state.

use super::{Filter, handle, status, value};
use crate::{
    guard,
    lifetime::{Either, each, with},
    options::Options,
    pointer::{self, Out},
    status::{Failure, Status},
};

/// A number of the state of a filter; 0 without a filter.
macro_rules! state {
    ($filter:ident, $it:ident => $number:expr) => {
        // SAFETY: the rules of the header.
        unsafe {
            value($filter, Default::default(), |filter| {
                Ok(with!(&filter.kind, place => {
                    let $it = place.to_read();
                    $number
                }))
            })
        }
    };
}

/// Does something with two filters of one lifetime.
macro_rules! both {
    ($filter:ident, $other:ident, $this:ident, $that:ident => $value:expr) => {
        // SAFETY: the rules of the header.
        unsafe {
            status($filter, |filter| {
                match (&filter.kind, &handle($other)?.kind) {
                    (Either::Forever($this), Either::Forever($that)) => Ok($value),
                    (Either::Expiring($this), Either::Expiring($that)) => Ok($value),
                    _ => Err(Failure::invalid(format_args!(
                        "one filter has a TTL, and the other has none"
                    ))),
                }
            })
        }
    };
}

/// Makes a filter, and sets `*filter` to it, or to null on failure. `guira_filter_free` frees it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_new(
    options: *const Options,
    filter: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let filter = unsafe { Out::new_handle(filter, "filter") }?;
        // SAFETY: the rules of the header.
        let builder = unsafe { Options::builder(options) }?;
        filter.give(Filter::on_heap(each!(builder, it => it.build()?)));
        Ok(())
    })
}

/// Frees a filter. No other call may use it at the same time or later. Null is nothing. The file of a
/// shared filter stays.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_free(filter: *mut Filter) {
    guard::value((), (), || {
        // SAFETY: the rules of the header.
        unsafe { pointer::free(filter) };
        Ok(())
    });
}

/// Copies the filter, while threads use it, and sets `*copy` to the copy, or to null on failure. The
/// copy of a shared filter is not shared.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_copy(
    filter: *const Filter,
    copy: *mut *mut Filter,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let copy = unsafe { Out::new_handle(copy, "copy") }?;
        // SAFETY: the rules of the header.
        let filter = unsafe { handle(filter) }?;
        let made = each!(&filter.kind, it => it.to_scan()?.try_clone()?);
        copy.give(Filter::on_heap(made));
        Ok(())
    })
}

/// Adds all items of `other`, while threads use both. They must have equal options and seeds. A
/// snapshot of either may be taken at the same time. Two handles of one shared filter are INVALID.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_merge(filter: *mut Filter, other: *const Filter) -> Status {
    both!(filter, other, this, that => this.to_scan()?.merge(that.to_scan()?)?)
}

/// Adds what `other` has and `filter` lacks, while threads use both. Each item is then in as often as
/// in the filter that had it most often. They must have equal options and seeds. After a failure, a
/// further call adds the rest.
///
/// With a TTL, an item is then as young as in the filter that has seen it last. Unite in one direction:
/// filters that are united back and forth, once per epoch, keep their items for ever.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_union_with(
    filter: *mut Filter,
    other: *const Filter,
) -> Status {
    both!(filter, other, this, that => this.to_scan()?.union_with(that.to_scan()?)?)
}

/// Removes what `other` lacks, while threads use both. Each item is then in as often as in the filter
/// that had it least often; with a TTL the youngest copies stay. They must have equal options and seeds.
/// After a failure, a further call removes the rest.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_intersect_with(
    filter: *mut Filter,
    other: *const Filter,
) -> Status {
    both!(filter, other, this, that => this.to_scan()?.intersect_with(that.to_scan()?)?)
}

/// Removes all copies of what `other` has, while threads use both. They must have equal options and
/// seeds. At the false-positive rate, this also removes items that `other` lacks. After a failure, a
/// further call removes the rest.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_difference_with(
    filter: *mut Filter,
    other: *const Filter,
) -> Status {
    both!(filter, other, this, that => this.to_scan()?.difference_with(that.to_scan()?)?)
}

/// Removes all items that were present when the call began.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_clear(filter: *mut Filter) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            with!(&filter.kind, it => it.to_scan()?.clear());
            Ok(())
        })
    }
}

/// Completes the doubling that is in progress, for a filter that becomes idle.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_finish_growth(filter: *mut Filter) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            with!(&filter.kind, it => it.to_write()?.finish_growth());
            Ok(())
        })
    }
}

/// A digest of the contents, in two numbers, the lower one first: equal for filters with equal
/// options, seeds and items.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_digest(filter: *const Filter, digest: *mut u64) -> Status {
    // SAFETY: the rules of the header.
    unsafe {
        status(filter, |filter| {
            let place = Out::new(digest.cast::<[u64; 2]>(), "digest")?;
            let digest = with!(&filter.kind, it => it.to_scan()?.digest());
            place.set([digest as u64, (digest >> 64) as u64]);
            Ok(())
        })
    }
}

/// The copies in the filter, including expired ones that are not swept yet. Exact while no thread writes.
/// `guira_filter_recount` makes that of a shared filter exact after processes were killed.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_len(filter: *const Filter) -> usize {
    state!(filter, it => it.len())
}

/// The distinct items for which the filter has room at its present size; with a TTL, those of a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_capacity(filter: *const Filter) -> usize {
    state!(filter, it => it.capacity())
}

/// The distinct items for which the filter has room after its last doubling.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_max_capacity(filter: *const Filter) -> usize {
    state!(filter, it => it.max_capacity())
}

/// The bytes of memory that the filter occupies, including the file of a shared filter.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_memory_usage(filter: *const Filter) -> usize {
    state!(filter, it => it.memory_usage())
}

/// The share of slots in use, from 0 to 1.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_load_factor(filter: *const Filter) -> f64 {
    state!(filter, it => it.load_factor())
}

/// The slots in use: the copies in the filter, or with counters about the number of distinct items.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_slots_in_use(filter: *const Filter) -> usize {
    state!(filter, it => it.slots_in_use())
}

/// The bits of the counter that each slot has; 0 without counters.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_counter_bits(filter: *const Filter) -> u32 {
    state!(filter, it => it.counter_bits())
}

/// The expected share of absent items that seem present when the filter is full.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_false_positive_rate(filter: *const Filter) -> f64 {
    state!(filter, it => it.false_positive_rate())
}

/// The bytes of a snapshot that begins now. It is longer only if the filter doubles during it.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_snapshot_len(filter: *const Filter) -> usize {
    state!(filter, it => it.snapshot_len_hint())
}

/// The seed of the hash. Keep it secret if clients choose the items.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_seed(filter: *const Filter) -> u64 {
    // SAFETY: the rules of the header.
    unsafe { value(filter, 0, |filter| Ok(filter.hasher.seed())) }
}
