//! Calls for many items.

use super::{Filter, handle};
use crate::{
    batch::{Batch, Items, Undecided},
    guard,
    lifetime::with,
    place::{Heap, Place, Shareable},
    pointer::{Out, answers},
    status::{Failure, Status},
};
use guira::{BatchError, Hashed};
use std::ptr;

/// A call with a batch.
struct Call<'a> {
    filter: &'a Filter,
    items: Batch<'a>,
    done: Out<usize>,
}

impl Call<'_> {
    /// The call, and 0 in `done`, which may be null.
    ///
    /// # Safety
    ///
    /// As [`handle`], [`Batch::new`] and [`Out::optional`].
    #[inline(always)]
    unsafe fn new(
        filter: *const Filter,
        items: *const Items,
        done: *mut usize,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        let done = unsafe { Out::optional(done, "done") }?;
        done.set(0);
        Ok(Self {
            // SAFETY: the caller promises it.
            filter: unsafe { handle(filter) }?,
            // SAFETY: the caller promises it.
            items: unsafe { Batch::new(items) }?,
            done,
        })
    }

    /// [`new`](Self::new), and the answers, one for each item.
    ///
    /// # Safety
    ///
    /// As [`new`](Self::new) and [`answers`].
    #[inline(always)]
    unsafe fn with_answers<'b>(
        filter: *const Filter,
        items: *const Items,
        results: *mut bool,
        done: *mut usize,
    ) -> Result<(Self, &'b mut [bool]), Failure> {
        // SAFETY: the caller promises it.
        let call = unsafe { Self::new(filter, items, done) }?;
        // SAFETY: the caller promises it.
        let results = unsafe { answers(results, call.items.len()) }?;
        Ok((call, results))
    }

    /// Hands all items to `of`, which writes to the filter, and says how far it came.
    #[inline(always)]
    fn write<T: Shareable>(
        &self,
        place: &Place<T>,
        results: Option<&mut [bool]>,
        mut of: impl FnMut(&Heap<T>, &[Hashed], &mut [bool]) -> Result<(), BatchError>,
    ) -> Result<(), Failure> {
        let (filter, hasher) = (place.to_write()?, &self.filter.hasher);
        let outcome = match results {
            Some(results) => self.items.with_results(hasher, results, |hashes, results| {
                of(filter, hashes, results)
            }),
            None => (self.items).without_results(hasher, |hashes| of(filter, hashes, &mut [])),
        };
        let len = self.items.len();
        (self.done).set(outcome.map_or_else(|error| error.index, |()| len));
        outcome.map_err(|error| place.explained(error))
    }

    /// Hands all items to `of`, which decides each of them.
    #[inline(always)]
    fn decide(
        &self,
        results: &mut [bool],
        mut of: impl FnMut(&[Hashed], &mut [bool]),
    ) -> Result<(), Failure> {
        let hasher = &self.filter.hasher;
        let done = self.items.with_results(hasher, results, |hashes, results| {
            of(hashes, results);
            Ok::<_, Undecided>(())
        });
        Ok(done?)
    }
}

/// Adds a copy of each item, in order.
///
/// `done`, if not null, is how many items from the first on are decided: all of them, unless the
/// status says why the next one is not. It is 0 after INVALID, and may be
/// too small after INTERNAL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_many(
    filter: *mut Filter,
    items: *const Items,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let call = unsafe { Call::new(filter, items, done) }?;
        with!(&call.filter.kind, it => {
            call.write(it, None, |filter, hashes, _| filter.insert_batch(hashes))
        })
    })
}

/// Adds each item that does not seem present. `added` has `count` elements: whether each item was
/// added. `done` is as for `guira_filter_add_many`.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_unique_many(
    filter: *mut Filter,
    items: *const Items,
    added: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let (call, added) = unsafe { Call::with_answers(filter, items, added, done) }?;
        with!(&call.filter.kind, it => {
            call.write(it, Some(added), Heap::insert_unique_batch)
        })
    })
}

/// Refreshes each item that is present. `present` has `count` elements: whether each item is.
/// `done` is as for `guira_filter_add_many`. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_refresh_many(
    filter: *mut Filter,
    items: *const Items,
    present: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let (call, present) = unsafe { Call::with_answers(filter, items, present, done) }?;
        let it = call.filter.expiring()?;
        call.write(it, Some(present), Heap::refresh_batch)
    })
}

/// Refreshes each item, or adds it if it is absent. `added` has `count` elements: whether each
/// item was added. `done` is as for `guira_filter_add_many`. UNSUPPORTED without a TTL.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_add_or_refresh_many(
    filter: *mut Filter,
    items: *const Items,
    added: *mut bool,
    done: *mut usize,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let (call, added) = unsafe { Call::with_answers(filter, items, added, done) }?;
        let it = call.filter.expiring()?;
        call.write(it, Some(added), Heap::insert_or_refresh_batch)
    })
}

/// Whether each item is present. `results` has `count` elements.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_contains_many(
    filter: *const Filter,
    items: *const Items,
    results: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let (call, results) =
            unsafe { Call::with_answers(filter, items, results, ptr::null_mut()) }?;
        with!(&call.filter.kind, it => {
            let filter = it.to_read();
            call.decide(results, |hashes, results| filter.contains_batch(hashes, results))
        })
    })
}

/// Removes one copy of each item, in order. `results` has `count` elements: whether there was
/// one.
// SAFETY: the name is this library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn guira_filter_remove_many(
    filter: *mut Filter,
    items: *const Items,
    results: *mut bool,
) -> Status {
    guard::status(|| {
        // SAFETY: the rules of the header.
        let (call, results) =
            unsafe { Call::with_answers(filter, items, results, ptr::null_mut()) }?;
        with!(&call.filter.kind, it => {
            let filter = it.to_write()?;
            call.decide(results, |hashes, results| filter.remove_batch(hashes, results))
        })
    })
}
